/** A look at one published commit with git alone, by which a record's word is checked. */

import type { CommitLook } from '../model/live.ts';
import { decodePath } from '../model/path.ts';
import { readBlobs } from './base-tree.ts';
import { splitNul, tryGit } from './run.ts';

/** The commit behind `ref`, compared with `base`, and the blob it has at `path`; null where the ref names no commit. */
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
    ask('ls-tree', '-z', '--full-tree', commit, '--', path),
  ]);
  // Of a tree that cannot be read nothing is known, and so nothing is proven.
  if (changed.code !== 0 || entry.code !== 0) return null;
  const [, mode, oid] = /^(\d{6}) \w+ ([0-9a-f]+)\t/.exec(entry.stdout.toString('latin1')) ?? [];
  const isFile = mode?.startsWith('100') === true && oid !== undefined;
  const [bytes = null] = isFile ? await readBlobs(gitDir, [oid]) : [];
  return { commit, parents, changedPaths: splitNul(changed.stdout).map(decodePath), bytes };
}
