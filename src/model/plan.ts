/** What a run intends, frozen before the first effect. Nobody after this reads configuration again (SPEC 6.1). */
import type { Candidate } from './adapter.ts';
import type { Role } from './config.ts';
import type { Unit } from './unit.ts';

/** Facts about the canonical repository, resolved once. Paths are absolute. */
export interface RepositoryFacts {
  /** Top of the worktree the host works in. */
  readonly worktree: string;
  /** This worktree's own git directory. */
  readonly gitDir: string;
  /** The git directory shared by all worktrees. */
  readonly commonDir: string;
  readonly objectsDir: string;
  readonly objectFormat: 'sha1' | 'sha256';
  readonly head: string;
  /** Full name of the branch HEAD points to; null when detached. */
  readonly headRef: string | null;
  readonly shallow: boolean;
}

export interface Limits {
  readonly timeoutMs: number;
  readonly idleTimeoutMs: number | null;
  readonly providerWaitMs: number;
  /** Between TERM and KILL. */
  readonly graceMs: number;
  readonly rawOutputBytes: number;
  readonly summaryBytes: number;
}

export interface Plan {
  readonly runId: string;
  readonly role: Role;
  readonly unit: Unit;
  readonly repository: RepositoryFacts;
  readonly base: string;
  readonly baseTree: string;
  readonly candidates: readonly Candidate[];
  readonly limits: Limits;
  readonly isolation: 'auto' | 'none' | 'guard' | 'strict';
  readonly verify: boolean;
  readonly setup: readonly (readonly string[])[];
  readonly fallbackToHost: 'all-unavailable' | 'never';
  readonly instructions: string | null;
  /** Composed once: every candidate gets the same words. */
  readonly prompt: string;
  readonly config: { readonly path: string; readonly digest: string };
  readonly unitDigest: string;
  readonly planDigest: string;
}
