/** Which of a run's logs a person means: of which attempt, of the worker or of a command of the host, of which stream. */
import type { Stream } from '../model/adapter.ts';
import { EXIT } from '../model/codes.ts';
import { err, ok, type Result } from '../model/result.ts';
import { type AttemptLog, logsOfRun } from '../run/attempt-logs.ts';
import type { RunState } from '../store/run-state.ts';
import { attemptsOf, chooseAttempt } from './chosen-attempt.ts';
import type { NotChosen } from './chosen-run.ts';

/** Flags of `logs`. */
export interface WantedLogs {
  readonly attempt?: string;
  readonly stream: Stream | 'all';
  readonly command?: string;
  readonly follow?: boolean;
}

/** Why there is nothing to print; exit 3. */
export const noLog = (message: string): NotChosen => ({
  code: 'LOG_UNKNOWN',
  message,
  exitCode: EXIT['invalid-config'],
});

export interface Following {
  readonly kind: 'follow';
  /** The one attempt that is meant; null: `from` and whatever comes after it. */
  readonly attemptId: string | null;
  readonly from: string;
}

/** What is to be printed: at least one log, or whatever there will be of a run that is under way. */
export async function chooseLogs(
  run: RunState,
  options: WantedLogs,
): Promise<Result<{ readonly kind: 'print'; readonly logs: readonly AttemptLog[] } | Following, NotChosen>> {
  const { runId } = run.place;
  const all = await logsOfRun(run.place);
  const ids = [...new Set([...attemptsOf(run), ...all.keys()])].sort();
  const named = options.attempt === undefined ? ok(null) : chooseAttempt(runId, ids, options.attempt);
  if (!named.ok) return named;
  const id = named.value ?? ids.findLast((one) => all.get(one)?.length) ?? null;
  if (options.follow === true && run.phase === 'running')
    return ok({ kind: 'follow', attemptId: named.value, from: id ?? '' });
  if (id === null) return err(noLog(`run ${runId} has no logs: ${whyNone(run, null)}.`));
  const there = all.get(id) ?? [];
  if (there.length === 0) return err(noLog(`attempt ${id} of run ${runId} has no logs: ${whyNone(run, id)}.`));
  const logs = fittingLogs(there, options, 'or-commands');
  if (logs.length > 0) return ok({ kind: 'print', logs });
  const asked = [options.command ?? 'the worker', ...(options.stream === 'all' ? [] : [options.stream])].join(' ');
  return err(noLog(`attempt ${id} of run ${runId} has no log of ${asked}. It has those of ${namesOf(there)}.`));
}

/** `or-commands`: where the worker has none, those of the commands before it, which then are the reason. */
export function fittingLogs(
  logs: readonly AttemptLog[],
  { command, stream }: WantedLogs,
  orElse: 'or-commands' | 'or-none',
): AttemptLog[] {
  const ofStream = logs.filter((log) => stream === 'all' || log.stream === stream);
  const wanted = ofStream.filter((log) => log.command === (command ?? null));
  return wanted.length === 0 && command === undefined && orElse === 'or-commands' ? ofStream : wanted;
}

/** `the worker, setup-1 (--command setup-1)`. */
function namesOf(logs: readonly AttemptLog[]): string {
  const names = [...new Set(logs.map(({ command }) => command))];
  return names.map((name) => (name === null ? 'the worker' : `${name} (--command ${name})`)).join(', ');
}

function whyNone({ phase, receipt }: RunState, attemptId: string | null): string {
  const records = receipt.kind === 'valid' ? receipt.receipt.attempts : [];
  const record = records.find(({ attempt_id }) => attempt_id === attemptId);
  if (record?.process_started === false) return `no process was started (${record.code}: ${record.message})`;
  if (phase === 'running') return 'nothing was started yet. --follow waits for it';
  if (attemptId === null && records.every(({ process_started }) => !process_started)) return 'no process was started';
  return 'they are gone, or it did not come that far';
}
