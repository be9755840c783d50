import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareClaims, judgeWorkerResult } from '../../src/verdict/worker-result.ts';
import { change } from './evidence-samples.ts';

const CONTRACT = 'repair-result/v1';
const READY = {
  STATUS: 'READY',
  ROOT_CAUSE: 'CONFIRMED: add() subtracted {here}',
  CHANGES: ['src/add.js: + instead of -'],
  VERIFICATION_EVIDENCE: ['node --test passes'],
  ROLLBACK: 'revert the commit',
  RESIDUAL_RISK: 'none known beyond floats',
};
const BLOCKED = {
  STATUS: 'BLOCKED',
  ROOT_CAUSE: 'SPECULATIVE: no access',
  CHANGES: [],
  VERIFICATION_EVIDENCE: [],
  RESIDUAL_RISK: ['everything'],
};
const json = (value: unknown): string => JSON.stringify(value);
const without = (key: keyof typeof READY): Partial<typeof READY> =>
  Object.fromEntries(Object.entries(READY).filter(([name]) => name !== key));

describe('where the result stands', () => {
  test.each([
    ['bare', json(READY)],
    ['fenced', `Done.\n\n\`\`\`json\n${JSON.stringify(READY, null, 2)}\n\`\`\`\n`],
    ['in prose with braces', `I changed f() { return a + b; } and so on: ${json(READY)} Thanks {really}!`],
    ['after an unclosed brace', `if (x) { and then\n${json(READY)}`],
    ['the last of two', `${json(BLOCKED)}\n${json(READY)}`],
    ['before an object that is none', `${json(READY)} {"note": 1}`],
  ])('%s', (_name, text) => {
    expect(judgeWorkerResult(CONTRACT, text)).toEqual({ kind: 'valid', status: 'READY', value: READY });
  });

  test.each([
    ['nothing', '', 'missing'],
    ['prose', 'STATUS: READY, all done', 'missing'],
    ['another object', '{"status":"READY"}', 'missing'],
    ['torn', json(READY).slice(0, -5), 'unparseable'],
    ['not JSON', '{"STATUS": READY}', 'unparseable'],
  ])('%s', (_name, text, kind) => {
    expect(judgeWorkerResult(CONTRACT, text).kind).toBe(kind);
  });
});

test('BLOCKED needs neither changes nor evidence', () => {
  expect(judgeWorkerResult(CONTRACT, json(BLOCKED))).toMatchObject({ kind: 'valid', status: 'BLOCKED' });
});

test.each([
  ['no material fields', { STATUS: 'READY', ROOT_CAUSE: 'CONFIRMED repaired' }],
  ['no changes', { ...READY, CHANGES: [] }],
  ['no evidence', { ...READY, VERIFICATION_EVIDENCE: [] }],
  ['no rollback', without('ROLLBACK')],
  ['no risk', without('RESIDUAL_RISK')],
  ['an empty risk', { ...READY, RESIDUAL_RISK: ' ' }],
  ['a root cause without its grade', { ...READY, ROOT_CAUSE: 'I think so' }],
  ['a grade that only begins like one', { ...READY, ROOT_CAUSE: 'CONFIRMEDLY' }],
  ['another status', { ...READY, STATUS: 'DONE' }],
  ['a further key', { ...READY, MOOD: 'good' }],
  ['an empty change', { ...READY, CHANGES: [''] }],
])('invalid: %s', (_name, value) => {
  const judged = judgeWorkerResult(CONTRACT, json(value));
  expect(judged.kind).toBe('invalid');
  expect(judged.kind === 'invalid' && judged.message).toMatch(/repair-result\/v1: \w+/);
});

test('any text has an answer, quickly', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => judgeWorkerResult(CONTRACT, text).kind !== 'valid'));
  const begun = process.cpuUsage().user;
  for (const text of ['{'.repeat(262_144), '{"'.repeat(131_072), '{}'.repeat(131_072)])
    judgeWorkerResult(CONTRACT, text);
  expect(process.cpuUsage().user - begun).toBeLessThan(5_000_000);
  expect(judgeWorkerResult(null, json(READY))).toEqual({ kind: 'not-required' });
});

test('claims are held against what changed', () => {
  const judged = judgeWorkerResult(
    CONTRACT,
    json({ ...READY, CHANGES: ['src/add.js: sign', '`src/gone.js` removed'] }),
  );
  const findings = compareClaims(judged, [change('src/add.js'), change('src/other.js')]);
  expect(findings.map(({ code, paths }) => [code, paths])).toEqual([
    ['CHANGE_NOT_CLAIMED', ['src/other.js']],
    ['CLAIM_NOT_CHANGED', []],
  ]);
  expect(findings[1]?.message).toContain('src/gone.js');
  expect(compareClaims(judgeWorkerResult(CONTRACT, json(READY)), [change('src/add.js')])).toEqual([]);
});
