/** Which private logs a run has, by what lies in its attempts' folders: also of a run that is under way or was cut off. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stream } from '../model/adapter.ts';
import { fileProblem } from '../store/durable-file.ts';
import type { RunDirectory } from '../store/run-directory.ts';
import { logsFolder } from './attempt-places.ts';

export interface AttemptLog {
  readonly attemptId: string;
  /** The host's own command whose log it is, such as `setup-1`; null: the worker. */
  readonly command: string | null;
  readonly stream: Stream;
  readonly path: string;
  /** Where the newest output of a long log goes round until it is finished (process/capture.ts). */
  readonly newest: string;
}

const NAME = /^(?:((setup|verification-setup|verification)-([1-9]\d{0,4}))\.)?(stdout|stderr)\.log$/;
/** The order in which they come to be. */
const STEPS = ['setup', undefined, 'verification-setup', 'verification'];

/** Attempt id -> its logs, in their order; attempts without any are there too. Rejects with a system error. */
export async function logsOfRun(place: RunDirectory): Promise<ReadonlyMap<string, readonly AttemptLog[]>> {
  const attempts = (await namesIn(place.attempts)).sort();
  return new Map(await Promise.all(attempts.map(async (id) => [id, await logsOfAttempt(place, id)] as const)));
}

async function logsOfAttempt(place: RunDirectory, attemptId: string): Promise<AttemptLog[]> {
  const folder = logsFolder(place.path, attemptId);
  const found = (await namesIn(folder)).flatMap((name) => {
    const [, command = null, step, position = '0', stream] = NAME.exec(name) ?? [];
    if (stream !== 'stdout' && stream !== 'stderr') return [];
    const path = join(folder, name);
    const log: AttemptLog = { attemptId, command, stream, path, newest: `${path}.tail` };
    return [{ log, order: [STEPS.indexOf(step), Number(position), stream === 'stdout' ? 0 : 1] as const }];
  });
  return found
    .sort((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1] || a.order[2] - b.order[2])
    .map(({ log }) => log);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const { code } = fileProblem(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
