/**
 * The part of the canonical look that runs no program: files of the git directory that decide what git will do next,
 * read as bytes. It is taken first, so that after a worker no git starts with a configuration it may have written.
 */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { CanonicalDifference } from '../model/evidence.ts';
import { hasInvalidUtf8 } from '../model/path.ts';
import { namesIn } from './folder-names.ts';
import type { Place } from './places.ts';

interface WatchedFile {
  readonly what: CanonicalDifference['what'];
  /** Equal where kind, mode and bytes are. */
  readonly signature: string;
  /** It has a second name somewhere, by which it can be written although this one is read-only. */
  readonly linked: boolean;
}
/** By absolute path. */
export type WatchedFiles = ReadonlyMap<string, WatchedFile>;

/** Above this a file is known by its stat data instead of its bytes. */
const MAX_READ = 16 * 1024 * 1024;

/** States that change what the host's next commit or rebase does. */
const OPERATIONS = [
  'MERGE_HEAD',
  'MERGE_MSG',
  'SQUASH_MSG',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'BISECT_START',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
];

/**
 * Reads the files of all places, and the host's own ignore file, which hides new files from git. Never throws: an absent
 * or unreadable file has a signature too.
 */
export function readWatchedFiles(places: readonly Place[], excludesFile: string | null): WatchedFiles {
  const files = new Map<string, WatchedFile>();
  if (excludesFile !== null) files.set(excludesFile, { what: 'info', ...signatureOf(excludesFile) });
  for (const place of places) watchPlace(place, files);
  return files;
}

function watchPlace({ location, configured, emptyLinks }: Place, files: Map<string, WatchedFile>): void {
  const { gitDir, commonDir, objectsDir, worktree } = location;
  const watch = (what: WatchedFile['what'], ...paths: string[]): void => {
    for (const path of paths) files.set(path, { what, ...signatureOf(path) });
  };
  watch('config', join(commonDir, 'config'), join(commonDir, 'config.worktree'), join(gitDir, 'config.worktree'));
  watch('config', join(gitDir, 'commondir'), ...configured.config);
  watch('head', join(gitDir, 'HEAD'), ...OPERATIONS.map((name) => join(gitDir, name)));
  for (const folder of new Set([join(commonDir, 'hooks'), ...(configured.hooks === null ? [] : [configured.hooks])]))
    watch('hooks', folder, ...namesIn(folder).map((name) => join(folder, name)));
  // info/refs is a listing that gc rewrites.
  for (const folder of new Set([join(commonDir, 'info'), join(gitDir, 'info')]))
    for (const name of namesIn(folder)) if (name !== 'refs') watch('info', join(folder, name));
  watch('info', join(objectsDir, 'info', 'alternates'), join(commonDir, 'shallow'), join(gitDir, 'gitdir'));
  watch('info', join(worktree, '.git'));
  for (const link of emptyLinks) if (!hasInvalidUtf8(link)) watch('info', join(worktree, link, '.git'));
  watch('ref', join(commonDir, 'logs', 'refs', 'stash'));
  for (const folder of new Set([gitDir, commonDir])) watch('info', ...locksIn(folder));
  watch('info', ...locksBelow(join(commonDir, 'refs')));
  const worktrees = join(commonDir, 'worktrees');
  for (const id of namesIn(worktrees)) {
    watch('head', join(worktrees, id, 'HEAD'));
    for (const name of ['gitdir', 'commondir', 'locked']) watch('info', join(worktrees, id, name));
  }
}

/** A lock that a command has left behind keeps every later one out. */
export const isLock = (path: string): boolean => path.endsWith('.lock');

const locksIn = (folder: string): string[] =>
  namesIn(folder)
    .filter(isLock)
    .map((name) => join(folder, name));

/** Those of refs, but not of the ones that runs beside this one are about to make. */
function locksBelow(folder: string): string[] {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return names
      .filter((name) => isLock(name) && !/^agent-exec(-quarantine)?\//.test(name))
      .map((name) => join(folder, name));
  } catch {
    // Refs come and go while they are listed, and what cannot be listed git will complain of.
    return [];
  }
}

function signatureOf(path: string): { readonly signature: string; readonly linked: boolean } {
  const single = (signature: string) => ({ signature, linked: false });
  try {
    const stat = lstatSync(path, { bigint: true });
    if (stat.isSymbolicLink()) {
      const target = signatureOf(realpathSync(path));
      return { ...target, signature: `link ${readlinkSync(path)} ${target.signature}` };
    }
    if (stat.isDirectory()) return single('folder');
    if (!stat.isFile()) return single(`special ${stat.mode.toString(8)}`);
    const mode = stat.mode.toString(8);
    const linked = stat.nlink > 1n;
    if (stat.size > MAX_READ)
      return { signature: `file ${mode} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.ino}`, linked };
    return { signature: `file ${mode} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`, linked };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return single(code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : `unreadable ${code}`);
  }
}
