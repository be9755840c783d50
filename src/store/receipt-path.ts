/**
 * Whether a receipt can be written where `--receipt` says, asked before anything starts (SPEC 10): a run must not find out
 * at its end. Nothing is ever replaced, no link is followed, and a receipt never becomes a change of the repository.
 */
import { constants } from 'node:fs';
import { access, lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { err, ok, type Result } from '../model/result.ts';
import { fileProblem } from './durable-file.ts';

/** `path` is what was asked for, made absolute. */
export type ReceiptPathProblem =
  | { readonly kind: 'empty'; readonly path: string }
  | { readonly kind: 'exists'; readonly path: string; readonly what: 'file' | 'folder' | 'symlink' | 'special file' }
  | { readonly kind: 'parent-missing'; readonly path: string; readonly parent: string }
  | { readonly kind: 'parent-not-folder'; readonly path: string; readonly parent: string }
  | { readonly kind: 'not-writable'; readonly path: string; readonly parent: string; readonly code: string }
  /** It would show up as a change of the worktree; `inRepository` is the path to ignore. */
  | { readonly kind: 'not-ignored'; readonly path: string; readonly inRepository: string }
  | { readonly kind: 'inside-git-directory'; readonly path: string; readonly gitDirectory: string }
  | { readonly kind: 'unusable'; readonly path: string; readonly code: string; readonly message: string };

interface ReceiptPathRequest {
  readonly path: string;
  readonly cwd: string;
  /** Null where there is no repository that a receipt could become a change of. */
  readonly worktree: string | null;
  /** Every git directory of the repository: this worktree's own and the shared one. */
  readonly gitDirectories: readonly string[];
  /** True where git ignores an untracked file of that path, relative to the worktree; false for a tracked one. */
  isIgnored(path: string): Promise<boolean>;
}

/** The absolute path, free of symlinks, at which a receipt can be created. */
export async function checkReceiptPath(request: ReceiptPathRequest): Promise<Result<string, ReceiptPathProblem>> {
  const { path: given } = request;
  if (given === '') return err({ kind: 'empty', path: given });
  const path = resolve(request.cwd, given);
  try {
    const taken = await kindOf(path);
    if (taken !== null) return err({ kind: 'exists', path, what: taken });
    if (given.endsWith(sep)) return err({ kind: 'parent-missing', path, parent: path });
    const parent = await writableParent(path);
    if (!parent.ok) return parent;
    const real = join(parent.value, basename(path));
    const problem = await repositoryProblem(path, real, request);
    return problem === null ? ok(real) : err(problem);
  } catch (error) {
    return err({ kind: 'unusable', path, ...systemProblem(error) });
  }
}

/** A path that holds a NUL fails with an error code of Node's own. */
const systemProblem = (error: unknown): { code: string; message: string } => fileProblem(error);

async function kindOf(path: string): Promise<'file' | 'folder' | 'symlink' | 'special file' | null> {
  try {
    const seen = await lstat(path);
    if (seen.isSymbolicLink()) return 'symlink';
    if (seen.isDirectory()) return 'folder';
    return seen.isFile() ? 'file' : 'special file';
  } catch (error) {
    const { code } = fileProblem(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}

async function writableParent(path: string): Promise<Result<string, ReceiptPathProblem>> {
  const parent = dirname(path);
  let real: string;
  try {
    real = await realpath(parent);
    if (!(await stat(real)).isDirectory()) return err({ kind: 'parent-not-folder', path, parent });
  } catch (error) {
    const { code } = fileProblem(error);
    if (code === 'ENOENT') return err({ kind: 'parent-missing', path, parent });
    if (code === 'ENOTDIR') return err({ kind: 'parent-not-folder', path, parent });
    throw error;
  }
  try {
    await access(real, constants.W_OK | constants.X_OK);
    return ok(real);
  } catch (error) {
    return err({ kind: 'not-writable', path, parent, code: fileProblem(error).code });
  }
}

/** The path of `inner` below `outer`, or null where it is elsewhere. */
function below(outer: string, inner: string): string | null {
  const path = relative(outer, inner);
  return path === '' || path === '..' || path.startsWith(`..${sep}`) ? null : path;
}

async function repositoryProblem(
  path: string,
  real: string,
  request: ReceiptPathRequest,
): Promise<ReceiptPathProblem | null> {
  for (const gitDirectory of request.gitDirectories) {
    const inside = below(await realpath(gitDirectory), real);
    // A file anywhere else in there could become a ref, a hook or a lock. This folder is ours.
    if (inside !== null && !inside.startsWith(`agent-exec${sep}`)) {
      return { kind: 'inside-git-directory', path, gitDirectory };
    }
    if (inside !== null) return null;
  }
  if (request.worktree === null) return null;
  const inRepository = below(await realpath(request.worktree), real);
  if (inRepository === null || (await request.isIgnored(inRepository))) return null;
  return { kind: 'not-ignored', path, inRepository };
}
