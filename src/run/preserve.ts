/**
 * Makes the commits that carry and keep an attempt's work: a transport of the in-scope changes on success, a quarantine
 * of everything else that was left. Made before any clean-up; what no commit can hold keeps the workspace.
 */
import { buildCommit } from '../git/build-commit.ts';
import type { CommitEntry } from '../git/fast-import.ts';
import { importForeignCommits } from '../git/foreign-commits.ts';
import type { HostStore } from '../git/host-store.ts';
import { deleteRef, moveRef, publish } from '../git/publish.ts';
import { quarantineRef, transportRef } from '../git/published.ts';
import { showPath } from '../git/quote.ts';
import type { Change, Finding, IgnoredFile, Inventory, Preservation, PublishedCommit } from '../model/evidence.ts';
import type { PlannedRun } from '../model/plan.ts';
import { err, type Result } from '../model/result.ts';
import { contentReader } from '../workspace/content.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { describeBuildProblem, describePublishProblem } from './describe.ts';
import type { Surroundings } from './surroundings.ts';

/** Ignored files outside the scope that a quarantine keeps, in all. */
const IGNORED_LIMIT_BYTES = 32 * 1024 * 1024;

/** What of a run its commits are made with. */
export interface Keeping {
  readonly plan: PlannedRun;
  readonly store: HostStore;
  readonly around: Pick<Surroundings, 'now'>;
}

export interface Kept {
  /** Why not all is kept lies in the canonical repository (a lock, a full disk) and may be over the next time. */
  readonly mayPass: boolean;
  readonly preservation: Preservation;
  readonly findings: readonly Finding[];
}

const entryOf = ({ path, mode, size, oid }: Change | IgnoredFile): CommitEntry => ({ path, mode, size, oid });

/** Inside the scope always; elsewhere the smallest first, up to the limit, so that one huge cache does not push out the rest. */
function chooseIgnored(ignored: readonly IgnoredFile[]): { kept: IgnoredFile[]; left: IgnoredFile[] } {
  const kept = ignored.filter(({ inScope }) => inScope);
  const left: IgnoredFile[] = [];
  let room = IGNORED_LIMIT_BYTES;
  const others = ignored.filter(({ inScope }) => !inScope).sort((a, b) => a.size - b.size);
  for (const file of others) {
    if (file.size <= room) {
      kept.push(file);
      room -= file.size;
    } else left.push(file);
  }
  return { kept, left };
}

interface CommitWish {
  readonly ref: string;
  readonly entries: readonly CommitEntry[];
  readonly message: string;
  readonly furtherParents: readonly string[];
}

async function makeCommit(
  run: Keeping,
  workspace: Workspace,
  wish: CommitWish,
): Promise<Result<PublishedCommit, { readonly message: string; readonly mayPass: boolean }>> {
  const { plan, store } = run;
  const built = await buildCommit({
    store,
    base: plan.base,
    baseTree: plan.baseTree,
    entries: wish.entries,
    message: wish.message,
    committedAtSeconds: Math.floor(run.around.now().getTime() / 1000),
    readContent: contentReader(workspace),
    parents: [plan.base, ...wish.furtherParents],
  });
  if (!built.ok) return err({ message: describeBuildProblem(built.error), mayPass: false });
  const published = await publish({
    store,
    facts: plan.repository,
    built: built.value,
    base: plan.base,
    ref: wish.ref,
  });
  return published.ok ? published : err({ message: describePublishProblem(published.error), mayPass: true });
}

export interface PreserveRequest {
  readonly run: Keeping;
  readonly attemptId: string;
  readonly workspace: Workspace;
  readonly inventory: Extract<Inventory, { kind: 'taken' | 'failed' }>;
  /** Commits that the worker made in its private repository. */
  readonly commits: readonly string[];
  /** `success` makes a transport of the changes; anything else puts them into the quarantine. */
  readonly success: boolean;
  /** One line for the commit: state and code. */
  readonly verdict: string;
}

