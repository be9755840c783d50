/**
 * The verdict on a run that another process finished. What its attempts came to before the controller died stands; what
 * was never tried was never tried; and a permission to the host that was not given is not given now.
 */
import { EXIT } from '../model/codes.ts';
import type { PlannedRun } from '../model/plan.ts';
import type { AttemptRecord } from '../model/receipt.ts';
import { judgeRun, type RunVerdict, stopsRun } from '../verdict/outcome.ts';

export function judgeRecovered(plan: PlannedRun, attempts: readonly AttemptRecord[]): RunVerdict {
  const facts = attempts.map(({ attempt_id, state, code, message, cleanup }) => ({
    attemptId: attempt_id,
    verdict: { state, code, message, findings: [] },
    cleanupExact: cleanup.exact,
  }));
  const isDecided = facts.some(({ verdict }) => stopsRun(verdict)) || attempts.length === plan.candidates.length;
  if (isDecided) {
    return judgeRun({
      attempts: facts,
      candidateCount: plan.candidates.length,
      fallbackToHost: 'never',
      cancelledBy: null,
    });
  }
  const last = attempts.at(-1);
  const next = plan.candidates[attempts.length]?.attemptId ?? 'the next candidate';
  const after =
    last === undefined ? 'before the first attempt' : `after ${last.attempt_id} (${last.state} ${last.code})`;
  return {
    outcome: 'blocked',
    exitCode: EXIT.blocked,
    reason: { code: 'CONTROLLER_LOST', message: `agent-exec died ${after}; ${next} was not tried` },
  };
}
