/**
 * What a run was doing, written and fsynced before and after every step that has an effect, so that a run whose controller
 * was killed at any point can be finished by another process. One JSON object a line; the first record says who controls
 * the run. Reading is total: a torn last line is what a crash leaves and is no error.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as z from 'zod';
import { count, time } from '../model/observation.ts';
import { type ProcessIdentity, processIdentity } from '../model/process-identity.ts';
import { err, ok, type Result } from '../model/result.ts';
import { printableJson } from '../receipt/neutralise.ts';
import { appendDurably, endsTorn } from './append.ts';
import { type FileProblem, fileProblem, syncFolder } from './durable-file.ts';

const journalRecord = z.strictObject({
  version: z.literal(1),
  seq: count,
  at: time,
  step: z.string(),
  /** `after` belongs to the latest open `before` of the same step and attempt; `note` stands alone. */
  phase: z.enum(['before', 'after', 'note']),
  /** The attempt it concerns; null: the run as a whole. */
  attempt: z.string().nullable(),
  data: z.record(z.string(), z.unknown()),
});
export type JournalRecord = z.infer<typeof journalRecord>;

type Data = Readonly<Record<string, unknown>>;

export interface Journal {
  /** Resolves when the record is on disk. A problem means that the step must not be taken. */
  before(step: string, attempt: string | null, data?: Data): Promise<Result<void, FileProblem>>;
  after(step: string, attempt: string | null, data?: Data): Promise<Result<void, FileProblem>>;
  note(step: string, attempt: string | null, data?: Data): Promise<Result<void, FileProblem>>;
  close(): Promise<void>;
}

/** The step of a journal's first record, whose data is `{controller}`. */
const CONTROL = 'control';

const NEW = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** O_NONBLOCK: a pipe in the journal's place is not waited for. */
const EXISTING = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const NOT_A_FILE = { code: 'ENOTFILE', syscall: 'open' };

/** Makes a run's journal, mode 0600, with its first record; fails where there is one. */
export function createJournal(
  path: string,
  controller: ProcessIdentity,
  now: () => Date,
): Promise<Result<Journal, FileProblem>> {
  return opened(open(path, NEW, 0o600), controller, now, async (file) => {
    await file.chmod(0o600);
    await syncFolder(dirname(path));
    return 0;
  });
}

/** Goes on with a journal whose controller is gone: heals its end and records who controls the run from here. */
export function takeOverJournal(
  path: string,
  controller: ProcessIdentity,
  now: () => Date,
): Promise<Result<Journal, FileProblem>> {
  return opened(open(path, EXISTING), controller, now, async (file) => {
    if (!(await file.stat()).isFile())
      throw Object.assign(new Error('the journal is not an ordinary file'), NOT_A_FILE);
    const { records } = readJournal(await file.readFile());
    if (await endsTorn(file)) await appendDurably(file, Buffer.from('\n'));
    return (records.at(-1)?.seq ?? -1) + 1;
  });
}

/** `prepare` gives the number of the next record. The file is closed where anything fails. */
async function opened(
  opening: Promise<FileHandle>,
  controller: ProcessIdentity,
  now: () => Date,
  prepare: (file: FileHandle) => Promise<number>,
): Promise<Result<Journal, FileProblem>> {
  let file: FileHandle | null = null;
  try {
    file = await opening;
    const journal = new FileJournal(file, now, await prepare(file));
    const written = await journal.note(CONTROL, null, { controller });
    if (written.ok) return ok(journal);
    await file.close();
    return written;
  } catch (error) {
    await file?.close();
    return err(fileProblem(error));
  }
}

class FileJournal implements Journal {
  readonly #file: FileHandle;
  readonly #now: () => Date;
  #seq: number;
  /** Records reach the disk in the order in which they were given. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(file: FileHandle, now: () => Date, seq: number) {
    this.#file = file;
    this.#now = now;
    this.#seq = seq;
  }

  before(step: string, attempt: string | null, data: Data = {}) {
    return this.#add(step, 'before', attempt, data);
  }
  after(step: string, attempt: string | null, data: Data = {}) {
    return this.#add(step, 'after', attempt, data);
  }
  note(step: string, attempt: string | null, data: Data = {}) {
    return this.#add(step, 'note', attempt, data);
  }

  #add(step: string, phase: JournalRecord['phase'], attempt: string | null, data: Data) {
    const added = this.#queue.then(() => this.#write({ step, phase, attempt, data }));
    this.#queue = added;
    return added;
  }

  async #write(entry: Omit<JournalRecord, 'version' | 'seq' | 'at'>): Promise<Result<void, FileProblem>> {
    const { step, phase, attempt, data } = entry;
    const record: JournalRecord = {
      version: 1,
      seq: this.#seq,
      at: this.#now().toISOString(),
      step,
      phase,
      attempt,
      data,
    };
    try {
      await appendDurably(this.#file, Buffer.from(`${printableJson(record)}\n`));
      this.#seq++;
      return ok(undefined);
    } catch (error) {
      return err(fileProblem(error));
    }
  }

  async close(): Promise<void> {
    await this.#queue;
    await this.#file.close();
  }
}

export interface JournalReading {
  /** Every whole record, in order. */
  readonly records: readonly JournalRecord[];
  /** Lines that are no record: a torn end, or one that was healed. */
  readonly damagedLines: number;
  /** Who controlled the run last; null where not even the first record was whole. */
  readonly controller: ProcessIdentity | null;
  /** Steps that were begun and not finished, in the order in which they were begun. */
  readonly unfinished: readonly JournalRecord[];
}

/** Reads a journal, whatever state it is in. Total. */
export function readJournal(bytes: Uint8Array): JournalReading {
  const lines = new TextDecoder()
    .decode(bytes)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const records = lines.flatMap((line) => parseRecord(line) ?? []);
  const control = records.findLast(({ step, phase }) => step === CONTROL && phase === 'note');
  return {
    records,
    damagedLines: lines.length - records.length,
    controller: processIdentity.safeParse(control?.data.controller).data ?? null,
    unfinished: unfinishedOf(records),
  };
}

function parseRecord(line: string): JournalRecord | null {
  try {
    return journalRecord.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    // Not JSON: a torn line.
    return null;
  }
}

function unfinishedOf(records: readonly JournalRecord[]): JournalRecord[] {
  const open: JournalRecord[] = [];
  for (const record of records) {
    if (record.phase === 'before') open.push(record);
    if (record.phase !== 'after') continue;
    const begun = open.findLastIndex(({ step, attempt }) => step === record.step && attempt === record.attempt);
    if (begun >= 0) open.splice(begun, 1);
  }
  return open;
}