/** Nothing is removed here. A `failed` answer says that work exists which no commit holds. */
export async function preserve(request: PreserveRequest): Promise<Kept> {
  const { run, attemptId, workspace, inventory, success } = request;
  const { plan } = run;
  const findings: Finding[] = [];
  const title = `${plan.unit.unit_id}: ${attemptId} ${request.verdict}`;
  const body = `Made by agent-exec, run ${plan.runId}, role ${plan.role.name}.`;
  const changes = inventory.changes.map(entryOf);

  let transport: PublishedCommit | null = null;
  const failed = ({ message, mayPass }: { readonly message: string; readonly mayPass: boolean }): Kept => ({
    preservation: { kind: 'failed', message, transport, quarantine: null },
    findings,
    mayPass,
  });
  if (success && changes.length > 0) {
    const made = await makeCommit(run, workspace, {
      ref: transportRef(plan.runId, attemptId),
      entries: changes,
      message: `${title}\n\n${body}\n`,
      furtherParents: [],
    });
    if (!made.ok) return failed(made.error);
    transport = made.value;
  }

  const { kept, left } = chooseIgnored(inventory.ignored);
  if (left.length > 0) {
    findings.push({
      code: 'IGNORED_NOT_KEPT',
      message: `${left.length} ignored files of ${left.reduce((sum, { size }) => sum + size, 0)} bytes outside allowed_paths are over the limit of ${IGNORED_LIMIT_BYTES} bytes and not kept: ${left
        .slice(0, 20)
        .map(({ path, size }) => `${showPath(path)} (${size})`)
        .join(', ')}${left.length > 20 ? ' and more' : ''}`,
      paths: left.map(({ path }) => path),
    });
  }
  const foreign = await importCommits(run, workspace, request.commits, findings);
  const extra = success ? kept.length : kept.length + changes.length;
  if (extra === 0 && foreign.length === 0) {
    return {
      preservation: transport === null ? { kind: 'nothing' } : { kind: 'kept', transport, quarantine: null },
      findings,
      mayPass: false,
    };
  }
  const made = await makeCommit(run, workspace, {
    ref: quarantineRef(plan.runId, attemptId),
    entries: [...changes, ...kept.map(entryOf)],
    message: `Quarantine of ${title}\n\n${body}\nNot reviewed, not in scope, or not finished: look before you use it.\n`,
    furtherParents: foreign,
  });
  if (!made.ok) return failed(made.error);
  return { preservation: { kind: 'kept', transport, quarantine: made.value }, findings, mayPass: false };
}

async function importCommits(
  run: Keeping,
  workspace: Workspace,
  commits: readonly string[],
  findings: Finding[],
): Promise<readonly string[]> {
  if (commits.length === 0) return [];
  const { imported, failed } = await importForeignCommits({
    store: run.store,
    facts: run.plan.repository,
    privateGitDir: workspace.privateGitDir,
    commits,
    base: run.plan.base,
  });
  if (failed.length > 0) {
    findings.push({
      code: 'COMMITS_NOT_KEPT',
      message: `commits of the worker that could not be read: ${failed.map(({ commit, reason }) => `${commit} ${reason}`).join('; ')}`,
      paths: [],
    });
  }
  return imported;
}

/**
 * Turns a transport into the attempt's quarantine. One that is there already holds the same changes and more, and an
 * attempt has one such ref. Answers with the quarantine, or says why the transport is still where it was.
 */
export async function demote(
  plan: Pick<PlannedRun, 'runId' | 'repository'>,
  attemptId: string,
  transport: PublishedCommit,
  quarantine: PublishedCommit | null,
): Promise<PublishedCommit | string> {
  if (quarantine !== null) {
    const deleted = await deleteRef(plan.repository, transport);
    return deleted.ok ? quarantine : describePublishProblem(deleted.error);
  }
  const moved = await moveRef(plan.repository, transport, quarantineRef(plan.runId, attemptId));
  return moved.ok ? moved.value : describePublishProblem(moved.error);
}
