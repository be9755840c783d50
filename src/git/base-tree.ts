/** What the base commit holds. Read from its objects, so nothing that happens in a worktree can change the answer. */
import { decodePath, type RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { GitError, git, splitNul, tryGit } from './run.ts';

export interface TreeEntry {
  /** Six octal digits; `160000` is a submodule link. */
  readonly mode: string;
  readonly oid: string;
}

export interface BaseTree {
  /** Every file, symlink and submodule link at base. */
  readonly entries: ReadonlyMap<RepoPath, TreeEntry>;
  /** True for a folder that holds at least one entry; a submodule link is none. */
  isDirectory(path: string): boolean;
}

/** Reads the whole tree of a commit. Throws {@link GitError}. */
export async function pathsAtBase(facts: RepositoryFacts, base: string): Promise<BaseTree> {
  const listing = await git({ gitDir: facts.gitDir, args: ['ls-tree', '-r', '-z', '--full-tree', base] });
  const entries = new Map<RepoPath, TreeEntry>();
  for (const record of splitNul(listing)) {
    const tab = record.indexOf(9);
    const [mode = '', , oid = ''] = record.toString('latin1', 0, tab).split(' ');
    entries.set(decodePath(record.subarray(tab + 1)), { mode, oid });
  }
  let folders: Set<string> | null = null;
  return {
    entries,
    isDirectory(path) {
      folders ??= foldersOf(entries.keys());
      return folders.has(path.endsWith('/') ? path.slice(0, -1) : path);
    },
  };
}

function foldersOf(paths: Iterable<string>): Set<string> {
  const folders = new Set<string>();
  for (const path of paths) {
    // Stops at the first known folder: its own parents are known too.
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return folders;
}

/** Blobs by their names, in the order asked for. Throws where one is missing: callers name objects of a tree they hold. */
export async function readBlobs(gitDir: string, oids: readonly string[]): Promise<Buffer[]> {
  if (oids.length === 0) return [];
  const args = ['cat-file', '--batch'];
  const output = await tryGit({ gitDir, args, input: Buffer.from(`${oids.join('\n')}\n`) });
  if (output.code !== 0) throw new GitError(args, output);
  const blobs: Buffer[] = [];
  for (let at = 0; blobs.length < oids.length; ) {
    const end = output.stdout.indexOf(10, at);
    const header = output.stdout.toString('latin1', at, end);
    const size = /^[0-9a-f]+ blob (\d+)$/.exec(header)?.[1];
    if (end < 0 || size === undefined) throw new GitError(args, { ...output, stderr: header });
    blobs.push(output.stdout.subarray(end + 1, end + 1 + Number(size)));
    at = end + 2 + Number(size);
  }
  return blobs;
}

/** The regular files at base with this file name, in any folder. */
export const filesNamed = (tree: BaseTree, name: string): [RepoPath, TreeEntry][] =>
  [...tree.entries].filter(
    ([path, { mode }]) => mode.startsWith('100') && (path === name || path.endsWith(`/${name}`)),
  );

/** True where any attributes file at base gives a path to Git LFS: workers then see pointers, not contents. */
export async function usesLfs(facts: RepositoryFacts, tree: BaseTree): Promise<boolean> {
  const files = filesNamed(tree, '.gitattributes').map(([, { oid }]) => oid);
  const contents = await readBlobs(facts.gitDir, [...new Set(files)]);
  return contents.some((bytes) => /^[^#\n].*\sfilter=lfs(\s|$)/m.test(bytes.toString('latin1')));
}
