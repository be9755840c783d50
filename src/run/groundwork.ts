/** What the attempts of a run share, made once: the host store, the ignore rules, the scope, the containment. */
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BaseTree } from '../git/base-tree.ts';
import { createHostStore } from '../git/host-store.ts';
import { copyIgnoreRules, hostExcludesFile } from '../git/ignore.ts';
import type { Plan } from '../model/plan.ts';
import { detectContainment } from '../process/containment.ts';
import { openProbeCache } from '../process/probe-cache.ts';
import type { Journal } from '../store/journal.ts';
import type { RunDirectory } from '../store/run-directory.ts';
import { compileScope } from '../unit/scope.ts';
import { extendChain, runAround } from './recursion.ts';
import type { Run, Surroundings } from './surroundings.ts';

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
  const scratch = join(place.path, 'ignore-rules');
  await mkdir(scratch, { mode: 0o700 });
  await chmod(scratch, 0o700);
  const chain = around.hostEnv.AGENT_EXEC_CHAIN;
  const excludesFile = await hostExcludesFile(facts, around.hostEnv);
  const [ignoreRules, store, containment, insideRun] = await Promise.all([
    copyIgnoreRules({ facts, tree: baseTree, scratch, excludesFile }),
    createHostStore(join(place.path, 'host.git'), facts),
    detectContainment({ wanted: plan.isolation, platform: around.platform, path: around.hostEnv.PATH ?? '' }),
    runAround(chain, facts),
  ]);
  return {
    plan,
    around,
    directory: place.path,
    journal,
    baseTree,
    scope: compileScope(plan.unit.allowed_paths, (path) => baseTree.isDirectory(path)),
    ignoreRules,
    excludesFile,
    store,
    containment,
    probeCache: openProbeCache(join(stateRoot, 'probe-cache.json'), () => around.now().getTime()),
    chain: extendChain(chain, plan.runId, plan.base),
    insideRun,
  };
}
