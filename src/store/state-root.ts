/**
 * Where runs keep their private state (SPEC 6.2): a folder that is ours alone. Nothing of a run can be trusted in a place
 * that somebody else can write, swap or read, so such a place is refused, never repaired. What is checked is what was
 * opened: the folder is looked at through its own descriptor, after it was reached without following a last symlink.
 */
import { constants } from 'node:fs';
import { access, lstat, open, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { err, ok, type Result } from '../model/result.ts';
import { fileProblem } from './durable-file.ts';
import { makePrivateFolder } from './private-folder.ts';

/** Runs nest deeply below the root, and paths end at 4096 bytes. */
const LONGEST_ROOT_BYTES = 512;

/** What is wrong with a state root; `path` is the place that is wrong. */
export type StateRootProblem =
  | { readonly kind: 'empty'; readonly path: string }
  /** Nothing is there, and it was not to be made. */
  | { readonly kind: 'missing'; readonly path: string }
  | { readonly kind: 'control-characters'; readonly path: string }
  | { readonly kind: 'too-long'; readonly path: string; readonly bytes: number; readonly limit: number }
  /** Some agents silently work elsewhere when a component of their folder starts with a dot. */
  | { readonly kind: 'dot-component'; readonly path: string; readonly component: string }
  | { readonly kind: 'parent-missing'; readonly path: string; readonly parent: string }
  /** Anyone may rename what is in a world-writable folder without a sticky bit. */
  | { readonly kind: 'parent-unsafe'; readonly path: string; readonly parent: string; readonly mode: number }
  | { readonly kind: 'symlink'; readonly path: string }
  | { readonly kind: 'not-directory'; readonly path: string }
  | { readonly kind: 'foreign-owner'; readonly path: string; readonly owner: number; readonly uid: number }
  | { readonly kind: 'open-permissions'; readonly path: string; readonly mode: number }
  | { readonly kind: 'inside-repository'; readonly path: string; readonly repository: string }
  | { readonly kind: 'not-writable'; readonly path: string; readonly code: string }
  | { readonly kind: 'unusable'; readonly path: string; readonly code: string; readonly message: string };

export interface StateRootRequest {
  /** From `--state-dir` or `AGENT_EXEC_STATE_DIR`; null: the default. Relative ones start at `cwd`. */
  readonly override: string | null;
  readonly cwd: string;
  readonly uid: number;
  /** Folders of the canonical repository (worktree, git directories), absolute. */
  readonly repositoryFolders: readonly string[];
  /** Default true. False for whoever only looks: a place that is not there is `missing`. */
  readonly make?: boolean;
}

const defaultStateRoot = (uid: number): string => `/tmp/agent-exec-${uid}`;

/**
 * The absolute path, free of symlinks, of a state root that exists, is a folder of ours alone and can be written; its last
 * component is made where it is missing. With `make: false` it need only be readable.
 */
export async function openStateRoot(request: StateRootRequest): Promise<Result<string, StateRootProblem>> {
  const given = request.override ?? defaultStateRoot(request.uid);
  if (given.trim() === '') return err({ kind: 'empty', path: given });
  // biome-ignore lint/complexity/useRegexLiterals: a literal would hold raw controls
  if (new RegExp('[\\0-\\x1f\\x7f]').test(given)) return err({ kind: 'control-characters', path: given });
  const absolute = resolve(request.cwd, given);
  try {
    const place = await resolvePlace(absolute);
    if (!place.ok) return place;
    const path = place.value;
    const problem = nameProblem(path) ?? (await insideRepository(path, request.repositoryFolders));
    if (problem !== null) return err(problem);
    const made = request.make === false ? await missing(path) : await makeIfMissing(path);
    return made === null ? await inspect(path, request.uid, request.make !== false) : err(made);
  } catch (error) {
    const { code, message } = fileProblem(error);
    if (code === 'ENAMETOOLONG') return err(tooLong(absolute));
    return err({ kind: 'unusable', path: absolute, code, message });
  }
}

const tooLong = (path: string): StateRootProblem => ({
  kind: 'too-long',
  path,
  bytes: Buffer.byteLength(path),
  limit: LONGEST_ROOT_BYTES,
});

function nameProblem(path: string): StateRootProblem | null {
  if (Buffer.byteLength(path) > LONGEST_ROOT_BYTES) return tooLong(path);
  const component = path.split(sep).find((name) => name.startsWith('.'));
  return component === undefined ? null : { kind: 'dot-component', path, component };
}

/** The place with the symlinks of its parents resolved; its own last component stays as it is. */
async function resolvePlace(absolute: string): Promise<Result<string, StateRootProblem>> {
  const component = absolute.split(sep).find((name) => name.startsWith('.'));
  if (component !== undefined) return err({ kind: 'dot-component', path: absolute, component });
  const parent = dirname(absolute);
  let real: string;
  try {
    real = await realpath(parent);
    if (!(await stat(real)).isDirectory()) return err({ kind: 'not-directory', path: parent });
  } catch (error) {
    const { code } = fileProblem(error);
    if (code === 'ENOENT') return err({ kind: 'parent-missing', path: absolute, parent });
    if (code === 'ENOTDIR') return err({ kind: 'not-directory', path: parent });
    throw error;
  }
  for (let folder = real; ; folder = dirname(folder)) {
    const { mode } = await stat(folder);
    if ((mode & 0o002) !== 0 && (mode & constants.S_IFMT) === constants.S_IFDIR && (mode & 0o1000) === 0) {
      return err({ kind: 'parent-unsafe', path: absolute, parent: folder, mode: mode & 0o7777 });
    }
    if (folder === dirname(folder)) break;
  }
  return ok(join(real, basename(absolute)));
}

async function insideRepository(path: string, folders: readonly string[]): Promise<StateRootProblem | null> {
  for (const folder of folders) {
    const repository = await realpath(folder);
    if (path === repository || path.startsWith(repository === sep ? sep : repository + sep)) {
      return { kind: 'inside-repository', path, repository };
    }
  }
  return null;
}

async function missing(path: string): Promise<StateRootProblem | null> {
  try {
    await lstat(path);
    return null;
  } catch (error) {
    if (fileProblem(error).code === 'ENOENT') return { kind: 'missing', path };
    throw error;
  }
}

async function makeIfMissing(path: string): Promise<StateRootProblem | null> {
  try {
    await makePrivateFolder(path);
    return null;
  } catch (error) {
    const { code } = fileProblem(error);
    if (code === 'EEXIST') return null;
    if (['EACCES', 'EROFS', 'EPERM'].includes(code)) return { kind: 'not-writable', path: dirname(path), code };
    throw error;
  }
}

async function inspect(path: string, uid: number, isWritten: boolean): Promise<Result<string, StateRootProblem>> {
  const seen = await lstat(path);
  if (seen.isSymbolicLink()) return err({ kind: 'symlink', path });
  if (!seen.isDirectory()) return err({ kind: 'not-directory', path });
  if (seen.uid !== uid) return err({ kind: 'foreign-owner', path, owner: seen.uid, uid });
  if ((seen.mode & 0o077) !== 0) return err({ kind: 'open-permissions', path, mode: seen.mode & 0o7777 });
  const needed = isWritten ? 0o700 : 0o500;
  if ((seen.mode & needed) !== needed) return err({ kind: 'not-writable', path, code: 'EACCES' });
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const opened = await folder.stat();
    if (opened.dev !== seen.dev || opened.ino !== seen.ino) return err({ kind: 'symlink', path });
  } finally {
    await folder.close();
  }
  try {
    await access(path, (isWritten ? constants.W_OK : constants.R_OK) | constants.X_OK);
  } catch (error) {
    return err({ kind: 'not-writable', path, code: fileProblem(error).code });
  }
  return ok(path);
}
