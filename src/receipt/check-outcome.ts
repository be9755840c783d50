/**
 * Does the verdict on the run follow from its attempts? It is made anew by the rules that made it (verdict/outcome.ts):
 * whoever changes an outcome, an exit code or a reason has to change the attempts too, and these have checks of their own.
 */
import { CANCEL_EXIT, type CancelSignal, CONSEQUENCES, EXIT } from '../model/codes.ts';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import type { ReceiptCheck } from '../model/receipt-verify.ts';
import { judgeRun } from '../verdict/outcome.ts';
import { judged, notApplicable } from './check.ts';

const RECORDS_LOST: readonly string[] = ['TELEMETRY_LOG_FAILED', 'RECEIPT_WRITE_FAILED'];

interface Expected {
  readonly outcome: string;
  readonly exitCode: number;
  readonly code: string;
}

/** True where `recover` wrote the receipt in the place of a controller that died. */
export const isRecovered = ({ findings }: Receipt): boolean => findings.some(({ code }) => code === 'RECOVERED');

const stops = ({ code }: AttemptRecord): boolean => CONSEQUENCES[code].run === 'stops';

function cancelSignal({ outcome, exit_code }: Receipt): CancelSignal | null {
  if (outcome !== 'cancelled') return null;
  const signals = Object.keys(CANCEL_EXIT) as CancelSignal[];
  return signals.find((signal) => CANCEL_EXIT[signal] === exit_code) ?? null;
}

/** What the attempts come to. */
function expectedOf(receipt: Receipt): Expected {
  const { attempts, candidates, policy } = receipt;
  const recovered = isRecovered(receipt);
  if (recovered && attempts.length < candidates.length && !attempts.some(stops))
    return { outcome: 'blocked', exitCode: EXIT.blocked, code: 'CONTROLLER_LOST' };
  // A permission that was not given before a controller died is not given afterwards, nor to a run inside of a run.
  const inside = attempts.length > 0 && attempts.every(({ code }) => code === 'RECURSION_DETECTED');
  const { outcome, exitCode, reason } = judgeRun({
    attempts: attempts.map(({ attempt_id, state, code, message, cleanup }) => ({
      attemptId: attempt_id,
      verdict: { state, code, message, findings: [] },
      cleanupExact: cleanup.exact,
    })),
    candidateCount: candidates.length,
    fallbackToHost: recovered || inside ? 'never' : policy.fallback_to_host,
    cancelledBy: cancelSignal(receipt),
  });
  if (outcome === 'success' && receipt.outcome === 'evidence-failed') {
    const code = RECORDS_LOST.includes(receipt.reason.code) ? receipt.reason.code : RECORDS_LOST.join(' or ');
    return { outcome: 'evidence-failed', exitCode: EXIT['evidence-failed'], code };
  }
  return { outcome, exitCode, code: reason.code };
}

function verdictProblems(receipt: Receipt): string[] {
  const expected = expectedOf(receipt);
  const problems: string[] = [];
  const differs = (what: string, says: string | number, wanted: string | number): void => {
    if (says !== wanted) problems.push(`${what} is ${says}, and the attempts come to ${wanted}`);
  };
  differs('outcome', receipt.outcome, expected.outcome);
  differs('exit_code', receipt.exit_code, expected.exitCode);
  differs('reason.code', receipt.reason.code, expected.code);
  return problems;
}

function orderProblems(receipt: Receipt): string[] {
  const { attempts, candidates, outcome } = receipt;
  const problems: string[] = [];
  if (candidates.length === 0) problems.push('there are no candidates, and no run begins without one');
  if (new Set(candidates).size < candidates.length) problems.push('a candidate is listed twice');
  if (attempts.length > candidates.length)
    problems.push(`${attempts.length} attempts were made with ${candidates.length} candidates`);
  for (const [i, attempt] of attempts.entries()) {
    if (i + 1 < attempts.length && stops(attempt))
      problems.push(
        `${attempt.attempt_id} (${attempt.code}) ends a run, and ${attempts[i + 1]?.attempt_id} follows it`,
      );
  }
  const last = attempts.at(-1);
  const mayEndEarly = outcome === 'cancelled' || isRecovered(receipt) || (last !== undefined && stops(last));
  if (!mayEndEarly && attempts.length < candidates.length)
    problems.push(`${candidates.length - attempts.length} candidates were not tried, and nothing had ended the run`);
  return problems;
}

