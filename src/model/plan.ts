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

/** What of a plan outlives its controller: all that a run's commits and records are made from. A {@link Plan} is one. */
export interface PlannedRun {
  readonly runId: string;
  readonly role: Pick<Role, 'name' | 'expects'>;
  readonly unit: Unit;
  readonly repository: RepositoryFacts;
  readonly base: string;
  readonly baseTree: string;
  readonly candidates: readonly {
    readonly attemptId: string;
    readonly profile: string;
    readonly adapter: { readonly name: string };
  }[];
  readonly isolation: 'auto' | 'none' | 'guard' | 'strict';
  readonly fallbackToHost: 'all-unavailable' | 'never';
  readonly config: { readonly path: string; readonly digest: string };
  readonly unitDigest: string;
  readonly planDigest: string;
}

export interface Plan extends PlannedRun {
  readonly role: Role;
  readonly candidates: readonly Candidate[];
  readonly limits: Limits;
  /** Runs of one repository at a time. */
  readonly maxParallel: number;
  readonly verify: boolean;
  readonly setup: readonly (readonly string[])[];
  readonly instructions: string | null;
  /** Composed once: every candidate gets the same words. */
  readonly prompt: string;
}
