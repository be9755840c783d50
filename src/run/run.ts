/**
 * A run: the plan's candidates in order, until one succeeds or nothing may go on; then the verdict and the records. After
 * the first effect everything ends in a receipt but a bug, which leaves its stack beside the journal.
 */

import { type BaseTree, usesLfs } from '../git/base-tree.ts';
import { countDirtyPaths } from '../git/dirty.ts';
import type { Finding } from '../model/evidence.ts';
import type { Plan } from '../model/plan.ts';
import { planRecordOf } from '../model/plan-record.ts';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import { err, ok, type Result } from '../model/result.ts';
import { selfIdentity } from '../process/identity.ts';
import { attemptRecord } from '../receipt/attempt.ts';
import { printableJson } from '../receipt/neutralise.ts';
import type { Redactor } from '../receipt/redact.ts';
import { attemptEvent } from '../receipt/telemetry.ts';
import { type FileProblem, fileProblem, writeDurably } from '../store/durable-file.ts';
import { createJournal, type Journal } from '../store/journal.ts';
import type { Lock } from '../store/lock.ts';
import { createRunDirectory, type RunDirectory } from '../store/run-directory.ts';
import { RECORDS_STEP } from '../store/run-state.ts';
import { appendTelemetry } from '../store/telemetry.ts';
import { judgeRun, stopsRun } from '../verdict/outcome.ts';
import { type AttemptResult, runAttempt } from './attempt.ts';
import { ATTEMPT_STEP } from './attempt-story.ts';
import { clearGroundwork, layGroundwork } from './groundwork.ts';
import { journalled, StateLostError, stateLost } from './journalled.ts';
import { type Recorded, writeRecords } from './records.ts';
import { takeSlot } from './slot.ts';
import { type Run, type Surroundings, stoppedBy } from './surroundings.ts';

export interface RunUnitRequest {
  readonly plan: Plan;
  readonly baseTree: BaseTree;
  readonly findings: readonly Finding[];
  readonly around: Surroundings;
  readonly stateRoot: string;
  readonly telemetryPath: string;
  readonly extraReceiptPath: string | null;
  readonly redactor: Redactor;
}

/** The run's directory or its journal could not be made: nothing was started. */
export type RunUnitProblem = {
  readonly kind: 'state-unwritable';
  readonly path: string;
  readonly problem: FileProblem;
};

/** Runs the plan to its end. Rejects only for a bug; the error says where its stack is. */
export async function runUnit(request: RunUnitRequest): Promise<Result<Recorded, RunUnitProblem>> {
  const { plan, around, stateRoot, redactor } = request;
  const startedAt = around.now();
  const beganAt = performance.now();
  const made = await createRunDirectory(stateRoot, plan.runId, (making) => firstRecords(making, request, startedAt));
  if (!made.ok) return err({ kind: 'state-unwritable', path: stateRoot, problem: made.error });
  const { place, filled: journal } = made.value;

  around.progress({
    kind: 'run-started',
    runId: plan.runId,
    directory: place.path,
    candidates: plan.candidates.map(({ attemptId }) => attemptId),
  });
  try {
    const run = await groundwork(request, place, journal);
    const [dirtyPaths, lfs] = await Promise.all([
      countDirtyPaths(
        plan.repository,
        run.excludesFile,
        plan.base === plan.repository.head ? request.baseTree : undefined,
      ),
      usesLfs(plan.repository, request.baseTree),
    ]);
    await journal.note('survey', null, { dirty_paths: dirtyPaths, lfs });
    const slot = await roomFor(run);
    const attempts = await tryCandidates(run, request).finally(() => leave(slot));
    const left = await clearGroundwork(place.path);
    const verdict = judgeRun({
      attempts: attempts.results.map(({ candidate, verdict: one, evidence }) => ({
        attemptId: candidate.attemptId,
        verdict: one,
        cleanupExact: evidence.cleanup.kind === 'done' && evidence.cleanup.problem === null,
      })),
      candidateCount: plan.candidates.length,
      fallbackToHost: run.insideRun === null ? plan.fallbackToHost : 'never',
      cancelledBy: stoppedBy(around.stop),
    });
    // A journal that cannot be written any more must not keep the receipt from being tried.
    await journal.before(RECORDS_STEP, null, { receipt: place.receipt, extra: request.extraReceiptPath });
    const recorded = await writeRecords({
      run,
      verdict,
      attempts: attempts.records,
      findings: [...request.findings, ...(lfs ? [LFS_FINDING] : []), ...left],
      hostFallback: verdict.outcome === 'host-fallback-authorized' ? fallbackFor(plan, around, attempts.records) : null,
      dirtyPaths,
      lfs,
      redactor,
      startedAt,
      durationMs: performance.now() - beganAt,
      telemetryPath: request.telemetryPath,
      telemetryProblem: attempts.telemetryProblem,
      receiptPath: place.receipt,
      extraReceiptPath: request.extraReceiptPath,
    });
    await journal.after(RECORDS_STEP, null, { outcome: recorded.receipt.outcome });
    return ok(recorded);
  } catch (error) {
    if (error instanceof StateLostError) {
      return err({
        kind: 'state-unwritable',
        path: place.path,
        problem: { code: error.code, message: error.message },
      });
    }
    throw await withStackKept(error, place, redactor);
  } finally {
    await journal.close();
  }
}

