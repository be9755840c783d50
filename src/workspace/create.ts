/**
 * Makes an attempt's workspace: a private repository that reads the canonical one's objects, and a locked, detached
 * worktree of it at base. The canonical repository is only ever read, and none of its configuration applies.
 */
import { lstatSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeBareRepository } from '../git/bare-repository.ts';
import { GitError, git } from '../git/run.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import { identityOf } from './file-identity.ts';
import { removeTree } from './remove-tree.ts';
import type { Workspace, WorkspaceProblem } from './workspace.ts';

/** A checkout of a huge repository takes minutes; one that hangs must still end. */
const CHECKOUT_TIMEOUT_MS = 30 * 60_000;

/** A folder name that reads like the repository's: no leading dot (agy works elsewhere under one), nothing odd. */
function folderName(name: string): string {
  const plain = name
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/(?:\.(?:git|lock))+$/i, '')
    .replace(/^[._-]+|[._-]+$/g, '')
    .slice(0, 64);
  return plain === '' || plain === 'private' ? 'work' : plain;
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The git directory that a worktree's `.git` file names. */
function gitDirOf(worktree: string): string {
  const text = readFileSync(join(worktree, '.git'), 'utf8');
  const named = /^gitdir: (.+)\n$/s.exec(text)?.[1];
  if (named === undefined) throw new Error(`git wrote an unreadable .git file: ${JSON.stringify(text)}`);
  return resolve(worktree, named);
}

interface WorkspaceRequest {
  readonly facts: RepositoryFacts;
  /** Commit the workspace starts from. */
  readonly base: string;
  /** The run it is for, as `AGENT_EXEC_CHAIN` names it. */
  readonly madeBy: string;
  /** An existing private folder (0700) that will hold `private.git` and the worktree. */
  readonly attemptDir: string;
  /** What people call the repository; made into the worktree's folder name. */
  readonly name: string;
}

/**
 * On a problem nothing of the workspace is left in `attemptDir`, unless the message says so. `takeBaseline` then proves
 * that what is on disk is base.
 */
export async function createWorkspace(request: WorkspaceRequest): Promise<Result<Workspace, WorkspaceProblem>> {
  const { facts, base } = request;
  const attemptDir = realpathSync(request.attemptDir);
  if (attemptDir.split('/').some((component) => component.startsWith('.'))) {
    return err({
      reason: 'path-refused',
      message: `${attemptDir} has a component that starts with a dot; some agent CLIs silently work elsewhere under one`,
    });
  }
  const privateGitDir = join(attemptDir, 'private.git');
  const wished = join(attemptDir, folderName(request.name));
  // A repository may be called like one of the attempt's own folders.
  const path = lstatSync(wished, { throwIfNoEntry: false }) === undefined ? wished : `${wished}-workspace`;
  const made: string[] = [];
  try {
    // Exclusive, so that clean-up below can only ever remove what was made here.
    for (const folder of [privateGitDir, path]) {
      mkdirSync(folder, { mode: 0o700 });
      made.push(folder);
    }
    const exclude = readIfThere(join(facts.commonDir, 'info/exclude'));
    const shallow = readIfThere(join(facts.commonDir, 'shallow'));
    writeBareRepository(privateGitDir, {
      objectFormat: facts.objectFormat,
      alternates: [facts.objectsDir],
      madeBy: request.madeBy,
      ...(exclude && { exclude }),
      ...(shallow && { shallow }),
    });
    await git({
      gitDir: privateGitDir,
      args: ['worktree', 'add', '-q', '--no-checkout', '--detach', '--lock', path, base],
    });
    const worktreeGitDir = gitDirOf(path);
    // One process writes the files and an index that knows their times: the worker's `git status` is empty and quick.
    await git({
      gitDir: worktreeGitDir,
      workTree: path,
      indexFile: join(worktreeGitDir, 'index'),
      args: ['read-tree', '--reset', '-u', base],
      config: [['checkout.workers', '0']],
      timeoutMs: CHECKOUT_TIMEOUT_MS,
    });
    return ok({
      path,
      privateGitDir,
      worktreeGitDir,
      facts,
      base,
      identity: identityOf(lstatSync(path, { bigint: true })),
    });
  } catch (error) {
    const isExpected = error instanceof GitError || (error as NodeJS.ErrnoException).code !== undefined;
    if (!isExpected) throw error;
    const left: string[] = [];
    for (const folder of made) left.push(...(await removeTree(folder)));
    const rest = left.length === 0 ? '' : ` (left behind: ${left.join('; ')})`;
    return err({ reason: 'checkout-failed', message: `${(error as Error).message}${rest}` });
  }
}
