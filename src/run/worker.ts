/** The worker itself: its command line, environment and mounts, and what it said while it ran. */
import { constants } from 'node:fs';
import { open, stat, writeFile } from 'node:fs/promises';
import { workerEnvironment } from '../adapters/environment.ts';
import { refusalAtEnd } from '../adapters/provider-wait.ts';
import { statePaths } from '../adapters/state-path.ts';
import { repositoryFolders } from '../git/configured-files.ts';
import {
  FINAL_TEXT_BYTES,
  type Invocation,
  type Observation,
  type Stream,
  type Unavailable,
  type WorkerReport,
} from '../model/adapter.ts';
import type { Isolation } from '../model/observation.ts';
import { err, ok, type Result } from '../model/result.ts';
import { type Containment, mechanismName } from '../process/containment.ts';
import type { MountWishes } from '../process/mounts.ts';
import { assertNoShortage } from '../process/shortage.ts';
import { type SuperviseOutcome, supervise } from '../process/supervise.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { AttemptPlaces } from './attempt-places.ts';
import type { Admitted } from './gate.ts';
import { stateFolders } from './state-folders.ts';
import type { Run } from './surroundings.ts';

/** A worker that could be started now. */
export interface Prepared {
  readonly invocation: Invocation;
  readonly environment: Readonly<Record<string, string>>;
  readonly mounts: MountWishes;
}

/** What is in force, as records tell it. */
export const isolationOf = (run: Run, containment: Containment): Isolation => ({
  level: containment.level,
  mechanism: mechanismName(containment),
  network:
    run.plan.unit.network === 'allow'
      ? 'open'
      : run.plan.unit.network === 'deny' && containment.level === 'strict'
        ? 'enforced'
        : 'declared',
});

/** Value of AGENT_EXEC_ATTEMPT, by which leftover processes are known. */
export const attemptMarker = ({ plan }: { readonly plan: { readonly runId: string } }, attemptId: string): string =>
  `${plan.runId}/${attemptId}`;

/** Login files that hold more than an empty object: two bytes of `{}` are no login. */
export async function existingLoginFiles(paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const size = await stat(path).then(
      (entry) => (entry.isFile() ? entry.size : 0),
      // Absent or unreachable: not a login that the worker could use.
      () => 0,
    );
    if (size > 3) found.push(path);
  }
  return found;
}

/** What of the host no worker may write: everything of the canonical repository, and what its git obeys elsewhere. */
export const protectedPlaces = ({ plan, otherWorktrees, obeyed }: Run): readonly string[] => [
  ...repositoryFolders(plan.repository),
  ...otherWorktrees,
  ...obeyed,
];

/** What is protected from the worker and what stays open in it. */
export function mountsFor(
  run: Run,
  workspace: Workspace,
  places: AttemptPlaces,
  statePlaces: readonly string[],
): MountWishes {
  return {
    readOnly: [
      ...protectedPlaces(run),
      // The whole root: other runs' receipts and the probe cache are believed too.
      run.stateRoot,
      ...(run.around.alsoReadOnly ?? []),
    ],
    writable: [workspace.path, workspace.privateGitDir, places.tmp, ...statePlaces],
  };
}

/** Composes argv and environment; writes the prompt file. The worker is not started. */
export async function prepareWorker(
  run: Run,
  admitted: Admitted,
  workspace: Workspace,
  places: AttemptPlaces,
): Promise<Result<Prepared, Unavailable>> {
  const { candidate, containment } = admitted;
  const { adapter } = candidate;
  const { hostEnv } = run.around;
  const environmentFor = (invocation: Readonly<Record<string, string>>) =>
    workerEnvironment({
      hostEnv,
      adapter,
      cost: candidate.cost,
      invocationEnvironment: invocation,
      chain: run.chain,
      attempt: attemptMarker(run, candidate.attemptId),
      tmpDir: places.tmp,
    }).environment;
  const environment = environmentFor({});
  await writeFile(places.prompt, run.plan.prompt, { mode: 0o600, flag: 'wx' });
  const invocation = adapter.invoke({
    workspace: workspace.path,
    model: admitted.model.resolved,
    effort: candidate.effort,
    prompt: run.plan.prompt,
    promptFile: places.prompt,
    resultFile: places.result,
    timeoutSeconds: Math.ceil(run.plan.limits.timeoutMs / 1000),
    isolation: containment.level,
    runningAsRoot: run.around.uid === 0,
    environmentNames: Object.keys(environment),
    environment,
    existingLoginFiles: await existingLoginFiles(statePaths(adapter.loginFiles, environment)),
  });
  if (!invocation.ok) return err(invocation.error);
  return ok({
    invocation: invocation.value,
    environment: environmentFor(invocation.value.environment),
    mounts: mountsFor(run, workspace, places, await stateFolders(adapter, environment, containment.level)),
  });
}

export interface WorkerOutcome {
  readonly outcome: SuperviseOutcome;
  readonly report: WorkerReport;
}

/** The end of the result file that some CLIs write their last message to; '' where there is none. Never follows a link. */
async function readResultFile(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const entry = await file.stat();
      if (!entry.isFile()) return '';
      const length = Math.min(entry.size, FINAL_TEXT_BYTES);
      const bytes = Buffer.alloc(length);
      const { bytesRead } = await file.read(bytes, 0, length, entry.size - length);
      return bytes.subarray(0, bytesRead).toString('utf8');
    } finally {
      await file.close();
    }
  } catch {
    // The worker decides whether such a file exists and what it is; without a readable one there is no last message.
    return '';
  }
}

/** Runs the worker to its end. Never throws for what it does, but where this machine had no room to start it. */
export async function runWorker(
  run: Run,
  admitted: Admitted,
  prepared: Prepared,
  workspace: Workspace,
  places: AttemptPlaces,
  onStarted: (pid: unknown) => void,
): Promise<WorkerOutcome> {
  const { candidate, containment, executable } = admitted;
  const { limits } = run.plan;
  const reader = candidate.adapter.reader({ workspace: workspace.path, now: () => run.around.now().getTime() });
  const onOutput = (stream: Stream, block: Buffer): readonly (readonly Observation[])[] => {
    const observations = reader.readBlock(stream, block);
    for (const observation of observations.flat()) {
      if (observation.kind === 'activity') {
        run.around.progress({ kind: 'activity', attemptId: candidate.attemptId, text: observation.text });
      } else if (observation.kind === 'provider-wait') {
        run.around.progress({ kind: 'waiting', attemptId: candidate.attemptId, refusal: observation.refusal });
      }
    }
    return observations;
  };
  const outcome = await supervise({
    executable: executable.path,
    args: prepared.invocation.args,
    cwd: workspace.path,
    environment: prepared.environment,
    stdin: prepared.invocation.stdin,
    containment,
    mounts: prepared.mounts,
    networkOff: isolationOf(run, containment).network === 'enforced',
    limits,
    lingerMs: candidate.adapter.lingerMs,
    logs: { stdout: places.stdoutLog, stderr: places.stderrLog },
    marker: attemptMarker(run, candidate.attemptId),
    onOutput,
    stop: run.around.stop,
    onStarted,
  });
  if (outcome.startError !== null)
    assertNoShortage(outcome.startError.code, "the worker's process could not be started");
  const read = reader.report();
  const finalText = read.finalText === '' ? await readResultFile(places.result) : read.finalText;
  return { outcome, report: { ...read, finalText, refusal: refusalAtEnd(read, outcome.providerWait) } };
}
