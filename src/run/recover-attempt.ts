/**
 * Ends an attempt whose controller died: nothing of it runs any more, what it wrote is in a commit, and what cannot be
 * known is said to be unknown. Its workspace stays where it is. Whatever is done here can be done again.
 */
import { existsSync, lstatSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { BaseTree } from '../git/base-tree.ts';
import { treeDifference } from '../git/build-commit.ts';
import { checkIgnored } from '../git/ignore.ts';
import { changesBetween, publishedAt, quarantineRef, transportRef } from '../git/published.ts';
import { GitError } from '../git/run.ts';
import type { Evidence, Finding, Inventory, Preservation, PublishedCommit } from '../model/evidence.ts';
import type { Processes, Termination } from '../model/observation.ts';
import type { PlannedRun } from '../model/plan.ts';
import type { PlanRecord } from '../model/plan-record.ts';
import type { AttemptRecord } from '../model/receipt.ts';
import { leftLog } from '../process/left-log.ts';
import { endLeftovers } from '../process/leftovers.ts';
import { isInside } from '../process/mount-table.ts';
import { attemptRecord } from '../receipt/attempt.ts';
import type { Redactor } from '../receipt/redact.ts';
import { fileProblem } from '../store/durable-file.ts';
import { classify } from '../verdict/classify.ts';
import { outOfScope, takeInventory } from '../workspace/inventory.ts';
import { baselineOfBase, commitsLeftBehind, findWorkspace } from '../workspace/left-behind.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { AttemptStory } from './attempt-story.ts';
import { NOT_PROBED, NOTHING_OBSERVED, notIsolated } from './blank-evidence.ts';
import type { Groundwork } from './groundwork.ts';
import { demote, preserve } from './preserve.ts';
import { attemptMarker } from './worker.ts';

export interface LostAttempt {
  readonly plan: PlannedRun;
  readonly record: PlanRecord;
  readonly story: AttemptStory;
  /** The attempt's folder. */
  readonly directory: string;
  readonly around: { readonly now: () => Date };
  readonly redactor: Redactor;
  /** What work is kept with; or why the canonical repository cannot be used. */
  readonly repository:
    | ({ readonly ok: true; readonly baseTree: BaseTree } & Groundwork)
    | { readonly ok: false; readonly message: string };
}

export interface RecoveredAttempt {
  readonly record: AttemptRecord;
  /** Nothing of it lives, and all that it wrote is in commits. */
  readonly complete: boolean;
  /** Why not all is in commits, where it may be the next time: the work is in the workspace; null otherwise. */
  readonly obstacle: string | null;
}

/** Ends what still runs of the attempt, and nothing else. */
export const endAttempt = async (lost: LostAttempt): Promise<void> => {
  await endProcesses(lost, workspaceOf(lost));
};

/** Ends the attempt, keeps what it wrote and says what is known of it. Throws only for a bug. */
export async function recoverAttempt(lost: LostAttempt): Promise<RecoveredAttempt> {
  const { plan, story, directory } = lost;
  const workspace = workspaceOf(lost);
  const processes = await endProcesses(lost, workspace);
  const findings: Finding[] = [];
  const work = story.somethingRan ? await keepWork(lost, workspace, findings) : NO_WORK;
  const level = story.worker.begun?.isolation ?? notIsolated(plan.unit.network);
  const evidence: Evidence = {
    ...NOTHING_OBSERVED,
    expects: plan.role.expects,
    isolation: level,
    model: story.worker.begun?.model ?? { requested: plannedModel(lost), resolved: null },
    controllerLost: `${describeStep(story)}; ${describeWork(work, workspace)}`,
    termination: terminationOf(story),
    processes,
    logs: (['stdout', 'stderr'] as const).flatMap(
      (stream) => leftLog(stream, join(directory, 'logs', `${stream}.log`)) ?? [],
    ),
    inventory: work.inventory,
    outOfScope:
      lost.repository.ok && work.inventory.kind !== 'none'
        ? outOfScope(work.inventory.changes, lost.repository.scope)
        : [],
    privateRepository: { violations: [], commits: work.commits },
    canonical: {
      differences: story.somethingRan ? [NOT_COMPARED] : [],
      workerCouldWrite: level.level === 'none',
    },
    preservation: work.preservation,
    cleanup: {
      kind: 'done',
      workspaceRemoved: workspace === null || !existsSync(workspace.path),
      worktreeUnregistered: workspace === null || !existsSync(workspace.worktreeGitDir),
      processesGone: processes.survivors === 0,
      problem: null,
      retainedPath: workspace !== null && existsSync(workspace.path) ? workspace.path : null,
    },
  };
  const verdict = classify(evidence);
  const endedAt = lost.around.now();
  const record = attemptRecord(
    {
      candidate: candidateOf(lost),
      verdict: { ...verdict, findings: [...verdict.findings, ...findings] },
      evidence,
      probe: story.worker.begun?.probe ?? NOT_PROBED,
      argv: story.worker.begun?.argv ?? [],
      environmentNames: story.worker.begun?.environment_names ?? [],
      startedAt: story.startedAt,
      endedAt,
      durationMs: Math.max(0, endedAt.getTime() - story.startedAt.getTime()),
    },
    lost.redactor,
  );
  const complete = processes.survivors === 0 && work.preservation.kind !== 'failed' && work.inventory.kind !== 'failed';
  const obstacle = work.preservation.kind === 'failed' && work.mayPass ? work.preservation.message : null;
  return { record, complete, obstacle };
}

const NOT_COMPARED = {
  what: 'unreadable',
  path: '',
  detail: 'not compared: agent-exec died before it could look again',
} as const;

function candidateOf({ plan, story }: LostAttempt): PlannedRun['candidates'][number] {
  const candidate = plan.candidates.find(({ attemptId }) => attemptId === story.attemptId);
  if (candidate === undefined) throw new Error(`the journal names ${story.attemptId}, which the plan does not`);
  return candidate;
}

const plannedModel = ({ record, story }: LostAttempt): string | null =>
  record.candidates.find(({ attempt_id }) => attempt_id === story.attemptId)?.model ?? null;

/** Where the workspace is: by the journal, or by what lies in the attempt's folder. */
function workspaceOf({ plan, story, directory }: LostAttempt): Workspace | null {
  const { repository: facts, base } = plan;
  const told = story.workspace;
  // The journal's word counts only for what lies in the attempt's own folder.
  const places = told === null ? [] : [told.path, told.privateGitDir, told.worktreeGitDir];
  if (told !== null && places.every((place) => isInside(resolve(place), directory))) return { ...told, facts, base };
  return story.somethingRan ? findWorkspace(directory, facts, base) : null;
}

/** What the attempt's marker, its workspace or the worker's identity still lead to is ended. */
async function endProcesses({ plan, story }: LostAttempt, workspace: Workspace | null): Promise<Processes> {
  const before = story.worker.ended?.processes;
  const left = await endLeftovers({
    marker: attemptMarker({ plan }, story.attemptId),
    workspace: workspace?.path ?? null,
    leader: story.worker.ended === null ? story.worker.leader : null,
  });
  return before === undefined ? left : { ...before, killed: before.killed + left.killed, survivors: left.survivors };
}

interface Work {
  readonly inventory: Inventory;
  readonly commits: readonly string[];
  readonly preservation: Preservation;
  /** Where not all is kept: the obstacle may be gone the next time. */
  readonly mayPass: boolean;
}
const NO_WORK: Work = { inventory: { kind: 'none' }, commits: [], preservation: { kind: 'nothing' }, mayPass: false };

const failedWork = (message: string, mayPass = false): Work => ({
  ...NO_WORK,
  mayPass,
  preservation: { kind: 'failed', message, transport: null, quarantine: null },
});

/** Sees to it that all work is in the attempt's quarantine. */
async function keepWork(lost: LostAttempt, workspace: Workspace | null, findings: Finding[]): Promise<Work> {
  const { plan, story, repository } = lost;
  if (!repository.ok) return failedWork(repository.message);
  try {
    const published = await publishedOf(lost);
    const alien = published.find(({ parent }) => parent !== plan.base);
    if (alien !== undefined) return failedWork(taken(alien), !workspaceIsGone(workspace));
    const gone = goneCommit(story, published);
    if (gone !== null && story.cleanUpBegun) return failedWork(`${gone.ref} (${gone.commit}) is not there any more`);
    // All of it is in commits, and the workspace may be no longer what the worker left: it was being removed.
    if ((story.kept !== null && gone === null) || story.cleanUpBegun) return await fromCommits(lost, published);
    if (workspace === null || workspaceIsGone(workspace)) {
      if (published.length > 0) return await fromCommits(lost, published);
      return failedWork(`the workspace ${workspace?.path ?? lost.directory} is not there any more`);
    }
    if (story.setUp) {
      findings.push({
        code: 'SETUP_INCLUDED',
        message: 'what setup commands wrote cannot be told from what the worker wrote, and is counted with it',
        paths: [],
      });
    }
    const inventory = await takeInventory({
      workspace,
      baseline: baselineOfBase(repository.baseTree),
      scope: repository.scope,
      ignored: (paths) => checkIgnored(repository.ignoreRules, paths),
    });
    const transport = published.find(({ ref }) => ref === transportRef(plan.runId, story.attemptId));
    // A transport becomes a parent of the quarantine: what is left of the workspace may by now be less than it holds.
    const commits = [...(await commitsLeftBehind(workspace)), ...(transport === undefined ? [] : [transport.commit])];
    if (inventory.kind === 'none') return failedWork(`the workspace ${workspace.path} cannot be looked at`);
    const quarantine = published.find(({ ref }) => ref === quarantineRef(plan.runId, story.attemptId));
    if (quarantine !== undefined) {
      if (!(await holdsAll(lost, quarantine, inventory))) return failedWork(taken(quarantine), true);
      return { ...(await fromCommits(lost, published)), inventory, commits };
    }
    const kept = await preserve({
      run: { plan, store: repository.store, around: lost.around },
      attemptId: story.attemptId,
      workspace,
      inventory,
      commits,
      success: false,
      verdict: 'failed-unknown CONTROLLER_LOST',
    });
    findings.push(...kept.findings);
    const { preservation, mayPass } = kept;
    const made = preservation.kind === 'kept' ? preservation.quarantine : null;
    if (transport === undefined || preservation.kind === 'failed') return { inventory, commits, preservation, mayPass };
    return { inventory, commits, preservation: await withoutTransport(lost, transport, made), mayPass: true };
  } catch (error) {
    const message = error instanceof GitError ? error.message : fileProblem(error).message;
    return failedWork(message, !workspaceIsGone(workspace));
  }
}

const taken = ({ ref, commit }: PublishedCommit): string =>
  `${ref} holds a commit that is not this attempt's work (${commit})`;

const NOTHING_ELSE = { ignored: [], violations: [], findings: [] } as const;

/** True where every change that lies in the workspace is in the commit: anybody may have made a ref of that name. */
async function holdsAll(
  { plan }: LostAttempt,
  { commit }: PublishedCommit,
  { changes }: Extract<Inventory, { kind: 'taken' | 'failed' }>,
): Promise<boolean> {
  const kept = new Map(
    (await treeDifference(plan.repository.commonDir, plan.base, commit)).map((one) => [one.path, one]),
  );
  return changes.every(({ path, mode, oid }) => kept.get(path)?.mode === mode && kept.get(path)?.oid === oid);
}

/** What the journal says was kept and no ref holds: a machine that lost its power may have lost the ref with it. */
function goneCommit({ kept }: AttemptStory, published: readonly PublishedCommit[]): PublishedCommit | null {
  return published.length > 0 ? null : (kept?.quarantine ?? kept?.transport ?? null);
}

const workspaceIsGone = (workspace: Workspace | null): boolean =>
  workspace === null || lstatSync(workspace.path, { throwIfNoEntry: false })?.isDirectory() !== true;

const publishedOf = ({ plan, story }: LostAttempt): Promise<PublishedCommit[]> =>
  publishedAt(plan.repository, [transportRef(plan.runId, story.attemptId), quarantineRef(plan.runId, story.attemptId)]);

/** The work as the commits at the attempt's refs have it. A success was never reported, so its transport is one no more. */
async function fromCommits(lost: LostAttempt, published: readonly PublishedCommit[]): Promise<Work> {
  const { plan, story } = lost;
  const transport = published.find(({ ref }) => ref === transportRef(plan.runId, story.attemptId));
  const quarantine = published.find(({ ref }) => ref === quarantineRef(plan.runId, story.attemptId)) ?? null;
  const preservation: Preservation =
    transport !== undefined
      ? await withoutTransport(lost, transport, quarantine)
      : quarantine === null
        ? { kind: 'nothing' }
        : { kind: 'kept', transport: null, quarantine };
  const commit = transport ?? quarantine;
  if (commit === null) return { ...NO_WORK, preservation };
  const changes = await changesBetween(plan.repository.commonDir, plan.base, commit.commit);
  return { inventory: { kind: 'taken', changes, ...NOTHING_ELSE }, commits: [], preservation, mayPass: true };
}

async function withoutTransport(
  { plan, story }: LostAttempt,
  transport: PublishedCommit,
  quarantine: PublishedCommit | null,
): Promise<Preservation> {
  const demoted = await demote(plan, story.attemptId, transport, quarantine);
  return typeof demoted === 'string'
    ? { kind: 'failed', message: demoted, transport, quarantine }
    : { kind: 'kept', transport: null, quarantine: demoted };
}

/** A worker that was still at it went with its controller, or was ended just now; either way by KILL. */
function terminationOf({ worker }: AttemptStory): Termination {
  if (worker.ended !== null) return worker.ended.termination;
  if (worker.leader !== null) return { kind: 'signaled', signal: 'SIGKILL' };
  return { kind: 'not-started', error: 'CONTROLLER_LOST' };
}

const STEPS: Readonly<Record<string, string>> = {
  probe: 'while it was looking at the candidate',
  workspace: 'while the workspace was being made',
  setup: 'while setup commands ran',
  worker: 'while the worker ran',
  preserve: 'after the worker had ended, while its work was being kept',
  verification: 'while the work was being verified',
  cleanup: 'while it was tidying up',
  demote: 'while it was tidying up',
};

function describeStep({ lastStep, worker }: AttemptStory): string {
  if (lastStep === 'worker' && worker.ended !== null) return 'after the worker had ended';
  return STEPS[lastStep] ?? `in step ${lastStep}`;
}

function describeWork({ preservation }: Work, workspace: Workspace | null): string {
  switch (preservation.kind) {
    case 'kept':
      return 'what it wrote is kept in the quarantine';
    case 'failed':
      return `what it wrote could not be put into a commit (${preservation.message})${workspaceIsGone(workspace) ? '' : ' and is in its workspace'}`;
    default:
      return 'nothing had been written';
  }
}
