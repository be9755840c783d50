/** What git and lstat say of the canonical repository: the second stage of a look. */
import { decodePath, type RepoPath } from '../model/path.ts';
import { pathsIn } from './folder-names.ts';
import { viewIgnored } from './ignored-view.ts';
import type { Place } from './places.ts';
import { type GitCall, GitError, splitNul, tryGit } from './run.ts';
import { type StatSignature, statWorktree } from './worktree-stat.ts';

interface PlaceView {
  /** HEAD's commit and tree, as far as their objects can be read. */
  readonly head: string;
  /** Name to `oid [symbolic target]`. */
  readonly refs: ReadonlyMap<string, string>;
  /** `ls-files -s -v -z`: flag, mode, oid, stage and path of every entry; no stat data. */
  readonly index: Buffer;
}

export interface CanonicalView {
  /** By the prefix of the place. */
  readonly places: ReadonlyMap<string, PlaceView>;
  /** Every tracked and every untracked path that nothing ignores, submodules' and other worktrees' included. */
  readonly worktree: ReadonlyMap<RepoPath, StatSignature>;
  /** What git complained of on the way: broken refs, folders it could not read. */
  readonly warnings: string;
}

/** Throws {@link GitError} where git cannot read a place. `withIgnored`: what the first place ignores belongs to it too. */
export async function viewCanonical(
  places: readonly Place[],
  excludesFile: string | null,
  withIgnored: boolean,
): Promise<CanonicalView> {
  const [top] = places;
  if (top === undefined) throw new Error('a repository is a place');
  const ignored = withIgnored ? viewIgnored(top.location, excludesFile) : null;
  // It is awaited below, behind others that may fail first.
  ignored?.catch(() => {});
  const views = new Map<string, PlaceView>();
  const worktree = new Map<RepoPath, StatSignature>();
  let warnings = '';
  for (const place of places) {
    const seen = await viewPlace(place, excludesFile);
    views.set(place.prefix, seen.view);
    for (const [path, signature] of await statWorktree(place.location.worktree, seen.paths))
      worktree.set(`${place.prefix}${path}` as RepoPath, signature);
    warnings += seen.warnings;
  }
  for (const [path, signature] of (await ignored) ?? []) worktree.set(path, signature);
  return { places: views, worktree, warnings };
}

async function viewPlace(
  { location, isOtherWorktree, emptyLinks }: Place,
  excludesFile: string | null,
): Promise<{ view: PlaceView; paths: Set<RepoPath>; warnings: string }> {
  const { gitDir, commonDir, worktree } = location;
  let warnings = '';
  const ask = async (args: string[], more: Partial<GitCall> = {}): Promise<Buffer> => {
    const output = await tryGit({ gitDir, workTree: worktree, args, ...more });
    if (output.code !== 0) throw new GitError(args, output);
    warnings += output.stderr;
    return output.stdout;
  };
  const refs = ['for-each-ref', '--format=%(refname)%00%(objectname) %(symref)'];
  const others = ['ls-files', '--others', '--exclude-standard', '-z'];
  const [head, ownRefs, mainRefs, index, untracked] = await Promise.all([
    ask(['cat-file', '--batch-check'], { input: Buffer.from('HEAD\nHEAD^{tree}\n') }),
    ask(refs),
    // A linked worktree has refs of its own (refs/bisect, refs/worktree), and so has the main one.
    commonDir === gitDir || isOtherWorktree ? Buffer.alloc(0) : ask(refs, { gitDir: commonDir }),
    ask(['ls-files', '--stage', '-v', '-z']),
    ask(others, { config: [['core.excludesFile', excludesFile ?? '/dev/null']] }),
  ]);
  const paths = new Set<RepoPath>();
  for (const record of splitNul(index)) paths.add(pathOfEntry(record));
  for (const record of splitNul(untracked)) paths.add(decodePath(record));
  for (const link of emptyLinks) for (const name of pathsIn(worktree, link)) paths.add(`${link}/${name}` as RepoPath);
  const isPrivate = ([name]: [string, string]): boolean => /^refs\/(bisect|worktree|rewritten)\//.test(name);
  const mainOnly = parseRefs(mainRefs).filter(isPrivate);
  const named = mainOnly.map(([name, value]): [string, string] => [`main-worktree/${name}`, value]);
  const own = parseRefs(ownRefs);
  const allRefs = new Map([...(isOtherWorktree ? own.filter(isPrivate) : own), ...named]);
  return { view: { head: head.toString('latin1'), refs: allRefs, index }, paths, warnings };
}

const pathOfEntry = (record: Buffer): RepoPath => decodePath(record.subarray(record.indexOf(9) + 1));

/** By path: flag, mode, oid and stage; a path in conflict has several, joined. */
export function indexEntries(index: Buffer): Map<string, string> {
  const entries = new Map<string, string>();
  for (const record of splitNul(index)) {
    const path = pathOfEntry(record);
    const known = entries.get(path);
    const entry = record.toString('latin1', 0, record.indexOf(9));
    entries.set(path, known === undefined ? entry : `${known}, ${entry}`);
  }
  return entries;
}

/** All refs but those that agent-exec itself makes. */
function parseRefs(listing: Buffer): [string, string][] {
  const lines = listing.toString('utf8').split('\n');
  return lines.flatMap((line): [string, string][] => {
    const [name = '', value = ''] = line.split('\0');
    return name === '' || /^refs\/agent-exec(-quarantine)?\//.test(name) ? [] : [[name, value.trim()]];
  });
}
