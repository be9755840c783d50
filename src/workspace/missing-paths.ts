/** What base tracks and the worker took away. The invariant: of what could not be looked at, nothing is concluded. */
import type { RepoPath } from '../model/path.ts';
import type { Baseline } from './baseline.ts';
import { foldersAbove, type Walk } from './walk.ts';

/** True where a folder above the path was not read, or the path itself could not be looked at. */
function isUnknown({ unreadable }: Walk, path: RepoPath): boolean {
  if (unreadable.size === 0) return false;
  if (unreadable.has('' as RepoPath) || unreadable.has(path)) return true;
  for (const folder of foldersAbove(path)) if (unreadable.has(folder)) return true;
  return false;
}

/** Paths of base that were there at the baseline and are not any more, or are a folder or special file now. */
export function missingPaths(walked: Walk, { atBase, entries, folders }: Baseline): RepoPath[] {
  const missing: RepoPath[] = [];
  for (const [path, { mode }] of atBase) {
    const isSubmodule = mode === '160000';
    const wasThere = isSubmodule ? folders.has(path) : entries.has(path);
    if (!wasThere || (isSubmodule && walked.folders.has(path))) continue;
    const now = walked.entries.get(path);
    if ((now === undefined || now.type === 'special') && !isUnknown(walked, path)) missing.push(path);
  }
  return missing;
}
