/**
 * A lock between processes that does not outlive its holder. The lock is a symbolic link whose target says who holds it:
 * symlink(2) makes name and content in one step and fails where the name is taken, and leaves nothing half made.
 *
 * Taking over a dead holder's lock is where such locks usually break: two processes see the same dead holder, the slower
 * one removes the lock that the faster one has just taken. Here the right to remove the lock of holder X is itself such a
 * lock, named after X; whoever has it looks again whether the lock is still X's before removing it. Nobody else removes a
 * lock of X, X is dead, and so what was seen stays true until it is gone.
 */
import { randomBytes } from 'node:crypto';
import { lstat, readlink, symlink, unlink } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type ProcessIdentity, processIdentity } from '../model/process-identity.ts';
import { err, ok, type Result } from '../model/result.ts';
import { lifeOf, selfIdentity } from '../process/identity.ts';
import { type FileProblem, fileProblem } from './durable-file.ts';

export interface Lock {
  release(): Promise<void>;
}

export interface LockOptions {
  /** How long to wait for the holder, default 10 s. Then the problem's code is `ELOCKED`. */
  readonly waitMs?: number;
  /** A lock whose holder cannot be looked at (another container, another host) is given up by its age; default 60 s. */
  readonly oldestUnknownMs?: number;
}

/** Most locks are held for milliseconds. */
const OLDEST_UNKNOWN_MS = 60_000;
const LONGEST_PAUSE_MS = 5;

/** Takes the lock at `path`; its parent folder must exist. */
export async function acquireLock(path: string, options: LockOptions = {}): Promise<Result<Lock, FileProblem>> {
  const waitMs = options.waitMs ?? 10_000;
  const mine = encode(selfIdentity());
  const oldestUnknownMs = options.oldestUnknownMs ?? OLDEST_UNKNOWN_MS;
  const deadline = performance.now() + waitMs;
  try {
    for (let brokeLate = false; ; ) {
      if (await tryLink(mine, path)) return ok({ release: () => removeIf(path, mine) });
      const holder = await holderOf(path);
      const leftMs = deadline - performance.now();
      const stale = holder !== null && (await isStale(path, holder, oldestUnknownMs));
      // Nobody waits for the dead, also where nobody was to wait at all.
      if (leftMs <= 0 && (!stale || brokeLate)) {
        return err({
          code: 'ELOCKED',
          message: `${path} is held by ${holder ?? 'someone'} for longer than ${waitMs} ms`,
        });
      }
      brokeLate = leftMs <= 0;
      if (stale) await breakLock(path, holder, Math.max(leftMs, 0));
      else await pause(Math.random() * LONGEST_PAUSE_MS);
    }
  } catch (error) {
    return err(fileProblem(error));
  }
}

/** Unique for every acquisition, readable for a person who finds it. */
const encode = (identity: ProcessIdentity): string => `${randomBytes(6).toString('hex')} ${JSON.stringify(identity)}`;

const nonceOf = (holder: string): string => /^[0-9a-f]{12} /.exec(holder)?.[0].trim() ?? 'foreign';

function decode(holder: string): ProcessIdentity | null {
  try {
    return processIdentity.safeParse(JSON.parse(holder.slice(holder.indexOf(' ') + 1))).data ?? null;
  } catch {
    // Not JSON: no lock of ours.
    return null;
  }
}

async function tryLink(holder: string, path: string): Promise<boolean> {
  try {
    await symlink(holder, path);
    return true;
  } catch (error) {
    if (fileProblem(error).code === 'EEXIST') return false;
    throw error;
  }
}

/** What the lock says; null where it is gone by now. */
async function holderOf(path: string): Promise<string | null> {
  try {
    return await readlink(path);
  } catch (error) {
    if (fileProblem(error).code === 'ENOENT') return null;
    throw error;
  }
}

async function isStale(path: string, holder: string, oldestUnknownMs: number): Promise<boolean> {
  const identity = decode(holder);
  const life = identity === null ? 'unknown' : lifeOf(identity);
  if (life !== 'unknown') return life === 'gone';
  try {
    const { mtimeMs } = await lstat(path);
    return Date.now() - mtimeMs > oldestUnknownMs;
  } catch (error) {
    if (fileProblem(error).code === 'ENOENT') return false;
    throw error;
  }
}

/** Removes the lock of a holder that is gone. The right to do so is a lock of the same kind, which may in turn outlive its holder. */
async function breakLock(path: string, holder: string, waitMs: number): Promise<void> {
  const right = await acquireLock(`${path}.break-${nonceOf(holder)}`, { waitMs });
  if (!right.ok) return;
  try {
    await removeIf(path, holder);
  } finally {
    await right.value.release();
  }
}

async function removeIf(path: string, holder: string): Promise<void> {
  if ((await holderOf(path)) !== holder) return;
  try {
    await unlink(path);
  } catch (error) {
    if (fileProblem(error).code !== 'ENOENT') throw error;
  }
}
