/** The commit of a run that `apply` is to take: what the receipt names, and only where it is clear which. */
import { EXIT } from '../model/codes.ts';
import type { PublishedCommit } from '../model/evidence.ts';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import { err, ok, type Result } from '../model/result.ts';
import type { RunState } from '../store/run-state.ts';
import { chooseAttempt } from './chosen-attempt.ts';
import type { ChoosingOptions, NotChosen } from './chosen-run.ts';
import { nextCommand } from './next-command.ts';
import type { Explained } from './problems.ts';

export interface ApplyOptions extends ChoosingOptions {
  readonly branch?: string;
  readonly attempt?: string;
  readonly quarantine?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

interface ChosenWork {
  readonly receipt: Receipt;
  readonly attempt: AttemptRecord;
  readonly source: 'transport' | 'quarantine';
  readonly published: PublishedCommit;
}

/** Why the run has nothing to take; `isDone` where nothing was to be done at all. */
export interface NothingToTake extends Explained {
  readonly isDone: boolean;
  readonly next: readonly string[];
}

/** The work, or why there is none; an error where the words name no attempt, or several, or no receipt can be read. */
export function chooseWork(
  run: RunState,
  options: ApplyOptions,
): Result<ChosenWork | { readonly nothing: NothingToTake }, NotChosen> {
  const { runId } = run.place;
  if (run.receipt.kind !== 'valid') return withoutReceipt(run, options);
  const { receipt } = run.receipt;
  const wanted = options.attempt;
  const ids = receipt.attempts.map(({ attempt_id }) => attempt_id);
  const chosen = wanted === undefined ? null : chooseAttempt(runId, ids, wanted);
  if (chosen !== null && !chosen.ok) return chosen;
  const meant = receipt.attempts.filter(({ attempt_id }) => chosen === null || attempt_id === chosen.value);
  if (options.quarantine === true) {
    const kept = meant.filter(({ quarantine }) => quarantine !== null);
    if (kept.length > 1) {
      const message = `several attempts of run ${runId} have a quarantine: ${kept.map(({ attempt_id }) => attempt_id).join(', ')}. Name one with --attempt.`;
      return err({ code: 'ATTEMPT_AMBIGUOUS', message, exitCode: EXIT.usage });
    }
    const [attempt] = kept;
    if (attempt?.quarantine != null)
      return ok({ receipt, attempt, source: 'quarantine', published: attempt.quarantine });
    return ok({ nothing: refused('NO_QUARANTINE', `run ${runId} has no quarantine${ofAttempt(chosen?.value)}.`) });
  }
  const attempt = meant.find(({ transport }) => transport !== null);
  if (attempt?.transport != null) return ok({ receipt, attempt, source: 'transport', published: attempt.transport });
  return ok({ nothing: withoutTransport(receipt, meant, chosen?.value, options) });
}

const ofAttempt = (id: string | undefined): string => (id === undefined ? '' : ` of attempt ${id}`);

const refused = (code: string, message: string, next: readonly string[] = []): NothingToTake => ({
  code,
  message,
  isDone: false,
  next,
});

function withoutTransport(
  { run_id, outcome, reason }: Receipt,
  meant: readonly AttemptRecord[],
  attempt: string | undefined,
  options: ApplyOptions,
): NothingToTake {
  if (meant.some(({ state }) => state === 'success'))
    return {
      code: 'NO_CHANGES',
      message: 'it succeeded without changes: there is nothing to apply.',
      isDone: true,
      next: [],
    };
  const kept = meant.filter(({ quarantine }) => quarantine !== null).map(({ attempt_id }) => attempt_id);
  const look = kept.flatMap((id) => [
    nextCommand(['diff', run_id, '--attempt', id, '--quarantine'], options),
    nextCommand(['apply', run_id, '--attempt', id, '--quarantine'], options),
  ]);
  const work =
    kept.length === 0 ? 'It left no work in a commit.' : `What it left is in quarantine (${kept.join(', ')}).`;
  return refused(
    'NO_TRANSPORT',
    `run ${run_id} has no transport${ofAttempt(attempt)}: ${outcome}, ${reason.code}. ${work}`,
    look.length === 0 ? [nextCommand(['show', run_id], options)] : look,
  );
}

function withoutReceipt(
  { place, phase, receipt }: RunState,
  options: ApplyOptions,
): Result<{ readonly nothing: NothingToTake }, NotChosen> {
  const { runId } = place;
  if (phase === 'running') return ok({ nothing: refused('RUN_NOT_FINISHED', `run ${runId} is under way.`) });
  if (phase === 'unfinished' || phase === 'unknown') {
    const message = `run ${runId} never ended: its work is not in a commit yet, or nothing vouches for it.`;
    return ok({ nothing: refused('RUN_NOT_FINISHED', message, [nextCommand(['recover', runId], options)]) });
  }
  const why = receipt.kind === 'damaged' ? `: ${receipt.message}` : '';
  const message = `run ${runId} has no receipt that can be read (${place.receipt})${why}.`;
  return err({ code: 'RECEIPT_UNREADABLE', message, exitCode: EXIT['invalid-config'] });
}
