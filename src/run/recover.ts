/**
 * Finishes a run whose controller is gone (SPEC 11): leftover processes ended, work kept, receipt and telemetry written,
 * workspaces left where they are. Every step can be repeated, so being killed here is no worse than the first time; a
 * lock makes two of them one after the other.
 */
import { existsSync, lstatSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathsAtBase } from '../git/base-tree.ts';
import { hostExcludesFile } from '../git/ignore.ts';
import { GitError } from '../git/run.ts';
import type { Finding } from '../model/evidence.ts';
import type { PlannedRun, RepositoryFacts } from '../model/plan.ts';
import { type PlanRecord, plannedRunOf } from '../model/plan-record.ts';
import type { ProcessIdentity } from '../model/process-identity.ts';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import { selfIdentity } from '../process/identity.ts';
import { renderReceipt } from '../receipt/receipt.ts';
import type { Redactor } from '../receipt/redact.ts';
import { attemptEvent, runEvent } from '../receipt/telemetry.ts';
import { type FileProblem, fileProblem, writeDurably } from '../store/durable-file.ts';
import { createJournal, type Journal, takeOverJournal } from '../store/journal.ts';
import { acquireLock } from '../store/lock.ts';
import { type RunDirectory, workingFiles } from '../store/run-directory.ts';
import { RECORDS_STEP, type RunState, readRunState } from '../store/run-state.ts';
import { appendTelemetry, loggedEvents, telemetryPath } from '../store/telemetry.ts';
import { removeTree } from '../workspace/remove-tree.ts';
import { ATTEMPT_STEP, type AttemptStory, attemptStories } from './attempt-story.ts';
import { layKeeping } from './groundwork.ts';
import { judgeRecovered } from './judge-recovered.ts';
import { writeRecords } from './records.ts';
import { endAttempt, type LostAttempt, recoverAttempt } from './recover-attempt.ts';
import type { Surroundings } from './surroundings.ts';

export interface RecoverRequest {
  readonly place: RunDirectory;
  readonly around: Pick<Surroundings, 'hostEnv' | 'now' | 'toolVersion'>;
  readonly redactor: Redactor;
  /** The repository as it is now, where it is not where it was; null: where the plan says. */
  readonly movedTo: RepositoryFacts | null;
  /** True: a controller of another container or host is taken to be gone, on the caller's word. */
  readonly assumeGone: boolean;
  /** True: the receipt is written although the repository cannot keep the work, which stays in its workspace alone. */
  readonly withoutCommit: boolean;
  /** How long to wait for somebody else who recovers the same run; default 60 s. */
  readonly waitMs?: number;
}

export type Recovered =
  | { readonly kind: 'already-finished'; readonly receipt: Receipt; readonly receiptPath: string }
  /** `complete`: nothing of it lives, and all that it wrote is in commits. */
  | {
      readonly kind: 'recovered';
      readonly receipt: Receipt;
      readonly receiptPath: string;
      readonly complete: boolean;
    }
  | { readonly kind: 'running' | 'controller-unknown'; readonly controller: ProcessIdentity | null }
  /** Somebody else recovers it. */
  | { readonly kind: 'busy'; readonly message: string }
  /** Neither plan nor receipt can be read: there is nothing to finish it by. */
  | { readonly kind: 'unaccountable' }
  /** Work lies in a workspace, and the repository cannot keep it now: the run stays unfinished. */
  | { readonly kind: 'not-kept'; readonly message: string; readonly repository: string }
  /** The run's own state cannot be written; nothing was changed. */
  | { readonly kind: 'state-unwritable'; readonly problem: FileProblem };

const LOCK = 'recover.lock';

/** Throws only for a bug; then nothing was removed. */
export async function recoverRun(request: RecoverRequest): Promise<Recovered> {
  const { place } = request;
  const lockPath = join(place.path, LOCK);
  const seen = await readRunState(place);
  // A lock is a symlink that leads nowhere.
  if (seen.phase === 'running' && lstatSync(lockPath, { throwIfNoEntry: false }) === undefined)
    return { kind: 'running', controller: seen.controller };
  const settled = settledAnswer(seen, request);
  if (settled !== null) return settled;
  const lock = await acquireLock(lockPath, { waitMs: request.waitMs ?? 60_000 });
  if (!lock.ok) {
    return lock.error.code === 'ELOCKED'
      ? { kind: 'busy', message: lock.error.message }
      : { kind: 'state-unwritable', problem: lock.error };
  }
  try {
    // Whoever had the lock before may have done everything.
    const state = await readRunState(place);
    if (state.phase === 'running') return { kind: 'running', controller: state.controller };
    return settledAnswer(state, request) ?? (await finish(state, request));
  } finally {
    await lock.value.release();
  }
}

