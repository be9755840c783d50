/** What lies in the host's worktree, by lstat alone: no content is read, so no filter, no program and no race with one. */
import { lstatSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RepoPath } from '../model/path.ts';
import { placeOf } from './places.ts';

/**
 * Equal where type, mode, size, times of content and inode are; `absent` where nothing is. Ends with `linked` where a file
 * has another name somewhere.
 */
export type StatSignature = string;

/** lstat calls between two turns of the event loop: a look must not stop the supervision of other work. */
const PER_TURN = 512;

/** The signature of each path, relative to `worktree`. Never throws. */
export async function statWorktree(worktree: string, paths: Iterable<RepoPath>): Promise<Map<RepoPath, StatSignature>> {
  const signatures = new Map<RepoPath, StatSignature>();
  for (const path of paths) {
    signatures.set(path, signatureOf(placeOf(worktree, path)));
    if (signatures.size % PER_TURN === 0) await nextTurn();
  }
  return signatures;
}

function signatureOf(place: string | Buffer): StatSignature {
  try {
    const stat = lstatSync(place, { bigint: true });
    const mode = stat.mode.toString(8);
    // A folder is listed for a submodule or a nested repository; its times tell of its entries, which are not listed.
    if (stat.isDirectory()) return `${mode} ${stat.ino}`;
    return `${mode} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}${stat.nlink > 1n ? ' linked' : ''}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : `unreadable ${code}`;
  }
}

/** Whether a file that is still the same one was changed and may have been changed by another name of it. */
export function changedThroughLink(before: StatSignature, after: StatSignature): boolean {
  const isSame = before.split(' ')[1] === after.split(' ')[1];
  return before !== after && isSame && (before.endsWith(' linked') || after.endsWith(' linked'));
}

/** In words, what happened between two signatures that differ. */
export function describeStatChange(before: StatSignature, after: StatSignature): string {
  if (before === 'absent') return 'created';
  if (after === 'absent') return 'deleted';
  if (after.startsWith('unreadable')) return after;
  const [was, is] = [before.split(' '), after.split(' ')];
  if (was[0] !== is[0]) return `mode ${was[0]} -> ${is[0]}`;
  if (was[2] !== is[2]) return `size ${was[2]} -> ${is[2]}`;
  if (was[1] !== is[1]) return 'replaced';
  return was[3] === is[3] ? 'changed in its metadata' : 'written';
}
