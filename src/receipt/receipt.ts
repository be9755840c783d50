/**
 * The run's typed record: built from the frozen plan and the attempts, redacted, sealed by a digest over its canonical
 * JSON, and read back by the same schema. A receipt that parses and whose digest holds says exactly what was written.
 */
import type { RunOutcome } from '../model/codes.ts';
import type { Finding } from '../model/evidence.ts';
import type { PlannedRun } from '../model/plan.ts';
import { type AttemptRecord, type Receipt, receipt as receiptSchema } from '../model/receipt.ts';
import { err, ok, type Result } from '../model/result.ts';
import { findingRecords } from './attempt.ts';
import { headOf } from './bounded-text.ts';
import { digestOf } from './canonical.ts';
import { nestsTooDeep, someNumber, someString } from './json-walk.ts';
import { neutralise, printableJson, wellFormed } from './neutralise.ts';
import type { Redactor } from './redact.ts';
import { redactRecord } from './redact-record.ts';

const MAX_MESSAGE_BYTES = 4096;
/** 64 attempts of 1000 changes with the longest paths stay below it. */
const MAX_RECEIPT_BYTES = 512 * 1024 * 1024;

export interface RunFacts {
  readonly plan: PlannedRun;
  readonly toolVersion: string;
  readonly outcome: RunOutcome;
  readonly exitCode: number;
  readonly reason: { readonly code: string; readonly message: string };
  /** Of the canonical repository when the run began. */
  readonly dirtyPaths: number;
  readonly lfs: boolean;
  readonly attempts: readonly AttemptRecord[];
  readonly hostFallback: Receipt['host_fallback'];
  /** About the run as a whole. */
  readonly findings: readonly Finding[];
  readonly telemetry: Receipt['telemetry'];
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly durationMs: number;
}

/** The sealed receipt of a run: bounded, redacted, valid against its schema. */
export function buildReceipt(facts: RunFacts, redactor: Redactor): Receipt {
  const { plan } = facts;
  const message = (text: string): string => headOf(neutralise(redactor.text(text)), MAX_MESSAGE_BYTES);
  const unsealed: Omit<Receipt, 'digest'> = {
    schema: 'agent-exec-receipt/v1',
    tool: { name: 'agent-exec', version: facts.toolVersion },
    run_id: plan.runId,
    outcome: facts.outcome,
    exit_code: facts.exitCode,
    reason: { code: facts.reason.code, message: message(facts.reason.message) },
    role: plan.role.name,
    repository: {
      head: plan.repository.head,
      head_ref: plan.repository.headRef,
      base: plan.base,
      tree: plan.baseTree,
      object_format: plan.repository.objectFormat,
      dirty_paths: facts.dirtyPaths,
      lfs: facts.lfs,
    },
    config: { path: plan.config.path, digest: plan.config.digest },
    unit: {
      unit_id: plan.unit.unit_id,
      digest: plan.unitDigest,
      allowed_paths: plan.unit.allowed_paths,
      timeout_seconds: plan.unit.timeout_seconds,
      network: plan.unit.network,
      external_cost: plan.unit.external_cost,
    },
    plan_digest: plan.planDigest,
    policy: { permission: 'run-everything', fallback_to_host: plan.fallbackToHost, isolation: plan.isolation },
    candidates: plan.candidates.map(({ profile }) => profile),
    attempts: [...facts.attempts],
    host_fallback: facts.hostFallback,
    findings: findingRecords(facts.findings, redactor),
    telemetry: {
      ...facts.telemetry,
      error: facts.telemetry.error === null ? null : message(facts.telemetry.error),
    },
    started_at: facts.startedAt.toISOString(),
    ended_at: facts.endedAt.toISOString(),
    duration_ms: Math.max(0, Math.round(facts.durationMs)),
  };
  return sealReceipt(redactRecord(receiptSchema.omit({ digest: true }), unsealed, redactor));
}

/** Adds the digest: SHA-256 over the canonical JSON of everything else. */
export const sealReceipt = (unsealed: Omit<Receipt, 'digest'>): Receipt => ({
  ...unsealed,
  digest: digestOf(unsealed),
});

/** True where the receipt says what it said when it was sealed. */
export function checkDigest({ digest, ...unsealed }: Receipt): boolean {
  return digestOf(unsealed) === digest;
}

/** The file's text: indented JSON, safe to print, with a final newline. */
export const renderReceipt = (receipt: Receipt): string => `${printableJson(receipt, 2)}\n`;

/** Reads a receipt from untrusted bytes; the error says in one line what is wrong. Total. Does not check the digest. */
export function parseReceipt(bytes: Uint8Array): Result<Receipt, string> {
  if (bytes.length > MAX_RECEIPT_BYTES) return err('larger than any receipt');
  let data: unknown;
  try {
    data = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    // Both throw exactly where the bytes are not UTF-8 or the text is not JSON, and that is the answer.
    return err(error instanceof SyntaxError ? 'not JSON' : 'not UTF-8 text');
  }
  return receiptOf(data);
}

/** A parsed JSON value as a receipt; the error says in one line why it is none. Does not check the digest. */
export function receiptOf(data: unknown): Result<Receipt, string> {
  if (nestsTooDeep(data)) return err('nested too deeply');
  const parsed = receiptSchema.safeParse(data);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return err(neutralise(headOf(`${issue?.path.join('.') || 'receipt'}: ${issue?.message ?? 'invalid'}`, 500)));
  }
  if (someString(data, (text) => wellFormed(text) !== text)) return err('holds text that is not Unicode');
  // `1e999` is JSON; what it is read as is none, and has no digest.
  if (someNumber(data, (number) => !Number.isFinite(number))) return err('holds a number that is out of range');
  return ok(parsed.data);
}
