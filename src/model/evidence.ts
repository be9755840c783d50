/** What was observed of one attempt, in memory. No opinion: verdict/ judges it. */
import type { Unavailable, WorkerReport } from './adapter.ts';
import type { ViolationCode } from './codes.ts';
import type { CommandResult, Isolation, Log, Processes, Termination } from './observation.ts';
import type { RepoPath } from './path.ts';

export type ChangeStatus = 'A' | 'M' | 'D' | 'T';

/** One difference from base. Modes are git's six digits; mode, size and oid are those of the new side, null for `D`. */
export interface Change {
  readonly path: RepoPath;
  readonly status: ChangeStatus;
  readonly mode: string | null;
  readonly size: number | null;
  readonly oid: string | null;
  readonly binary: boolean;
}

/** New files that ignore rules name; they are kept, not judged. */
export interface IgnoredFile {
  readonly path: RepoPath;
  readonly mode: string;
  readonly size: number;
  readonly oid: string | null;
  readonly inScope: boolean;
}

/** A proven violation: what, and where. */
export interface Violation {
  readonly code: ViolationCode;
  readonly message: string;
  readonly paths: readonly RepoPath[];
}

/** Something worth telling that decides nothing by itself. */
export interface Finding {
  readonly code: string;
  readonly message: string;
  readonly paths: readonly RepoPath[];
}

export type Inventory =
  | {
      readonly kind: 'taken';
      readonly changes: readonly Change[];
      readonly ignored: readonly IgnoredFile[];
      /** Special files, nested repositories, escaping symlinks, setuid bits, secrets: seen while walking. */
      readonly violations: readonly Violation[];
      readonly findings: readonly Finding[];
    }
  /** Something could not be read or represented: nothing is concluded from the rest. Changes read so far are kept. */
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly paths: readonly RepoPath[];
      readonly changes: readonly Change[];
      readonly ignored: readonly IgnoredFile[];
      readonly violations: readonly Violation[];
      readonly findings: readonly Finding[];
    }
  /** No workspace was ever made. */
  | { readonly kind: 'none' };

/** One difference of the canonical repository between two looks. `path` is set where it concerns a file. */
export interface CanonicalDifference {
  readonly what: 'head' | 'ref' | 'index' | 'config' | 'hooks' | 'info' | 'worktree' | 'unreadable';
  readonly path: string;
  readonly detail: string;
}
export interface CanonicalComparison {
  readonly differences: readonly CanonicalDifference[];
  /** False under `guard` and `strict`: the worker had no way to write there, so the host did it. */
  readonly workerCouldWrite: boolean;
}

export interface PublishedCommit {
  readonly ref: string;
  readonly commit: string;
  readonly tree: string;
  readonly parent: string;
}

/** What was kept of the worker's work. */
export type Preservation =
  /** Not decided yet. */
  | { readonly kind: 'pending' }
  /** Nothing was left to keep. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'kept'; readonly transport: PublishedCommit | null; readonly quarantine: PublishedCommit | null }
  /** Work exists that no commit holds; the workspace must stay. */
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly transport: PublishedCommit | null;
      readonly quarantine: PublishedCommit | null;
    };

export type Cleanup =
  | { readonly kind: 'pending' }
  | {
      readonly kind: 'done';
      readonly workspaceRemoved: boolean;
      readonly worktreeUnregistered: boolean;
      readonly processesGone: boolean;
      /** Why a workspace that should be gone is not; null where it is gone or was kept on purpose. */
      readonly problem: string | null;
      /** Set where the workspace was kept, on purpose or not. */
      readonly retainedPath: string | null;
    };

/** What a worker left in its private repository beyond the workspace. */
export interface PrivateRepositoryEvidence {
  readonly violations: readonly Violation[];
  /** Commits, stashes and branch tips that the worker made, to be kept in the quarantine. */
  readonly commits: readonly string[];
}

/** Judged by the worker-result contract of the role (SPEC 9); `not-required` where the role has none. */
export type WorkerResultEvidence =
  | { readonly kind: 'not-required' }
  | { readonly kind: 'valid'; readonly status: 'READY' | 'BLOCKED'; readonly value: unknown }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unparseable'; readonly message: string }
  | { readonly kind: 'invalid'; readonly message: string };

export interface Evidence {
  readonly expects: 'changes' | 'report' | 'either';
  /** Set where the candidate was found unavailable before a worker process existed. */
  readonly unavailable: Unavailable | null;
  readonly isolation: Isolation;
  readonly setup: readonly CommandResult[];
  readonly termination: Termination;
  readonly processes: Processes;
  readonly logs: readonly Log[];
  readonly report: WorkerReport;
  readonly model: { readonly requested: string | null; readonly resolved: string | null };
  readonly inventory: Inventory;
  /** Changed paths outside `allowed_paths`. */
  readonly outOfScope: readonly RepoPath[];
  readonly privateRepository: PrivateRepositoryEvidence;
  readonly canonical: CanonicalComparison;
  readonly workerResult: WorkerResultEvidence;
  readonly preservation: Preservation;
  /** `null`: not asked for. */
  readonly verification: readonly CommandResult[] | null;
  /** What was going on when agent-exec itself died; null where it lived to see the end. */
  readonly controllerLost: string | null;
  /** The host stopped the run after the worker had ended by itself: while its work was being verified. */
  readonly cancelledAfterwards: boolean;
  readonly cleanup: Cleanup;
}
