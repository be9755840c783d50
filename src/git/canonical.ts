/**
 * The canonical repository as it stands, and what differs between two looks at it (SPEC 6.8). A look has two stages:
 * plain file reads, then git. With `since`, git is asked only if every configuration file has the bytes it had then.
 * What git rewrites by itself is no difference: stat data in the index, packing of refs and objects, access times. What a
 * worker could have done is another question: `differsOutside` answers it where the repository was read-only for it.
 */
import { lstatSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { CanonicalDifference } from '../model/evidence.ts';
import type { RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { type CanonicalView, indexEntries, viewCanonical } from './canonical-view.ts';
import { goneLoose, type ObjectFiles, oidOf, readObjectFiles } from './object-files.ts';
import { findPlaces, otherPlaces, type Place } from './places.ts';
import { showPath } from './quote.ts';
import { GitError, git, type HostEnvironment } from './run.ts';
import { isLock, readWatchedFiles, type WatchedFiles } from './watched-files.ts';
import { changedThroughLink, describeStatChange } from './worktree-stat.ts';

export interface CanonicalLook {
  readonly places: readonly Place[];
  readonly files: WatchedFiles;
  readonly objectsDir: string;
  readonly objects: ObjectFiles;
  readonly git:
    | { readonly kind: 'seen'; readonly view: CanonicalView }
    /** Configuration changed since the earlier look, so git was not run. */
    | { readonly kind: 'not-asked' }
    /** Git could not read the repository. */
    | { readonly kind: 'failed'; readonly message: string };
}

export interface LookOptions {
  /** The earlier look that this one will be compared with. */
  readonly since?: CanonicalLook;
  /** The host's own ignore file, see `hostExcludesFile`; without it files it names count as part of the worktree. */
  readonly excludesFile: string | null;
  /** Nobody but the host could write the repository, except through second names of its files. */
  readonly readOnly?: boolean;
  /** With it, the configuration files of the user and the system are part of the look. */
  readonly hostEnv?: HostEnvironment;
  /**
   * Where nothing kept the worker from writing, these are looked at too: ignored files of the worktree, as far as
   * `ignored-view.ts` goes, and other worktrees, at most {@link MAX_WORKTREES} of them.
   */
  readonly writable?: { readonly otherWorktrees: readonly string[] };
}

/** Each costs two calls of git and a stat of every file; of more, only what git keeps of them in the repository is seen. */
const MAX_WORKTREES = 8;

/** Total for whatever state the repository is in: what cannot be read is part of the look. */
export async function lookAtCanonical(facts: RepositoryFacts, options: LookOptions): Promise<CanonicalLook> {
  const { since, excludesFile, writable } = options;
  const { objectsDir } = facts;
  let places = since?.places ?? [];
  // Runs beside what git is asked.
  const reading = readObjectFiles(facts, since?.objects ?? null, options.readOnly === true);
  const look = async (files: WatchedFiles, seen: CanonicalLook['git']): Promise<CanonicalLook> => ({
    places,
    files,
    objectsDir,
    objects: await reading,
    git: seen,
  });
  try {
    if (since === undefined) {
      places = [
        ...(await findPlaces(facts, options.hostEnv ?? null)),
        ...otherPlaces(facts, writable?.otherWorktrees.slice(0, MAX_WORKTREES) ?? []),
      ];
    }
    const files = readWatchedFiles(places, excludesFile);
    if (since !== undefined && differingFiles(since.files, files).some(({ what }) => what === 'config'))
      return await look(files, { kind: 'not-asked' });
    const view = await viewCanonical(places, excludesFile, writable !== undefined);
    const seen = await look(withoutPassingLocks(files), { kind: 'seen', view });
    return since === undefined ? seen : { ...seen, objects: await withPacked(facts, since.objects, seen.objects) };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return look(readWatchedFiles(places, excludesFile), { kind: 'failed', message: error.message });
  }
}

/** A lock that is gone by now was that of a command under way, this one's or one of a run beside it. */
const withoutPassingLocks = (files: WatchedFiles): WatchedFiles =>
  new Map([...files].filter(([path]) => !isLock(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined));

/** Loose objects whose files are gone and which git still has are in a pack by now, as gc does it: they are not missing. */
async function withPacked(facts: RepositoryFacts, before: ObjectFiles, after: ObjectFiles): Promise<ObjectFiles> {
  const gone = goneLoose(before, after);
  if (gone.length === 0) return after;
  const answers = await git({
    gitDir: facts.gitDir,
    args: ['cat-file', '--batch-check=%(objectname)'],
    input: Buffer.from(gone.map((name) => `${oidOf(name)}\n`).join('')),
  });
  const lines = answers.toString('latin1').split('\n');
  const all = new Map(after);
  for (const [i, name] of gone.entries()) {
    const file = before.get(name);
    if (lines[i] === oidOf(name) && file !== undefined) all.set(name, file);
  }
  return all;
}

/** Differences named one by one; the rest is counted in a last entry. */
const MAX_DIFFERENCES = 50;

/** Pure. Empty where nothing differs; the gravest kinds first. */
export function compareLooks(before: CanonicalLook, after: CanonicalLook): CanonicalDifference[] {
  const found = [
    ...differingGit(before, after),
    ...differingFiles(before.files, after.files),
    ...differingObjects(before, after),
  ];
  const ranked = RANK.flatMap((kind) => found.filter(({ what }) => what === kind));
  const rest = ranked[MAX_DIFFERENCES];
  if (rest === undefined) return ranked;
  const more = `and ${ranked.length - MAX_DIFFERENCES} more differences`;
  return [...ranked.slice(0, MAX_DIFFERENCES), { what: rest.what, path: '', detail: more }];
}

const RANK: readonly CanonicalDifference['what'][] = [
  'unreadable',
  'config',
  'hooks',
  'head',
  'ref',
  'info',
  'index',
  'worktree',
];

/**
 * True where a worker that cannot write `folders` (absolute and real) may have made a difference all the same: a file that
 * differs lies, or leads, outside of them, such as an included configuration file or a hooks folder elsewhere; or it is
 * still the same file and has another name, which may be anywhere.
 */
export function differsOutside(folders: readonly string[], before: CanonicalLook, after: CanonicalLook): boolean {
  const isOutside = (path: string): boolean => {
    const real = realPathOf(path);
    return !folders.some((folder) => real === folder || real.startsWith(`${folder}/`));
  };
  return (
    changedFiles(before.files, after.files).some(
      (path) => before.files.get(path)?.linked === true || isOutside(path),
    ) ||
    changedObjects(before, after).some(
      (name) => before.objects.get(name)?.linked === true && after.objects.has(name),
    ) ||
    worktreeChangedThroughLink(before, after)
  );
}

function worktreeChangedThroughLink(before: CanonicalLook, after: CanonicalLook): boolean {
  if (before.git.kind !== 'seen' || after.git.kind !== 'seen') return false;
  const is = after.git.view.worktree;
  return [...before.git.view.worktree].some(([path, was]) => changedThroughLink(was, is.get(path) ?? 'absent'));
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is gone, or leads nowhere: what is left is the name.
    return path;
  }
}

const signatureIn = (files: WatchedFiles, path: string): string => files.get(path)?.signature ?? 'absent';

const changedFiles = (before: WatchedFiles, after: WatchedFiles): string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => signatureIn(before, path) !== signatureIn(after, path) && !(isLock(path) && isGone(after, path)),
  );

/** A lock that is gone was some git command's, and that command is over. */
const isGone = (files: WatchedFiles, path: string): boolean => signatureIn(files, path) === 'absent';

/** Files of objects that are gone or have other content; new ones are no difference. */
const changedObjects = (before: CanonicalLook, after: CanonicalLook): string[] =>
  [...before.objects].flatMap(([name, { stamp }]) => (after.objects.get(name)?.stamp === stamp ? [] : [name]));

const differingObjects = (before: CanonicalLook, after: CanonicalLook): CanonicalDifference[] =>
  changedObjects(before, after).map((name) => ({
    what: 'info',
    path: join(before.objectsDir, name),
    detail: after.objects.has(name) ? 'changed' : 'deleted',
  }));

function differingFiles(before: WatchedFiles, after: WatchedFiles): CanonicalDifference[] {
  const differences: CanonicalDifference[] = [];
  for (const path of changedFiles(before, after)) {
    const was = signatureIn(before, path);
    const is = signatureIn(after, path);
    const what = (after.get(path) ?? before.get(path))?.what ?? 'info';
    const detail = was === 'absent' ? 'created' : is === 'absent' ? 'deleted' : 'changed';
    differences.push({ what, path: showPath(path as RepoPath), detail });
  }
  return differences;
}

function differingGit(before: CanonicalLook, after: CanonicalLook): CanonicalDifference[] {
  const unreadable = (detail: string): CanonicalDifference[] => [{ what: 'unreadable', path: '', detail }];
  if (before.git.kind !== 'seen') return unreadable('the repository could not be read before the attempt');
  if (after.git.kind === 'failed') return unreadable(after.git.message);
  if (after.git.kind === 'not-asked')
    return unreadable('its configuration changed, so refs, index and worktree were not looked at');
  const [was, is] = [before.git.view, after.git.view];
  const differences = before.places.flatMap(({ prefix }) => differingPlace(prefix, was, is));
  differences.push(...differingEntries('worktree', '', was.worktree, is.worktree, describeStatChange));
  if (was.warnings !== is.warnings)
    differences.push(...unreadable(is.warnings.trim() || 'git no longer complains as it did before'));
  return differences;
}

function differingPlace(prefix: string, before: CanonicalView, after: CanonicalView): CanonicalDifference[] {
  const [was, is] = [before.places.get(prefix), after.places.get(prefix)];
  if (was === undefined || is === undefined) throw new Error('both looks are of the same places');
  const differences = differingEntries('ref', prefix, was.refs, is.refs, arrow);
  if (was.head !== is.head)
    differences.push({ what: 'head', path: showPath(`${prefix}HEAD` as RepoPath), detail: arrow(was.head, is.head) });
  // Only where the listings differ: to take them apart costs more than to compare them.
  if (!was.index.equals(is.index))
    differences.push(...differingEntries('index', prefix, indexEntries(was.index), indexEntries(is.index), arrow));
  return differences;
}

const arrow = (before: string, after: string): string => `${before.trim()} -> ${after.trim()}`.replaceAll('\n', ', ');

function differingEntries(
  what: CanonicalDifference['what'],
  prefix: string,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  describe: (before: string, after: string) => string,
): CanonicalDifference[] {
  const differences: CanonicalDifference[] = [];
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(path) ?? 'absent', after.get(path) ?? 'absent'];
    if (was !== is)
      differences.push({ what, path: showPath(`${prefix}${path}` as RepoPath), detail: describe(was, is) });
  }
  return differences;
}
