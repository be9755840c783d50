/**
 * Whether a symlink leads out of the workspace. A checkout elsewhere follows it from there, so an absolute target always
 * does, and so does one into the repository's own `.git`. A dangling link inside is nobody's harm.
 */
import { lstatSync, readlinkSync } from 'node:fs';
import { decodePath, type RepoPath } from '../model/path.ts';
import { isDotGit } from '../unit/git-names.ts';
import { onDisk } from './walk.ts';

/** As many links as the kernel follows before it gives up with ELOOP. */
const MAX_LINKS = 40;

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '' && segment !== '.');

/** Reading `..` as text, the way archive tools and other systems do. */
function leavesLexically(folder: readonly string[], target: string): boolean {
  let depth = folder.length;
  for (const segment of segmentsOf(target)) {
    depth += segment === '..' ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

/** The target of the link at `path`, or null where no symlink stands there (missing and unreadable included). */
function linkAt(root: string, path: RepoPath): string | null {
  try {
    const place = onDisk(root, path);
    return lstatSync(place).isSymbolicLink() ? decodePath(readlinkSync(place, { encoding: 'buffer' })) : null;
  } catch {
    // Nothing to follow: what does not exist cannot lead further, and an unreadable folder fails the inventory by itself.
    return null;
  }
}

/** Following links as the kernel does, folder by folder. */
function leavesPhysically(root: string, folder: readonly string[], target: string): boolean {
  const at = [...folder];
  const ahead = segmentsOf(target);
  let links = 0;
  for (let segment = ahead.shift(); segment !== undefined; segment = ahead.shift()) {
    if (segment === '..') {
      if (at.pop() === undefined) return true;
      continue;
    }
    at.push(segment);
    if (at.length === 1 && isDotGit(segment)) return true;
    const next = linkAt(root, at.join('/') as RepoPath);
    if (next === null) continue;
    if (next.startsWith('/')) return true;
    if (++links > MAX_LINKS) return false;
    at.pop();
    ahead.unshift(...segmentsOf(next));
  }
  return false;
}

/** `root`: the workspace; `path`: where the link lies in it; `target`: the link's own bytes. */
export function leavesWorkspace(root: string, path: RepoPath, target: Uint8Array): boolean {
  const text = decodePath(target);
  if (text.startsWith('/')) return true;
  const folder = path.split('/').slice(0, -1);
  return leavesLexically(folder, text) || leavesPhysically(root, folder, text);
}
