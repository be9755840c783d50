/**
 * What the attempts of a run share, made once: the host store, the ignore rules, the scope, the containment. The run's
 * end takes back what is on disk of it, so that only records stay.
 */
import { join } from 'node:path';
import type { BaseTree } from '../git/base-tree.ts';
import { obeyedOutside, repositoryFolders } from '../git/configured-files.ts';
import { createHostStore } from '../git/host-store.ts';
import { copyIgnoreRules, hostExcludesFile } from '../git/ignore.ts';
import { otherWorktrees } from '../git/linked-worktrees.ts';
import type { Finding } from '../model/evidence.ts';
import type { Plan, PlannedRun } from '../model/plan.ts';
import { detectContainment } from '../process/containment.ts';
import { openProbeCache } from '../process/probe-cache.ts';
import type { Journal } from '../store/journal.ts';
import { makePrivateFolder } from '../store/private-folder.ts';
import type { RunDirectory } from '../store/run-directory.ts';
import { compileScope } from '../unit/scope.ts';
import { removeTree } from '../workspace/remove-tree.ts';
import { extendChain, runAround } from './recursion.ts';
import type { Run, Surroundings } from './surroundings.ts';

/** Where they are in a run's directory. */
const groundworkPlaces = (directory: string): { readonly hostStore: string; readonly ignoreRules: string } => ({
  hostStore: join(directory, 'host.git'),
  ignoreRules: join(directory, 'ignore-rules'),
});

/** What work is found and kept with. */
export type Groundwork = Pick<Run, 'scope' | 'ignoreRules' | 'store'>;

/** Makes it in the run's directory, where nothing of it may be yet. */
export async function layKeeping(
  plan: Pick<PlannedRun, 'repository' | 'unit'>,
  baseTree: BaseTree,
  directory: string,
  excludesFile: string | null,
): Promise<Groundwork> {
  const { hostStore, ignoreRules: scratch } = groundworkPlaces(directory);
  const facts = plan.repository;
  await makePrivateFolder(scratch);
  const [ignoreRules, store] = await Promise.all([
    copyIgnoreRules({ facts, tree: baseTree, scratch, excludesFile }),
    createHostStore(hostStore, facts),
  ]);
  const scope = compileScope(plan.unit.allowed_paths, (path) => baseTree.isDirectory(path));
  return { scope, ignoreRules, store };
}

/**
 * Makes the run's working files in its directory. What the host cannot contain is part of the answer, not a failure.
 */
export async function layGroundwork(request: {
  readonly plan: Plan;
  readonly baseTree: BaseTree;
  readonly around: Surroundings;
  readonly place: RunDirectory;
  readonly stateRoot: string;
  readonly journal: Journal;
}): Promise<Run> {
  const { plan, baseTree, around, place, stateRoot, journal } = request;
  const facts = plan.repository;
  const chain = around.hostEnv.AGENT_EXEC_CHAIN;
  const excludesFile = await hostExcludesFile(facts, around.hostEnv);
  const [keeping, containment, insideRun, others, obeyed] = await Promise.all([
    layKeeping(plan, baseTree, place.path, excludesFile),
    detectContainment({
      wanted: plan.isolation,
      platform: around.platform,
      path: around.hostEnv.PATH ?? '',
      scratchParent: place.path,
    }),
    runAround(chain, facts),
    otherWorktrees(facts),
    obeyedOutside(facts, around.hostEnv, excludesFile, repositoryFolders(facts)),
  ]);
  return {
    plan,
    around,
    stateRoot,
    directory: place.path,
    journal,
    baseTree,
    ...keeping,
    excludesFile,
    otherWorktrees: others,
    obeyed,
    containment,
    probeCache: openProbeCache(join(stateRoot, 'probe-cache.json'), () => around.now().getTime()),
    chain: extendChain(chain, plan.runId, plan.base),
    insideRun,
  };
}

/**
 * Removes what the attempts needed and nobody needs after them: what was published is in the canonical repository, what
 * could not be published is in its workspace. A finding for what stays.
 */
export async function clearGroundwork(directory: string): Promise<readonly Finding[]> {
  const { hostStore, ignoreRules } = groundworkPlaces(directory);
  const left = [...(await removeTree(hostStore)), ...(await removeTree(ignoreRules))];
  if (left.length === 0) return [];
  return [{ code: 'STATE_LEFT_BEHIND', message: `working files of the run stay: ${left.join('; ')}`, paths: [] }];
}
