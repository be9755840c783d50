/**
 * The canonical repository as it stands, and what differs between two looks at it (SPEC 6.8). A look has two stages:
 * plain file reads, then git. With `since`, git is asked only if every configuration file has the bytes it had then.
 * What git rewrites by itself is no difference: stat data in the index, packing of refs and objects, access times.
 */
import { realpathSync } from 'node:fs';
import type { CanonicalDifference } from '../model/evidence.ts';
import type { RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { type CanonicalView, indexEntries, viewCanonical } from './canonical-view.ts';
import { findPlaces, type Place } from './places.ts';
import { showPath } from './quote.ts';
import { GitError } from './run.ts';
import { readWatchedFiles, type WatchedFiles } from './watched-files.ts';
import { describeStatChange } from './worktree-stat.ts';

export interface CanonicalLook {
  readonly places: readonly Place[];
  readonly files: WatchedFiles;
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
}

/** Total for whatever state the repository is in: what cannot be read is part of the look. */
export async function lookAtCanonical(facts: RepositoryFacts, options: LookOptions): Promise<CanonicalLook> {
  const { since, excludesFile } = options;
  let places = since?.places ?? [];
  try {
    if (since === undefined) places = await findPlaces(facts);
    const files = readWatchedFiles(places);
    if (since !== undefined && differingFiles(since.files, files).some(({ what }) => what === 'config'))
      return { places, files, git: { kind: 'not-asked' } };
    return { places, files, git: { kind: 'seen', view: await viewCanonical(places, excludesFile) } };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    return { places, files: readWatchedFiles(places), git: { kind: 'failed', message: error.message } };
  }
}

/** Differences named one by one; the rest is counted in a last entry. */
const MAX_DIFFERENCES = 50;

/** Pure. Empty where nothing differs; the gravest kinds first. */
export function compareLooks(before: CanonicalLook, after: CanonicalLook): CanonicalDifference[] {
  const found = [...differingGit(before, after), ...differingFiles(before.files, after.files)];
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
 * True where a file that differs lies, or leads, outside of `folders` (absolute and real), such as an included
 * configuration file or a hooks folder elsewhere: a worker that cannot write the folders may have written that.
 */
export function differsOutside(folders: readonly string[], before: CanonicalLook, after: CanonicalLook): boolean {
  return changedFiles(before.files, after.files)
    .map(realPathOf)
    .some((path) => !folders.some((folder) => path === folder || path.startsWith(`${folder}/`)));
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
    (path) => signatureIn(before, path) !== signatureIn(after, path),
  );

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
