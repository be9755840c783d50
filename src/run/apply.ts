/**
 * Puts a run's change into the host's checkout: staged, not committed. Looks at everything before the first effect, and
 * only one `apply` works in a checkout at a time.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathsAtBase } from '../git/base-tree.ts';
import { treeDifference } from '../git/build-commit.ts';
import { type CheckoutLook, type CheckoutRequest, lookAtCheckout } from '../git/checkout-look.ts';
import { lockIndex, unlockIndex, writeChange } from '../git/checkout-write.ts';
import { keepMerged, type Merged, type MergeProblem, mergeOntoHead } from '../git/merge.ts';
import { GitError, type HostEnvironment } from '../git/run.ts';
import type { RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { fileProblem } from '../store/durable-file.ts';
import { acquireLock } from '../store/lock.ts';
import { compileScope } from '../unit/scope.ts';
import { removeTree } from '../workspace/remove-tree.ts';

export interface ApplyRequest {
  readonly facts: RepositoryFacts;
  readonly hostEnv: HostEnvironment;
  readonly base: string;
  readonly commit: string;
  /** True: only look. */
  readonly dryRun: boolean;
}

/** An apply of another container is believed for longer than filters take. */
const OLDEST_UNKNOWN_MS = 3_600_000;

/** What the change does to HEAD. */
interface Change {
  readonly paths: readonly RepoPath[];
  readonly headMoved: boolean;
}

export type Applied =
  /** `unlike`: paths that git calls modified all the same, because the host's filters do not give back what they get. */
  | (Change & { readonly kind: 'applied'; readonly unlike: readonly RepoPath[] })
  | (Change & { readonly kind: 'would-apply' })
  | (Change & { readonly kind: 'already-applied' })
  | (Change & { readonly kind: 'overlap'; readonly overlaps: CheckoutLook['overlaps'] })
  | { readonly kind: 'conflict'; readonly problem: MergeProblem }
  | { readonly kind: 'busy' | 'index-locked'; readonly message: string }
  /** Some of it is written, and the index is as it was; doing it again goes on. */
  | (Change & { readonly kind: 'interrupted'; readonly message: string; readonly written: number })
  /** Nothing was changed. */
  | { readonly kind: 'failed'; readonly message: string };

/** Rejects only for a bug. */
export async function applyChange(request: ApplyRequest): Promise<Applied> {
  const { facts } = request;
  let scratch: string | null = null;
  try {
    scratch = await mkdtemp(join(tmpdir(), 'agent-exec-apply-'));
    const merged = await mergeOntoHead({ ...request, scratch });
    if (!merged.ok) return { kind: 'conflict', problem: merged.error };
    const looking = { ...request, ...merged.value, scratch };
    if (request.dryRun || merged.value.changes.length === 0) return judged(await lookAtCheckout(looking), merged.value);
    const lock = await acquireLock(join(facts.gitDir, 'agent-exec-apply.lock'), { oldestUnknownMs: OLDEST_UNKNOWN_MS });
    if (!lock.ok) return { kind: lock.error.code === 'ELOCKED' ? 'busy' : 'failed', message: lock.error.message };
    try {
      return await whileLocked(looking, merged.value);
    } finally {
      await lock.value.release();
    }
  } catch (error) {
    return { kind: 'failed', message: error instanceof GitError ? error.message : fileProblem(error).message };
  } finally {
    if (scratch !== null) await removeTree(scratch);
  }
}

async function whileLocked(looking: CheckoutRequest, merged: Merged): Promise<Applied> {
  const { facts, scratch } = looking;
  if (!lockIndex(facts)) return { kind: 'index-locked', message: join(facts.gitDir, 'index.lock') };
  try {
    const look = await lookAtCheckout(looking);
    const judgement = judged(look, merged);
    if (judgement.kind !== 'would-apply') return judgement;
    await keepMerged(facts, merged, scratch);
    const there = { ...looking, objectsDir: facts.objectsDir };
    const written = await writeChange({ ...there, tree: merged.tree, look });
    if (!written.ok) {
      const { message } = written.error;
      const count = Math.max(written.error.written, await writtenSoFar(there));
      return count === 0 ? { kind: 'failed', message } : { ...judgement, kind: 'interrupted', message, written: count };
    }
    return { ...judgement, kind: 'applied', unlike: await unlikeNow(there) };
  } finally {
    unlockIndex(facts);
  }
}

/** What git calls modified in a checkout that has just been written. It is done all the same where nobody can look. */
async function unlikeNow(there: CheckoutRequest): Promise<readonly RepoPath[]> {
  try {
    return (await lookAtCheckout(there)).overlaps.map(({ path }) => path);
  } catch (error) {
    if (!(error instanceof GitError)) fileProblem(error);
    return [];
  }
}

/** Those of an earlier try counted too; 0 also where nobody can look any more. */
async function writtenSoFar(there: CheckoutRequest): Promise<number> {
  try {
    const { states } = await lookAtCheckout(there);
    return [...states.values()].filter((state) => state !== 'to-do').length;
  } catch (error) {
    if (!(error instanceof GitError)) fileProblem(error);
    return 0;
  }
}

function judged(look: CheckoutLook, { changes, moved }: Merged): Applied & Change {
  const change = { paths: changes.map(({ path }) => path), headMoved: moved };
  if (look.overlaps.length > 0) return { ...change, kind: 'overlap', overlaps: look.overlaps };
  const isDone = [...look.states.values()].every((state) => state === 'done');
  return { ...change, kind: isDone ? 'already-applied' : 'would-apply' };
}

/** What the commit changes outside of `allowedPaths`. Throws {@link GitError}. */
export async function pathsOutOfScope(
  facts: RepositoryFacts,
  {
    base,
    commit,
    allowedPaths,
  }: { readonly base: string; readonly commit: string; readonly allowedPaths: readonly string[] },
): Promise<readonly RepoPath[]> {
  const tree = await pathsAtBase(facts, base);
  const scope = compileScope(allowedPaths, (path) => tree.isDirectory(path));
  const changes = await treeDifference(facts.gitDir, base, commit);
  return changes.map(({ path }) => path).filter((path) => !scope.allows(path));
}
