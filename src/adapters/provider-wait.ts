/**
 * When waiting on the provider is a refusal (SPEC 8): one rule for a running worker's clock, its last report, and a log.
 */
import type { Observation, WorkerReport } from '../model/adapter.ts';
import type { Refusal } from '../model/observation.ts';

/**
 * What one line means for the waiting: it `works` and waits no longer, it waits for this reason, or (null) neither. A CLI
 * that has finished waits no longer, unless waiting is what it ends with.
 */
export function waitingSaid(observations: readonly Observation[]): Refusal | 'works' | null {
  if (observations.some((one) => one.kind === 'activity')) return 'works';
  const wait = observations.findLast((one) => one.kind === 'provider-wait');
  if (wait !== undefined) return wait.refusal;
  return observations.some((one) => one.kind === 'finished') ? 'works' : null;
}

/**
 * The refusal that an output shows at its end. `waiting`: what its CLI was still waiting for; it was refused, in the words
 * of its last such event, and the end only says when somebody stopped waiting.
 */
export const refusalAtEnd = (report: WorkerReport, waiting: Refusal | null): Refusal | null =>
  report.refusal ?? waiting;