/** The answer where there is nothing to do, or nothing that may be done. */
function settledAnswer(state: RunState, { assumeGone }: RecoverRequest): Recovered | null {
  const { phase, receipt, place } = state;
  if (phase === 'finished' && receipt.kind === 'valid')
    return { kind: 'already-finished', receipt: receipt.receipt, receiptPath: place.receipt };
  if (phase === 'unaccountable') return { kind: 'unaccountable' };
  if (phase === 'unknown' && !assumeGone) return { kind: 'controller-unknown', controller: state.controller };
  return null;
}

async function finish(state: RunState, request: RecoverRequest): Promise<Recovered> {
  const { place, plan: record } = state;
  if (record === null) return { kind: 'unaccountable' };
  const { now } = request.around;
  const open = existsSync(place.journal) ? takeOverJournal : createJournal;
  const journal = await open(place.journal, selfIdentity(), now);
  if (!journal.ok) return { kind: 'state-unwritable', problem: journal.error };
  try {
    const accounted =
      state.receipt.kind === 'valid'
        ? { receipt: await completeRecords(state.receipt.receipt, record, place), complete: true }
        : await account(state, record, request, journal.value);
    if ('problem' in accounted) return { kind: 'state-unwritable', problem: accounted.problem };
    if ('obstacle' in accounted) {
      return { kind: 'not-kept', message: accounted.obstacle, repository: record.repository.worktree };
    }
    const { receipt, complete } = accounted;
    await clearWorkingFiles(place);
    const done = await journal.value.after(RECORDS_STEP, null, { outcome: receipt.outcome, recovered: true });
    if (!done.ok) return { kind: 'state-unwritable', problem: done.error };
    return { kind: 'recovered', receipt, receiptPath: place.receipt, complete };
  } catch (error) {
    return { kind: 'state-unwritable', problem: fileProblem(error) };
  } finally {
    await journal.value.close();
  }
}

/** The receipt is there; what was to be written after it may not be. */
async function completeRecords(receipt: Receipt, record: PlanRecord, place: RunDirectory): Promise<Receipt> {
  if (record.receipt_path !== null && !existsSync(record.receipt_path)) {
    // Where it cannot be written there, the run's own directory has it.
    await writeDurably(record.receipt_path, renderReceipt(receipt), { exclusive: true });
  }
  await logMissing(record, receipt.attempts, receipt, place);
  return receipt;
}

type Accounted =
  | { readonly receipt: Receipt; readonly complete: boolean }
  /** Why the repository cannot keep the work now. */
  | { readonly obstacle: string }
  /** Why no receipt can be written. */
  | { readonly problem: FileProblem };

/** Ends what was going on and writes the receipt, unless work would be left that a repository could still take. */
async function account(
  state: RunState,
  record: PlanRecord,
  request: RecoverRequest,
  journal: Journal,
): Promise<Accounted> {
  const { place } = state;
  const { around, redactor, movedTo } = request;
  const plan = { ...plannedRunOf(record), ...(movedTo !== null && { repository: movedTo }) };
  const stories = storiesOf(state, plan);
  const repository = await prepareRepository(plan, request, place);
  const lostOf = (story: AttemptStory): LostAttempt => ({
    plan,
    record,
    story,
    directory: join(place.attempts, story.attemptId),
    around,
    redactor,
    repository,
  });
  const withWork = stories.filter(({ record: entry, somethingRan }) => entry === null && somethingRan);
  if (!repository.ok && !request.withoutCommit && withWork.length > 0) {
    for (const story of withWork) await endAttempt(lostOf(story));
    return { obstacle: repository.message };
  }
  const attempts: AttemptRecord[] = [];
  let complete = true;
  for (const story of stories) {
    if (story.record !== null) {
      attempts.push(story.record);
      continue;
    }
    const ended = await recoverAttempt(lostOf(story));
    if (ended.obstacle !== null && !request.withoutCommit) return { obstacle: ended.obstacle };
    attempts.push(ended.record);
    complete &&= ended.complete;
    // The next `recover`, should this one die, finds it done.
    await journal.after(ATTEMPT_STEP, story.attemptId, { record: ended.record });
  }
  const telemetryAt = telemetryPathOf(record, movedTo);
  const logged = await logMissing({ ...record, telemetry_path: telemetryAt }, attempts, null, place);
  const survey = state.journal.records.find(({ step }) => step === 'survey')?.data;
  const startedAt = new Date(record.started_at);
  const inTheWay = lstatSync(place.receipt, { throwIfNoEntry: false });
  if (inTheWay !== undefined && !inTheWay.isFile()) {
    const message = `${place.receipt} is not a file, and the receipt must be written there`;
    return { problem: { code: 'ENOTFILE', message } };
  }
  await journal.before(RECORDS_STEP, null, { receipt: place.receipt, extra: record.receipt_path });
  const recorded = await writeRecords({
    run: { plan, around },
    verdict: judgeRecovered(plan, attempts),
    attempts,
    findings: [recoveredFinding(state, around.now())],
    hostFallback: null,
    dirtyPaths: typeof survey?.dirty_paths === 'number' ? survey.dirty_paths : 0,
    lfs: survey?.lfs === true,
    redactor,
    startedAt,
    durationMs: Math.max(0, around.now().getTime() - startedAt.getTime()),
    telemetryPath: telemetryAt,
    telemetryProblem: logged.problem,
    runIsLogged: logged.runWasLogged,
    receiptPath: place.receipt,
    extraReceiptPath: record.receipt_path,
  });
  return { receipt: recorded.receipt, complete };
}

