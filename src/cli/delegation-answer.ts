/** What comes of `receipt verify --delegations FILE`: the file's declarations, each with its verdict. */
import { resolve } from 'node:path';
import type { ReceiptVerification } from '../model/receipt-verify.ts';
import { err, type Result } from '../model/result.ts';
import { shownText } from '../receipt/check.ts';
import { type Declaration, declaredRun, type JudgedReceipt, judgeDelegations } from '../receipt/delegations.ts';
import { readRegularFile } from '../run/config-file.ts';
import { readDeclarations } from '../run/declarations.ts';
import type { Verified } from '../run/verify-receipt.ts';
import type { CliIo } from './io.ts';
import { whyUnreadable } from './unreadable-file.ts';

interface DelegationOptions {
  readonly delegations?: string;
  readonly unit?: readonly string[];
}

const MAX_BYTES = 16 * 1024 * 1024;

/** What is found of a run's receipt where the run is kept on this machine; null where it is not. */
export type KeptRun = (runId: string) => Promise<Verified | null>;

/** Null where no file was given, and where nothing of it can be read; then why is added to `errors`. */
export async function delegationAnswer(
  io: CliIo,
  { delegations: file, unit }: DelegationOptions,
  verified: readonly Verified[],
  keptRun: KeptRun,
  errors: string[],
): Promise<ReceiptVerification['delegations']> {
  if (file === undefined) return null;
  const bytes = file.includes('\0') ? err('ENOENT') : readRegularFile(resolve(io.cwd(), file), MAX_BYTES);
  const declared = bytes.ok ? declaredIn(file, bytes.value) : err(`${file}: ${whyUnreadable(bytes.error)}`);
  if (!declared.ok) {
    errors.push(`--delegations cannot be read: ${declared.error}`);
    return null;
  }
  const given = verified.flatMap(judgedReceipt);
  const kept = await keptAmong(declared.value, given, keptRun);
  const entries = [...judgeDelegations(declared.value, given, kept, unit !== undefined)];
  const counted = entries.filter(({ counts }) => counts).length;
  return { file: shownText(file), declared: entries.length, counted, entries };
}

const declaredIn = (file: string, bytes: Uint8Array): Result<readonly Declaration[], string> =>
  bytes.length > MAX_BYTES
    ? err(`${file}: it is larger than ${MAX_BYTES / 1024 / 1024} MiB`)
    : readDeclarations(file, bytes);

/** Of the runs that are declared and whose receipt was not given, those that are kept on this machine. */
async function keptAmong(
  declared: readonly Declaration[],
  given: readonly JudgedReceipt[],
  keptRun: KeptRun,
): Promise<JudgedReceipt[]> {
  const asked = new Set(declared.map(declaredRun));
  for (const { runId } of given) asked.delete(runId);
  const kept: JudgedReceipt[] = [];
  for (const runId of asked) {
    const verified = runId === null ? null : await keptRun(runId);
    if (verified?.runId === runId) kept.push(...judgedReceipt(verified));
  }
  return kept;
}

/** What names no run can be no declaration's receipt. */
function judgedReceipt({ runId, receipt, checks }: Verified): JudgedReceipt[] {
  const failed = checks.filter(({ result }) => result === 'failed').map(({ check }) => check);
  return runId === null ? [] : [{ runId, receipt, failed }];
}
