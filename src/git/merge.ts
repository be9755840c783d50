/**
 * The tree that a checkout has when a change is put onto it: the change's own where HEAD is still its base, otherwise
 * git's three-way merge with exactly that base, however HEAD came to where it is. Nothing is written to the canonical
 * repository; new objects are in a store of their own until {@link keepMerged} is asked for.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { decodePath, type RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import { createStore } from './host-store.ts';
import { type GitCall, GitError, git, gitLine, type HostEnvironment, splitNul, tryGit } from './run.ts';

/** A path in which two trees differ, with both sides; null where a side has nothing there. */
export interface TwoSided {
  readonly path: RepoPath;
  readonly from: TreeEntry | null;
  readonly to: TreeEntry | null;
}
export interface TreeEntry {
  readonly mode: string;
  readonly oid: string;
}

export interface Merged {
  readonly tree: string;
  /** Where the tree's objects can be read. */
  readonly objectsDir: string;
  /** False where HEAD has base's tree and the change is put on as it is. */
  readonly moved: boolean;
  /** From HEAD to the tree. */
  readonly changes: readonly TwoSided[];
}

export type MergeProblem =
  | { readonly kind: 'conflicts'; readonly paths: readonly RepoPath[] }
  /** The merge would change files that the change does not name: HEAD has moved or renamed those that it does. */
  | { readonly kind: 'renamed'; readonly paths: readonly RepoPath[]; readonly to: readonly RepoPath[] };

export interface MergeRequest {
  readonly facts: RepositoryFacts;
  readonly hostEnv: HostEnvironment;
  readonly base: string;
  readonly commit: string;
  /** An empty private folder. */
  readonly scratch: string;
}

const MERGE_TIMEOUT_MS = 30 * 60_000;

/** Throws {@link GitError} where git cannot answer. */
export async function mergeOntoHead(request: MergeRequest): Promise<Result<Merged, MergeProblem>> {
  const { facts, base, commit, scratch } = request;
  const tree = (rev: string): Promise<string> =>
    gitLine({ gitDir: facts.gitDir, args: ['rev-parse', '--verify', `${rev}^{tree}`] });
  const [atBase, atHead, atCommit] = await Promise.all([tree(base), tree(facts.head), tree(commit)]);
  if (atBase === atHead) {
    const changes = await bothSides({ gitDir: facts.gitDir }, atHead, atCommit);
    return ok({ tree: atCommit, objectsDir: facts.objectsDir, moved: false, changes });
  }
  const store = await createStore(join(scratch, 'merge.git'), facts, [facts.objectsDir]);
  const objectsDir = join(store.gitDir, 'objects');
  const merged = await threeWay(request, objectsDir, { atBase, atHead, atCommit });
  if (!merged.ok) return merged;
  const [changes, own] = await Promise.all([
    bothSides({ gitDir: facts.gitDir, objectsDir }, atHead, merged.value),
    bothSides({ gitDir: facts.gitDir }, atBase, atCommit),
  ]);
  const named = new Set(own.map(({ path }) => path));
  const elsewhere = changes.map(({ path }) => path).filter((path) => !named.has(path));
  if (elsewhere.length === 0) return ok({ tree: merged.value, objectsDir, moved: true, changes });
  const reached = new Set(changes.map(({ path }) => path));
  return err({ kind: 'renamed', paths: [...named].filter((path) => !reached.has(path)), to: elsewhere });
}

/**
 * The merge needs one ancestor, and it must be base: `merge-tree` finds ancestors by itself, and would bring along what
 * lies between an older one and base where HEAD was rebased or reset. So the three trees are given commits of their own.
 */
async function threeWay(
  { facts, hostEnv }: MergeRequest,
  objectsDir: string,
  { atBase, atHead, atCommit }: { readonly atBase: string; readonly atHead: string; readonly atCommit: string },
): Promise<Result<string, MergeProblem>> {
  const at = { gitDir: facts.gitDir, objectsDir };
  const commitOf = (tree: string, ...parents: string[]): Promise<string> =>
    gitLine({ ...at, args: ['commit-tree', '-m', 'apply', ...parents.flatMap((one) => ['-p', one]), tree] });
  const ancestor = await commitOf(atBase);
  const [ours, theirs] = await Promise.all([commitOf(atHead, ancestor), commitOf(atCommit, ancestor)]);
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs];
  const output = await tryGit({
    ...at,
    workTree: facts.worktree,
    asHost: hostEnv,
    args,
    // A new file must not land in another folder because HEAD renamed one.
    config: [['merge.directoryRenames', 'false']],
    timeoutMs: MERGE_TIMEOUT_MS,
  });
  // 1 says conflicts.
  if (output.code !== 0 && output.code !== 1) throw new GitError(args, output);
  const [tree, ...conflicts] = splitNul(output.stdout);
  if (output.code === 1) return err({ kind: 'conflicts', paths: conflicts.map(decodePath) });
  if (tree === undefined) throw new GitError(args, { ...output, stderr: 'merge-tree named no tree' });
  return ok(tree.toString('latin1'));
}

/** Every path in which two trees differ. Throws {@link GitError}. */
export async function bothSides(
  at: Pick<GitCall, 'gitDir' | 'objectsDir'>,
  from: string,
  to: string,
): Promise<readonly TwoSided[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--full-index', from, to];
  const records = splitNul(await git({ ...at, args }));
  const differences: TwoSided[] = [];
  for (let i = 0; i + 1 < records.length; i += 2) {
    const match = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) [AMDT]$/.exec(records[i]?.toString('latin1') ?? '');
    const path = records[i + 1];
    if (match === null || path === undefined) throw new Error('diff-tree gave an answer in an unknown form');
    const [, fromMode = '', toMode = '', fromOid = '', toOid = ''] = match;
    const side = (mode: string, oid: string) => (mode === '000000' ? null : { mode, oid });
    differences.push({ path: decodePath(path), from: side(fromMode, fromOid), to: side(toMode, toOid) });
  }
  return differences;
}

/** Moves what the merge has made into the canonical repository, but for the commits that it was asked with. */
export async function keepMerged(facts: RepositoryFacts, { tree, objectsDir }: Merged, scratch: string): Promise<void> {
  if (objectsDir === facts.objectsDir) return;
  const at = { gitDir: facts.gitDir, objectsDir };
  const made = readdirSync(objectsDir)
    .filter((name) => /^[0-9a-f]{2}$/.test(name))
    .flatMap((name) => readdirSync(join(objectsDir, name)).map((rest) => `${name}${rest}`));
  const types = await git({
    ...at,
    args: ['cat-file', '--batch-check=%(objecttype) %(objectname)'],
    input: Buffer.from(made.map((oid) => `${oid}\n`).join('')),
  });
  const wanted = types
    .toString('latin1')
    .split('\n')
    .flatMap((line) => /^(?:blob|tree) ([0-9a-f]+)$/.exec(line)?.[1] ?? []);
  if (wanted.length > 0) {
    const pack = join(scratch, 'merged.pack');
    const input = Buffer.from(wanted.map((oid) => `${oid}\n`).join(''));
    await git({ ...at, args: ['pack-objects', '-q', '--stdout'], input, outputFile: pack });
    await git({ gitDir: facts.gitDir, args: ['unpack-objects', '-q'], inputFile: pack });
  }
  await git({ gitDir: facts.gitDir, args: ['cat-file', '-e', `${tree}^{tree}`] });
}
