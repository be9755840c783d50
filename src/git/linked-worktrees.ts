/** The other worktrees of the canonical repository, in which people and other tools work beside the run. */
import { realpathSync } from 'node:fs';
import type { Location } from './configured-files.ts';
import { git, splitNul } from './run.ts';

/** Real paths of those that exist, the main one among them where the run is in a linked one. Throws {@link GitError}. */
export async function otherWorktrees(facts: Location): Promise<string[]> {
  const records = splitNul(await git({ gitDir: facts.gitDir, args: ['worktree', 'list', '--porcelain', '-z'] }));
  const found: string[] = [];
  for (const [at, record] of records.entries()) {
    const path = /^worktree (.*)$/s.exec(record.toString('utf8'))?.[1];
    // A bare repository is listed as the first "worktree" and has none.
    if (path === undefined || records[at + 1]?.toString('latin1') === 'bare') continue;
    const real = realPath(path);
    if (real !== null && real !== facts.worktree) found.push(real);
  }
  return found;
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    // Registered and not there: removed by hand, or on a disk that is not mounted.
    return null;
  }
}
