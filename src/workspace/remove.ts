/**
 * Removes what an attempt's workspace was, exactly: the worktree, its registration, the private repository. Plain file
 * operations; git is not asked, because the private repository's configuration is the worker's. The invariant: `true`
 * is said only of what was looked for afterwards and not found.
 */
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { identityOf } from './file-identity.ts';
import { lookAt, removeTree } from './remove-tree.ts';
import type { Workspace } from './workspace.ts';

interface WorkspaceRemoval {
  readonly workspaceRemoved: boolean;
  readonly worktreeUnregistered: boolean;
  /** What is not proven gone and why; null where everything is. */
  readonly problem: string | null;
}

/** True where the private repository does not know a worktree by this name any more; its absence counts. */
function isUnregistered(workspace: Workspace): boolean {
  try {
    return !readdirSync(join(workspace.privateGitDir, 'worktrees')).includes(basename(workspace.worktreeGitDir));
  } catch (error) {
    // No folder of worktrees, no worktree; anything else leaves it unproven.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

async function removeWorktree(workspace: Workspace): Promise<string[]> {
  try {
    const stat = lookAt(workspace.path);
    if (stat !== undefined && identityOf(stat) !== workspace.identity) {
      return [`${JSON.stringify(workspace.path)} is not the workspace that was made there; it may live on elsewhere`];
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return [(error as Error).message];
  }
  return removeTree(workspace.path);
}

/** Removes the worktree and its registration. Nothing may run in the workspace any more. */
export async function removeWorkspace(workspace: Workspace): Promise<WorkspaceRemoval> {
  const worktreeProblems = await removeWorktree(workspace);
  const workspaceRemoved = worktreeProblems.length === 0;
  // A workspace that stays keeps its registration: people will want `git status` to work in it.
  const registrationProblems = workspaceRemoved ? await removeTree(workspace.worktreeGitDir) : [];
  const worktreeUnregistered = isUnregistered(workspace);
  const problems = [...worktreeProblems, ...registrationProblems];
  if (problems.length === 0 && !worktreeUnregistered) problems.push('the worktree is still registered');
  return { workspaceRemoved, worktreeUnregistered, problem: problems.length === 0 ? null : problems.join('; ') };
}

/** Removes the private repository, and with it every object that was not published. */
export async function removePrivateRepository(
  workspace: Workspace,
): Promise<{ readonly removed: boolean; readonly problem: string | null }> {
  const problems = await removeTree(workspace.privateGitDir);
  return { removed: problems.length === 0, problem: problems.length === 0 ? null : problems.join('; ') };
}
