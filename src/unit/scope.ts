/**
 * What a unit may change: decides for each changed path whether `allowed_paths` covers it. An entry is always its own
 * literal name, and a glob where it has glob characters; `dir/`, or an entry that is a directory at base, covers what is
 * under it and not the directory's own place (a folder replaced by a file or a symlink is out of scope). Paths that git or
 * CI execute need their literal name; git's own names are never in scope. More entries never allow less.
 */
import type { RepoPath } from '../model/path.ts';
import { isExecutedPath } from './executed-paths.ts';
import { isDotGit } from './git-names.ts';
import { compileGlob, type Glob, hasGlobCharacters } from './glob.ts';

export interface Scope {
  allows(path: RepoPath): boolean;
}

const neverInScope = (path: string): boolean =>
  path.split('/').some((segment) => segment === '' || segment === '.' || segment === '..' || isDotGit(segment));

/** Every proper folder prefix of a path, without the slash: `a/b/c` has `a` and `a/b`. */
function* foldersOf(path: string): Generator<string> {
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) yield path.slice(0, at);
}

/** `isDirectoryAtBase` is asked once for every entry without a trailing slash. */
export function compileScope(allowedPaths: readonly string[], isDirectoryAtBase: (path: string) => boolean): Scope {
  const files = new Set<string>();
  const folders = new Set<string>();
  const globs: Glob[] = [];
  for (const entry of allowedPaths) {
    const name = entry.endsWith('/') ? entry.slice(0, -1) : entry;
    const isFolder = name !== entry || isDirectoryAtBase(name);
    (isFolder ? folders : files).add(name);
    if (hasGlobCharacters(name)) globs.push(compileGlob(name === entry ? name : `${name}/**`));
  }
  return {
    allows(path) {
      if (neverInScope(path)) return false;
      if (files.has(path)) return true;
      if (isExecutedPath(path)) return false;
      for (const folder of foldersOf(path)) if (folders.has(folder)) return true;
      return globs.some((matches) => matches(path));
    },
  };
}
