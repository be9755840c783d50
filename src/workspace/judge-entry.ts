/** What is wrong with a single entry of the workspace, whatever the unit allows (SPEC 6.7). */
import type { RepoPath } from '../model/path.ts';
import { isSecretPath } from '../unit/secret-paths.ts';
import type { Baseline, BaselineEntry } from './baseline.ts';
import { type HashedBlob, hashSymlink } from './hash.ts';
import type { Notes } from './notes.ts';
import { leavesWorkspace } from './symlink-escape.ts';
import { foldersAbove, onDisk, type Walk, type WalkedEntry } from './walk.ts';
import type { Workspace } from './workspace.ts';

/** Set-user-id, set-group-id and sticky: no commit carries them, and each changes who a program runs as. */
const SPECIAL_BITS = 0o7000;
/** A key is a few kilobytes; what is larger is something else. */
const MAX_KEY_BYTES = 64 * 1024;
const PRIVATE_KEY = /^\s*-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----/;

/** Kinds and permission bits that no commit carries. */
export function judgeInode(path: RepoPath, entry: WalkedEntry, before: BaselineEntry | undefined, notes: Notes): void {
  if (entry.type === 'special') {
    notes.violation('SPECIAL_FILE', 'a pipe, socket or device', path);
    return;
  }
  const bits = entry.permissions & SPECIAL_BITS;
  if (entry.type === 'file' && bits !== 0 && bits !== ((before?.permissions ?? 0) & SPECIAL_BITS)) {
    notes.violation('SPECIAL_FILE', 'a file with a setuid, setgid or sticky bit', path);
  }
}

/** A link that leads a later checkout out of itself. */
export function judgeSymlink(workspace: Workspace, path: RepoPath, target: Uint8Array, notes: Notes): void {
  if (leavesWorkspace(workspace.path, path, target)) {
    notes.violation('SYMLINK_ESCAPE', 'a symlink that leaves the workspace', path);
  }
}

/** A file that base does not have and a commit would carry. */
export function judgeNewFile(file: { readonly path: RepoPath; readonly content: HashedBlob }, notes: Notes): void {
  const { path, content } = file;
  if (isSecretPath(path)) notes.violation('SECRET_FILE', 'a new file that looks like a secret', path);
  else if (content.size <= MAX_KEY_BYTES && PRIVATE_KEY.test(content.head.toString('latin1'))) {
    notes.violation('SECRET_FILE', 'a new file that holds a private key', path);
  }
}

/**
 * An ignored file outside the unit's scope, as caches and installed packages are (SPEC 6.7): packages ship test keys and
 * environments link to the system's programs, so what would be a violation elsewhere is told and does not block.
 */
export function noteIgnored(workspace: Workspace, path: RepoPath, entry: WalkedEntry, notes: Notes): void {
  if (isSecretPath(path)) notes.finding('IGNORED_SECRET_FILE', 'an ignored file that looks like a secret', path);
  if (entry.type !== 'symlink') return;
  const link = hashSymlink(onDisk(workspace.path, path), workspace.facts.objectFormat);
  if (link.ok && leavesWorkspace(workspace.path, path, link.value.target)) {
    notes.finding('IGNORED_SYMLINK_ESCAPE', 'an ignored symlink that leaves the workspace', path);
  }
}

const isBelow = (path: RepoPath, names: ReadonlySet<RepoPath>): boolean => {
  for (const folder of foldersAbove(path)) if (names.has(folder)) return true;
  return false;
};

/** A folder that git takes for a repository without a `.git`: HEAD beside objects and refs, or HEAD and commondir. */
function looksLikeGitDir(folder: string, tree: Pick<Baseline, 'entries' | 'folders'> | Walk): boolean {
  const has = (name: string) => `${folder}${name}` as RepoPath;
  if (tree.entries.get(has('HEAD')) === undefined) return false;
  return (
    (tree.folders.has(has('objects')) && tree.folders.has(has('refs'))) ||
    tree.entries.get(has('commondir')) !== undefined
  );
}

/** Repositories below the top that the baseline did not have. */
export function noteRepositories(walked: Walk, baseline: Baseline, notes: Notes): void {
  for (const path of walked.gitNames) {
    if (baseline.gitNames.has(path) || isBelow(path, walked.gitNames)) continue;
    notes.violation('NESTED_REPOSITORY', 'a repository inside the workspace', path);
  }
  for (const [path, entry] of walked.entries) {
    if (entry.insideGit || !(path === 'HEAD' || path.endsWith('/HEAD'))) continue;
    const folder = path.slice(0, -'HEAD'.length);
    if (looksLikeGitDir(folder, walked) && !looksLikeGitDir(folder, baseline)) {
      notes.violation(
        'NESTED_REPOSITORY',
        'a folder laid out as a bare repository',
        (folder.slice(0, -1) || '.') as RepoPath,
      );
    }
  }
}
