/**
 * Builds a commit in the host's store from base plus a list of changes, and proves it: the finished commit must differ
 * from base in exactly the given entries, or there is no commit. No index and no worktree takes part.
 */
import { randomUUID } from 'node:crypto';
import type { ChangeStatus } from '../model/evidence.ts';
import { decodePath, type RepoPath } from '../model/path.ts';
import { err, ok, type Result } from '../model/result.ts';
import { complaint } from './complaint.ts';
import { batched, type CommitEntry, ContentError, fastImportStream, type ReadContent } from './fast-import.ts';
import type { HostStore } from './host-store.ts';
import { GitError, git, IDENTITY, splitNul, tryGit } from './run.ts';

export type BuildProblem =
  /** Names git cannot hold, kinds a commit cannot carry (submodule links among them), or a path named twice. */
  | { readonly kind: 'unrepresentable'; readonly paths: readonly RepoPath[] }
  /** A file is not what the inventory saw. */
  | { readonly kind: 'content-changed'; readonly paths: readonly RepoPath[]; readonly message: string }
  /** The commit made is not the commit asked for; `paths` are those that differ. */
  | { readonly kind: 'not-exact'; readonly paths: readonly RepoPath[] }
  | { readonly kind: 'git-failed'; readonly message: string };

export interface BuiltCommit {
  readonly commit: string;
  readonly tree: string;
}

const MODES = new Set(['100644', '100755', '120000']);

export interface BuildRequest {
  readonly store: HostStore;
  readonly base: string;
  readonly baseTree: string;
  readonly entries: readonly CommitEntry[];
  readonly message: string;
  readonly committedAtSeconds: number;
  readonly readContent: ReadContent;
  /** Default: base alone. */
  readonly parents?: readonly string[];
}

/**
 * Makes the commit in the store, under a ref of its own there. Throws {@link GitError} only where the proof cannot be
 * asked for.
 */
export async function buildCommit(request: BuildRequest): Promise<Result<BuiltCommit, BuildProblem>> {
  const { store, baseTree, entries } = request;
  const refused = unrepresentable(entries);
  if (refused.length > 0) return err({ kind: 'unrepresentable', paths: refused });

  let contentError: ContentError | null = null;
  async function* input(): AsyncGenerator<Uint8Array> {
    try {
      yield* fastImportStream({
        ...request,
        ref: `refs/built/${randomUUID()}`,
        parents: request.parents ?? [request.base],
        author: `${IDENTITY.NAME} <${IDENTITY.EMAIL}>`,
      });
    } catch (error) {
      if (!(error instanceof ContentError)) throw error;
      // The stream ends here without `done`, and git with an error.
      contentError = error;
    }
  }
  const made = await tryGit({
    gitDir: store.gitDir,
    args: ['fast-import', '--quiet', '--done', '--depth=0', '--big-file-threshold=8m'],
    input: batched(input()),
    // The store does not outlive the run; what is published is flushed then.
    config: [['core.fsync', 'none']],
    timeoutMs: 30 * 60_000,
  });
  const failure = contentError as ContentError | null;
  if (failure !== null) return err({ kind: 'content-changed', paths: [failure.path], message: failure.message });
  const [, commit, tree] = /^([0-9a-f]+)\n040000 tree ([0-9a-f]+)\t\n$/.exec(made.stdout.toString('latin1')) ?? [];
  if (made.code !== 0 || commit === undefined || tree === undefined)
    return err({ kind: 'git-failed', message: complaint(made.stderr, `fast-import answered ${made.failure}`) });

  const differing = await inexactPaths(store, baseTree, commit, entries);
  if (differing.length > 0) return err({ kind: 'not-exact', paths: differing });
  return ok({ commit, tree });
}

function unrepresentable(entries: readonly CommitEntry[]): RepoPath[] {
  const seen = new Set<RepoPath>();
  return entries
    .filter(({ path, mode, size }) => {
      const isKnown = seen.has(path);
      seen.add(path);
      const isWritable = mode === null || (MODES.has(mode) && size !== null);
      return isKnown || !isWritable || !isTreePath(path);
    })
    .map(({ path }) => path);
}

/** A path a tree can hold and a checkout can write: no empty, `.`, `..` or `.git` component and no NUL. */
const isTreePath = (path: RepoPath): boolean =>
  !path.includes('\0') && path.split('/').every((part) => !/^(\.?\.?|\.git)$/i.test(part));

/** The paths in which the commit's difference from the base tree is not the one asked for. */
async function inexactPaths(
  store: HostStore,
  baseTree: string,
  commit: string,
  entries: readonly CommitEntry[],
): Promise<RepoPath[]> {
  const wanted = new Map(entries.map((entry) => [entry.path, entry]));
  const wrong: RepoPath[] = [];
  for (const { path, mode, oid } of await treeDifference(store.gitDir, baseTree, commit)) {
    const entry = wanted.get(path);
    wanted.delete(path);
    if (entry?.mode !== mode || (mode !== null && entry.oid !== null && entry.oid !== oid)) wrong.push(path);
  }
  return [...wrong, ...wanted.keys()];
}

/** A path in which two trees differ, with the new side's mode and oid; `mode` null where it is gone. */
export interface TreeDifference {
  readonly path: RepoPath;
  readonly status: ChangeStatus;
  readonly mode: string | null;
  readonly oid: string | null;
}

/** Every path in which two trees or commits differ. */
export async function treeDifference(gitDir: string, from: string, to: string): Promise<TreeDifference[]> {
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--full-index', `${from}^{tree}`, `${to}^{tree}`];
  const records = splitNul(await git({ gitDir, args }));
  const differences: TreeDifference[] = [];
  for (let at = 0; at + 1 < records.length; at += 2) {
    const match = /^:\d{6} (\d{6}) [0-9a-f]+ ([0-9a-f]+) ([AMDT])$/.exec(records[at]?.toString('latin1') ?? '');
    const path = records[at + 1];
    if (match === null || path === undefined)
      throw new GitError(args, { code: 0, stdout: Buffer.alloc(0), stderr: 'unreadable answer', failure: null });
    const isGone = match[3] === 'D';
    differences.push({
      path: decodePath(path),
      status: match[3] as ChangeStatus,
      mode: isGone ? null : (match[1] ?? ''),
      oid: isGone ? null : (match[2] ?? ''),
    });
  }
  return differences;
}
