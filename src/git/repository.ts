/**
 * Finds the canonical repository and the commit a run starts from. Discovery is done once, here, with the user's own
 * configuration (only it knows `safe.directory`); everything later names the repository explicitly and reads no
 * configuration but the repository's own. What cannot be worked with is a {@link RepositoryProblem}, never an exception.
 */
import { realpath, stat } from 'node:fs/promises';
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import type { Location } from './configured-files.ts';
import { learnHelpers } from './program.ts';
import { type GitOutput, gitLine, gitPath, type HostEnvironment, tryGit } from './run.ts';

/** `cat-file -z`, and `core.fsmonitor=false` read as a boolean and not as a program's name. */
const MINIMUM_GIT = '2.38.0';

export type RepositoryProblem =
  | { readonly kind: 'git-missing' }
  /** It is there and gave no answer: no descriptor left for it, no memory, no time. */
  | { readonly kind: 'git-not-run'; readonly message: string }
  | { readonly kind: 'git-too-old'; readonly version: string; readonly minimum: string }
  | { readonly kind: 'path-missing'; readonly path: string }
  | { readonly kind: 'not-a-directory'; readonly path: string }
  | { readonly kind: 'not-a-repository'; readonly path: string }
  | { readonly kind: 'bare'; readonly gitDir: string }
  /** Inside a git directory, where there is no worktree. */
  | { readonly kind: 'no-worktree'; readonly path: string }
  | ({ readonly kind: 'unborn-head'; readonly headRef: string } & Location)
  /** Owned by somebody else and not in `safe.directory`; git's words name the way out. */
  | { readonly kind: 'dubious-ownership'; readonly path: string; readonly message: string }
  /** Permissions, a damaged repository, or a format this git does not know. */
  | { readonly kind: 'unreadable'; readonly path: string; readonly message: string };

export type BaseProblem =
  /** Not something that may be handed to git as a revision: empty, starts with `-`, or holds control characters. */
  | { readonly kind: 'refused'; readonly rev: string }
  | { readonly kind: 'unknown'; readonly rev: string }
  | { readonly kind: 'ambiguous'; readonly rev: string; readonly message: string }
  | { readonly kind: 'not-a-commit'; readonly rev: string; readonly message: string }
  /** A partial clone that lacks objects of the base; nothing is fetched on the way. */
  | { readonly kind: 'partial-clone-incomplete'; readonly rev: string; readonly missing: number }
  | { readonly kind: 'unreadable'; readonly rev: string; readonly message: string };

/**
 * The repository that encloses `start` (any existing folder; symlinks are resolved).
 * `hostEnv` is read for HOME and XDG_CONFIG_HOME only.
 */
export async function discoverRepository(
  start: string,
  hostEnv: HostEnvironment,
): Promise<Result<RepositoryFacts, RepositoryProblem>> {
  const folder = await existingFolder(start);
  const [version, helpers, places] = await Promise.all([
    tryGit({ gitDir: null, args: ['--version'] }),
    tryGit({ gitDir: null, args: ['--exec-path'] }),
    folder.ok ? askForPlaces(folder.value, hostEnv) : folder,
  ]);
  if (version.failure === 'not-found') return err({ kind: 'git-missing' });
  if (version.code === null) return err({ kind: 'git-not-run', message: version.stderr });
  const found = /\d+(\.\d+)+/.exec(version.stdout.toString('utf8'))?.[0] ?? '';
  if (!atLeast(found, MINIMUM_GIT)) return err({ kind: 'git-too-old', version: found, minimum: MINIMUM_GIT });
  if (helpers.code === 0) learnHelpers(gitPath(), oneLine(helpers));
  if (!places.ok) return places;
  const { top, gitDir, commonDir, objectsDir, format, shallow } = places.value;
  const facts = {
    worktree: top,
    gitDir: await realpath(gitDir),
    commonDir: await realpath(commonDir),
    objectsDir: await realpath(objectsDir),
    objectFormat: format === 'sha256' ? ('sha256' as const) : ('sha1' as const),
    shallow: shallow === 'true',
  };
  const head = await readHead(facts);
  return head.ok ? ok({ ...facts, ...head.value }) : head;
}

