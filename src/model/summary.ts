/**
 * What `run --json` prints: at most `summary_bytes` (SPEC 10). Every field is there unless `truncated` is true; then lists
 * and words may be shortened, and a field that is missing did not fit. Null always means that it does not apply.
 */
import * as z from 'zod';
import { ATTEMPT_CODES, ATTEMPT_STATES, RUN_OUTCOMES } from './codes.ts';
import { codeWord, count, identifier, oid, refName } from './observation.ts';
import { recordedPath } from './path.ts';
import { hostFallback } from './receipt.ts';

/** A summary in full, before it is fitted. */
const fullSummary = z.strictObject({
  schema: z.literal('agent-exec-summary/v1'),
  outcome: z.enum(RUN_OUTCOMES),
  exit_code: z.int(),
  reason: z.strictObject({ code: codeWord, message: z.string() }),
  run_id: identifier.nullable(),
  receipt: z.string().nullable(),
  role: z.string().nullable(),
  unit_id: z.string().nullable(),
  attempts: z.array(
    z.strictObject({ attempt_id: identifier, state: z.enum(ATTEMPT_STATES), code: z.enum(ATTEMPT_CODES) }),
  ),
  transport: z.strictObject({ ref: refName, commit: oid }).nullable(),
  quarantine: z.array(refName),
  retained: z.array(z.string()),
  /** Commands that lead to the work, most useful first. */
  next: z.array(z.string()),
  change_count: count,
  changed_paths: z.array(recordedPath),
  /** True where something was shortened or left out to stay within the bound; the receipt has it all. */
  truncated: z.boolean(),
  telemetry_logged: z.boolean().nullable(),
  worker_result: z.unknown().nullable(),
  host_fallback: hostFallback.nullable(),
});
export type Summary = z.infer<typeof fullSummary>;

export const summary = fullSummary
  .partial({
    receipt: true,
    role: true,
    unit_id: true,
    attempts: true,
    transport: true,
    quarantine: true,
    retained: true,
    next: true,
    change_count: true,
    changed_paths: true,
    telemetry_logged: true,
    worker_result: true,
    host_fallback: true,
  })
  .meta({ id: 'agent-exec-summary/v1', title: 'The bounded answer of a run' });
/** A summary as it is printed: what did not fit is missing. */
export type FittedSummary = z.infer<typeof summary>;
