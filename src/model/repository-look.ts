/** What the repository itself says about the commits that a record names. Observed with git; judged in receipt/. */
import type { Change } from './evidence.ts';
import type { RepoPath } from './path.ts';

/** A commit object as it is; `author` and `committer` are `name <email>`. */
export interface CommitFacts {
  readonly kind: 'commit';
  readonly commit: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: string;
  readonly committer: string;
}
/** `another-kind`: there is an object of that name, and it is no commit. */
export type ObjectLook = CommitFacts | { readonly kind: 'missing' } | { readonly kind: 'another-kind' };

/** One commit that a receipt names, and what became of the ref that should hold it. */
export interface NamedCommitLook {
  readonly object: ObjectLook;
  /** What the ref of this run and attempt holds; null where there is no such ref. */
  readonly refHolds: string | null;
  /** A branch, tag or HEAD that has the commit too, where the ref is gone; null where none has. */
  readonly containedIn: string | null;
  /** From base, where base is its first parent; otherwise null. */
  readonly changes: readonly Change[] | null;
}

export interface RepositoryLook {
  readonly objectFormat: 'sha1' | 'sha256';
  readonly base: ObjectLook;
  /** By {@link lookKey}. */
  readonly commits: ReadonlyMap<string, NamedCommitLook>;
  /** Refs of the run that its receipt does not name. */
  readonly untold: readonly string[];
  /** What `allowed_paths` allow at base; null where base is not there. */
  readonly allows: ((path: RepoPath) => boolean) | null;
}

/** One commit, as it stands at one ref. */
export const lookKey = (ref: string, commit: string): string => `${ref} ${commit}`;

/** Both sides of a path in which two trees differ; null where a side has nothing there. */
export interface PathDifference {
  readonly path: RepoPath;
  readonly from: { readonly mode: string; readonly oid: string } | null;
  readonly to: { readonly mode: string; readonly oid: string } | null;
}
