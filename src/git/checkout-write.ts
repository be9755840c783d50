/**
 * Puts a change into the host's checkout and its index. Every file is first written by git beside the checkout, with the
 * host's own filters, and then given its place in one step; the index follows last, in one step. So whatever interrupts
 * this, each path is as it was or as it will be, and doing it again goes on. Git's own lock on the index is held all along.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import {
  type CheckoutLook,
  type CheckoutRequest,
  folderOf,
  inCheckout,
  indexInfo,
  indexOf,
  nulList,
  placeSignature,
  statAt,
} from './checkout-look.ts';
import type { TwoSided } from './merge.ts';
import { placeOf } from './places.ts';
import { git, tryGit } from './run.ts';

export interface WriteRequest extends CheckoutRequest {
  /** The whole tree that the change leads to, for what it says of attributes. */
  readonly tree: string;
  readonly look: CheckoutLook;
}

/** Why not all is written. `written`: how many of the change's paths are as they will be; 0: nothing was touched. */
export interface WriteProblem {
  readonly message: string;
  readonly written: number;
}

/**
 * A new folder in the worktree's own git directory: the same disk as a rule, and nobody's to commit. Those of others are
 * of applies that died. Theirs may have a git that still writes, so none is used again, and what resists waits.
 */
function makeStaging({ gitDir }: RepositoryFacts): string {
  for (const name of readdirSync(gitDir).filter((one) => one.startsWith(STAGING))) removeStaging(join(gitDir, name));
  return mkdtempSync(join(gitDir, STAGING));
}
const STAGING = 'agent-exec-apply-';

function removeStaging(staging: string): void {
  try {
    rmSync(staging, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
  }
}

const lockOf = (facts: RepositoryFacts): string => `${indexOf(facts)}.lock`;
/** What our lock on the index says, so that one that was left behind can be told from git's. */
const OURS = 'agent-exec apply\n';

/**
 * Takes git's lock on the index. One that an `apply` left behind is taken over: the caller must be the only `apply` of
 * this checkout. False where git, or what git left behind, has it.
 */
export function lockIndex(facts: RepositoryFacts): boolean {
  const path = lockOf(facts);
  for (const again of [true, false]) {
    let made = false;
    try {
      const file = openSync(path, 'wx');
      made = true;
      writeFileSync(file, OURS);
      closeSync(file);
      return true;
    } catch (error) {
      // On a full disk it is there and empty, which nobody could tell from git's.
      if (made) unlinkSync(path);
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (again && readIfFile(path) === OURS) unlinkSync(path);
    }
  }
  return false;
}

function readIfFile(path: string): string | null {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'latin1') : null;
}

/** Gives git's lock back. */
export function unlockIndex(facts: RepositoryFacts): void {
  rmSync(lockOf(facts), { force: true });
}

/** The index must be locked. Throws {@link GitError} only before anything was touched. */
export async function writeChange(request: WriteRequest): Promise<Result<null, WriteProblem>> {
  const { facts, changes, look } = request;
  const open = changes.filter(({ path }) => look.states.get(path) === 'to-do' && !look.sparse.has(path));
  let staging: string | null = null;
  let written = 0;
  try {
    staging = makeStaging(facts);
    const files = join(staging, 'files');
    mkdirSync(files);
    // Whatever needs room is made before anything is touched.
    const newIndex = await prepareIndex(request, join(staging, 'index'));
    const indexFile = join(request.scratch, 'all.index');
    const at = inCheckout(request, indexFile);
    await git({ ...at, config: [...at.config, ['core.sparseCheckout', 'false']], args: ['read-tree', request.tree] });
    for (const some of inTurn(open)) {
      await stage(request, indexFile, files, some);
      for (const { path } of some.filter(({ to }) => to === null)) {
        requireUntouched(request, path);
        removeFile(facts.worktree, path);
        written++;
      }
      for (const { path } of some.filter(({ to }) => to !== null)) {
        requireUntouched(request, path);
        place(files, facts.worktree, path);
        written++;
      }
    }
    await replaceIndex(request, newIndex);
    return ok(null);
  } catch (error) {
    return err({ message: (error as Error).message, written });
  } finally {
    if (staging !== null) removeStaging(staging);
  }
}

/**
 * Attributes in the checkout say how git writes the other files, so theirs come first, with all removals, which make
 * room for their folders. As a rule there are none, and then nothing is touched before every file is written.
 */
function inTurn(changes: readonly TwoSided[]): readonly (readonly TwoSided[])[] {
  if (!changes.some(isAttributes)) return [changes];
  const isFirst = (change: TwoSided): boolean => isAttributes(change) || change.to === null;
  return [changes.filter(isFirst), changes.filter((change) => !isFirst(change))];
}

const isAttributes = ({ path }: TwoSided): boolean => /(^|\/)\.gitattributes$/.test(path);

