/** Runs of a repository whose agent-exec died: a new run tells of them and leaves them alone (SPEC 11). */
import { allRuns } from '../store/find-run.ts';
import { openRuns } from '../store/run-state.ts';

/** Looks back this far: who has more unfinished runs than that hears of the newest. */
const NEWEST = 500;
const SHOWN = 3;

/** Their ids, oldest first. */
export async function unfinishedRuns(stateRoot: string, commonDir: string): Promise<readonly string[]> {
  const listed = await allRuns(stateRoot);
  const found: string[] = [];
  for await (const { phase, plan, place } of openRuns(listed.ok ? listed.value.slice(-NEWEST) : [])) {
    if (phase === 'unfinished' && plan?.repository.commonDir === commonDir) found.push(place.runId);
  }
  return found;
}

export function unfinishedNote(runIds: readonly string[]): string {
  const shown = runIds.slice(-SHOWN).join(', ');
  const what = runIds.length === 1 ? 'a run' : `${runIds.length} runs`;
  const more = runIds.length > SHOWN ? ' and more' : '';
  return `note: ${what} of this repository never ended, agent-exec was killed (${shown}${more}). Finish with: agent-exec recover\n`;
}
