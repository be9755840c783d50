/** What a run needs of the outside and of its own preparation, handed in once and never looked up again. */
import type { BaseTree } from '../git/base-tree.ts';
import type { HostStore } from '../git/host-store.ts';
import type { IgnoreRules } from '../git/ignore.ts';
import type { Unavailable } from '../model/adapter.ts';
import type { CancelSignal } from '../model/codes.ts';
import type { Plan } from '../model/plan.ts';
import type { Result } from '../model/result.ts';
import type { Containment } from '../process/containment.ts';
import type { ProbeCache } from '../process/probe-cache.ts';
import type { Journal } from '../store/journal.ts';
import type { Scope } from '../unit/scope.ts';
import type { Progress } from './progress.ts';

/** The outside, as tests may want to control it. */
export interface Surroundings {
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly uid: number;
  readonly toolVersion: string;
  readonly now: () => Date;
  /** Aborted with the signal's name where the host asks the run to end. */
  readonly stop: AbortSignal;
  readonly progress: Progress;
  /** Absolute paths that no worker may write either, under `guard` and `strict`: a ledger, or the checkout that a live probe is called from. */
  readonly alsoReadOnly?: readonly string[];
}

/** The name of the signal that asked the run to end, or null. */
export const stoppedBy = (stop: AbortSignal): CancelSignal | null =>
  stop.aborted ? (stop.reason as CancelSignal) : null;

/** A run under way: the plan and everything that its attempts share. */
export interface Run {
  readonly plan: Plan;
  readonly around: Surroundings;
  /** Where this and other runs keep their private state. */
  readonly stateRoot: string;
  /** The run's private directory. */
  readonly directory: string;
  readonly journal: Journal;
  readonly baseTree: BaseTree;
  readonly scope: Scope;
  readonly ignoreRules: IgnoreRules;
  readonly excludesFile: string | null;
  /** Other worktrees of the repository, real paths. */
  readonly otherWorktrees: readonly string[];
  /** Files and folders outside of all worktrees that the host's git obeys: configuration, hooks, ignore rules. */
  readonly obeyed: readonly string[];
  readonly store: HostStore;
  /** Decided once: every attempt of a run is held the same way, or none is made. */
  readonly containment: Result<Containment, Unavailable>;
  readonly probeCache: ProbeCache;
  /** `AGENT_EXEC_CHAIN` of the workers. */
  readonly chain: string;
  /** The run of this repository that this one was started in, or null. */
  readonly insideRun: string | null;
}