/** Git writes the files beside the checkout; all of them are there, or nothing was touched. */
async function stage(
  request: WriteRequest,
  indexFile: string,
  staging: string,
  changes: readonly TwoSided[],
): Promise<void> {
  const paths = changes.filter(({ to }) => to !== null).map(({ path }) => path);
  if (paths.length === 0) return;
  const args = ['checkout-index', '-f', '-q', `--prefix=${staging}/`, '-z', '--stdin'];
  await git({ ...inCheckout(request, indexFile), args, input: nulList(paths) });
  const missing = paths.find((path) => statAt(staging, path) === undefined);
  if (missing !== undefined) throw new Error(`git did not write ${JSON.stringify(missing)}`);
}

/** Staging may take minutes (filters, downloads), and an editor asks nobody: what was written meanwhile stays. */
function requireUntouched({ facts, look }: WriteRequest, path: RepoPath): void {
  if (placeSignature(facts.worktree, path) !== look.seen.get(path))
    throw new Error(`${JSON.stringify(path)} was changed by somebody meanwhile and is left as it is`);
}

function removeFile(worktree: string, path: RepoPath): void {
  const seen = statAt(worktree, path);
  if (seen !== undefined && !seen.isDirectory()) unlinkSync(placeOf(worktree, path));
  // As git does it: a folder that has nothing left goes too.
  for (let folder = folderOf(path); folder !== null; folder = folderOf(folder)) {
    if (!removedIfEmpty(placeOf(worktree, folder))) return;
  }
}

function removedIfEmpty(folder: string | Buffer): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (
      ['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY', 'EINVAL'].includes(
        (error as NodeJS.ErrnoException).code ?? '',
      )
    )
      return false;
    throw error;
  }
}

/** Gives a file its place in one step. Never through a link: what was a folder a moment ago is looked at again. */
function place(staging: string, worktree: string, path: RepoPath): void {
  const parts = path.split('/');
  for (let i = 1; i < parts.length; i++) makeFolder(placeOf(worktree, parts.slice(0, i).join('/') as RepoPath));
  const [from, to] = [placeOf(staging, path), placeOf(worktree, path)];
  removeEmptyFolders(to);
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    moveAcross(from, placeOf(worktree, `${path}.agent-exec-${randomBytes(4).toString('hex')}` as RepoPath), to);
  }
}

function makeFolder(folder: string | Buffer): void {
  const seen = lstatSync(folder, { throwIfNoEntry: false });
  if (seen === undefined) mkdirSync(folder);
  else if (!seen.isDirectory()) throw new Error(`${folder} is not a folder any more`);
}

/** Folders that hold nothing but folders; anything else stays, and the file then cannot take its place. */
function removeEmptyFolders(at: string | Buffer): void {
  if (lstatSync(at, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  for (const name of readdirSync(at, { encoding: 'buffer' })) {
    removeEmptyFolders(Buffer.concat([Buffer.from(at), Buffer.from('/'), name]));
  }
  removedIfEmpty(at);
}

/** The git directory is on another disk than the checkout. */
function moveAcross(from: string | Buffer, between: string | Buffer, to: string | Buffer): void {
  try {
    const seen = lstatSync(from);
    if (seen.isSymbolicLink()) symlinkSync(readlinkSync(from, { encoding: 'buffer' }), between);
    else {
      copyFileSync(from, between, constants.COPYFILE_EXCL);
      chmodSync(between, seen.mode & 0o777);
    }
    renameSync(between, to);
  } catch (error) {
    rmSync(between, { force: true });
    throw error;
  }
}

/** The index as it will be, beside the lock, which says whose it is until the end. */
async function prepareIndex(request: WriteRequest, indexFile: string): Promise<string> {
  const { facts, changes, look } = request;
  const at = inCheckout(request, indexFile);
  if (statSync(indexOf(facts), { throwIfNoEntry: false }) !== undefined) copyFileSync(indexOf(facts), indexFile);
  const input = indexInfo(
    facts,
    changes.filter(({ path }) => look.states.get(path) !== 'done'),
  );
  await git({ ...at, args: ['update-index', '-z', '--index-info'], input });
  const leftOut = changes.filter(({ path, to }) => to !== null && look.sparse.has(path)).map(({ path }) => path);
  if (leftOut.length > 0)
    await git({ ...at, args: ['update-index', '--skip-worktree', '-z', '--stdin'], input: nulList(leftOut) });
  return indexFile;
}

/** In one step. */
async function replaceIndex(request: WriteRequest, indexFile: string): Promise<void> {
  const { facts } = request;
  // Without it the index says the same, and git has more to read the next time.
  await tryGit({ ...inCheckout(request, indexFile), args: ['update-index', '-q', '--refresh'] });
  const seen = statSync(indexOf(facts), { throwIfNoEntry: false });
  if (seen !== undefined) chmodSync(indexFile, seen.mode & 0o777);
  const file = openSync(indexFile, 'r+');
  fsyncSync(file);
  closeSync(file);
  renameSync(indexFile, indexOf(facts));
}
