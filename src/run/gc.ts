/**
 * Decides what of finished runs may go, and removes it. The invariant: what is removed is a folder of the state root by
 * its own name, or a ref of the run, and never the last place of any work unless the run was named.
 *
 * Order: refs first, then the run's directory gets another name in one step, then it is removed. A gc that dies before
 * that step leaves a whole run, which the next one judges anew; after it, a folder that says by its name that it was
 * judged. In no moment is there half a run that others could take for one that never ended.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { holdsCommit } from '../git/commit-at.ts';
import { type OwnRef, refsOfRun } from '../git/containing.ts';
import { deleteRef } from '../git/publish.ts';
import { GitError } from '../git/run.ts';
import type { KeepReason } from '../model/gc.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { fileProblem, syncFolder } from '../store/durable-file.ts';
import { isRunId, listRunDirectories, type RunDirectory, runDirectory } from '../store/run-directory.ts';
import { type RunState, readRunState } from '../store/run-state.ts';
import { mountsInside } from '../workspace/mounts.ts';
import { removeTree } from '../workspace/remove-tree.ts';
import { ATTEMPT_RECORDS } from './attempt-places.ts';
import { describePublishProblem } from './describe.ts';

export interface GcRequest {
  readonly stateRoot: string;
  readonly olderThanMs: number;
  readonly now: Date;
  /** These runs, whatever they hold and however young they are; empty: every run that is old enough. */
  readonly named: ReadonlySet<string>;
  /** Only runs of this repository, those from before it was moved too; null: of every one. */
  readonly repository: RepositoryFacts | null;
}

export interface GcDecision {
  readonly runId: string;
  readonly kind: 'run' | 'starting' | 'live' | 'removing';
  /** Null: it goes. */
  readonly keep: { readonly reason: KeepReason; readonly detail: string } | null;
  /** Folders that go, or that are why it stays. */
  readonly folders: readonly string[];
  /** Refs that go, or that are why it stays. */
  readonly refs: readonly OwnRef[];
  /** Where the refs are. */
  readonly repository: RepositoryFacts | null;
}

const REMOVING = 'removing-';
const LIVE = 'live-';
/** What may lie in an attempt's folder without being work. */
const NO_WORK: readonly string[] = [...ATTEMPT_RECORDS, 'tmp'];

/** What would go and what would stay. Changes nothing. Rejects with the system's error where the root cannot be read. */
export async function planGc(request: GcRequest): Promise<readonly GcDecision[]> {
  const { stateRoot, named } = request;
  const { runs, starting } = await listRunDirectories(stateRoot);
  const decisions: GcDecision[] = [];
  for (const place of runs) {
    if (named.size > 0 && !named.has(place.runId)) continue;
    const decision = await decide(request, await readRunState(place));
    if (decision !== null) decisions.push(decision);
  }
  if (named.size > 0) return decisions;
  for (const place of request.repository === null ? starting : []) decisions.push(await decideStarting(request, place));
  const present = new Set(runs.map(({ runId }) => runId));
  const going = new Set(
    decisions.filter(({ kind, keep }) => kind === 'run' && keep === null).map(({ runId }) => runId),
  );
  for (const name of request.repository === null ? readdirSync(stateRoot).sort() : []) {
    const path = join(stateRoot, name);
    const removed = new RegExp(`^${REMOVING}(\\d{8}t\\d{9}z-[0-9a-f]{6})(-removing-\\w+)?$`).exec(name)?.[1];
    if (removed !== undefined) decisions.push(leftover(removed, 'removing', path, null));
    const live = name.startsWith(LIVE) ? name.slice(LIVE.length) : '';
    // With its run it goes already.
    if (isRunId(live) && !going.has(live)) decisions.push(decideLive(request, live, path, present.has(live)));
  }
  return decisions;
}

async function decide(request: GcRequest, run: RunState): Promise<GcDecision | null> {
  const { stateRoot, named } = request;
  const { place, phase, plan } = run;
  const { runId } = place;
  const isNamed = named.has(runId);
  const stays = (reason: KeepReason, detail = '', more: Partial<GcDecision> = {}): GcDecision => ({
    ...leftover(runId, 'run', place.path, { reason, detail }),
    folders: [],
    ...more,
  });
  // Who names a run means it, whosever it is.
  const own = await repositoryOf(request.repository, run);
  const repository = own === 'another' && isNamed ? await repositoryOf(null, run) : own;
  if (repository === 'another') return null;
  if (!isFolder(place.path)) return stays('not-a-folder', place.path);
  if (phase === 'running' || phase === 'unfinished') return stays(phase);
  if (phase === 'unknown') return stays('controller-unknown');
  if (phase === 'unaccountable' && !isNamed) return stays('unaccountable', place.path);
  const ageMs = request.now.getTime() - endOf(run).getTime();
  if (!isNamed && ageMs < request.olderThanMs) return stays('young');
  const mounts = mountsInside(place.path);
  if (mounts.length > 0) return stays('not-removable', `${mounts.join(', ')} is mounted there`);
  const workspaces = leftIn(run);
  if (!isNamed && workspaces.length > 0) return stays('workspace', '', { folders: workspaces });

  const live = join(stateRoot, `${LIVE}${runId}`);
  const folders = [place.path, ...(isFolder(live) ? [live] : [])];
  const goes = { ...leftover(runId, 'run', place.path, null), folders };
  // A live probe's repository was made for it and goes with it.
  const isOfProbe = plan !== null && `${plan.repository.worktree}/`.startsWith(`${live}/`);
  // A disk may only be absent for a while, and without its receipt nobody finds the commits again.
  if (repository === null && !isNamed && !isOfProbe && hasCommits(run))
    return stays('repository-missing', plan?.repository.worktree);
  if (repository === null || isOfProbe) return { ...goes, repository };
  try {
    const refs = await refsOfRun(repository, runId);
    const unmerged = refs.filter(({ containedIn }) => containedIn === null);
    if (!isNamed && unmerged.length > 0) return stays('unmerged', '', { refs: unmerged, repository });
    return { ...goes, refs, repository };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return stays('repository-unreadable', `${repository.worktree}: ${error.message}`);
  }
}

