/**
 * What of a change is in the host's checkout already, and what stands in its way. Asked of git with the host's own
 * filters and settings, on copies of the index: a look changes nothing. The invariant: a path is `to-do` or `written`
 * only where replacing it loses no byte that is not in HEAD or in the change itself.
 */
import { type BigIntStats, copyFileSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { decodePath, encodePath, type RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import type { TreeEntry, TwoSided } from './merge.ts';
import { placeOf } from './places.ts';
import { type GitCall, GitError, git, type HostEnvironment, splitNul, tryGit } from './run.ts';

export const IN_THE_WAY = ['staged', 'unstaged', 'untracked', 'ignored', 'conflict', 'submodule'] as const;
/** Why a path cannot be written: uncommitted work of each kind, an unfinished merge, or a submodule's link. */
export type InTheWay = (typeof IN_THE_WAY)[number];

/** `to-do`: as in HEAD. `written`: the file is as in the change, the index is not yet. `done`: both are. */
export type PathState = 'to-do' | 'written' | 'done';

export interface CheckoutLook {
  readonly states: ReadonlyMap<RepoPath, PathState>;
  readonly overlaps: readonly { readonly path: RepoPath; readonly kind: InTheWay }[];
  /** Paths that a sparse checkout leaves out: only the index has them. */
  readonly sparse: ReadonlySet<RepoPath>;
  /** What lay at each path before it was looked at, see {@link placeSignature}. */
  readonly seen: ReadonlyMap<RepoPath, string>;
}

export interface CheckoutRequest {
  readonly facts: RepositoryFacts;
  readonly hostEnv: HostEnvironment;
  readonly changes: readonly TwoSided[];
  /** Where the change's objects can be read. */
  readonly objectsDir: string;
  /** An existing private folder. */
  readonly scratch: string;
}

interface IndexEntry extends TreeEntry {
  /** As `ls-files -v` says it: `S` is left out by a sparse checkout, lower case is assumed to be unchanged. */
  readonly flag: string;
  readonly stage: string;
}

const SUBMODULE = '160000';
/** Files named in a folder that is in the way; a `node_modules` needs no million lines. */
const MAX_NAMED = 20;

export const indexOf = ({ gitDir }: RepositoryFacts): string => join(gitDir, 'index');

/** Throws {@link GitError} where git cannot answer. */
export async function lookAtCheckout(request: CheckoutRequest): Promise<CheckoutLook> {
  const { facts, changes } = request;
  const seen = new Map(changes.map(({ path }) => [path, placeSignature(facts.worktree, path)]));
  const entries = await indexEntries(facts, new Set(changes.map(({ path }) => path)));
  const [dirty, unlike] = await Promise.all([dirtyPaths(request, entries), unlikeTarget(request)]);
  const removed = new Set(changes.filter(({ to }) => to === null).map(({ path }) => path));
  const states = new Map<RepoPath, PathState>();
  const sparse = new Set<RepoPath>();
  const overlaps = new Map<RepoPath, InTheWay>();
  for (const { path, from, to } of changes) {
    const entry = entries.get(path) ?? null;
    const there = statAt(facts.worktree, path);
    // A folder in a file's place is looked into below.
    const isAbsent = there === undefined || there.isDirectory();
    const isLeftOut = entry?.flag.toUpperCase() === 'S' && there === undefined;
    if (isLeftOut) sparse.add(path);
    const isTarget = isLeftOut || (to === null ? isAbsent : !unlike.has(path));
    const isClean = isLeftOut || (entry === null ? isAbsent : !dirty.has(path));
    if (from?.mode === SUBMODULE || to?.mode === SUBMODULE) overlaps.set(path, 'submodule');
    else if (entry !== null && entry.stage !== '0') overlaps.set(path, 'conflict');
    else if (isSame(entry, to) && (isClean || isTarget)) states.set(path, 'done');
    else if (isSame(entry, from) && isTarget && !isLeftOut) states.set(path, 'written');
    else if (isSame(entry, from) && isClean) states.set(path, 'to-do');
    else if (isSame(entry, from) || isSame(entry, to)) overlaps.set(path, entry === null ? 'untracked' : 'unstaged');
    else overlaps.set(path, 'staged');
    if (to === null || isLeftOut) continue;
    for (const other of obstacles(facts.worktree, path, removed)) {
      if (!overlaps.has(other)) overlaps.set(other, 'untracked');
    }
  }
  const ignored = await ignoredOf(
    request,
    [...overlaps].filter(([, kind]) => kind === 'untracked').map(([path]) => path),
  );
  return {
    states,
    sparse,
    seen,
    overlaps: [...overlaps].map(([path, kind]) => ({ path, kind: ignored.has(path) ? 'ignored' : kind })),
  };
}

const isSame = (one: TreeEntry | null, other: TreeEntry | null): boolean =>
  one?.mode === other?.mode && one?.oid === other?.oid;

async function indexEntries(facts: RepositoryFacts, wanted: ReadonlySet<RepoPath>): Promise<Map<RepoPath, IndexEntry>> {
  const found = new Map<RepoPath, IndexEntry>();
  for (const record of splitNul(await git({ gitDir: facts.gitDir, args: ['ls-files', '--stage', '-v', '-z'] }))) {
    const tab = record.indexOf(9);
    const path = decodePath(record.subarray(tab + 1));
    if (!wanted.has(path)) continue;
    const [flag = '', mode = '', oid = '', stage = ''] = record.toString('latin1', 0, tab).split(' ');
    found.set(path, { flag, mode, oid, stage });
  }
  return found;
}

/** Those of the change's paths whose file is not what the index says. */
async function dirtyPaths(
  request: CheckoutRequest,
  entries: ReadonlyMap<RepoPath, IndexEntry>,
): Promise<ReadonlySet<RepoPath>> {
  const { facts, scratch } = request;
  const indexFile = join(scratch, 'look.index');
  if (lstatSync(indexOf(facts), { throwIfNoEntry: false }) === undefined) return new Set();
  copyFileSync(indexOf(facts), indexFile);
  // What git was told to take for unchanged may hold work all the same.
  const assumed = [...entries].filter(([, { flag }]) => flag !== flag.toUpperCase()).map(([path]) => path);
  if (assumed.length > 0) {
    const args = ['update-index', '--no-assume-unchanged', '-z', '--stdin'];
    await git({ ...inCheckout(request, indexFile), args, input: nulList(assumed) });
  }
  // So may what it was told to leave out of the worktree, where it lies there all the same.
  const leftOut = [...entries]
    .filter(([path, { flag }]) => flag.toUpperCase() === 'S' && statAt(facts.worktree, path) !== undefined)
    .map(([path]) => path);
  if (leftOut.length > 0) {
    const args = ['update-index', '--no-skip-worktree', '-z', '--stdin'];
    await git({ ...inCheckout(request, indexFile), args, input: nulList(leftOut) });
  }
  return differing(request, indexFile);
}

/** Those of the change's paths whose file is not what the change makes of it. */
async function unlikeTarget(request: CheckoutRequest): Promise<ReadonlySet<RepoPath>> {
  const indexFile = join(request.scratch, 'target.index');
  const input = indexInfo(
    request.facts,
    request.changes.flatMap(({ path, to }) => (to === null ? [] : [{ path, to }])),
  );
  await git({ ...inCheckout(request, indexFile), args: ['update-index', '-z', '--index-info'], input });
  return differing(request, indexFile);
}

/** Refreshed first: only then does a file with another time and the same content count as unchanged. */
async function differing(request: CheckoutRequest, indexFile: string): Promise<ReadonlySet<RepoPath>> {
  const at = inCheckout(request, indexFile);
  const refresh = ['update-index', '-q', '--refresh'];
  const refreshed = await tryGit({ ...at, args: refresh });
  // 1 says that something differs; without a refresh everything would.
  if (refreshed.code !== 0 && refreshed.code !== 1) throw new GitError(refresh, refreshed);
  const args = ['diff-files', '--name-only', '-z', '--no-renames', '--ignore-submodules=all'];
  return new Set(splitNul(await git({ ...at, args })).map(decodePath));
}

/** A call that works on another index in the host's checkout, as the host. */
export const inCheckout = (
  { facts, hostEnv, objectsDir }: Pick<CheckoutRequest, 'facts' | 'hostEnv' | 'objectsDir'>,
  indexFile: string,
) =>
  ({
    gitDir: facts.gitDir,
    workTree: facts.worktree,
    indexFile,
    objectsDir,
    asHost: hostEnv,
    // A split index would put half of it into the git directory.
    config: [['core.splitIndex', 'false']],
    timeoutMs: 30 * 60_000,
  }) satisfies Partial<GitCall>;

/** Lines for `update-index -z --index-info`; removals first, so that a folder can take a file's place and the reverse. */
export function indexInfo(
  { objectFormat }: RepositoryFacts,
  entries: readonly { readonly path: RepoPath; readonly to: TreeEntry | null }[],
): Buffer {
  const lines = [...entries.filter(({ to }) => to === null), ...entries.filter(({ to }) => to !== null)];
  return Buffer.concat(
    lines.flatMap(({ path, to }) => [
      Buffer.from(to === null ? `0 ${'0'.repeat(objectFormat === 'sha1' ? 40 : 64)}\t` : `${to.mode} ${to.oid}\t`),
      encodePath(path),
      Buffer.of(0),
    ]),
  );
}

export const nulList = (paths: readonly RepoPath[]): Buffer =>
  Buffer.concat(paths.flatMap((path) => [encodePath(path), Buffer.of(0)]));

/** What lies where the path or a folder above it must be: files, links, other repositories, and what a folder holds. */
function obstacles(worktree: string, path: RepoPath, removed: ReadonlySet<RepoPath>): RepoPath[] {
  const parts = path.split('/');
  for (let i = 1; i < parts.length; i++) {
    const folder = parts.slice(0, i).join('/') as RepoPath;
    const seen = statAt(worktree, folder);
    if (seen === undefined) return [];
    if (!seen.isDirectory()) return removed.has(folder) ? [] : [folder];
    const dotGit = statAt(worktree, `${folder}/.git` as RepoPath);
    if (dotGit !== undefined) return [folder];
  }
  if (statAt(worktree, path)?.isDirectory() !== true) return [];
  return filesIn(worktree, path)
    .filter((file) => !removed.has(file))
    .slice(0, MAX_NAMED);
}

function filesIn(worktree: string, folder: RepoPath): RepoPath[] {
  return readdirSync(placeOf(worktree, folder), { encoding: 'buffer' }).flatMap((name) => {
    const path = `${folder}/${decodePath(name)}` as RepoPath;
    return lstatSync(placeOf(worktree, path)).isDirectory() ? filesIn(worktree, path) : [path];
  });
}

/** Changes with every write, replacement or removal of what lies at the path. A folder counts as nothing. */
export function placeSignature(root: string, path: RepoPath): string {
  let stat: BigIntStats | undefined;
  try {
    stat = lstatSync(placeOf(root, path), { throwIfNoEntry: false, bigint: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR') throw error;
  }
  if (stat === undefined || stat.isDirectory()) return 'absent';
  return [stat.dev, stat.ino, stat.mode, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ');
}

/** What lies at the path itself; undefined also where a folder above it is none. Throws the system's error. */
export function statAt(root: string, path: RepoPath): Stats | undefined {
  try {
    return lstatSync(placeOf(root, path), { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function ignoredOf(
  { facts, hostEnv }: CheckoutRequest,
  paths: readonly RepoPath[],
): Promise<ReadonlySet<RepoPath>> {
  if (paths.length === 0) return new Set();
  const output = await tryGit({
    gitDir: facts.gitDir,
    workTree: facts.worktree,
    asHost: hostEnv,
    args: ['check-ignore', '-z', '--stdin'],
    // A leading `:` would be pathspec magic.
    input: nulList(paths.map((path) => `./${path}` as RepoPath)),
    literalPathspecs: false,
  });
  return new Set(splitNul(output.stdout).map((path) => decodePath(path.subarray(2))));
}

/** The folder of a path, null at the top. */
export function folderOf(path: RepoPath): RepoPath | null {
  const folder = dirname(path);
  return folder === '.' ? null : (folder as RepoPath);
}
