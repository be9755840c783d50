/** A new branch of the host's, at a commit of a run. Nothing but the ref and its reflog is written, and nothing is moved. */
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import { oidAt } from './commit-at.ts';
import { type HostEnvironment, tryGit } from './run.ts';

export type BranchProblem =
  /** Git takes no branch of that name, or takes it for something else (`@{-1}`). */
  | { readonly kind: 'invalid-name' }
  | { readonly kind: 'exists'; readonly commit: string }
  /** A branch whose name is a folder of this one, a lock, a full disk: git's words say which. */
  | { readonly kind: 'git-failed'; readonly message: string };

/** Whether the branch may be made, as of now. Throws {@link GitError}. */
export async function checkBranch(facts: RepositoryFacts, name: string): Promise<Result<null, BranchProblem>> {
  // As a branch it could be made, and would be HEAD to every command.
  if (name.startsWith('-') || name === 'HEAD' || name === '@') return err({ kind: 'invalid-name' });
  const checked = await tryGit({ gitDir: facts.gitDir, args: ['check-ref-format', '--branch', name] });
  if (checked.code !== 0 || checked.stdout.toString('utf8') !== `${name}\n`) return err({ kind: 'invalid-name' });
  const commit = await oidAt(facts.gitDir, `refs/heads/${name}`);
  return commit === null ? ok(null) : err({ kind: 'exists', commit });
}

/** `reason` goes into the branch's reflog. Throws {@link GitError}. */
export async function createBranch(
  facts: RepositoryFacts,
  hostEnv: HostEnvironment,
  { name, commit, reason }: { readonly name: string; readonly commit: string; readonly reason: string },
): Promise<Result<null, BranchProblem>> {
  const checked = await checkBranch(facts, name);
  if (!checked.ok) return checked;
  const nothing = '0'.repeat(commit.length);
  const args = ['update-ref', '--no-deref', '-m', reason, `refs/heads/${name}`, commit, nothing];
  const made = await tryGit({ gitDir: facts.gitDir, asHost: hostEnv, args });
  return made.code === 0 ? ok(null) : err({ kind: 'git-failed', message: made.stderr.trim() });
}