const STATE = ['--is-bare-repository', '--is-inside-work-tree', '--is-shallow-repository', '--show-object-format'];
const PLACES = [['--absolute-git-dir'], ['--git-common-dir'], ['--git-path', 'objects'], ['--show-toplevel']];

type Places = Readonly<Record<'top' | 'gitDir' | 'commonDir' | 'objectsDir' | 'format' | 'shallow', string>>;

/** One question, or one for each path where a path holds a newline and the answer's lines cannot be told apart. */
async function askForPlaces(path: string, hostEnv: HostEnvironment): Promise<Result<Places, RepositoryProblem>> {
  const ask = (...args: string[]): Promise<GitOutput> =>
    tryGit({ gitDir: null, userConfig: hostEnv, args: ['-C', path, 'rev-parse', '--path-format=absolute', ...args] });
  const all = await ask(...STATE, ...PLACES.flat());
  const lines = all.stdout.toString('utf8').split('\n').slice(0, -1);
  const [bare, inWorktree, shallow = '', format = ''] = lines;
  if (bare === 'true') return err({ kind: 'bare', gitDir: lines[4] ?? path });
  if (inWorktree === 'false') return err({ kind: 'no-worktree', path });
  if (all.code !== 0) return err(refusalOf(all, path));
  let paths = lines.slice(STATE.length);
  if (paths.length !== PLACES.length) paths = (await Promise.all(PLACES.map((args) => ask(...args)))).map(oneLine);
  const [gitDir, commonDir, objectsDir, top] = paths;
  if (gitDir === undefined || commonDir === undefined || objectsDir === undefined || top === undefined)
    throw new Error('rev-parse gave fewer answers than it was asked questions');
  return ok({ top, gitDir, commonDir, objectsDir, format, shallow });
}

/** Where HEAD stands now. */
async function readHead(
  facts: Location,
): Promise<Result<Pick<RepositoryFacts, 'head' | 'headRef'>, RepositoryProblem>> {
  const [symbolic, head] = await Promise.all([
    tryGit({ gitDir: facts.gitDir, args: ['symbolic-ref', '--quiet', 'HEAD'] }),
    tryGit({ gitDir: facts.gitDir, args: ['rev-parse', '--verify', 'HEAD^{commit}'] }),
  ]);
  const headRef = symbolic.code === 0 ? oneLine(symbolic) : null;
  if (head.code === 0) return ok({ head: oneLine(head), headRef });
  if (headRef !== null) {
    const ref = await tryGit({ gitDir: facts.gitDir, args: ['show-ref', '--verify', '--quiet', headRef] });
    const raw = await tryGit({ gitDir: facts.gitDir, args: ['rev-parse', '--verify', '--quiet', 'HEAD'] });
    if (ref.code !== 0 && raw.code !== 0) {
      const { worktree, gitDir, commonDir, objectsDir } = facts;
      return err({ kind: 'unborn-head', headRef, worktree, gitDir, commonDir, objectsDir });
    }
  }
  return err({ kind: 'unreadable', path: facts.worktree, message: `HEAD: ${complaint(head)}` });
}

/** A broken index is told before anything starts: with it, nobody could prove that a run left the repository alone. */
export async function checkIndex(facts: RepositoryFacts): Promise<Result<null, RepositoryProblem>> {
  // The cheapest question that makes git read all of the index.
  const read = await tryGit({ gitDir: facts.gitDir, args: ['rev-parse', '--shared-index-path'] });
  if (read.code === 0) return ok(null);
  return err({ kind: 'unreadable', path: facts.worktree, message: complaint(read) });
}

