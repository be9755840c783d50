/**
 * What a run's directory says: what was planned, what was going on, what came of it. Total: a damaged, half cleaned or
 * foreign directory is an answer too. Reading changes nothing and waits for nobody.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { type PlanRecord, planRecord } from '../model/plan-record.ts';
import type { ProcessIdentity } from '../model/process-identity.ts';
import type { Receipt } from '../model/receipt.ts';
import { err, ok, type Result } from '../model/result.ts';
import { lifeOf } from '../process/identity.ts';
import { checkDigest, parseReceipt } from '../receipt/receipt.ts';
import { type FileProblem, fileProblem } from './durable-file.ts';
import { type JournalReading, readJournal } from './journal.ts';
import type { RunDirectory } from './run-directory.ts';

export type StoredReceipt =
  | { readonly kind: 'valid'; readonly receipt: Receipt }
  | { readonly kind: 'damaged'; readonly message: string }
  | { readonly kind: 'absent' };

export interface RunState {
  readonly place: RunDirectory;
  /**
   * `running`: its controller lives. `finished`: every record is written. `unfinished`: its controller is gone, and
   * `recover` has something to do. `unknown`: its controller cannot be looked at from here (another container or host).
   * `unaccountable`: neither plan nor receipt can be read, so nobody can say what it was.
   */
  readonly phase: 'running' | 'finished' | 'unfinished' | 'unknown' | 'unaccountable';
  readonly plan: PlanRecord | null;
  readonly journal: JournalReading;
  readonly receipt: StoredReceipt;
  /** Who controls it, or did last. */
  readonly controller: ProcessIdentity | null;
}

/** Receipts are the largest of a run's records. */
const MAX_RECORD_BYTES = 512 * 1024 * 1024;

/** A record's bytes; null where there is none. Never follows a link and never waits for a pipe. */
async function readRecord(path: string): Promise<Result<Buffer | null, FileProblem>> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return err({ code: 'ENOTFILE', message: 'not an ordinary file' });
      if (stat.size > MAX_RECORD_BYTES) return err({ code: 'EFBIG', message: `${stat.size} bytes` });
      return ok(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    const problem = fileProblem(error);
    return problem.code === 'ENOENT' || problem.code === 'ENOTDIR' ? ok(null) : err(problem);
  }
}

async function storedReceipt(path: string): Promise<StoredReceipt> {
  const bytes = await readRecord(path);
  if (!bytes.ok) return { kind: 'damaged', message: bytes.error.message };
  if (bytes.value === null) return { kind: 'absent' };
  const parsed = parseReceipt(bytes.value);
  if (!parsed.ok) return { kind: 'damaged', message: parsed.error };
  if (!checkDigest(parsed.value)) return { kind: 'damaged', message: 'its digest does not fit what it says' };
  return { kind: 'valid', receipt: parsed.value };
}

function parsePlan(bytes: Buffer | null): PlanRecord | null {
  if (bytes === null) return null;
  try {
    return planRecord.safeParse(JSON.parse(bytes.toString('utf8'))).data ?? null;
  } catch {
    // Not JSON: no plan.
    return null;
  }
}

/** The last thing that a run writes down, whoever ends it. */
export const RECORDS_STEP = 'records';

const recordsWritten = ({ records }: JournalReading): boolean =>
  records.some(({ step, phase }) => step === RECORDS_STEP && phase === 'after');

/** Reads a run's directory as it is now. */
export async function readRunState(place: RunDirectory): Promise<RunState> {
  const [journalBytes, planBytes, receipt] = await Promise.all([
    readRecord(place.journal),
    readRecord(place.plan),
    storedReceipt(place.receipt),
  ]);
  const journal = readJournal((journalBytes.ok ? journalBytes.value : null) ?? new Uint8Array());
  const noted = journal.records.find(({ step, phase }) => step === 'plan' && phase === 'note');
  const plan = planRecord.safeParse(noted?.data).data ?? parsePlan(planBytes.ok ? planBytes.value : null);
  const controller = journal.controller ?? plan?.controller ?? null;
  return { place, phase: phaseOf(journal, plan, receipt, controller), plan, journal, receipt, controller };
}

/** Enough of a journal's end for its last record. */
const TAIL_BYTES = 4096;

/** True where the journal's last word is that every record is written: most runs, told by one small read. */
async function isClosed(place: RunDirectory): Promise<boolean> {
  try {
    const file = await open(place.journal, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const { size } = await file.stat();
      const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
      await file.read(tail, 0, tail.length, size - tail.length);
      const last = tail.toString('utf8').trimEnd().split('\n').at(-1) ?? '';
      return recordsWritten(readJournal(Buffer.from(last)));
    } finally {
      await file.close();
    }
  } catch (error) {
    // Whatever is the matter with it, a full look says.
    fileProblem(error);
    return false;
  }
}

/** What the runs say of themselves that have not closed their journal, in the order given. */
export async function* openRuns(places: Iterable<RunDirectory>): AsyncGenerator<RunState> {
  for (const place of places) if (!(await isClosed(place))) yield await readRunState(place);
}

function phaseOf(
  journal: JournalReading,
  plan: PlanRecord | null,
  receipt: StoredReceipt,
  controller: ProcessIdentity | null,
): RunState['phase'] {
  // A receipt without a journal: somebody tidied up, and the run has accounted for itself.
  if (receipt.kind === 'valid' && (recordsWritten(journal) || journal.records.length === 0)) return 'finished';
  const life = controller === null ? 'gone' : lifeOf(controller);
  if (life === 'alive') return 'running';
  if (plan === null) return receipt.kind === 'valid' ? 'finished' : 'unaccountable';
  return life === 'unknown' ? 'unknown' : 'unfinished';
}
