/** One JSON object a line, for people who count (SPEC 10). */
import * as z from 'zod';
import { ATTEMPT_STATES, RUN_OUTCOMES } from './codes.ts';
import { count, time, usage } from './observation.ts';

const SCHEMA = z.literal('agent-exec-telemetry/v1');

export const attemptEvent = z.strictObject({
  schema: SCHEMA,
  event: z.literal('attempt'),
  run_id: z.string(),
  attempt_id: z.string(),
  unit_id: z.string(),
  role: z.string(),
  profile: z.string(),
  adapter: z.string(),
  model: z.string().nullable(),
  started_at: time,
  ended_at: time,
  duration_ms: count,
  /** The exit code, the signal's name, or null where nothing was started. */
  exit_status: z.union([z.int(), z.string()]).nullable(),
  ok: z.boolean(),
  state: z.enum(ATTEMPT_STATES),
  /** The attempt's code unless it is OK. */
  error: z.string().nullable(),
  worker_status: z.string().nullable(),
  usage,
});

export const runEvent = z.strictObject({
  schema: SCHEMA,
  event: z.literal('run'),
  run_id: z.string(),
  unit_id: z.string(),
  role: z.string(),
  outcome: z.enum(RUN_OUTCOMES),
  exit_code: z.int(),
  attempts: count,
  started_at: time,
  ended_at: time,
  duration_ms: count,
  receipt: z.string(),
});

export const telemetryEvent = z
  .discriminatedUnion('event', [attemptEvent, runEvent])
  .meta({ id: 'agent-exec-telemetry/v1', title: 'One line of telemetry' });
export type TelemetryEvent = z.infer<typeof telemetryEvent>;
