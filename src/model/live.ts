/** A live probe of one profile: what was looked at after its run, and what it came to. */
import type { CanonicalComparison } from './evidence.ts';
import type { RepoPath } from './path.ts';
import type { Receipt } from './receipt.ts';

/** The file that a worker is asked for: nothing else passes. */
export interface Marker {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export interface CommitLook {
  readonly commit: string;
  readonly parents: readonly string[];
  /** Against base; both sides of a move. */
  readonly changedPaths: readonly RepoPath[];
  /** What it has at the marker's path; null where there is no regular file. */
  readonly bytes: Uint8Array | null;
}

/** What the host saw by itself beside what the receipt says. */
export interface LiveEvidence {
  readonly marker: Marker;
  readonly receipt: Receipt;
  /** Null where the receipt names no transport, or its ref no commit. */
  readonly transport: CommitLook | null;
  /** The start of the file that was written, redacted. */
  readonly written: string;
  /** What is left of the attempt that should be gone, relative to the run's directory. */
  readonly leftBehind: readonly string[];
  /** Processes of the attempt that were still found after its run. */
  readonly leftRunning: number;
  /** The checkout that the probe was called from; null where there is none that can be compared. */
  readonly caller: CanonicalComparison | null;
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
