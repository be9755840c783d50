/**
 * Everything that is in a folder, by `lstat` alone: no name is skipped because git would skip it, no symlink is followed,
 * nothing is opened. What cannot be looked at is told. The invariant: an entry is in `entries`, or a reason why it may be
 * missing is in `unreadable`.
 */
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { decodePath, encodePath, type RepoPath } from '../model/path.ts';
import { isDotGit } from '../unit/git-names.ts';
import { signatureOf } from './file-identity.ts';

export type EntryType = 'file' | 'symlink' | 'special';

export interface WalkedEntry {
  readonly type: EntryType;
  readonly signature: string;
  /** Permission and set-id bits, `st_mode & 07777`. */
  readonly permissions: number;
  readonly size: number;
  readonly links: number;
  readonly changedAtNs: bigint;
  /** True below a folder that some file system takes for `.git`: no commit can carry it. */
  readonly insideGit: boolean;
}

export interface Walk {
  /** Whatever is not a folder. */
  readonly entries: ReadonlyMap<RepoPath, WalkedEntry>;
  readonly folders: ReadonlySet<RepoPath>;
  /** Entries named like `.git`, of any type, below the top; their folders are repositories to some reader. */
  readonly gitNames: ReadonlySet<RepoPath>;
  readonly unreadable: ReadonlyMap<RepoPath, string>;
}

export interface WalkOptions {
  /** Entries after which the walk gives up and says so. */
  readonly maxEntries: number;
  /** Paths not to be looked at, nor anything below them. */
  readonly skips?: (path: RepoPath) => boolean;
}

/** Where a path of the tree is on disk: bytes where text cannot say it. */
export function onDisk(root: string, path: RepoPath): string | Buffer {
  return /[\uDC80-\uDCFF]/.test(path) ? Buffer.concat([Buffer.from(`${root}/`), encodePath(path)]) : `${root}/${path}`;
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

function typeOf(stat: BigIntStats): EntryType {
  return stat.isFile() ? 'file' : stat.isSymbolicLink() ? 'symlink' : 'special';
}

/** Walks `root`, which must be a folder, giving other work a turn every few hundred entries. */
export async function walk(root: string, options: WalkOptions): Promise<Walk> {
  const entries = new Map<RepoPath, WalkedEntry>();
  const folders = new Set<RepoPath>();
  const gitNames = new Set<RepoPath>();
  const unreadable = new Map<RepoPath, string>();
  const pending: { path: RepoPath; insideGit: boolean }[] = [{ path: '' as RepoPath, insideGit: false }];
  let seen = 0;

  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    let names: Buffer[];
    try {
      names = readdirSync(folder.path === '' ? root : onDisk(root, folder.path), { encoding: 'buffer' });
    } catch (error) {
      unreadable.set(folder.path, codeOf(error));
      continue;
    }
    for (const bytes of names) {
      const name = decodePath(bytes);
      const path = (folder.path === '' ? name : `${folder.path}/${name}`) as RepoPath;
      if (options.skips?.(path)) continue;
      if (++seen > options.maxEntries) {
        // Of the root: nothing may be concluded from what was not seen.
        unreadable.set('' as RepoPath, `more than ${options.maxEntries} entries`);
        return { entries, folders, gitNames, unreadable };
      }
      if (seen % 256 === 0) await setImmediate();
      let stat: BigIntStats;
      try {
        stat = lstatSync(onDisk(root, path), { bigint: true });
      } catch (error) {
        unreadable.set(path, codeOf(error));
        continue;
      }
      const isGitName = isDotGit(name);
      if (isGitName) gitNames.add(path);
      const insideGit = folder.insideGit || isGitName;
      if (stat.isDirectory()) {
        folders.add(path);
        pending.push({ path, insideGit });
      } else {
        entries.set(path, {
          type: typeOf(stat),
          signature: signatureOf(stat),
          permissions: Number(stat.mode & 0o7777n),
          size: Number(stat.size),
          links: Number(stat.nlink),
          changedAtNs: stat.ctimeNs,
          insideGit,
        });
      }
    }
  }
  return { entries, folders, gitNames, unreadable };
}

/** Every folder above a path, nearest last: `a/b/c` has `a` and `a/b`. */
export function* foldersAbove(path: RepoPath): Generator<RepoPath> {
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) yield path.slice(0, at) as RepoPath;
}
