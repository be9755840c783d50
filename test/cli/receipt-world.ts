/** Receipts of real runs, and ways to lie in them: a forger can seal again whatever was changed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { main } from '../../src/cli/program.ts';
import type { Receipt } from '../../src/model/receipt.ts';
import { type ReceiptVerification, receiptVerification } from '../../src/model/receipt-verify.ts';
import { renderReceipt, sealReceipt } from '../../src/receipt/receipt.ts';
import type { World } from '../run/world.ts';
import { collecting, type Said } from './collected.ts';

/** One command line, in this process. */
export async function said(
  world: World,
  args: readonly string[],
  env: Record<string, string> = {},
  stdin: string | null = null,
): Promise<Said> {
  const outside = collecting({ cwd: world.repo, env: { HOME: world.home, AGENT_EXEC_STATE_DIR: world.state, ...env } });
  await main(args, { ...outside.io, stdin: async () => (stdin === null ? null : Buffer.from(stdin)) });
  return outside.said;
}

export interface Answer extends ReceiptVerification {
  readonly code: number | null;
}

/** `receipt verify --json`, its answer held against its own definition. */
export async function verify(world: World, ...args: readonly string[]): Promise<Answer> {
  const { out, code, note } = await said(world, ['receipt', 'verify', '--json', ...args]);
  if (out === '') throw new Error(`no answer: exit ${code}\n${note}`);
  return { ...receiptVerification.parse(JSON.parse(out)), code };
}

/** Names of the checks with that result, of the first receipt. */
export const checks = ({ receipts }: ReceiptVerification, result: string): string[] =>
  receipts[0]?.checks.filter((check) => check.result === result).map(({ check }) => check) ?? [];

/** What is wrong, of all receipts. */
export const problems = ({ receipts }: ReceiptVerification): string[] =>
  receipts.flatMap((one) => one.checks.flatMap((check) => check.problems));

let made = 0;
/** A file of the world's folder. */
export function file(world: World, content: string | Uint8Array, name = `given-${made++}.json`): string {
  const path = join(world.folder, name);
  writeFileSync(path, content);
  return path;
}

/** A receipt that says something else, sealed again. */
export function forged(world: World, receipt: Receipt, change: (draft: Draft) => void): string {
  const { digest: _, ...draft } = structuredClone(receipt);
  change(draft as unknown as Draft);
  return file(world, renderReceipt(sealReceipt(draft as Receipt)));
}

/** Anything may be written into it. */
// biome-ignore lint/suspicious/noExplicitAny: a lie has no type
export type Draft = any;

export const textOf = (path: string): string => readFileSync(path, 'utf8');