function telemetryProblems({ outcome, reason, telemetry }: Receipt): string[] {
  const problems: string[] = [];
  if (telemetry.logged !== (telemetry.error === null))
    problems.push(`telemetry.logged is ${telemetry.logged}, and its error is ${telemetry.error ?? 'null'}`);
  if (outcome === 'success' && !telemetry.logged) problems.push('a success whose telemetry is not written is none');
  if (reason.code === 'TELEMETRY_LOG_FAILED' && telemetry.logged)
    problems.push('reason.code is TELEMETRY_LOG_FAILED, and telemetry.logged is true');
  return problems;
}

/** Outcome, exit code and reason against the attempts; attempts against the candidates; telemetry against the outcome. */
export function checkOutcome(receipt: Receipt): ReceiptCheck {
  const problems = [...verdictProblems(receipt), ...orderProblems(receipt), ...telemetryProblems(receipt)];
  const { outcome, exit_code: exitCode, attempts } = receipt;
  const held = `${outcome} (exit ${exitCode}) follows from ${attempts.length === 1 ? 'its attempt' : `its ${attempts.length} attempts`}`;
  return judged('outcome', problems, held);
}

/** The permission rests on exactly the attempts, each unavailable, with nothing left of it. */
export function checkHostFallback(receipt: Receipt): ReceiptCheck {
  const { host_fallback: fallback, outcome, unit, repository, attempts, candidates, policy } = receipt;
  const authorised = outcome === 'host-fallback-authorized';
  if (fallback === null && !authorised) return notApplicable('host-fallback', 'the host was not authorised');
  if (fallback === null)
    return judged('host-fallback', ['the outcome authorises the host, and host_fallback is null'], '');
  const problems: string[] = [];
  if (!authorised) problems.push(`host_fallback authorises the host, and the outcome is ${outcome}`);
  if (policy.fallback_to_host !== 'all-unavailable')
    problems.push(`the policy is fallback_to_host: ${policy.fallback_to_host}, and the host is authorised`);
  if (fallback.unit_digest !== unit.digest) problems.push('host_fallback.unit_digest is not the digest of the unit');
  if (fallback.base !== repository.base) problems.push('host_fallback.base is not the base of the run');
  if (JSON.stringify(fallback.allowed_paths) !== JSON.stringify(unit.allowed_paths))
    problems.push('host_fallback.allowed_paths are not those of the unit');
  const ids = attempts.map(({ attempt_id }) => attempt_id);
  if (JSON.stringify(fallback.evidence) !== JSON.stringify(ids))
    problems.push(`its evidence is [${fallback.evidence.join(', ')}], and the attempts are [${ids.join(', ')}]`);
  if (attempts.length !== candidates.length)
    problems.push(
      `${attempts.length} of ${candidates.length} candidates were tried: the others are not proven unavailable`,
    );
  for (const { attempt_id: id, state, cleanup } of attempts) {
    if (state !== 'unavailable') problems.push(`${id} is ${state}, not unavailable`);
    if (!cleanup.exact) problems.push(`the cleanup of ${id} is not exact`);
  }
  if (fallback.issued_at < receipt.started_at || fallback.issued_at > receipt.ended_at)
    problems.push(`it was issued at ${fallback.issued_at}, which is not within the run`);
  return judged(
    'host-fallback',
    problems,
    `it rests on ${ids.length} attempts, each unavailable, with nothing left of it`,
  );
}
