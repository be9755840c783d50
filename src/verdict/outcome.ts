/** Verdicts of the attempts -> outcome of the run (SPEC 7). Pure and total. */
import { CANCEL_EXIT, type CancelSignal, CONSEQUENCES, EXIT, type RunOutcome } from '../model/codes.ts';
import type { Verdict } from './classify.ts';

export interface RunVerdict {
  readonly outcome: RunOutcome;
  readonly exitCode: number;
  readonly reason: { readonly code: string; readonly message: string };
}

export interface RunFacts {
  /** In candidate order; candidates that were never reached are absent. */
  readonly attempts: readonly {
    readonly attemptId: string;
    readonly verdict: Verdict;
    readonly cleanupExact: boolean;
  }[];
  readonly candidateCount: number;
  readonly fallbackToHost: 'all-unavailable' | 'never';
  /** Set where the host asked the run to end. */
  readonly cancelledBy: CancelSignal | null;
}

const verdictOn = (outcome: keyof typeof EXIT & RunOutcome, code: string, message: string): RunVerdict => ({
  outcome,
  exitCode: EXIT[outcome],
  reason: { code, message },
});

/** Does the run end after this attempt, whatever candidates are left? */
export const stopsRun = (verdict: Verdict): boolean => CONSEQUENCES[verdict.code].run === 'stops';

/**
 * Host fallback needs proof for *every* candidate: each was reached, each is `unavailable`, and what each may have left
 * is gone exactly. One attempt of any other state, one candidate not reached, and it is `exhausted`.
 */
export function judgeRun(facts: RunFacts): RunVerdict {
  const success = facts.attempts.find(({ verdict }) => verdict.state === 'success');
  if (success !== undefined) {
    return verdictOn('success', 'OK', `${success.attemptId}: ${success.verdict.message}`);
  }
  const blocking = facts.attempts.find(
    ({ verdict }) => stopsRun(verdict) && verdict.state !== 'cancelled' && verdict.state !== 'success',
  );
  if (blocking !== undefined) {
    return verdictOn('blocked', blocking.verdict.code, `${blocking.attemptId}: ${blocking.verdict.message}`);
  }
  if (facts.cancelledBy !== null || facts.attempts.some(({ verdict }) => verdict.state === 'cancelled')) {
    const signal = facts.cancelledBy ?? 'SIGTERM';
    return {
      outcome: 'cancelled',
      exitCode: CANCEL_EXIT[signal],
      reason: { code: 'CANCELLED', message: `the run was stopped by ${signal}` },
    };
  }
  const allUnavailable =
    facts.attempts.length > 0 &&
    facts.attempts.length === facts.candidateCount &&
    facts.attempts.every(({ verdict, cleanupExact }) => verdict.state === 'unavailable' && cleanupExact);
  if (allUnavailable && facts.fallbackToHost === 'all-unavailable') {
    return verdictOn(
      'host-fallback-authorized',
      'ALL_UNAVAILABLE',
      `every candidate is proven unavailable (${facts.attempts.map((a) => `${a.attemptId} ${a.verdict.code}`).join(', ')}): the host may do the unit itself`,
    );
  }
  const last = facts.attempts.at(-1);
  const why = allUnavailable ? 'every candidate is unavailable, and the host is not authorised to do the unit' : null;
  return verdictOn(
    'exhausted',
    last?.verdict.code ?? 'NO_CANDIDATE',
    why ?? `no candidate succeeded (${facts.attempts.map((a) => `${a.attemptId} ${a.verdict.code}`).join(', ')})`,
  );
}
