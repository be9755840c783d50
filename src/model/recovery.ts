/** What `recover --json` prints: one entry for each run that it looked at and that was not finished, or that was asked for. */
import * as z from 'zod';
import { RUN_OUTCOMES } from './codes.ts';
import { codeWord, identifier, refName } from './observation.ts';

export const RECOVERY_RESULTS = [
  'recovered',
  'already-finished',
  'running',
  'controller-unknown',
  'busy',
  'unaccountable',
  'not-kept',
  'failed',
  'state-unwritable',
] as const;

export const recovery = z
  .strictObject({
    schema: z.literal('agent-exec-recovery/v1'),
    runs: z.array(
      z.strictObject({
        run_id: identifier,
        result: z.enum(RECOVERY_RESULTS),
        /** In words, what it means and what to do. */
        message: z.string(),
        outcome: z.enum(RUN_OUTCOMES).nullable(),
        reason: z.strictObject({ code: codeWord, message: z.string() }).nullable(),
        receipt: z.string().nullable(),
        quarantine: z.array(refName),
        retained: z.array(z.string()),
      }),
    ),
  })
  .meta({ id: 'agent-exec-recovery/v1', title: 'What recover did' });
export type Recovery = z.infer<typeof recovery>;
export type RecoveredRun = Recovery['runs'][number];
