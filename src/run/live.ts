/**
 * A live probe of one profile: the whole run pipeline in a fresh temporary repository, then a look of the host's own at
 * what came of it. The user's repository is only looked at. What passed, was unavailable or was cancelled leaves nothing;
 * what failed leaves everything that is there.
 */
import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { pathsAtBase } from '../git/base-tree.ts';
import { createFreshRepository } from '../git/fresh-repository.ts';
import { discoverRepository, resolveBase } from '../git/repository.ts';
import { GitError } from '../git/run.ts';
import type { Policy } from '../model/config.ts';
import type { CanonicalComparison } from '../model/evidence.ts';
import type { LiveVerdict, RequestedFile } from '../model/live.ts';
import type { Plan } from '../model/plan.ts';
import type { Receipt } from '../model/receipt.ts';
import { err, ok, type Result } from '../model/result.ts';
import { freezePlan } from '../plan/plan.ts';
import { digestOf } from '../receipt/canonical.ts';
import { fileProblem } from '../store/durable-file.ts';
import { makePrivateFolder } from '../store/private-folder.ts';
import { newRunId, runDirectory } from '../store/run-directory.ts';
import { telemetryPath } from '../store/telemetry.ts';
import { judgeLive } from '../verdict/live.ts';
import { removeTree } from '../workspace/remove-tree.ts';
import { CONFIG_FILE } from './config-file.ts';
import { redactorFor } from './credentials.ts';
import {
  type HostCheckout,
  leftBehind,
  lookAtTransport,
  shownContent,
  stillRunning,
  watchCheckout,
} from './live-look.ts';
import { BASE_FILES, livePolicy, liveUnit, REPOSITORY_NAME, requestedFile } from './live-unit.ts';
import { type RunUnitProblem, runUnit } from './run.ts';
import type { Surroundings } from './surroundings.ts';

export interface LiveRequest {
  readonly policy: Policy;
  /** Of the file that the policy was read from. */
  readonly configDigest: string;
  readonly profile: string;
  readonly timeoutSeconds: number;
  readonly stateRoot: string;
  /** Where the receipt is kept beyond the probe; null: nowhere. */
  readonly receiptPath: string | null;
  /** Where the probe was called from; null where that is no repository. */
  readonly checkout: HostCheckout | null;
  readonly around: Surroundings;
}

export interface LiveAnswer {
  readonly verdict: LiveVerdict;
  readonly receipt: Receipt;
  /** Null where none was asked for or it could not be written. */
  readonly receiptPath: string | null;
  /** Folders that stay: those of a failure, and what could not be removed. */
  readonly kept: readonly string[];
  /** In the host's checkout, which the worker could not have made. */
  readonly movedByHost: CanonicalComparison['differences'];
}

/** Why there is no answer. */
export interface LiveProblem extends RunUnitProblem {
  /** False only where it is certain that nobody was asked. */
  readonly mayHaveAsked: boolean;
}

/** Asks one profile. Rejects only for a bug; then nothing is removed. */
export async function askLive(request: LiveRequest): Promise<Result<LiveAnswer, LiveProblem>> {
  const { stateRoot, checkout, around } = request;
  const runId = newRunId(around.now());
  const home = join(stateRoot, `live-${runId}`);
  const made = await makeHome(home);
  if (!made.ok) {
    await removeTree(home);
    return err({ ...made.error, mayHaveAsked: false });
  }
  const { plan, requested } = await makePlan(request, runId, made.value);
  const redactor = redactorFor(
    plan.candidates.map(({ adapter }) => adapter),
    around.hostEnv,
  );
  const lookAgain = await watchCheckout(checkout, around.hostEnv);
  const recorded = await runUnit({
    plan,
    baseTree: await pathsAtBase(plan.repository, plan.base),
    findings: [],
    around: { ...around, alsoReadOnly: checkout?.folders ?? [] },
    stateRoot,
    telemetryPath: telemetryPath(plan.repository.commonDir),
    extraReceiptPath: request.receiptPath,
    redactor,
  });
  if (!recorded.ok) {
    const mayHaveAsked = recorded.error.problem.code === 'STATE_LOST';
    // Where a worker may have been started, its work is still borrowed from that repository.
    if (!mayHaveAsked) await removeTree(home);
    return err({ ...recorded.error, mayHaveAsked });
  }
  const { receipt, receiptPath } = recorded.value;
  const [attempt] = receipt.attempts;
  const place = runDirectory(stateRoot, runId);
  const transport = await lookAtTransport(plan, attempt, requested);
  const seen = await lookAgain(attempt);
  // Paths, too, are a worker's words.
  const verdict = redactor.value(
    judgeLive({
      requested,
      receipt,
      transport,
      written: shownContent(transport, redactor),
      leftBehind: await leftBehind(place),
      leftRunning: attempt?.process_started === true ? await stillRunning(place, plan, attempt) : 0,
      checkout: seen,
    }),
  );
  const folders = [place.path, home];
  const kept = verdict.result === 'failed' ? folders.filter(isThere) : await removed(folders);
  return ok({
    verdict,
    receipt,
    receiptPath: receiptPath === request.receiptPath ? receiptPath : null,
    kept,
    movedByHost: seen.kind === 'compared' && !seen.workerCouldWrite ? redactor.value(seen.differences) : [],
  });
}

/** The temporary repository's worktree. Its name is what the worker's folder will be called. */
async function makeHome(home: string): Promise<Result<string, RunUnitProblem>> {
  const worktree = join(home, REPOSITORY_NAME);
  try {
    await makePrivateFolder(home);
    await createFreshRepository(worktree, BASE_FILES);
    return ok(worktree);
  } catch (error) {
    const problem = error instanceof GitError ? { code: 'GIT_FAILED', message: error.message } : fileProblem(error);
    return err({ kind: 'state-unwritable', path: home, problem });
  }
}

async function makePlan(
  request: LiveRequest,
  runId: string,
  worktree: string,
): Promise<{ readonly plan: Plan; readonly requested: RequestedFile }> {
  const repository = await discoverRepository(worktree, request.around.hostEnv);
  if (!repository.ok) throw new Error(`a repository made a moment ago cannot be used: ${repository.error.kind}`);
  const resolved = await resolveBase(repository.value, 'HEAD');
  if (!resolved.ok) throw new Error(`a commit made a moment ago cannot be used: ${resolved.error.kind}`);
  const { policy, role } = livePolicy(request.policy, request.profile);
  const requested = requestedFile(randomBytes(12).toString('hex'));
  const plan = freezePlan({
    runId,
    policy,
    role,
    unit: liveUnit(requested, policy, request.profile, request.timeoutSeconds),
    repository: repository.value,
    ...resolved.value,
    instructions: null,
    verify: false,
    config: { path: CONFIG_FILE, digest: request.configDigest },
    digestOf,
  });
  return { plan, requested };
}

const isThere = (folder: string): boolean => lstatSync(folder, { throwIfNoEntry: false }) !== undefined;

/** Those of the folders that could not be removed. */
async function removed(folders: readonly string[]): Promise<string[]> {
  const left: string[] = [];
  for (const folder of folders) if ((await removeTree(folder)).length > 0) left.push(folder);
  return left;
}
