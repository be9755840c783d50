/**
 * Verifies one receipt: reads it strictly, lets receipt/ judge what it says of itself, and has what it says of the
 * repository looked up there. Nothing is written, and nothing that a receipt says is run.
 */
import type { RepositoryFacts } from '../model/plan.ts';
import type { PlanRecord } from '../model/plan-record.ts';
import type { Receipt } from '../model/receipt.ts';
import type { ReceiptCheck, Requirement } from '../model/receipt-verify.ts';
import { err, ok, type Result } from '../model/result.ts';
import { readStrictJson, utf8Text } from '../model/strict-json.ts';
import { digestOf } from '../receipt/canonical.ts';
import { judged } from '../receipt/check.ts';
import { checkAttempts } from '../receipt/check-attempts.ts';
import { checkUnit, type SeenUnit } from '../receipt/check-intent.ts';
import { checkHostFallback, checkOutcome } from '../receipt/check-outcome.ts';
import { checkChanges, checkRefs, checkTimes } from '../receipt/check-shape.ts';
import { receiptOf } from '../receipt/receipt.ts';
import { checkInRepository } from './verify-in-repository.ts';

export interface Verifying {
  /** Null: there is no repository to look in. */
  readonly facts: RepositoryFacts | null;
  readonly require: Requirement;
  /** Packets that were handed over; null where none was. */
  readonly units: readonly SeenUnit[] | null;
  /** The plan that a run wrote down, where it is still there. */
  readonly planOf: (runId: string) => Promise<PlanRecord | null>;
}

export interface Verified {
  /** The run that it names, were it a receipt or not; null where it names none. */
  readonly runId: string | null;
  /** Null where the bytes are no receipt. */
  readonly receipt: Receipt | null;
  readonly checks: readonly ReceiptCheck[];
}

export const isValid = ({ checks }: Verified): boolean => checks.every(({ result }) => result !== 'failed');

/** `error`: there is nothing to judge, in words. */
export async function verifyReceipt(bytes: Uint8Array, verifying: Verifying): Promise<Result<Verified, string>> {
  const text = utf8Text(bytes);
  if (!text.ok) return err(text.error.message);
  const data = readStrictJson(text.value);
  if (!data.ok && data.error.kind !== 'duplicate-member') return err(data.error.message);
  const parsed = data.ok ? receiptOf(data.value) : err(data.error.message);
  if (!parsed.ok)
    return ok({ runId: namedRun(text.value), receipt: null, checks: [judged('schema', [parsed.error], '')] });
  const receipt = parsed.value;
  const checks = [
    judged('schema', [], `a receipt of agent-exec ${receipt.tool.version}`),
    checkSeal(receipt),
    checkOutcome(receipt),
    checkAttempts(receipt),
    checkChanges(receipt),
    checkRefs(receipt),
    checkHostFallback(receipt),
    checkTimes(receipt),
    ...(await checkInRepository(receipt, verifying.facts)),
    checkUnit(receipt, verifying.units, await plannedUnit(receipt, verifying)),
    checkRequirement(receipt, verifying.require),
  ];
  return ok({ runId: receipt.run_id, receipt, checks });
}

/** Of a JSON text that is no receipt, were it for a member given twice. */
function namedRun(text: string): string | null {
  const value: unknown = JSON.parse(text);
  const isNamed = value !== null && typeof value === 'object' && Object.hasOwn(value, 'run_id');
  return isNamed && 'run_id' in value && typeof value.run_id === 'string' ? value.run_id : null;
}

function checkSeal({ digest, ...unsealed }: Receipt): ReceiptCheck {
  const own = digestOf(unsealed);
  const problem = `its digest is ${digest}, and what it says has ${own}: it was changed after it was written`;
  return judged('digest', own === digest ? [] : [problem], digest);
}

function checkRequirement({ outcome }: Receipt, required: Requirement): ReceiptCheck {
  const problem = `the outcome is ${outcome}, and ${required} is required`;
  return judged(
    'require',
    required === 'any' || outcome === required ? [] : [problem],
    `${outcome}, as required (${required})`,
  );
}

async function plannedUnit(
  receipt: Receipt,
  { planOf }: Verifying,
): Promise<{ readonly record: PlanRecord; readonly digest: string } | null> {
  const record = await planOf(receipt.run_id);
  return record === null ? null : { record, digest: digestOf(record.unit) };
}
