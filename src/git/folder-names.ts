/** The names in a folder, for looks that must not fail: a folder that cannot be listed has none, and its own signature tells. */
import { readdirSync } from 'node:fs';
import { decodePath, type RepoPath } from '../model/path.ts';
import { placeOf } from './places.ts';

export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Absent, unreadable or no folder.
    return [];
  }
}

/** The same in a worktree, where a name may be of any bytes. */
export function pathsIn(worktree: string, folder: RepoPath): RepoPath[] {
  try {
    return readdirSync(placeOf(worktree, folder), { encoding: 'buffer' }).map(decodePath);
  } catch {
    // As above.
    return [];
  }
}