/** The commit that `rev` names, and its tree. `rev` is a person's text and never becomes an option. */
export async function resolveBase(
  facts: RepositoryFacts,
  rev: string,
): Promise<Result<{ readonly base: string; readonly baseTree: string }, BaseProblem>> {
  if (rev === '' || rev.startsWith('-') || /[\u0000-\u001f\u007f]/.test(rev)) return err({ kind: 'refused', rev });
  // Discovery has resolved it a moment ago; a run starts from where HEAD was then.
  const commit = rev === 'HEAD' ? ok(facts.head) : await resolveCommit(facts, rev);
  if (!commit.ok) return commit;
  const base = commit.value;
  const [tree, missing] = await Promise.all([
    tryGit({ gitDir: facts.gitDir, args: ['rev-parse', '--verify', `${base}^{tree}`] }),
    missingObjects(facts, base),
  ]);
  if (tree.code !== 0) return err({ kind: 'unreadable', rev, message: complaint(tree) });
  if (missing > 0) return err({ kind: 'partial-clone-incomplete', rev, missing });
  return ok({ base, baseTree: oneLine(tree) });
}

async function resolveCommit(facts: RepositoryFacts, rev: string): Promise<Result<string, BaseProblem>> {
  const fullName = new RegExp(`^[0-9a-f]{${facts.objectFormat === 'sha1' ? 40 : 64}}$`, 'i');
  const named = await tryGit({
    gitDir: facts.gitDir,
    args: ['rev-parse', '--verify', '--end-of-options', rev],
    config: [['core.warnAmbiguousRefs', 'true']],
  });
  if (/is ambiguous/.test(named.stderr) && !fullName.test(rev))
    return err({ kind: 'ambiguous', rev, message: complaint(named) });
  if (named.code === null) return err({ kind: 'unreadable', rev, message: complaint(named) });
  if (named.code !== 0 || !fullName.test(oneLine(named))) return err({ kind: 'unknown', rev });
  // Asked in a second step: appended to `:/text` it would be part of the text.
  const peeled = await tryGit({ gitDir: facts.gitDir, args: ['rev-parse', '--verify', `${oneLine(named)}^{commit}`] });
  if (/expected commit type/.test(peeled.stderr)) return err({ kind: 'not-a-commit', rev, message: complaint(peeled) });
  return peeled.code === 0 ? ok(oneLine(peeled)) : err({ kind: 'unknown', rev });
}

/** How many objects of the base a partial clone has left at its origin; 0 for a full clone, which is not searched. */
async function missingObjects(facts: RepositoryFacts, base: string): Promise<number> {
  const partial = await tryGit({
    gitDir: facts.gitDir,
    args: ['config', '--get-regexp', '^(extensions\\.partialclone|remote\\..*\\.promisor)$'],
  });
  if (partial.code !== 0) return 0;
  const args = ['rev-list', '--objects', '--no-walk', '--missing=print', base];
  const listing = await gitLine({ gitDir: facts.gitDir, args });
  return listing.split('\n').filter((line) => line.startsWith('?')).length;
}

async function existingFolder(start: string): Promise<Result<string, RepositoryProblem>> {
  try {
    const path = await realpath(start);
    return (await stat(path)).isDirectory() ? ok(path) : err({ kind: 'not-a-directory', path });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return err({ kind: 'path-missing', path: start });
    if (code === 'ENOTDIR') return err({ kind: 'not-a-directory', path: start });
    return err({ kind: 'unreadable', path: start, message });
  }
}

function refusalOf(output: GitOutput, path: string): RepositoryProblem {
  const message = complaint(output);
  if (/dubious ownership|unsafe repository/.test(message)) return { kind: 'dubious-ownership', path, message };
  if (/not a git repository/.test(message)) return { kind: 'not-a-repository', path };
  return { kind: 'unreadable', path, message };
}

const complaint = (output: GitOutput): string => output.stderr.trim() || `git ended without a word (${output.failure})`;

/** The output without its newline; a path may itself end with one, so only one is taken. */
const oneLine = (output: GitOutput): string => output.stdout.toString('utf8').replace(/\n$/, '');

function atLeast(version: string, minimum: string): boolean {
  const [have, want] = [version, minimum].map((text) => text.split('.').map(Number));
  for (const [i, part] of (want ?? []).entries()) {
    const own = have?.[i] ?? 0;
    if (own !== part) return own > part;
  }
  return true;
}