/** The usual place moves with the repository. */
const telemetryPathOf = (record: PlanRecord, movedTo: RepositoryFacts | null): string =>
  movedTo !== null && record.telemetry_path === telemetryPath(record.repository.commonDir)
    ? telemetryPath(movedTo.commonDir)
    : record.telemetry_path;

const recoveredFinding = ({ journal, controller }: RunState, at: Date): Finding => ({
  code: 'RECOVERED',
  message: `agent-exec (process ${controller?.pid ?? 'unknown'}) died; its last word is of ${journal.records.at(-1)?.at ?? 'an unknown time'}, and recover wrote this receipt at ${at.toISOString()}`,
  paths: [],
});

/** The attempts by the journal. Where it is lost, by the folders that attempts have made. */
function storiesOf({ journal, place }: RunState, plan: PlannedRun): AttemptStory[] {
  const told = attemptStories(journal);
  if (journal.records.some(({ step }) => step === 'plan')) return told;
  return plan.candidates.flatMap(({ attemptId }) => {
    const story = told.find((one) => one.attemptId === attemptId);
    if (story !== undefined) return [story];
    return existsSync(join(place.attempts, attemptId)) ? [untold(attemptId)] : [];
  });
}

/** Nothing is known but that it has a folder: whatever lies there counts. */
const untold = (attemptId: string): AttemptStory => ({
  attemptId,
  startedAt: new Date(0),
  record: null,
  workspace: null,
  somethingRan: true,
  setUp: false,
  worker: { begun: null, leader: null, ended: null },
  kept: null,
  cleanUpBegun: false,
  lastStep: 'worker',
});

/** What keeping work needs of the canonical repository, made anew: what the dead controller left of it may be half done. */
async function prepareRepository(
  plan: PlannedRun,
  { around }: RecoverRequest,
  place: RunDirectory,
): Promise<LostAttempt['repository']> {
  const { repository: facts, base } = plan;
  try {
    await clearWorkingFiles(place);
    const baseTree = await pathsAtBase(facts, base);
    const excludesFile = await hostExcludesFile(facts, around.hostEnv);
    return { ok: true, baseTree, ...(await layKeeping(plan, baseTree, place.path, excludesFile)) };
  } catch (error) {
    const why = error instanceof GitError ? error.message : fileProblem(error).message;
    return { ok: false, message: `the repository ${facts.worktree} cannot be used: ${why}` };
  }
}

/** Host store, ignore rules, scratch folders of probes: nothing of a worker is in them. */
async function clearWorkingFiles(place: RunDirectory): Promise<void> {
  for (const path of await workingFiles(place)) if (!basename(path).startsWith(LOCK)) await removeTree(path);
}

/** Adds the lines that telemetry lacks of this run; `receipt` set: the run's own line too. */
async function logMissing(
  record: PlanRecord,
  attempts: readonly AttemptRecord[],
  receipt: Receipt | null,
  place: RunDirectory,
): Promise<{ readonly problem: FileProblem | null; readonly runWasLogged: boolean }> {
  const ids = { runId: record.run_id, unitId: record.unit.unit_id, role: record.role.name };
  const logged = await loggedEvents(record.telemetry_path, record.run_id);
  if (!logged.ok) return { problem: logged.error, runWasLogged: false };
  const { run: runWasLogged } = logged.value;
  const events = [
    ...attempts.filter(({ attempt_id }) => !logged.value.attempts.has(attempt_id)).map((one) => attemptEvent(one, ids)),
    ...(receipt === null || runWasLogged
      ? []
      : [
          runEvent({
            ...ids,
            outcome: receipt.outcome,
            exitCode: receipt.exit_code,
            attempts: attempts.length,
            startedAt: new Date(receipt.started_at),
            endedAt: new Date(receipt.ended_at),
            durationMs: receipt.duration_ms,
            receiptPath: record.receipt_path ?? place.receipt,
          }),
        ]),
  ];
  const appended = events.length === 0 ? null : await appendTelemetry(record.telemetry_path, events);
  return { problem: appended?.ok === false ? appended.error : null, runWasLogged };
}
