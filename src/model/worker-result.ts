/** Every contract that a role's `result` may name. Adding one: a file beside this one, and a line here. */
import { repairResult } from './repair-result.ts';
import type { ResultContract } from './result-contract.ts';
import { reviewReport } from './review-report.ts';

const CONTRACTS: Readonly<Record<string, ResultContract>> = {
  'repair-result/v1': repairResult,
  'review-report/v1': reviewReport,
};

/** What a role's `result` may name. */
export const RESULT_CONTRACTS: readonly string[] = Object.keys(CONTRACTS);

/** The contract of that name. Throws for another: the policy has already been found valid. */
export function resultContract(name: string): ResultContract {
  const contract = Object.hasOwn(CONTRACTS, name) ? CONTRACTS[name] : undefined;
  if (contract === undefined) throw new Error(`no result contract ${name}`);
  return contract;
}
