/** What a git directory's files say about commits: HEADs, refs and the history of their moves, parsed without git. */
import type { RepoPath } from '../model/path.ts';
import type { GitDirFiles } from './git-dir-files.ts';

const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const ZERO = /^0+$/;
const isOid = (text: string | undefined): text is string => text !== undefined && OID.test(text) && !ZERO.test(text);

const textAt = (dir: GitDirFiles, path: string): string | null => {
  const file = dir.files.get(path as RepoPath);
  return file?.kind === 'file' ? file.text : null;
};

type Head =
  | { readonly kind: 'detached'; readonly oid: string }
  | { readonly kind: 'attached'; readonly ref: string }
  | { readonly kind: 'unreadable' };

/** The HEAD file at `path`. */
export function readHead(dir: GitDirFiles, path: string): Head {
  const text = textAt(dir, path);
  const ref = text === null ? undefined : /^ref:\s*(\S+)\s*$/.exec(text)?.[1];
  if (ref !== undefined) return { kind: 'attached', ref };
  const oid = text?.trim();
  return isOid(oid) ? { kind: 'detached', oid } : { kind: 'unreadable' };
}

/** Refs by path in the git directory (packed ones as if they were loose), each with its oid; null where it has none. */
export function readRefs(dir: GitDirFiles): Map<string, string | null> {
  const refs = new Map<string, string | null>();
  for (const line of (textAt(dir, 'packed-refs') ?? '').split('\n')) {
    const [oid, name] = line.split(' ');
    if (isOid(oid) && name?.startsWith('refs/')) refs.set(name, oid);
  }
  for (const path of dir.files.keys()) {
    if (!/^(?:worktrees\/[^/]+\/)?refs\//.test(path) || path.endsWith('.lock')) continue;
    const oid = textAt(dir, path)?.trim();
    refs.set(path, isOid(oid) ? oid : null);
  }
  return refs;
}

/** Every oid a reflog ever moved to or from, over all reflogs. */
export function readReflogs(dir: GitDirFiles): Set<string> {
  const oids = new Set<string>();
  for (const path of dir.files.keys()) {
    if (!/^(?:worktrees\/[^/]+\/)?logs\//.test(path)) continue;
    for (const line of (textAt(dir, path) ?? '').split('\n')) {
      const [from, to] = line.split(' ', 2);
      for (const oid of [from, to]) if (isOid(oid)) oids.add(oid);
    }
  }
  return oids;
}

/** Oids that unfinished work is held by: ORIG_HEAD, MERGE_HEAD, HEADs themselves. What was fetched is somebody else's. */
export function readPseudoRefs(dir: GitDirFiles): Set<string> {
  const oids = new Set<string>();
  for (const path of dir.files.keys()) {
    if (!/^(?:worktrees\/[^/]+\/)?(?!FETCH_)[A-Z_]*HEAD$/.test(path)) continue;
    for (const line of (textAt(dir, path) ?? '').split('\n')) {
      const oid = line.split(/\s/, 1)[0];
      if (isOid(oid)) oids.add(oid);
    }
  }
  return oids;
}
