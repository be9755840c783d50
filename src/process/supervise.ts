/**
 * One worker process from start to nothing left of it. Decides when it must stop and records who stopped it, once.
 * Settles when the worker itself has left and its tree is gone or counted; never waits for a pipe.
 */
import type { Log, Processes, Refusal, Termination } from '../model/observation.ts';
import { type LogCapture, openLog } from './capture.ts';
import { launch } from './launch.ts';
import { errorCode, type StartError } from './start-error.ts';
import { type SuperviseRequest, watch } from './watch.ts';

export type { SuperviseRequest } from './watch.ts';

export interface SuperviseOutcome {
  readonly termination: Termination;
  readonly processes: Processes;
  /** stdout, then stderr; empty where the log files could not be made. */
  readonly logs: readonly Log[];
  /** Set where the worker was stopped while it said it was waiting for its provider: the last such word. */
  readonly providerWait: Refusal | null;
  /** RFC 3339 with milliseconds. */
  readonly startedAt: string;
  readonly endedAt: string;
  readonly durationMs: number;
  /** Why it did not start, in words; `SANDBOX_FAILED` means that not the program but its isolation failed. */
  readonly startError: StartError | null;
  /** The first error of writing a log, such as ENOSPC. The output was read and hashed all the same. */
  readonly logError: string | null;
}

const NO_PROCESSES = (request: SuperviseRequest): Processes => ({
  containment: request.containment.mechanism === 'sweep' ? 'session-sweep' : 'pid-namespace',
  escaped: 0,
  killed: 0,
  survivors: 0,
});

function openLogs(request: SuperviseRequest): readonly [LogCapture, LogCapture] {
  const limit = request.limits.rawOutputBytes;
  const stdout = openLog('stdout', request.logs.stdout, limit);
  try {
    return [stdout, openLog('stderr', request.logs.stderr, limit)];
  } catch (thrown) {
    stdout.finish();
    throw thrown;
  }
}

/** Runs the worker. Throws only where `onOutput` or `onStarted` threw, after the worker's tree has been ended. */
export async function supervise(request: SuperviseRequest): Promise<SuperviseOutcome> {
  const startedAt = new Date();
  const beganAt = performance.now();
  const outcome = (
    termination: Termination,
    processes: Processes,
    captures: readonly LogCapture[],
    more: Partial<SuperviseOutcome> = {},
  ): SuperviseOutcome => {
    const finished = captures.map((capture) => capture.finish());
    return {
      termination,
      processes,
      logs: finished.map(({ log }) => log),
      providerWait: null,
      startedAt: startedAt.toISOString(),
      endedAt: new Date().toISOString(),
      durationMs: Math.round(performance.now() - beganAt),
      startError: null,
      logError: finished.find(({ error }) => error !== null)?.error ?? null,
      ...more,
    };
  };
  const notStarted = (startError: StartError, captures: readonly LogCapture[]) =>
    outcome({ kind: 'not-started', error: startError.code }, NO_PROCESSES(request), captures, { startError });

  let captures: readonly [LogCapture, LogCapture];
  try {
    captures = openLogs(request);
  } catch (thrown) {
    const code = errorCode(thrown);
    return notStarted({ code, message: `the log files cannot be made (${code})` }, []);
  }
  const environment = { ...request.environment, AGENT_EXEC_ATTEMPT: request.marker };
  const launched = await launch({ ...request, environment, hasInput: request.stdin.kind === 'bytes' });
  if (!launched.ok) return notStarted(launched.error, captures);

  const watched = await watch(request, launched.value, captures);
  const extra = { providerWait: watched.providerWait, startError: watched.startError };
  const result = outcome(watched.termination, watched.processes, captures, extra);
  if (watched.fault !== null) throw watched.fault.thrown;
  return result;
}
