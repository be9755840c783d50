/**
 * A run's records, in the order that leaves no lie behind: the receipt first (in the run directory, then where it was
 * asked for), then the one telemetry line of the run; where that fails, the receipt is written again and says so. Work
 * that succeeded and whose records could not be written is `evidence-failed`, never a silent success.
 */

import { EXIT } from '../model/codes.ts';
import type { Finding } from '../model/evidence.ts';
import type { PlannedRun } from '../model/plan.ts';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import { ok } from '../model/result.ts';
import { buildReceipt, renderReceipt } from '../receipt/receipt.ts';
import type { Redactor } from '../receipt/redact.ts';
import { runEvent } from '../receipt/telemetry.ts';
import { type FileProblem, writeDurably } from '../store/durable-file.ts';
import { appendTelemetry } from '../store/telemetry.ts';
import type { RunVerdict } from '../verdict/outcome.ts';
import type { Surroundings } from './surroundings.ts';

export interface RecordRequest {
  readonly run: { readonly plan: PlannedRun; readonly around: Pick<Surroundings, 'now' | 'toolVersion'> };
  readonly verdict: RunVerdict;
  readonly attempts: readonly AttemptRecord[];
  readonly findings: readonly Finding[];
  readonly hostFallback: Receipt['host_fallback'];
  readonly dirtyPaths: number;
  readonly lfs: boolean;
  readonly redactor: Redactor;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly telemetryPath: string;
  /** The first failure while the attempts' lines were written; null where there was none. */
  readonly telemetryProblem: FileProblem | null;
  /** True where telemetry has the run's line already: an earlier try wrote it and got no further. */
  readonly runIsLogged?: boolean;
  /** In the run directory. */
  readonly receiptPath: string;
  /** `--receipt`; null where none was asked for. */
  readonly extraReceiptPath: string | null;
}

export interface Recorded {
  readonly receipt: Receipt;
  /** Where the receipt is; null where it could not be written anywhere. */
  readonly receiptPath: string | null;
}

type FailureCode = 'TELEMETRY_LOG_FAILED' | 'RECEIPT_WRITE_FAILED';

function downgraded(verdict: RunVerdict, code: FailureCode, problem: FileProblem): RunVerdict {
  if (verdict.outcome !== 'success') return verdict;
  const what = code === 'TELEMETRY_LOG_FAILED' ? 'telemetry' : 'the receipt';
  const message = `the work succeeded (${verdict.reason.message}), but ${what} could not be written: ${problem.message}`;
  return { outcome: 'evidence-failed', exitCode: EXIT['evidence-failed'], reason: { code, message } };
}

/**
 * Writes all of them and answers with the receipt as it finally is. A record that cannot be written is data, never
 * thrown.
 */
export async function writeRecords(request: RecordRequest): Promise<Recorded> {
  const { run } = request;
  const endedAt = run.around.now();
  const { durationMs } = request;
  let telemetry = request.telemetryProblem;
  let verdict = telemetry === null ? request.verdict : downgraded(request.verdict, 'TELEMETRY_LOG_FAILED', telemetry);

  const build = (): Receipt =>
    buildReceipt(
      {
        plan: run.plan,
        toolVersion: run.around.toolVersion,
        outcome: verdict.outcome,
        exitCode: verdict.exitCode,
        reason: verdict.reason,
        dirtyPaths: request.dirtyPaths,
        lfs: request.lfs,
        attempts: request.attempts,
        hostFallback: request.hostFallback,
        findings: request.findings,
        telemetry: { path: request.telemetryPath, logged: telemetry === null, error: telemetry?.message ?? null },
        startedAt: request.startedAt,
        endedAt,
        durationMs,
      },
      request.redactor,
    );

  const write = async (
    receipt: Receipt,
    first: boolean,
  ): Promise<{ path: string | null; problem: FileProblem | null }> => {
    const text = renderReceipt(receipt);
    const own = await writeDurably(request.receiptPath, text);
    const extra =
      request.extraReceiptPath === null
        ? null
        : await writeDurably(request.extraReceiptPath, text, { exclusive: first });
    const problem = !own.ok ? own.error : extra !== null && !extra.ok ? extra.error : null;
    const path = extra?.ok === true ? request.extraReceiptPath : own.ok ? request.receiptPath : null;
    return { path, problem };
  };

  let receipt = build();
  let written = await write(receipt, true);
  if (written.problem !== null) {
    verdict = downgraded(verdict, 'RECEIPT_WRITE_FAILED', written.problem);
    receipt = build();
  }
  const line = runEvent({
    runId: run.plan.runId,
    unitId: run.plan.unit.unit_id,
    role: run.plan.role.name,
    outcome: verdict.outcome,
    exitCode: verdict.exitCode,
    attempts: request.attempts.length,
    startedAt: request.startedAt,
    endedAt,
    durationMs,
    receiptPath: written.path ?? request.receiptPath,
  });
  const logged = request.runIsLogged === true ? ok(undefined) : await appendTelemetry(request.telemetryPath, [line]);
  if (!logged.ok && telemetry === null) {
    telemetry = logged.error;
    verdict = downgraded(verdict, 'TELEMETRY_LOG_FAILED', telemetry);
    receipt = build();
  }
  if ((written.problem !== null || !logged.ok) && written.path !== null) {
    // What is on disk must say what is now known; the extra receipt is ours since the first write.
    const again = await write(receipt, written.path !== request.extraReceiptPath);
    written = { path: again.path ?? written.path, problem: again.problem };
  }
  return { receipt, receiptPath: written.path };
}
