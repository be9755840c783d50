/** Telemetry lines: one for each attempt, one for the run (RECEIPT.md). Built from records that are already redacted. */

import type { Termination } from '../model/observation.ts';
import type { AttemptRecord } from '../model/receipt.ts';
import { unreachable } from '../model/result.ts';
import type { TelemetryEvent } from '../model/telemetry.ts';

type AttemptEvent = Extract<TelemetryEvent, { event: 'attempt' }>;
type RunEvent = Extract<TelemetryEvent, { event: 'run' }>;

const SCHEMA = 'agent-exec-telemetry/v1';

/** The exit code, the signal's name, or null where nothing was started. */
function exitStatus(termination: Termination): number | string | null {
  switch (termination.kind) {
    case 'exited':
      return termination.code;
    case 'signaled':
      return termination.signal;
    case 'stopped':
      return termination.code ?? termination.signal;
    case 'not-started':
      return null;
    default:
      return unreachable(termination);
  }
}

/** What the worker's result says of itself, else what its output format reported. */
function workerStatus({ worker_result: result, reported }: AttemptRecord): string | null {
  const status = typeof result === 'object' && result !== null && 'STATUS' in result ? result.STATUS : null;
  return typeof status === 'string' ? status : reported.status;
}

/** The line of one attempt. */
export function attemptEvent(
  attempt: AttemptRecord,
  run: { readonly runId: string; readonly unitId: string; readonly role: string },
): AttemptEvent {
  return {
    schema: SCHEMA,
    event: 'attempt',
    run_id: run.runId,
    attempt_id: attempt.attempt_id,
    unit_id: run.unitId,
    role: run.role,
    profile: attempt.profile,
    adapter: attempt.adapter,
    model: attempt.model.resolved ?? attempt.model.requested ?? attempt.model.reported,
    started_at: attempt.started_at,
    ended_at: attempt.ended_at,
    duration_ms: attempt.duration_ms,
    exit_status: exitStatus(attempt.termination),
    ok: attempt.state === 'success',
    state: attempt.state,
    error: attempt.code === 'OK' ? null : attempt.code,
    worker_status: workerStatus(attempt),
    usage: attempt.usage,
  };
}

interface RunEventFacts {
  readonly runId: string;
  readonly unitId: string;
  readonly role: string;
  readonly outcome: RunEvent['outcome'];
  readonly exitCode: number;
  readonly attempts: number;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly durationMs: number;
  /** Where the receipt is, or will be. */
  readonly receiptPath: string;
}

/** The line of the run; `durationMs` by a clock that does not jump. */
export const runEvent = (facts: RunEventFacts): RunEvent => ({
  schema: SCHEMA,
  event: 'run',
  run_id: facts.runId,
  unit_id: facts.unitId,
  role: facts.role,
  outcome: facts.outcome,
  exit_code: facts.exitCode,
  attempts: facts.attempts,
  started_at: facts.startedAt.toISOString(),
  ended_at: facts.endedAt.toISOString(),
  duration_ms: Math.max(0, Math.round(facts.durationMs)),
  receipt: facts.receiptPath,
});
