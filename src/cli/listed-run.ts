/** One line's worth of a run: of a finished one by its receipt, of any other by what its plan and journal tell so far. */
import type { ListedRun } from '../model/runs.ts';
import { type AttemptStory, attemptStories } from '../run/attempt-story.ts';
import { keptWork } from '../run/kept-work.ts';
import type { RunState } from '../store/run-state.ts';

/** What the run's directory says of it. Looks whether workspaces are still there, and at nothing else. */
export function listedRun(run: RunState): ListedRun {
  const { place, plan } = run;
  const receipt = run.receipt.kind === 'valid' ? run.receipt.receipt : null;
  const stories = receipt === null ? attemptStories(run.journal) : [];
  const kept = keptWork(run);
  const transport = kept.findLast((one) => one.transport !== null)?.transport ?? null;
  return {
    run_id: place.runId,
    phase: run.phase,
    waiting: isWaiting(run),
    started_at: startedAt(place.runId),
    role: receipt?.role ?? plan?.role.name ?? null,
    unit_id: receipt?.unit.unit_id ?? plan?.unit.unit_id ?? null,
    repository: plan?.repository.worktree ?? null,
    outcome: receipt?.outcome ?? null,
    reason: receipt?.reason ?? null,
    attempts: receipt === null ? stories.map(storyEntry) : receipt.attempts.map(recordEntry),
    transport: transport === null ? null : { ref: transport.ref, commit: transport.commit },
    quarantine: kept.flatMap(({ quarantine }) =>
      quarantine === null ? [] : [{ ref: quarantine.ref, commit: quarantine.commit }],
    ),
    retained: kept.flatMap(({ workspace }) => workspace ?? []),
    directory: place.path,
    receipt: receipt === null ? null : place.receipt,
    problem: problemOf(run),
  };
}

/** True while as many runs of its repository are under way as its configuration allows. */
export const isWaiting = ({ phase, journal }: RunState): boolean =>
  phase === 'running' && journal.unfinished.some(({ step }) => step === 'slot');

/** An id begins with the moment that it was made at. A name can have the form of an id and hold no date. */
function startedAt(runId: string): string {
  const [, y, mo, d, h, mi, s, ms] = /^(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)(\d{3})z/.exec(runId) ?? [];
  const at = new Date(`${y}-${mo}-${d}T${h}:${mi}:${s}.${ms}Z`);
  return Number.isNaN(at.getTime()) ? new Date(0).toISOString() : at.toISOString();
}

const recordEntry = ({
  attempt_id,
  state,
  code,
}: Pick<ListedRun['attempts'][number], 'attempt_id' | 'state' | 'code'>): ListedRun['attempts'][number] => ({
  attempt_id,
  state,
  code,
  step: null,
});

const storyEntry = ({ attemptId, record, lastStep }: AttemptStory): ListedRun['attempts'][number] =>
  record === null ? { attempt_id: attemptId, state: null, code: null, step: lastStep } : recordEntry(record);

function problemOf({ receipt, plan, phase }: RunState): string | null {
  if (receipt.kind === 'damaged') return `its receipt cannot be used: ${receipt.message}`;
  if (phase === 'unaccountable') return 'neither its plan nor a receipt can be read';
  return plan === null ? 'its plan cannot be read' : null;
}
