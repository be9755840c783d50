/** A look at one published commit with git alone, by which a record's word is checked. */

import type { CommitLook } from '../model/live.ts';
import { decodePath } from '../model/path.ts';
import { splitNul, tryGit } from './run.ts';

/** A file that is larger is never read: whoever looks for one line knows by the size that it is something else. */
const MAX_BYTES = 4096;

/** The commit behind `ref`, compared with `base`, and the file it has at `path`; null where git cannot read all of that. */
export async function lookAtCommit(
  gitDir: string,
  { ref, base, path }: { readonly ref: string; readonly base: string; readonly path: string },
): Promise<CommitLook | null> {
  const ask = (...args: string[]) => tryGit({ gitDir, args });
  const named = await ask('rev-list', '--parents', '--no-walk', '--end-of-options', ref);
  if (named.code !== 0) return null;
  const [commit = '', ...parents] = named.stdout.toString('latin1').trim().split(' ');
  const [changed, entry] = await Promise.all([
    ask('diff-tree', '-r', '-z', '--name-only', '--no-renames', base, commit),
    ask('ls-tree', '-l', '-z', '--full-tree', commit, '--', path),
  ]);
  // Of a tree that cannot be read nothing is known, and so nothing is proven.
  if (changed.code !== 0 || entry.code !== 0) return null;
  const [, mode = '', oid = '', size = ''] =
    /^(\d{6}) \w+ ([0-9a-f]+) +(\d+)\t/.exec(entry.stdout.toString('latin1')) ?? [];
  const changedPaths = splitNul(changed.stdout).map(decodePath);
  if (!mode.startsWith('100')) return { commit, parents, changedPaths, file: null };
  if (Number(size) > MAX_BYTES) return { commit, parents, changedPaths, file: { size: Number(size), bytes: null } };
  const blob = await ask('cat-file', 'blob', oid);
  return blob.code === 0
    ? { commit, parents, changedPaths, file: { size: blob.stdout.length, bytes: blob.stdout } }
    : null;
}
