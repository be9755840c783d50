/**
 * Whether a commit is safe without a ref of ours: reachable from a branch, a remote-tracking branch, a tag, or the HEAD
 * of any worktree. Anything else (the stash, a reflog, somebody's own refs) is no promise that it stays.
 */
import type { RepositoryFacts } from '../model/plan.ts';
import { git, splitNul, tryGit } from './run.ts';

type Place = Pick<RepositoryFacts, 'commonDir'>;

export interface OwnRef {
  readonly ref: string;
  /** What it holds; not followed where the ref is a symbolic one. */
  readonly commit: string;
  /** The branch, tag or HEAD that has the commit too; null where none has. */
  readonly containedIn: string | null;
}

/** Every ref of the run in this repository. Throws {@link GitError}. */
export async function refsOfRun({ commonDir }: Place, runId: string): Promise<readonly OwnRef[]> {
  const at = { gitDir: commonDir };
  const patterns = [`refs/agent-exec/${runId}/`, `refs/agent-exec-quarantine/${runId}/`];
  const listing = await git({ ...at, args: ['for-each-ref', '--format=%(objectname) %(refname)', '--', ...patterns] });
  const refs: OwnRef[] = [];
  for (const line of listing.toString('utf8').split('\n')) {
    const [commit, ref] = line.split(' ');
    // What lies deeper is nothing that agent-exec has made.
    if (commit === undefined || ref?.split('/').length !== 4) continue;
    refs.push({ ref, commit, containedIn: await containedIn(commonDir, commit) });
  }
  return refs;
}

/** A branch, tag or HEAD that has the commit; null where none has. Throws {@link GitError}. */
export async function containedIn(gitDir: string, commit: string): Promise<string | null> {
  const kinds = ['refs/heads/', 'refs/remotes/', 'refs/tags/'];
  const args = ['for-each-ref', '--count=1', '--format=%(refname)', `--contains=${commit}`, '--', ...kinds];
  const [first] = (await git({ gitDir, args })).toString('utf8').split('\n');
  if (first !== undefined && first !== '') return first;
  for (const head of await detachedHeads(gitDir)) {
    const isIn = await tryGit({ gitDir, args: ['merge-base', '--is-ancestor', commit, head] });
    if (isIn.code === 0) return `HEAD at ${head}`;
  }
  return null;
}

/** The commits at which worktrees stand; those on a branch are asked about by the branch. */
async function detachedHeads(gitDir: string): Promise<readonly string[]> {
  const records = splitNul(await git({ gitDir, args: ['worktree', 'list', '--porcelain', '-z'] }));
  const heads = records.flatMap((record) => /^HEAD ([0-9a-f]+)$/.exec(record.toString('latin1'))?.[1] ?? []);
  return [...new Set(heads)];
}
