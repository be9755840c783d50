/** What tells one file from another and one moment of a file from the next, as the kernel reports it. */
import { type BigIntStats, lstatSync } from 'node:fs';

/** Device and inode: which file it is, whatever its name. */
export const identityOf = (stat: BigIntStats): string => `${stat.dev}:${stat.ino}`;

/** The identity of what stands at `path`; null where nothing does, or nothing that can be looked at. */
export function identityAt(path: string): string | null {
  try {
    return identityOf(lstatSync(path, { bigint: true }));
  } catch {
    // Any error answers the question: what stands there is not the file that was known.
    return null;
  }
}

/**
 * Changes whenever content, mode, owner or link count do: the kernel stamps ctime and no worker can set it. Two writes
 * within one tick of the clock can share a ctime, which is why a baseline trusts no file changed just before it.
 */
export const signatureOf = (stat: BigIntStats): string =>
  `${stat.dev}:${stat.ino}:${stat.mode}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
