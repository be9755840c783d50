/**
 * A repository made on the spot with one commit, for work that must not touch anybody's. No template, no hooks, no remote,
 * and nothing of the user's configuration has a say in it.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { git } from './run.ts';

/**
 * Makes `worktree`, which must not exist, with these files at its top in the first commit of `main`.
 * Throws {@link GitError} or the file system's error.
 */
export async function createFreshRepository(worktree: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(worktree, { mode: 0o700 });
  await git({ gitDir: null, args: ['init', '-q', '--template=', '--initial-branch=main', worktree] });
  const names = Object.keys(files);
  for (const name of names) await writeFile(join(worktree, name), files[name] ?? '');
  const at = { gitDir: join(worktree, '.git'), workTree: worktree };
  await git({ ...at, args: ['add', '--force', '--', ...names] });
  await git({ ...at, args: ['commit', '-q', '-m', 'A repository for one probe'] });
}
