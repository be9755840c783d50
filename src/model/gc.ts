/** What `gc --json` prints: every run and leftover that it looked at, what went, what stays and why. */
import * as z from 'zod';
import { identifier, oid, refName } from './observation.ts';

export const KEEP_REASONS = [
  'running',
  'unfinished',
  'controller-unknown',
  'unaccountable',
  'young',
  'workspace',
  'unmerged',
  'repository-unreadable',
  'repository-missing',
  'not-a-folder',
  'its-run-stays',
  'not-removable',
] as const;

const ref = z.strictObject({
  ref: refName,
  commit: oid,
  /** The branch, tag or HEAD that has the commit too. */
  contained_in: z.string().nullable(),
});

export const gcReport = z
  .strictObject({
    schema: z.literal('agent-exec-gc/v1'),
    dry_run: z.boolean(),
    entries: z.array(
      z.strictObject({
        run_id: identifier,
        /** `starting`: a run that never began; `live`: a live probe's repository; `removing`: left by a gc that died. */
        kind: z.enum(['run', 'starting', 'live', 'removing']),
        result: z.enum(['removed', 'kept']),
        /** Null where it goes. */
        reason: z.enum(KEEP_REASONS).nullable(),
        message: z.string(),
        folders: z.array(z.string()),
        refs: z.array(ref),
      }),
    ),
  })
  .meta({ id: 'agent-exec-gc/v1', title: 'What gc removed and kept' });
export type GcReport = z.infer<typeof gcReport>;
export type GcEntry = GcReport['entries'][number];
export type KeepReason = (typeof KEEP_REASONS)[number];
