/** What a worker claims to have changed, held against what changed. */
import { describe, expect, test } from 'vitest';
import type { Role } from '../../src/model/config.ts';
import { compareClaims } from '../../src/verdict/claims.ts';
import { judgeWorkerResult } from '../../src/verdict/worker-result.ts';
import { change } from './evidence-samples.ts';

const CONTRACT = 'repair-result/v1';
const ROLE: Pick<Role, 'expects' | 'result'> = { expects: 'changes', result: CONTRACT };
const READY = {
  STATUS: 'READY',
  ROOT_CAUSE: 'CONFIRMED: add() subtracted',
  CHANGES: ['src/add.js: + instead of -'],
  VERIFICATION_EVIDENCE: ['node --test passes'],
  ROLLBACK: 'revert the commit',
  RESIDUAL_RISK: 'none known beyond floats',
};
const json = (value: unknown): string => JSON.stringify(value);

test('claims are held against what changed', () => {
  const judged = judgeWorkerResult(
    CONTRACT,
    json({ ...READY, CHANGES: ['src/add.js: sign', '`src/gone.js` removed'] }),
  );
  const findings = compareClaims(ROLE, judged, [change('src/add.js'), change('src/other.js')]);
  expect(findings.map(({ code, paths }) => [code, paths])).toEqual([
    ['CHANGE_NOT_CLAIMED', ['src/other.js']],
    ['CLAIM_NOT_CHANGED', []],
  ]);
  expect(findings[1]?.message).toContain('src/gone.js');
  expect(compareClaims(ROLE, judgeWorkerResult(CONTRACT, json(READY)), [change('src/add.js')])).toEqual([]);
});

describe('a claim', () => {
  const compared = (claims: readonly unknown[], ...paths: readonly string[]): string[] =>
    compareClaims(ROLE, judgeWorkerResult(CONTRACT, json({ ...READY, CHANGES: claims })), paths.map(change)).map(
      ({ code }) => code,
    );

  test.each([
    ['with a dot before it', ['./src/add.js: sign'], 'src/add.js'],
    ['at the end of a sentence', ['The sign in src/add.js.'], 'src/add.js'],
    ['with a line', ['src/add.js:12 sign'], 'src/add.js'],
    ['in backquotes', ['`src/add.js` has the right sign'], 'src/add.js'],
    ['by its place in the workspace', ['/tmp/x/workspace/src/add.js: sign'], 'src/add.js'],
    ['as an object', [{ path: 'src/add.test.js', what: 'sign' }], 'src/add.test.js'],
    ['with blanks in its name', ['src/a b.js: sign'], 'src/a b.js'],
    ['without an ending', ['Makefile: a target'], 'Makefile'],
    ['one of several in one claim', ['src/add.js, src/sub.js: signs', 'and src/mul.js'], 'src/mul.js'],
  ])('names a file %s', (_, claims, path) => {
    expect(compared(claims, path)).not.toContain('CHANGE_NOT_CLAIMED');
    expect(compared(claims, path, 'other.js')).toContain('CHANGE_NOT_CLAIMED');
  });

  test.each([
    ['another file of the same beginning', ['src/add.json: sign'], 'src/add.js'],
    ['a file of the same name elsewhere', ['lib/src/add.js: sign'], 'src/add.js'],
    ['a file of the same end', ['src/readd.js: sign'], 'add.js'],
  ])('does not name %s', (_, claims, path) => {
    expect(compared(claims, path)).toEqual(['CHANGE_NOT_CLAIMED', 'CLAIM_NOT_CHANGED']);
  });

  test('of any kind is compared in time', () => {
    const begun = process.cpuUsage().user;
    const paths = Array.from({ length: 20_000 }, (_, i) => `src/a b${i}.js`);
    for (const claim of [
      '.'.repeat(200_000),
      `${'a/'.repeat(100_000)}!`,
      `${'/a '.repeat(60_000)}`,
      'a.'.repeat(100_000),
    ])
      compared([claim], ...paths);
    expect(process.cpuUsage().user - begun).toBeLessThan(10_000_000);
  });
});

describe('a report', () => {
  const said = json({ STATUS: 'READY', SUMMARY: 'Read all of src/.', FINDINGS: [] });
  const report = judgeWorkerResult('review-report/v1', said);
  const codes = (expects: Role['expects'], result: string | null, ...paths: readonly string[]): unknown[] =>
    compareClaims({ expects, result }, result === null ? { kind: 'not-required' } : report, paths.map(change)).map(
      ({ code, paths: told }) => [code, told],
    );

  test('claims to have changed nothing', () => {
    expect(codes('either', 'review-report/v1', 'src/add.js')).toEqual([['CHANGE_NOT_CLAIMED', ['src/add.js']]]);
    expect(codes('either', 'review-report/v1')).toEqual([]);
  });

  test('alone was expected: every change is told, once', () => {
    expect(codes('report', 'review-report/v1', 'src/add.js')).toEqual([['CHANGES_NOT_EXPECTED', ['src/add.js']]]);
    expect(codes('report', null, 'src/add.js')).toEqual([['CHANGES_NOT_EXPECTED', ['src/add.js']]]);
    expect(codes('report', null)).toEqual([]);
    expect(codes('either', null, 'src/add.js')).toEqual([]);
    expect(codes('changes', null, 'src/add.js')).toEqual([]);
  });
});
