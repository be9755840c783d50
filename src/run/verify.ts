/**
 * Verification on what the host would integrate (SPEC 6.10): a second fresh worktree at the transport commit, in which
 * nothing of the first is left. Its changes are thrown away; its processes and its reach count like the worker's.
 */
import { join } from 'node:path';
import type { PublishedCommit } from '../model/evidence.ts';
import type { CommandResult, Log, Processes } from '../model/observation.ts';
import type { Containment } from '../process/containment.ts';
import { makePrivateFolder } from '../store/private-folder.ts';
import { createWorkspace } from '../workspace/create.ts';
import { removePrivateRepository, removeWorkspace } from '../workspace/remove.ts';
import { removeTree } from '../workspace/remove-tree.ts';
import type { AttemptPlaces } from './attempt-places.ts';
import { addProcesses, runHostCommands } from './host-commands.ts';
import { linkOf } from './recursion.ts';
import type { Run } from './surroundings.ts';
import { attemptMarker } from './worker.ts';

export interface Verification {
  readonly results: readonly CommandResult[];
  readonly processes: Processes | null;
  readonly logs: readonly Log[];
  readonly cancelled: boolean;
  /** What could not be made or removed exactly; null where everything was. */
  readonly problem: string | null;
}

/** Runs setup and the unit's verification at the commit. Never throws for what they do. */
export async function verifyTransport(
  run: Run,
  attemptId: string,
  transport: PublishedCommit,
  containment: Containment,
  places: AttemptPlaces,
): Promise<Verification> {
  const attemptDir = join(places.directory, 'verification');
  // A TMPDIR of its own too: what the worker left in its one could make a check pass.
  const tmp = join(attemptDir, 'tmp');
  for (const folder of [attemptDir, tmp]) await makePrivateFolder(folder);
  const made = await createWorkspace({
    facts: run.plan.repository,
    base: transport.commit,
    madeBy: linkOf(run.plan.runId, run.plan.base),
    attemptDir,
    name: 'verification',
  });
  if (!made.ok) {
    return {
      results: [],
      processes: null,
      logs: [],
      cancelled: false,
      problem: `no worktree to verify in: ${made.error.message}`,
    };
  }
  const workspace = made.value;
  const marker = attemptMarker(run, attemptId);
  const shared = { run, containment, workspace, places: { ...places, tmp }, marker };
  const setup = await runHostCommands({ ...shared, step: 'verification-setup', commands: run.plan.setup });
  const ready = !setup.cancelled && setup.results.every(({ ok }) => ok);
  const checks = ready
    ? await runHostCommands({ ...shared, step: 'verification', commands: run.plan.unit.verification })
    : null;
  const removal = await removeWorkspace(workspace);
  const rest = removal.problem === null ? await removePrivateRepository(workspace) : { problem: null };
  const left = removal.problem === null && rest.problem === null ? await removeTree(attemptDir) : [];
  return {
    // A setup command that fails here is as good as a check that fails: nothing was verified.
    results: ready ? (checks?.results ?? []) : setup.results,
    processes: checks?.processes == null ? setup.processes : addProcesses(checks.processes, setup.processes),
    logs: [...setup.logs, ...(checks?.logs ?? [])],
    cancelled: setup.cancelled || (checks?.cancelled ?? false),
    problem: removal.problem ?? rest.problem ?? (left.length > 0 ? left.join('; ') : null),
  };
}
