/** What of a run is in the canonical repository: the commits at its own refs, and what each of them changes. */
import type { Change, PublishedCommit } from '../model/evidence.ts';
import { decodePath, type RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { treeDifference } from './build-commit.ts';
import { git, splitNul } from './run.ts';

/** Where the commit that carries a success stands. */
export const transportRef = (runId: string, attemptId: string): string => `refs/agent-exec/${runId}/${attemptId}`;
/** Where the commit that keeps everything else stands. */
export const quarantineRef = (runId: string, attemptId: string): string =>
  `refs/agent-exec-quarantine/${runId}/${attemptId}`;

/** The commits at these refs, as far as they exist; `parent` is the first one. Throws {@link GitError}. */
export async function publishedAt(facts: RepositoryFacts, refs: readonly string[]): Promise<PublishedCommit[]> {
  if (refs.length === 0) return [];
  const format = '--format=%(refname)%00%(objectname)%00%(tree)%00%(parent)';
  const listing = await git({ gitDir: facts.commonDir, args: ['for-each-ref', format, '--', ...refs] });
  const found: PublishedCommit[] = [];
  for (const line of listing.toString('utf8').split('\n')) {
    const [ref = '', commit = '', tree = '', parents = ''] = line.split('\0');
    // A pattern also finds what lies below it.
    if (refs.includes(ref)) found.push({ ref, commit, tree, parent: parents.split(' ')[0] ?? '' });
  }
  return found;
}

/** Every change between two commits, with sizes and git's own word on what is binary. Throws {@link GitError}. */
export async function changesBetween(gitDir: string, from: string, to: string): Promise<Change[]> {
  const [differences, binary] = await Promise.all([treeDifference(gitDir, from, to), binaryPaths(gitDir, from, to)]);
  const sizes = await sizesOf(
    gitDir,
    differences.flatMap(({ oid, mode }) => (oid === null || mode === '160000' ? [] : [oid])),
  );
  return differences.map(({ path, status, mode, oid }) => ({
    path,
    status,
    mode,
    size: oid === null ? null : (sizes.get(oid) ?? null),
    oid,
    binary: mode !== null && binary.has(path),
  }));
}

async function binaryPaths(gitDir: string, from: string, to: string): Promise<ReadonlySet<RepoPath>> {
  const args = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', '--no-ext-diff', '--no-textconv', from, to];
  const binary = new Set<RepoPath>();
  for (const record of splitNul(await git({ gitDir, args }))) {
    if (record.toString('latin1', 0, 4) === '-\t-\t') binary.add(decodePath(record.subarray(4)));
  }
  return binary;
}

async function sizesOf(gitDir: string, oids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (oids.length === 0) return new Map();
  const args = ['cat-file', '--batch-check=%(objectname) %(objectsize)'];
  const listing = await git({ gitDir, args, input: Buffer.from(`${oids.join('\n')}\n`) });
  const pairs = listing
    .toString('latin1')
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' '));
  return new Map(pairs.map(([oid = '', size]) => [oid, Number(size)]));
}
