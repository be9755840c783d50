/**
 * The repositories that a look at the canonical one takes in: itself, and its initialised submodules at any depth, whose
 * files are part of the host's worktree too. Found once, before any worker; a later look uses the same list.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { decodePath, encodePath, hasInvalidUtf8, type RepoPath } from '../model/path.ts';
import { type ConfiguredFiles, configuredFiles, type Location } from './configured-files.ts';
import { GitError, git, splitNul } from './run.ts';

export interface Place {
  readonly location: Location;
  /** `''`, or a submodule's path from the top with a slash at its end. */
  readonly prefix: string;
  readonly configured: ConfiguredFiles;
  /** Submodule links without a repository that git can read; only what lies directly in them is watched. */
  readonly emptyLinks: readonly RepoPath[];
}

/** Submodules within submodules, as deep as anybody nests them. */
const MAX_DEPTH = 8;

/** The repository at `location` first, then its submodules. Throws {@link GitError} where the first cannot be read. */
export async function findPlaces(location: Location, prefix = '', depth = 0): Promise<Place[]> {
  const at = { gitDir: location.gitDir, workTree: location.worktree };
  const [configured, index] = await Promise.all([
    configuredFiles(location),
    git({ ...at, args: ['ls-files', '--stage', '-z'] }),
  ]);
  const links = splitNul(index)
    .filter((record) => record.toString('latin1', 0, 6) === '160000')
    .map((record) => decodePath(record.subarray(record.indexOf(9) + 1)));
  const emptyLinks: RepoPath[] = [];
  const nested: Place[] = [];
  for (const path of links) {
    const submodule = hasInvalidUtf8(path) || depth >= MAX_DEPTH ? null : submoduleAt(join(location.worktree, path));
    const places = submodule === null ? null : await submodulePlaces(submodule, `${prefix}${path}/`, depth + 1);
    if (places === null) emptyLinks.push(path);
    else nested.push(...places);
  }
  return [{ location, prefix, configured, emptyLinks }, ...nested];
}

async function submodulePlaces(location: Location, prefix: string, depth: number): Promise<Place[] | null> {
  try {
    return await findPlaces(location, prefix, depth);
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** The repository of an initialised submodule; null where there is none. */
function submoduleAt(worktree: string): Location | null {
  const dotGit = join(worktree, '.git');
  const stat = statSync(dotGit, { throwIfNoEntry: false });
  const named = stat?.isFile() ? /^gitdir: (.*?)\n*$/s.exec(readFileSync(dotGit, 'utf8'))?.[1] : '.git';
  const gitDir = resolve(worktree, named ?? '.git');
  if (!existsSync(join(gitDir, 'HEAD'))) return null;
  return { worktree, gitDir, commonDir: gitDir, objectsDir: join(gitDir, 'objects') };
}

/** A path of a worktree for a system call. */
export const placeOf = (worktree: string, path: RepoPath): string | Buffer =>
  hasInvalidUtf8(path) ? Buffer.concat([Buffer.from(`${worktree}/`), encodePath(path)]) : `${worktree}/${path}`;
