/**
 * The repositories that a look at the canonical one takes in: itself, its initialised submodules at any depth, whose
 * files are part of the host's worktree too, and where asked for its other worktrees. Found once, before any worker; a
 * later look uses the same list.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { decodePath, encodePath, hasInvalidUtf8, type RepoPath } from '../model/path.ts';
import { type ConfiguredFiles, configuredFiles, type Location } from './configured-files.ts';
import { GitError, git, type HostEnvironment, splitNul } from './run.ts';

export interface Place {
  readonly location: Location;
  /** `''`, or a submodule's path from the top, or another worktree's absolute path, each with a slash at its end. */
  readonly prefix: string;
  /** Shares its refs with the first place. */
  readonly isOtherWorktree: boolean;
  readonly configured: ConfiguredFiles;
  /** Submodule links without a repository that git can read; only what lies directly in them is watched. */
  readonly emptyLinks: readonly RepoPath[];
}

/** Submodules within submodules, as deep as anybody nests them. */
const MAX_DEPTH = 8;

/**
 * The repository at `location` first, then its submodules. `hostEnv`: see `configuredFiles`. Throws {@link GitError} where
 * the first cannot be read.
 */
export async function findPlaces(
  location: Location,
  hostEnv: HostEnvironment | null,
  prefix = '',
  depth = 0,
): Promise<Place[]> {
  const at = { gitDir: location.gitDir, workTree: location.worktree };
  const [configured, index] = await Promise.all([
    configuredFiles(location, hostEnv),
    git({ ...at, args: ['ls-files', '--stage', '-z'] }),
  ]);
  const links = splitNul(index)
    .filter((record) => record.toString('latin1', 0, 6) === '160000')
    .map((record) => decodePath(record.subarray(record.indexOf(9) + 1)));
  const emptyLinks: RepoPath[] = [];
  const nested: Place[] = [];
  for (const path of links) {
    const submodule = hasInvalidUtf8(path) || depth >= MAX_DEPTH ? null : repositoryAt(join(location.worktree, path));
    const places =
      submodule === null ? null : await submodulePlaces(submodule, hostEnv, `${prefix}${path}/`, depth + 1);
    if (places === null) emptyLinks.push(path);
    else nested.push(...places);
  }
  return [{ location, prefix, isOtherWorktree: false, configured, emptyLinks }, ...nested];
}

/** What other worktrees hold beside the refs and the configuration that they share; submodules in them are left out. */
export function otherPlaces(facts: Location, worktrees: readonly string[]): Place[] {
  const places: Place[] = [];
  for (const worktree of worktrees) {
    const own = repositoryAt(worktree);
    if (own === null) continue;
    const location = { ...facts, worktree, gitDir: own.gitDir };
    const configured = { config: [], hooks: null };
    places.push({ location, prefix: `${worktree}/`, isOtherWorktree: true, configured, emptyLinks: [] });
  }
  return places;
}

async function submodulePlaces(
  location: Location,
  hostEnv: HostEnvironment | null,
  prefix: string,
  depth: number,
): Promise<Place[] | null> {
  try {
    return await findPlaces(location, hostEnv, prefix, depth);
  } catch (error) {
    if (error instanceof GitError) return null;
    throw error;
  }
}

/** The repository that `.git` in a folder is or names; null where there is none. */
function repositoryAt(worktree: string): Location | null {
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
