/** A live probe of one profile: what was looked at after its run, and what it came to. */
import type { CanonicalComparison } from './evidence.ts';
import type { RepoPath } from './path.ts';
import type { Receipt } from './receipt.ts';
import type { Result } from './result.ts';

/** The file that a worker is asked for: nothing else passes. */
export interface RequestedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface CommitLook {
  readonly commit: string;
  readonly parents: readonly string[];
  /** Against base; both sides of a move. */
  readonly changedPaths: readonly RepoPath[];
  /** What it has at the path that was asked for; null where there is no regular file. */
  readonly file: {
    readonly size: number;
    /** Null where there is far more than was asked for: nothing needs to be read to know that it is something else. */
    readonly bytes: Uint8Array | null;
  } | null;
}

/** The host's checkout that the probe was called from, before and after. */
export type CheckoutLook =
  /** It was called from none. */
  | { readonly kind: 'none' }
  | ({ readonly kind: 'compared' } & CanonicalComparison)
  /** It has no commit yet, so there was nothing to compare by. */
  | { readonly kind: 'not-compared'; readonly workerCouldWrite: boolean };

/** What the host saw by itself beside what the receipt says. */
export interface LiveEvidence {
  readonly requested: RequestedFile;
  readonly receipt: Receipt;
  /** Null where the receipt names no transport, or its ref no commit. */
  readonly transport: CommitLook | null;
  /** The start of the file that was written, redacted. */
  readonly written: string;
  /** What is left of the attempt that should be gone, relative to the run's directory; or why that cannot be said. */
  readonly leftBehind: Result<readonly string[], string>;
  /** Processes of the attempt that were still found after its run. */
  readonly leftRunning: number;
  readonly checkout: CheckoutLook;
}

/** One thing that is not as it must be. */
export interface LiveDifference {
  readonly code: string;
  readonly message: string;
}

export type LiveVerdict =
  | { readonly result: 'pass' }
  | { readonly result: 'unavailable'; readonly code: string; readonly message: string }
  /** The gravest first. */
  | { readonly result: 'failed'; readonly differences: readonly [LiveDifference, ...LiveDifference[]] }
  | { readonly result: 'cancelled' };
