/** What `apply --json` prints: what was put into the checkout or made a branch, or why nothing was. */
import * as z from 'zod';
import { codeWord, identifier, oid } from './observation.ts';
import { recordedPath } from './path.ts';

export const APPLY_RESULTS = [
  'applied',
  'would-apply',
  'already-applied',
  'nothing-to-apply',
  'branch-created',
  'would-create-branch',
  'refused',
  'interrupted',
] as const;

export const applyReport = z
  .strictObject({
    schema: z.literal('agent-exec-apply/v1'),
    run_id: identifier,
    /** Null where the run has nothing that could be meant. */
    attempt_id: identifier.nullable(),
    source: z.enum(['transport', 'quarantine']).nullable(),
    base: oid.nullable(),
    commit: oid.nullable(),
    result: z.enum(APPLY_RESULTS),
    exit_code: z.int(),
    reason: z.strictObject({ code: codeWord, message: z.string() }),
    dry_run: z.boolean(),
    branch: z.string().nullable(),
    /** True where HEAD is not at base any more and the change was merged. */
    head_moved: z.boolean(),
    /** What differs from HEAD by it. */
    paths: z.array(recordedPath),
    /** Why it was refused, path by path. */
    overlaps: z.array(
      z.strictObject({
        path: recordedPath,
        kind: z.enum(['staged', 'unstaged', 'untracked', 'ignored', 'conflict', 'submodule']),
      }),
    ),
    conflicts: z.array(recordedPath),
    /** Of a quarantine: what it changes outside `allowed_paths`. */
    out_of_scope: z.array(recordedPath),
    notes: z.array(z.string()),
    next: z.array(z.string()),
  })
  .meta({ id: 'agent-exec-apply/v1', title: 'What apply did' });
export type ApplyReport = z.infer<typeof applyReport>;
