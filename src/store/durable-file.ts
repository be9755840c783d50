/**
 * Writes a file so that after a crash there is either all of it or nothing new: a temporary file in the same folder, fsync,
 * one atomic step that gives it its name, fsync of the folder. The mode is what was asked for, whatever the umask. A
 * failure leaves no temporary file behind.
 */
import { randomBytes } from 'node:crypto';
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { err, ok, type Result } from '../model/result.ts';

/** What the system said: `ENOSPC`, `EROFS`, `EACCES`, `EEXIST` ... and its words. */
export interface FileProblem {
  readonly code: string;
  readonly message: string;
}

/** A system error as data, and Node's word for a path that holds a NUL. Anything else is a bug and is thrown on. */
export function fileProblem(error: unknown): FileProblem {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') {
    if ('syscall' in error || error.code === 'ERR_INVALID_ARG_VALUE') {
      return { code: error.code, message: error.message };
    }
  }
  throw error;
}

interface DurableOptions {
  /** Default 0600. */
  readonly mode?: number;
  /** True: an existing file, folder or link of that name is `EEXIST` and stays; false: a file is replaced. */
  readonly exclusive?: boolean;
}

/** Writes all of the file or nothing. The parent folder must exist. */
export async function writeDurably(
  path: string,
  bytes: Uint8Array | string,
  options: DurableOptions = {},
): Promise<Result<void, FileProblem>> {
  const folder = dirname(path);
  const temporary = join(folder, `.agent-exec-${randomBytes(8).toString('hex')}.tmp`);
  let made = false;
  try {
    const file = await open(temporary, 'wx', 0o600);
    made = true;
    await closing(file, async () => {
      await file.writeFile(bytes);
      await file.chmod(options.mode ?? 0o600);
      await file.sync();
    });
    if (options.exclusive === true) await publishNew(temporary, path);
    else await rename(temporary, path);
    made = false;
    await syncFolder(folder);
    return ok(undefined);
  } catch (error) {
    const left = made ? await removed(temporary) : null;
    const problem = fileProblem(error);
    return err(left === null ? problem : { ...problem, message: `${problem.message}; ${left}` });
  }
}

/** Null where the file is gone, else what is left and why. */
async function removed(path: string): Promise<string | null> {
  try {
    await unlink(path);
    return null;
  } catch (error) {
    const { code } = fileProblem(error);
    return code === 'ENOENT' ? null : `${basename(path)} is left (${code})`;
  }
}

/** Gives the file its name, or fails with EEXIST. Where there are no hard links, an empty file holds the place for the rename. */
async function publishNew(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
    await unlink(temporary);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(fileProblem(error).code)) throw error;
    await (await open(path, 'wx', 0o600)).close();
    await rename(temporary, path);
  }
}

async function closing(file: FileHandle, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } finally {
    await file.close();
  }
}

/** Makes names in a folder survive a crash. Some file systems have no such thing (EINVAL), some folders cannot be read (EACCES). */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    await closing(handle, () => handle.sync());
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP', 'EACCES', 'EISDIR'].includes(fileProblem(error).code)) throw error;
  }
}
