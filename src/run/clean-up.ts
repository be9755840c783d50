/** The end of an attempt on disk: removes what may be removed, says what could not be. */
import type { Cleanup } from '../model/evidence.ts';
import { removePrivateRepository, removeWorkspace } from '../workspace/remove.ts';
import { removeTree } from '../workspace/remove-tree.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { AttemptPlaces } from './attempt-places.ts';

type Done = Extract<Cleanup, { kind: 'done' }>;

/** Nothing is removed: a person must look, or nothing more can be found out. */
export const keptAsItIs = (
  workspace: Workspace | null,
  { processesGone, problem }: Pick<Done, 'processesGone' | 'problem'>,
): Done => ({
  kind: 'done',
  workspaceRemoved: false,
  worktreeUnregistered: false,
  processesGone,
  problem,
  retainedPath: workspace?.path ?? null,
});

/** What is there of an attempt for which no workspace could be made; `trouble` is why. */
export async function clearUnmade(
  places: AttemptPlaces,
  trouble: string | null,
  processesGone: boolean,
): Promise<Done> {
  const left = await removeTree(places.tmp);
  return {
    ...keptAsItIs(null, { processesGone, problem: [trouble, ...left].join('; ') }),
    workspaceRemoved: true,
    worktreeUnregistered: true,
  };
}

/** Removes the workspace, its private repository and the TMPDIR, in this order: what stays keeps what it needs. */
export async function removeAll(workspace: Workspace, places: AttemptPlaces, processesGone: boolean): Promise<Done> {
  const removal = await removeWorkspace(workspace);
  const problems = removal.problem === null ? [] : [removal.problem];
  if (removal.workspaceRemoved) {
    const repository = await removePrivateRepository(workspace);
    if (repository.problem !== null) problems.push(repository.problem);
    problems.push(...(await removeTree(places.tmp)));
  }
  return {
    kind: 'done',
    workspaceRemoved: removal.workspaceRemoved,
    worktreeUnregistered: removal.worktreeUnregistered,
    processesGone,
    problem: problems.length === 0 ? null : problems.join('; '),
    retainedPath: removal.workspaceRemoved ? null : workspace.path,
  };
}
