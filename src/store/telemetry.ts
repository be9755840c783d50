/**
 * Appends telemetry: whole lines in one write under a lock, so that many runs at once lose and mix nothing. What is there
 * and is no ordinary file (a link, a folder, a pipe that nobody reads) is refused without following, waiting or harm.
 */
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { err, ok, type Result } from '../model/result.ts';
import { type TelemetryEvent, telemetryEvent } from '../model/telemetry.ts';
import { printableJson } from '../receipt/neutralise.ts';
import { appendDurably, endsTorn } from './append.ts';
import { type FileProblem, fileProblem } from './durable-file.ts';
import { acquireLock, type LockOptions } from './lock.ts';
import { makePrivateFolder } from './private-folder.ts';

/** Below the git directory that all worktrees share. */
export const telemetryPath = (gitCommonDir: string): string => `${gitCommonDir}/agent-exec/calls.jsonl`;

/** O_NONBLOCK: opening a pipe does not wait for its other end. O_RDWR: the last byte is read. */
const APPEND = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Adds the events at the end of the file, in order, each on its line. A missing file is made (0600), and so is its folder
 * (0700, not its parents). A torn last line gets its newline first.
 */
export async function appendTelemetry(
  path: string,
  events: readonly TelemetryEvent[],
  options: LockOptions = {},
): Promise<Result<void, FileProblem>> {
  try {
    await makeFolder(dirname(path));
    const refused = await refusalOf(path);
    if (refused !== null) return err(refused);
    const lock = await acquireLock(`${path}.lock`, options);
    if (!lock.ok) return lock;
    try {
      return await append(path, events.map((event) => `${printableJson(event)}\n`).join(''));
    } finally {
      await lock.value.release();
    }
  } catch (error) {
    return err(fileProblem(error));
  }
}

/** Which lines of a run are in the file already. A missing file has none; what cannot be read is a problem. */
export async function loggedEvents(
  path: string,
  runId: string,
): Promise<Result<{ readonly attempts: ReadonlySet<string>; readonly run: boolean }, FileProblem>> {
  const attempts = new Set<string>();
  let run = false;
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) return err(noFile(path));
      for await (const line of file.readLines({ autoClose: false, encoding: 'utf8' })) {
        if (!line.includes(runId)) continue;
        const event = parseEvent(line);
        if (event?.run_id !== runId) continue;
        if (event.event === 'run') run = true;
        else attempts.add(event.attempt_id);
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    const problem = fileProblem(error);
    if (problem.code !== 'ENOENT') return err(problem);
  }
  return ok({ attempts, run });
}

function parseEvent(line: string): TelemetryEvent | null {
  try {
    return telemetryEvent.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    // A torn line.
    return null;
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await makePrivateFolder(folder);
  } catch (error) {
    if (fileProblem(error).code !== 'EEXIST') throw error;
  }
}

const noFile = (path: string): FileProblem => ({ code: 'ENOTFILE', message: `${path} is not an ordinary file` });

/** Seen before the lock is taken, so that nothing is left beside a place that is refused; seen again when it is open. */
async function refusalOf(path: string): Promise<FileProblem | null> {
  try {
    return (await lstat(path)).isFile() ? null : noFile(path);
  } catch (error) {
    const problem = fileProblem(error);
    return problem.code === 'ENOENT' ? null : problem;
  }
}

async function append(path: string, lines: string): Promise<Result<void, FileProblem>> {
  const file = await open(path, APPEND, 0o600);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) return err(noFile(path));
    if (stat.size === 0) await file.chmod(0o600);
    await appendDurably(file, Buffer.from((await endsTorn(file)) ? `\n${lines}` : lines));
    return ok(undefined);
  } finally {
    await file.close();
  }
}
