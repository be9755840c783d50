/**
 * `run --print result`: a worker's validated result for callers that shell out. stdout holds that one JSON line or nothing:
 * READY with exit code 0, BLOCKED with 6. Where it holds nothing, or telemetry is missing, the last line of stderr is the
 * run's bounded summary.
 */
import type { Receipt } from '../model/receipt.ts';
import type { Summary } from '../model/summary.ts';
import { printableJson } from '../receipt/neutralise.ts';
import { fitSummary } from '../receipt/summary.ts';

/** The line that each stream gets; '' for none. */
export interface ResultAnswer {
  readonly stdout: string;
  readonly stderr: string;
}

/** The result that the run's outcome rests on: a READY of a success, or the BLOCKED that stopped the run; null for all else. */
function decidingResult({ outcome, reason, attempts }: Receipt): unknown {
  if (outcome === 'success') return attempts.find(({ state }) => state === 'success')?.worker_result ?? null;
  if (outcome !== 'blocked' || reason.code !== 'WORKER_BLOCKED') return null;
  return attempts.find(({ code }) => code === 'WORKER_BLOCKED')?.worker_result ?? null;
}

/** `limit`: most bytes of an answer, line end included. A result is never cut: half of one is no result. */
export function resultAnswer(receipt: Receipt, summary: Summary, limit: number): ResultAnswer {
  const result = decidingResult(receipt);
  if (result === null) return { stdout: '', stderr: fitSummary(summary, limit) };
  const text = `${printableJson(result)}\n`;
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes <= limit)
    return { stdout: text, stderr: summary.telemetry_logged !== false ? '' : fitSummary(summary, limit) };
  const message = `the result has ${bytes} bytes, more than summary_bytes (${limit}); read worker_result in the receipt`;
  const told: Summary = { ...summary, reason: { code: 'RESULT_TOO_LARGE', message } };
  return { stdout: '', stderr: fitSummary(told, limit) };
}
