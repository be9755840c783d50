/**
 * The files of a private repository as plain bytes, without git: its configuration, hooks and even its layout are the
 * worker's. Objects are left out, they are named by their content; so are indexes, which `git status` rewrites.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { RepoPath } from '../model/path.ts';
import { onDisk, walk } from './walk.ts';

/** What stands at a path. Compared as text: `file:<latin1 bytes>`, or the reason why it is no readable file. */
export type FileText =
  | { readonly kind: 'file'; readonly text: string }
  | { readonly kind: 'other'; readonly what: string };

/** Configuration, refs and reflogs are small; what is larger is not read and counts as changed. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
const MAX_FILES = 100_000;

/** Reads a small regular file; anything else is described. Never waits: a fifo in its place is not opened for reading. */
export function readSmallFile(path: string | Buffer): FileText {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return { kind: 'other', what: (error as NodeJS.ErrnoException).code ?? String(error) };
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { kind: 'other', what: 'not a regular file' };
    if (stat.size > MAX_FILE_BYTES) return { kind: 'other', what: `${stat.size} bytes` };
    const bytes = Buffer.alloc(stat.size);
    let length = 0;
    while (length < bytes.length) {
      const count = readSync(fd, bytes, length, bytes.length - length, length);
      if (count === 0) break;
      length += count;
    }
    return { kind: 'file', text: bytes.toString('latin1', 0, length) };
  } finally {
    closeSync(fd);
  }
}

export interface GitDirFiles {
  /** By path in the git directory. */
  readonly files: ReadonlyMap<RepoPath, FileText>;
  readonly folders: ReadonlySet<RepoPath>;
  /** Folders and files that could not be looked at. */
  readonly unreadable: ReadonlyMap<RepoPath, string>;
}

/** Loose objects, packs, and what git writes beside them; `objects/info/alternates` and its like are looked at. */
const isObjectData = (path: string): boolean => /^objects\/(?!info(?:\/|$))/.test(path);
const isIndex = (path: string): boolean => /^(?:worktrees\/[^/]+\/)?(?:index|sharedindex\.[0-9a-f]+)$/.test(path);

/** Reads every file of the git directory at `gitDir` but objects and indexes. */
export async function readGitDir(gitDir: string): Promise<GitDirFiles> {
  const walked = await walk(gitDir, { maxEntries: MAX_FILES, skips: (path) => isObjectData(path) || isIndex(path) });
  const files = new Map<RepoPath, FileText>();
  for (const path of walked.entries.keys()) files.set(path, readSmallFile(onDisk(gitDir, path)));
  return { files, folders: walked.folders, unreadable: walked.unreadable };
}

/** True where both are readable files of the same bytes: what cannot be read is the same as nothing. */
export const sameText = (a: FileText | undefined, b: FileText | undefined): boolean =>
  a !== undefined && b !== undefined && a.kind === 'file' && b.kind === 'file' && a.text === b.text;