const leftover = (runId: string, kind: GcDecision['kind'], path: string, keep: GcDecision['keep']): GcDecision => ({
  runId,
  kind,
  keep,
  folders: [path],
  refs: [],
  repository: null,
});

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The repository whose refs are the run's; null where there is none any more; `another`: not the one that is meant. */
async function repositoryOf(
  meant: RepositoryFacts | null,
  { plan }: RunState,
): Promise<RepositoryFacts | null | 'another'> {
  if (plan === null) return meant === null ? null : 'another';
  const recorded = plan.repository;
  if (meant !== null && meant.commonDir === recorded.commonDir) return meant;
  const isThere = lstatSync(join(recorded.commonDir, 'HEAD'), { throwIfNoEntry: false }) !== undefined;
  // Only the shared git directory is asked: the worktree that a run was started in may be gone.
  if (isThere && (await holdsCommit(recorded.commonDir, plan.base)))
    return meant === null ? { ...recorded, gitDir: recorded.commonDir } : 'another';
  if (meant !== null) return (await holdsCommit(meant.commonDir, plan.base)) ? meant : 'another';
  return isThere ? { ...recorded, gitDir: recorded.commonDir } : null;
}

const hasCommits = ({ receipt }: RunState): boolean =>
  receipt.kind === 'valid' &&
  receipt.receipt.attempts.some(({ transport, quarantine }) => transport !== null || quarantine !== null);

function endOf({ receipt, place }: RunState): Date {
  return receipt.kind === 'valid' ? new Date(receipt.receipt.ended_at) : startOf(place.runId);
}

/** `20261130t171500123z-4f9c2a` says when. */
function startOf(runId: string): Date {
  const [, y, mo, d, h, mi, s, ms] = /^(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)(\d{3})z-/.exec(runId) ?? [];
  return new Date(`${y}-${mo}-${d}T${h}:${mi}:${s}.${ms}Z`);
}

/** Workspaces and private repositories that are still in the run's directory, by the receipt and by what lies there. */
function leftIn({ place, receipt }: RunState): string[] {
  const told =
    receipt.kind === 'valid' ? receipt.receipt.attempts.flatMap(({ cleanup }) => cleanup.retained_path ?? []) : [];
  const found = new Set(told.filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined));
  for (const attempt of isFolder(place.attempts) ? readdirSync(place.attempts) : []) {
    const folder = join(place.attempts, attempt);
    const names = isFolder(folder) ? readdirSync(folder) : [];
    // A private repository without its workspace holds the commits that a worker made.
    for (const name of names) if (!NO_WORK.includes(name)) found.add(join(folder, name));
  }
  return [...found];
}

async function decideStarting(request: GcRequest, place: RunDirectory): Promise<GcDecision> {
  const runId = place.runId.slice(place.runId.indexOf('-') + 1);
  const { phase } = await readRunState(place);
  const stays = (reason: KeepReason): GcDecision => leftover(runId, 'starting', place.path, { reason, detail: '' });
  if (!isFolder(place.path)) return stays('not-a-folder');
  if (phase === 'running') return stays('running');
  if (phase === 'unknown') return stays('controller-unknown');
  return isLongDead(request, runId) ? leftover(runId, 'starting', place.path, null) : stays('young');
}

function decideLive(request: GcRequest, runId: string, path: string, hasRun: boolean): GcDecision {
  const stays = (reason: KeepReason): GcDecision => leftover(runId, 'live', path, { reason, detail: '' });
  if (!isFolder(path)) return stays('not-a-folder');
  // Its run borrows objects from it.
  if (hasRun) return stays('its-run-stays');
  return isLongDead(request, runId) ? leftover(runId, 'live', path, null) : stays('young');
}

/** In its first moments nothing says yet whose a folder is, so that age counts even where none is asked for. */
const FIRST_MOMENTS_MS = 10 * 60_000;

const isLongDead = ({ now, olderThanMs }: GcRequest, runId: string): boolean =>
  now.getTime() - startOf(runId).getTime() >= Math.max(olderThanMs, FIRST_MOMENTS_MS);

/** Does what was decided; the decision that holds afterwards. Throws only for a bug. */
export async function carryOut(stateRoot: string, decision: GcDecision): Promise<GcDecision> {
  const { runId, kind, keep, folders, refs, repository } = decision;
  if (keep !== null) return decision;
  const failed = (detail: string): GcDecision => ({ ...decision, keep: { reason: 'not-removable', detail } });
  for (const { ref, commit } of repository === null ? [] : refs) {
    const deleted = await deleteRef(repository as RepositoryFacts, { ref, commit });
    if (!deleted.ok) return failed(describePublishProblem(deleted.error));
  }
  const problems: string[] = [];
  try {
    for (const folder of folders) {
      const isRun = kind === 'run' && folder === runDirectory(stateRoot, runId).path;
      const going = isRun ? join(stateRoot, `${REMOVING}${basename(folder)}`) : folder;
      if (isRun) {
        await rename(folder, going);
        await syncFolder(stateRoot);
      }
      problems.push(...(await removeTree(going)));
    }
  } catch (error) {
    problems.push(fileProblem(error).message);
  }
  return problems.length === 0 ? decision : failed(problems.join('; '));
}
