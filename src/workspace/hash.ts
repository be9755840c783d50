/**
 * Git's name for a file's raw bytes, computed here so that no filter, index or attribute has a say. Memory is bounded
 * whatever the size; a file is opened only where it is still the regular file that was looked at.
 */
import { createHash, type Hash } from 'node:crypto';
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { err, ok, type Result } from '../model/result.ts';
import { signatureOf } from './file-identity.ts';

type ObjectFormat = 'sha1' | 'sha256';

export interface HashedBlob {
  readonly oid: string;
  readonly size: number;
  /** As git guesses it: a NUL in the first 8000 bytes. */
  readonly binary: boolean;
  /** The first bytes, at most {@link HEAD_BYTES}. */
  readonly head: Buffer;
}

const HEAD_BYTES = 8000;
/** One for all readers: every chunk is consumed before another reader gets a turn. */
const buffer = Buffer.allocUnsafe(1024 * 1024);
/** NOFOLLOW and NONBLOCK: should a symlink or a fifo stand there by now, the open fails or returns instead of hanging. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const startBlob = (format: ObjectFormat, size: number): Hash => createHash(format).update(`blob ${size}\0`);

function finish(hash: Hash, size: number, head: Buffer): HashedBlob {
  return { oid: hash.digest('hex'), size, binary: head.includes(0), head };
}

/** Reads an open file to its end. Null where it holds another number of bytes than `size`. */
async function readBlob(fd: number, size: number, format: ObjectFormat): Promise<HashedBlob | null> {
  const hash = startBlob(format, size);
  let head = Buffer.alloc(0);
  let total = 0;
  for (;;) {
    const count = readSync(fd, buffer, 0, buffer.length, null);
    if (count === 0) break;
    const chunk = buffer.subarray(0, count);
    hash.update(chunk);
    if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
    total += count;
    if (total > size) return null;
    if (count === buffer.length) await setImmediate();
  }
  return total === size ? finish(hash, size, head) : null;
}

/**
 * Hashes the regular file at `path`, which must still be the one whose `lstat` gave `signature`. The error says in words
 * why it cannot be told what the file holds.
 */
export async function hashFile(
  path: string | Buffer,
  signature: string,
  format: ObjectFormat,
): Promise<Result<HashedBlob, string>> {
  let fd: number;
  try {
    fd = openSync(path, OPEN_FLAGS);
  } catch (error) {
    return err((error as NodeJS.ErrnoException).code ?? String(error));
  }
  try {
    const before: BigIntStats = fstatSync(fd, { bigint: true });
    if (!before.isFile() || signatureOf(before) !== signature) return err('changed while it was being read');
    const blob = await readBlob(fd, Number(before.size), format);
    const after = fstatSync(fd, { bigint: true });
    if (blob === null || signatureOf(after) !== signature) return err('changed while it was being read');
    return ok(blob);
  } catch (error) {
    return err((error as NodeJS.ErrnoException).code ?? String(error));
  } finally {
    closeSync(fd);
  }
}

/** Hashes a symlink's target and returns the target's bytes beside it. */
export function hashSymlink(
  path: string | Buffer,
  format: ObjectFormat,
): Result<HashedBlob & { target: Buffer }, string> {
  let target: Buffer;
  try {
    target = readlinkSync(path, { encoding: 'buffer' });
  } catch (error) {
    return err((error as NodeJS.ErrnoException).code ?? String(error));
  }
  const blob = finish(startBlob(format, target.length).update(target), target.length, target.subarray(0, HEAD_BYTES));
  return ok({ ...blob, target });
}
