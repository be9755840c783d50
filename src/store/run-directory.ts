/**
 * A run's private directory: its name, its making, and where things are in it. Nobody else may read it. It gets its name
 * only when plan and journal are in it, so whatever has a run's name can be accounted for.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { err, ok, type Result } from '../model/result.ts';
import { type FileProblem, fileProblem, syncFolder } from './durable-file.ts';
import { makePrivateFolder } from './private-folder.ts';

const RUN_ID = /^\d{8}t\d{9}z-[0-9a-f]{6}$/;
/** A directory that is being made. One that stays is of a run that started nothing. */
const STARTING = 'starting-';
/** True for a name that {@link newRunId} makes. */
export const isRunId = (text: string): boolean => RUN_ID.test(text);

/** `20261130t171500123z-4f9c2a`: sorts by time, valid in a ref name and as a file name everywhere. `random`: six hex digits. */
export function newRunId(at: Date, random: string = randomBytes(3).toString('hex')): string {
  const [date = '', clock = ''] = at.toISOString().split('T');
  return `${date.replaceAll('-', '')}t${clock.replace(/[:.Z]/g, '')}z-${random}`;
}

export interface RunDirectory {
  readonly runId: string;
  readonly path: string;
  readonly receipt: string;
  readonly plan: string;
  readonly journal: string;
  /** The stack of a bug that ended the run; there only then. */
  readonly internalError: string;
  /** One folder an attempt, named by its id. */
  readonly attempts: string;
}

const PARTS = {
  receipt: 'receipt.json',
  plan: 'plan.json',
  journal: 'journal.jsonl',
  internalError: 'internal-error.txt',
  attempts: 'attempts',
} as const;

/** Where things of a run are; nothing is looked up or made. */
export function runDirectory(stateRoot: string, runId: string): RunDirectory {
  const path = join(stateRoot, runId);
  const part = (name: keyof typeof PARTS): string => join(path, PARTS[name]);
  return {
    runId,
    path,
    receipt: part('receipt'),
    plan: part('plan'),
    journal: part('journal'),
    internalError: part('internalError'),
    attempts: part('attempts'),
  };
}

/**
 * What is in a finished run's directory and is no record, relative to it; `attemptRecords` are the names that an attempt
 * may leave in its folder. A system error where some of it cannot be read, as where the directory is gone.
 */
export async function beyondRecords(
  run: RunDirectory,
  attemptRecords: readonly string[],
): Promise<Result<string[], FileProblem>> {
  const records: readonly string[] = Object.values(PARTS);
  try {
    const found = (await readdir(run.path)).filter((name) => !records.includes(name));
    for (const attempt of await readdir(run.attempts, { withFileTypes: true })) {
      const shown = `${PARTS.attempts}/${attempt.name}`;
      const names = attempt.isDirectory() ? await readdir(join(run.attempts, attempt.name)) : null;
      if (names === null) found.push(shown);
      else found.push(...names.filter((name) => !attemptRecords.includes(name)).map((name) => `${shown}/${name}`));
    }
    return ok(found);
  } catch (error) {
    return err(fileProblem(error));
  }
}

/** What lies beside a run's records in its directory: the working files of a controller. Rejects with the system's error. */
export async function workingFiles(run: RunDirectory): Promise<string[]> {
  const records: readonly string[] = Object.values(PARTS);
  return (await readdir(run.path)).filter((name) => !records.includes(name)).map((name) => join(run.path, name));
}

/**
 * Makes the directory of a new run, mode 0700, and gives it its name when `fill` has put the first records in the place
 * that it is handed. An id that is taken is `EEXIST`: the plan already carries the id. A failure leaves nothing.
 */
export async function createRunDirectory<T>(
  stateRoot: string,
  runId: string,
  fill: (making: RunDirectory) => Promise<Result<T, FileProblem>>,
): Promise<Result<{ readonly place: RunDirectory; readonly filled: T }, FileProblem>> {
  const making = runDirectory(stateRoot, `${STARTING}${runId}`);
  const place = runDirectory(stateRoot, runId);
  let made = false;
  try {
    if (existsSync(place.path)) return err({ code: 'EEXIST', message: `${place.path} is there already` });
    await makePrivateFolder(making.path);
    made = true;
    await makePrivateFolder(making.attempts);
    const filled = await fill(making);
    if (filled.ok) {
      // Never onto another run: a folder that holds something is not replaced.
      await rename(making.path, place.path);
      made = false;
      await syncFolder(stateRoot);
      return ok({ place, filled: filled.value });
    }
    await rm(making.path, { recursive: true, force: true });
    return filled;
  } catch (error) {
    if (made) await rm(making.path, { recursive: true, force: true });
    const { code, message } = fileProblem(error);
    return err({ code: code === 'ENOTEMPTY' || code === 'ENOTDIR' ? 'EEXIST' : code, message });
  }
}

/** What a state root holds of runs. Rejects with the system's error. */
export async function listRunDirectories(
  stateRoot: string,
): Promise<{ readonly runs: readonly RunDirectory[]; readonly starting: readonly RunDirectory[] }> {
  const names = (await readdir(stateRoot)).sort();
  const of = (ids: readonly string[]): RunDirectory[] => ids.map((id) => runDirectory(stateRoot, id));
  return {
    runs: of(names.filter(isRunId)),
    starting: of(names.filter((name) => name.startsWith(STARTING) && isRunId(name.slice(STARTING.length)))),
  };
}
