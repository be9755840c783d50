/** A run's private directory: its name, its making, and where things are in it. Nobody else may read it. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { err, ok, type Result } from '../model/result.ts';
import { type FileProblem, fileProblem } from './durable-file.ts';
import { makePrivateFolder } from './private-folder.ts';

const RUN_ID = /^\d{8}t\d{9}z-[0-9a-f]{6}$/;
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
  /** One folder an attempt, named by its id. */
  readonly attempts: string;
}

export function runDirectory(stateRoot: string, runId: string): RunDirectory {
  const path = join(stateRoot, runId);
  return {
    runId,
    path,
    receipt: join(path, 'receipt.json'),
    plan: join(path, 'plan.json'),
    journal: join(path, 'journal.jsonl'),
    attempts: join(path, 'attempts'),
  };
}

/** Makes the directory of a new run, mode 0700; an id that is taken is replaced by another one. */
export async function createRunDirectory(
  stateRoot: string,
  at: Date,
  makeRunId: (at: Date) => string = newRunId,
): Promise<Result<RunDirectory, FileProblem>> {
  for (let tries = 1; ; tries++) {
    const run = runDirectory(stateRoot, makeRunId(at));
    try {
      await makePrivateFolder(run.path);
      await makePrivateFolder(run.attempts);
      return ok(run);
    } catch (error) {
      const problem = fileProblem(error);
      if (problem.code !== 'EEXIST' || tries === 100) return err(problem);
    }
  }
}
