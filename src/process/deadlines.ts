/**
 * When a worker has had its time. Pure: the clocks are numbers (milliseconds of one monotonic clock), the answer is the
 * earliest moment at which it must be stopped, and why.
 *
 * Idle means no output and no readable event. A line that only says "I am retrying my provider" is neither: it starts
 * the provider's clock, which only a readable event stops.
 */
import { waitingSaid } from '../adapters/provider-wait.ts';
import type { Observation, Stream } from '../model/adapter.ts';
import type { Refusal } from '../model/observation.ts';
import type { StopReason } from './ending.ts';

export interface DeadlineLimits {
  readonly timeoutMs: number;
  /** Null: it may be silent for as long as it likes. */
  readonly idleTimeoutMs: number | null;
  /** 0: a worker that says it is waiting is stopped at once. */
  readonly providerWaitMs: number;
  /** Time to leave by itself after its result; null: it is waited for. */
  readonly lingerMs: number | null;
}

export interface Clocks {
  readonly startedAt: number;
  /** The last output or event that counts as work. */
  readonly activeAt: number;
  /** Bytes of a line that has not ended yet: work, unless the line turns out to be a provider wait. */
  readonly partialAt: Readonly<Record<Stream, number>>;
  readonly waiting: { readonly since: number; readonly refusal: Refusal } | null;
  readonly finishedAt: number | null;
}

export const startClocks = (now: number): Clocks => ({
  startedAt: now,
  activeAt: now,
  partialAt: { stdout: now, stderr: now },
  waiting: null,
  finishedAt: null,
});

/** What one chunk of output held: the observations of each line it completed, and whether a line is left unfinished. */
export interface Reading {
  readonly stream: Stream;
  readonly lines: readonly (readonly Observation[])[];
  readonly partial: boolean;
}

export function afterReading(clocks: Clocks, reading: Reading, now: number): Clocks {
  let { activeAt, waiting, finishedAt } = clocks;
  for (const observations of reading.lines) {
    const said = waitingSaid(observations);
    if (said === 'works') waiting = null;
    else if (said !== null) waiting = { since: waiting?.since ?? now, refusal: said };
    if (said === 'works' || said === null) activeAt = now;
    if (finishedAt === null && observations.some((one) => one.kind === 'finished')) finishedAt = now;
  }
  const pending = reading.partial ? now : clocks.startedAt;
  const partialAt = { ...clocks.partialAt, [reading.stream]: pending };
  return { ...clocks, activeAt, partialAt, waiting, finishedAt };
}

export interface Deadline {
  readonly by: StopReason;
  readonly at: number;
}

/** The earliest reason to stop; of two at the same moment the one listed first. */
export function nextDeadline(clocks: Clocks, limits: DeadlineLimits): Deadline {
  const deadlines: Deadline[] = [{ by: 'total-timeout', at: clocks.startedAt + limits.timeoutMs }];
  if (clocks.finishedAt !== null && limits.lingerMs !== null) {
    deadlines.push({ by: 'finished', at: clocks.finishedAt + limits.lingerMs });
  }
  if (clocks.waiting !== null) {
    deadlines.push({ by: 'provider-wait', at: clocks.waiting.since + limits.providerWaitMs });
  }
  if (limits.idleTimeoutMs !== null) {
    const quietSince = Math.max(clocks.activeAt, clocks.partialAt.stdout, clocks.partialAt.stderr);
    deadlines.push({ by: 'idle-timeout', at: quietSince + limits.idleTimeoutMs });
  }
  return deadlines.reduce((first, next) => (next.at < first.at ? next : first));
}
