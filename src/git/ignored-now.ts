/** Whether git ignores an untracked file of the host's checkout, by the rules as they are now. */
import type { Location } from './configured-files.ts';
import { hostExcludesFile } from './ignore.ts';
import { GitError, type HostEnvironment, tryGit } from './run.ts';

/** `path` is relative to the worktree. False for a tracked file, whatever the rules say. Throws {@link GitError}. */
export async function isIgnoredNow(facts: Location, path: string, hostEnv: HostEnvironment): Promise<boolean> {
  const excludesFile = await hostExcludesFile(facts, hostEnv);
  const args = ['check-ignore', '-q', '-z', '--stdin'];
  const output = await tryGit({
    gitDir: facts.gitDir,
    workTree: facts.worktree,
    args,
    // A leading `:` would be pathspec magic.
    input: Buffer.from(`./${path}\0`),
    literalPathspecs: false,
    config: excludesFile === null ? [] : [['core.excludesFile', excludesFile]],
  });
  // 0: ignored; 1: not. Anything else is git's own trouble.
  if (output.code !== 0 && output.code !== 1) throw new GitError(args, output);
  return output.code === 0;
}