/** A run inside a run of this repository is refused anyway; it must not wait for the one that waits for it. */
async function roomFor({ plan, around, journal, insideRun }: Run): Promise<Lock | null> {
  if (insideRun !== null) return null;
  const { maxParallel: limit } = plan;
  const onWait = (): void => around.progress({ kind: 'queued', limit });
  await journal.before('slot', null, { limit });
  const slot = await takeSlot({ commonDir: plan.repository.commonDir, limit, stop: around.stop, onWait });
  await journal.after('slot', null);
  return slot;
}

/** A place that cannot be given back is free all the same when this process ends. */
async function leave(slot: Lock | null): Promise<void> {
  try {
    await slot?.release();
  } catch (error) {
    fileProblem(error);
  }
}

/** Where the disk takes no more, nothing was started: what is there of it goes, and the answer is {@link StateLostError}. */
async function groundwork(request: RunUnitRequest, place: RunDirectory, journal: Journal): Promise<Run> {
  try {
    return await journalled(journal, 'groundwork', null, { directory: place.path }, () =>
      layGroundwork({ ...request, place, journal }),
    );
  } catch (error) {
    const lost = stateLost(error);
    await clearGroundwork(place.path);
    throw lost;
  }
}

/** A bug's stack goes into the run's directory (SPEC 7); the error that is left to tell says where. */
async function withStackKept(error: unknown, place: RunDirectory, redactor: Redactor): Promise<Error> {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const written = await writeDurably(place.internalError, `${redactor.text(stack ?? message)}\n`);
  const where = written.ok ? place.internalError : `nowhere: ${written.error.message}`;
  return new Error(`${redactor.text(message)} (stack: ${where})`, { cause: error });
}

const LFS_FINDING: Finding = {
  code: 'USES_LFS',
  message: 'the repository uses Git LFS: workers see pointers, not contents',
  paths: [],
};

/** The plan is written twice, so that a run can be finished whichever of the two files is lost. */
async function firstRecords(
  making: RunDirectory,
  { plan, around, telemetryPath, extraReceiptPath }: RunUnitRequest,
  startedAt: Date,
): Promise<Result<Journal, FileProblem>> {
  const controller = selfIdentity();
  const record = planRecordOf(plan, {
    controller,
    started_at: startedAt.toISOString(),
    telemetry_path: telemetryPath,
    receipt_path: extraReceiptPath,
  });
  const planned = await writeDurably(making.plan, `${printableJson(record, 2)}\n`);
  if (!planned.ok) return planned;
  const journal = await createJournal(making.journal, controller, around.now);
  if (!journal.ok) return journal;
  const noted = await journal.value.note('plan', null, record);
  if (noted.ok) return journal;
  await journal.value.close();
  return noted;
}

interface Attempts {
  readonly results: readonly AttemptResult[];
  readonly records: readonly AttemptRecord[];
  readonly telemetryProblem: FileProblem | null;
}

async function tryCandidates(run: Run, request: RunUnitRequest): Promise<Attempts> {
  const { plan, around } = run;
  const results: AttemptResult[] = [];
  const records: AttemptRecord[] = [];
  let telemetryProblem: FileProblem | null = null;
  for (const [index, candidate] of plan.candidates.entries()) {
    if (stoppedBy(around.stop) !== null) break;
    const { attemptId } = candidate;
    around.progress({ kind: 'attempt-started', attemptId, position: index + 1, of: plan.candidates.length });
    const startedAt = around.now();
    const beganAt = performance.now();
    // What an attempt cannot write of itself it says in its evidence; of these two nothing more hangs than its story.
    await run.journal.before(ATTEMPT_STEP, attemptId, { position: index + 1 });
    const result = await runAttempt(run, candidate);
    const durationMs = performance.now() - beganAt;
    const record = attemptRecord({ ...result, startedAt, endedAt: around.now(), durationMs }, request.redactor);
    results.push(result);
    records.push(record);
    await run.journal.after(ATTEMPT_STEP, attemptId, { record });
    around.progress({ kind: 'attempt-ended', attemptId, verdict: result.verdict, durationMs });
    const ids = { runId: plan.runId, unitId: plan.unit.unit_id, role: plan.role.name };
    const logged = await appendTelemetry(request.telemetryPath, [attemptEvent(record, ids)]);
    if (!logged.ok) telemetryProblem ??= logged.error;
    if (stopsRun(result.verdict)) break;
  }
  return { results, records, telemetryProblem };
}

const fallbackFor = (
  plan: Plan,
  around: Surroundings,
  records: readonly AttemptRecord[],
): Receipt['host_fallback'] => ({
  authorized: true,
  unit_digest: plan.unitDigest,
  base: plan.base,
  allowed_paths: plan.unit.allowed_paths,
  issued_at: around.now().toISOString(),
  evidence: records.map(({ attempt_id }) => attempt_id),
});
