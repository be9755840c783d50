/** A run's private directory: its name, its making, and where things are in it. Nobody else may read it. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { err, ok, type Result } from '../model/result.ts';
import { type FileProblem, fileProblem } from './durable-file.ts';
import { makePrivateFolder } from './private-folder.ts';

const RUN_ID = /^\d{8}t\d{9}z-[0-9a-f]{6}$/;
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

/** Where things of a run are; nothing is looked up or made. */
export function runDirectory(stateRoot: string, runId: string): RunDirectory {
  const path = join(stateRoot, runId);
  return {
    runId,
    path,
    receipt: join(path, 'receipt.json'),
    plan: join(path, 'plan.json'),
    journal: join(path, 'journal.jsonl'),
    internalError: join(path, 'internal-error.txt'),
    attempts: join(path, 'attempts'),
  };
}

/** Makes the directory of a new run, mode 0700. An id that is taken is `EEXIST`: the plan already carries the id. */
export async function createRunDirectory(stateRoot: string, runId: string): Promise<Result<RunDirectory, FileProblem>> {
  const run = runDirectory(stateRoot, runId);
  try {
    await makePrivateFolder(run.path);
    await makePrivateFolder(run.attempts);
    return ok(run);
  } catch (error) {
    return err(fileProblem(error));
  }
}
