/**
 * What the ignore rules hide in the host's worktree, as far as a look goes: every ignored file by itself, and of a folder
 * that is ignored as a whole its own name and the names directly in it. What changes deeper in such folders, or in a file
 * in them, is not seen: caches and builds are written all day.
 */
import { decodePath, type RepoPath } from '../model/path.ts';
import type { Location } from './configured-files.ts';
import { pathsIn } from './folder-names.ts';
import { GitError, splitNul, tryGit } from './run.ts';
import { type StatSignature, statWorktree } from './worktree-stat.ts';

/** Names beyond are left out, in the order in which git and the file system give them. */
const MAX_NAMES = 10_000;
const THERE: StatSignature = 'there';

/** By path from the top. Throws {@link GitError}. */
export async function viewIgnored(
  { gitDir, worktree }: Location,
  excludesFile: string | null,
): Promise<Map<RepoPath, StatSignature>> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const config = [['core.excludesFile', excludesFile ?? '/dev/null']] as const;
  const output = await tryGit({ gitDir, workTree: worktree, args, config });
  if (output.code !== 0) throw new GitError(args, output);
  const listed = splitNul(output.stdout).slice(0, MAX_NAMES).map(decodePath);
  const seen = await statWorktree(
    worktree,
    listed.filter((path) => !path.endsWith('/')),
  );
  for (const folder of listed.filter((path) => path.endsWith('/'))) {
    seen.set(folder, THERE);
    for (const name of pathsIn(worktree, folder).sort()) {
      if (seen.size >= MAX_NAMES) return seen;
      seen.set(`${folder}${name}` as RepoPath, THERE);
    }
  }
  return seen;
}
