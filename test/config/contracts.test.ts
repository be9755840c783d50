/** Names of worker-result contracts: each known one is accepted, and what is nearly one is told with the one that is meant. */
import { expect, test } from 'vitest';
import { RESULT_CONTRACTS } from '../../src/model/worker-result.ts';
import { edit, findingsOf, parse } from './sample.ts';

const withResult = (name: string): string => edit('result: repair-result/v1', `result: ${name}`);

test.each(RESULT_CONTRACTS)('%s is a contract', (name) => {
  expect(parse(withResult(name)).ok).toBe(true);
});

test.each([
  ['repair-result/v2', 'Did you mean repair-result/v1?'],
  ['repair_result/v1', 'Did you mean repair-result/v1?'],
  ['review-report', 'Did you mean review-report/v1?'],
  ['reveiw-report/v1', 'Did you mean review-report/v1?'],
  ['triage/v1', 'Known contracts: repair-result/v1, review-report/v1.'],
])('%s is none', (name, hint) => {
  expect(findingsOf(withResult(name))).toMatchObject([{ code: 'UNKNOWN_RESULT_CONTRACT', hint }]);
});
