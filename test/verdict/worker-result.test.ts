import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FINAL_TEXT_BYTES } from '../../src/model/adapter.ts';
import { RESULT_CONTRACTS } from '../../src/model/worker-result.ts';
import { judgeWorkerResult } from '../../src/verdict/worker-result.ts';

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
    ['behind a torn one', `${json(READY).slice(0, -9)}\n${json(READY)}`],
    ['behind one torn between values', `{"STATUS":"BLOCKED","CHANGES":["a"]\n${json(READY)}`],
    ['behind its own form with dots', `I answer with {"STATUS": "READY", ...}: ${json(READY)}`],
    ['behind its own form, unclosed', `I answer with {"STATUS": and so on.\n${json(READY)}`],
    ['in an object that is no JSON', `{"all": ${json(READY)}, and so on}`],
    ['in a list', `[${json(READY)}]`],
    ['before code with braces', `${json(READY)}\n\`if (x) { y = "STATUS"; }\` and {"STATUS" is a key}`],
    ['behind many open braces', `${'function f() { if (x) { "odd\n'.repeat(2000)}${json(READY)}`],
    ['in fences of another length', `~~~\n${json(BLOCKED)}\n~~~\n\`\`\`\`json\n${json(READY)}\n\`\`\`\``],
  ])('%s', (_name, text) => {
    expect(judgeWorkerResult(CONTRACT, text)).toEqual({ kind: 'valid', status: 'READY', value: READY });
  });

  test.each([
    ['nothing', '', 'missing'],
    ['prose', 'STATUS: READY, all done', 'missing'],
    ['another object', '{"status":"READY"}', 'missing'],
    ['torn', json(READY).slice(0, -5), 'unparseable'],
    ['not JSON', '{"STATUS": READY}', 'unparseable'],
    ['torn behind a whole one', `${json(READY)}\n${json(BLOCKED).slice(0, -5)}`, 'unparseable'],
    ['the last of two is invalid', `${json(READY)}\n{"STATUS":"READY"}`, 'invalid'],
    [
      'torn before its key, behind a whole one',
      `${json(READY)}\n{"ROOT_CAUSE":"CONFIRMED: no","CHANGES":[],"STA`,
      'unparseable',
    ],
    ['torn in its first key, behind a whole one', `${json(READY)}\n{"STATUS`, 'unparseable'],
    ['torn in an escape', `${json(READY)}\n{"ROOT_CAUSE":"a\\`, 'unparseable'],
    ['torn in a literal', `${json(READY)}\n{"x":[nul`, 'unparseable'],
    ['torn before its key', '{"ROOT_CAUSE":"CONFIRMED: no","CHANGES":[],"STA', 'unparseable'],
    [
      'its key far from its beginning',
      `${json(READY)}\n{"ROOT_CAUSE":"${'x'.repeat(5000)}","STATUS":"BLOCKED",}`,
      'unparseable',
    ],
    ['its key escaped', `${json(READY)}\n{"ST\\u0041TUS":"BLOCKED",}`, 'unparseable'],
    [
      'a line break in a string before its key',
      `${json(READY)}\n{"ROOT_CAUSE":"a\nb","STATUS":"BLOCKED"}`,
      'unparseable',
    ],
    ['one in the changes of a torn one', `{"STATUS":"BLOCKED","CHANGES":[${json(READY)}`, 'unparseable'],
    [
      'one in the changes of one that is not JSON',
      `{"STATUS":"BLOCKED",/*c*/"CHANGES":[${json(READY)}]}`,
      'unparseable',
    ],
    ['one in the changes of one that is neither', `{"STATUS":"BLOCKED",/*c*/"CHANGES":[${json(READY)}`, 'unparseable'],
    [
      'one behind a line break in a string',
      `{"STATUS":"BLOCKED","ROOT_CAUSE":"a\nb","CHANGES":[\n${json(READY)}]}`,
      'unparseable',
    ],
    [
      'one in the changes of one that is neither, behind another',
      `{"STATUS":"BLOCKED","ROOT_CAUSE":"a\nb",{"STATUS":?},"CHANGES":[${json(READY)}`,
      'unparseable',
    ],
    ['a torn one in one that is not JSON', `${json(READY)}\n{"all": {"STATUS":"BLOCKED", and so on}`, 'unparseable'],
    ['too many open braces to look behind', `${'{"'.repeat(100_000)}${json(READY)}`, 'unparseable'],
  ])('%s', (_name, text, kind) => {
    expect(judgeWorkerResult(CONTRACT, text).kind).toBe(kind);
  });
});

test.each([{}, { ROLLBACK: '' }, { ROLLBACK: null }, { ROLLBACK: [] }, { ROLLBACK: 'nothing was changed' }])(
  'BLOCKED needs neither changes nor evidence, nor a rollback: %j',
  (rollback) => {
    const judged = judgeWorkerResult(CONTRACT, json({ ...BLOCKED, ...rollback }));
    expect(judged).toMatchObject({ kind: 'valid', status: 'BLOCKED' });
  },
);

test.each([
  ['no root cause', { ROOT_CAUSE: undefined }],
  ['a root cause without its grade', { ROOT_CAUSE: 'no access' }],
  ['no risk', { RESIDUAL_RISK: undefined }],
  ['an empty list of risks', { RESIDUAL_RISK: [] }],
  ['changes and no rollback', { CHANGES: ['src/a.js: half of it'] }],
  ['changes and an empty rollback', { CHANGES: ['src/a.js: half of it'], ROLLBACK: '' }],
  ['no list of changes', { CHANGES: undefined }],
])('a BLOCKED with %s is invalid', (_, over) => {
  expect(judgeWorkerResult(CONTRACT, json({ ...BLOCKED, ...over })).kind).toBe('invalid');
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
  ['a change of nothing', { ...READY, CHANGES: [{}] }],
  ['an empty rollback', { ...READY, ROLLBACK: '' }],
  ['changes that are no list', { ...READY, CHANGES: 'src/add.js' }],
])('invalid: %s', (_name, value) => {
  const judged = judgeWorkerResult(CONTRACT, json(value));
  expect(judged.kind).toBe('invalid');
  expect(judged.kind === 'invalid' && judged.message).toMatch(/repair-result\/v1: \w+/);
});

test.each([
  ['status', json(READY).replace('{', '{"STATUS":"BLOCKED",')],
  ['status, escaped', json(READY).replace('{', '{"ST\\u0041TUS":"BLOCKED",')],
  [
    'member further down',
    json({ ...READY, CHANGES: [{ path: 'a', what: 'b' }] }).replace('"what"', '"path":"c","what"'),
  ],
])('a %s given twice says one thing to this reader and another to the next', (_, text) => {
  const judged = judgeWorkerResult(CONTRACT, text);
  expect(judged).toMatchObject({
    kind: 'invalid',
    message: expect.stringMatching(/two members named "(?:STATUS|path)"/),
  });
});

test('a message of which only the end was kept may have held a result', () => {
  const long = `${'x'.repeat(FINAL_TEXT_BYTES - 10)} the end.`;
  expect(judgeWorkerResult(CONTRACT, long)).toMatchObject({
    kind: 'unparseable',
    message: expect.stringMatching(/longer than the 256 KiB/),
  });
  expect(judgeWorkerResult(CONTRACT, long.slice(5000)).kind).toBe('missing');
  expect(judgeWorkerResult(CONTRACT, `${long.slice(5000)}${json(READY)}`).kind).toBe('valid');
});

test.each<[string, object, string]>([
  ['repair-result/v1', without('RESIDUAL_RISK'), 'RESIDUAL_RISK is missing'],
  [
    'repair-result/v1',
    { ...READY, RESIDUAL_RISK: 7 },
    'RESIDUAL_RISK must be text that is not blank, or a list of such',
  ],
  ['repair-result/v1', without('CHANGES'), 'CHANGES is missing'],
  ['repair-result/v1', { ...READY, CHANGES: 'x' }, 'CHANGES must be a list'],
  [
    'repair-result/v1',
    { ...READY, CHANGES: [7] },
    'CHANGES.0 must be text that is not blank, or an object with members',
  ],
  ['repair-result/v1', { ...READY, STATUS: 'DONE' }, 'STATUS must be "READY" or "BLOCKED"'],
  ['repair-result/v1', { ...READY, ROOT_CAUSE: 7 }, 'ROOT_CAUSE must be text'],
  ['repair-result/v1', { ...READY, ROLLBACK: 7 }, 'ROLLBACK must be text, or a list of such'],
  ['repair-result/v1', { ...READY, MOOD: 'good', AGE: 3 }, 'result must not have MOOD, AGE'],
  ['review-report/v1', { STATUS: 'READY' }, 'SUMMARY is missing; FINDINGS is missing'],
  [
    'review-report/v1',
    { STATUS: 'READY', SUMMARY: ' ', FINDINGS: [{}] },
    'SUMMARY must not be empty; FINDINGS.0.path is missing',
  ],
  [
    'review-report/v1',
    { STATUS: 'READY', SUMMARY: 'x', FINDINGS: [{ path: 'a', line: 0, severity: 'high', evidence: 'x' }] },
    'FINDINGS.0.line must be a number from 1, or null; FINDINGS.0.severity must be one of critical, major, minor, note',
  ],
])('%s says what is wrong with %j', (contract, value, words) => {
  const judged = judgeWorkerResult(contract, json(value));
  expect(judged.kind === 'invalid' && judged.message).toContain(`no valid ${contract}: ${words}`);
});

test('a number that no record can hold is no JSON of ours', () => {
  for (const number of ['1e999', '-1e999']) {
    const text = json(BLOCKED).replace(/\}\s*$/, `, "ROLLBACK": ${number} }`);
    expect(text).toContain(number);
    expect(judgeWorkerResult(CONTRACT, text).kind).toBe('unparseable');
  }
});

test('any text has an answer, quickly', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => judgeWorkerResult(CONTRACT, text).kind !== 'valid'));
  const begun = process.cpuUsage().user;
  for (const text of ['{'.repeat(262_144), '{"'.repeat(131_072), '{}'.repeat(131_072)])
    judgeWorkerResult(CONTRACT, text);
  expect(process.cpuUsage().user - begun).toBeLessThan(5_000_000);
  expect(judgeWorkerResult(null, json(READY))).toEqual({ kind: 'not-required' });
});

describe('review-report/v1', () => {
  const FINDING = { path: 'src/add.js', line: 3, severity: 'major', evidence: 'add(1, 1) is 0' };
  const REPORT = { STATUS: 'READY', SUMMARY: 'Read all of src/.', FINDINGS: [FINDING] };
  const judge = (value: unknown) => judgeWorkerResult('review-report/v1', json(value));

  test.each([
    ['a finding', REPORT],
    ['nothing found', { ...REPORT, FINDINGS: [] }],
    ['a finding on a whole file', { ...REPORT, FINDINGS: [{ ...FINDING, line: null }] }],
    ['blocked', { STATUS: 'BLOCKED', SUMMARY: 'src/ cannot be read', FINDINGS: [] }],
  ])('valid: %s', (_, value) => {
    expect(judge(value)).toEqual({ kind: 'valid', status: value.STATUS, value });
  });

  test.each([
    ['no summary', { ...REPORT, SUMMARY: ' ' }],
    ['no list', { ...REPORT, FINDINGS: 'none' }],
    ['no evidence', { ...REPORT, FINDINGS: [{ ...FINDING, evidence: '' }] }],
    ['no line', { ...REPORT, FINDINGS: [{ path: 'a', severity: 'note', evidence: 'x' }] }],
    ['line 0', { ...REPORT, FINDINGS: [{ ...FINDING, line: 0 }] }],
    ['another severity', { ...REPORT, FINDINGS: [{ ...FINDING, severity: 'high' }] }],
    ['an absolute path', { ...REPORT, FINDINGS: [{ ...FINDING, path: '/etc/passwd' }] }],
    ['a path that leads out', { ...REPORT, FINDINGS: [{ ...FINDING, path: 'src/../../x' }] }],
    ['a further key', { ...REPORT, FINDINGS: [{ ...FINDING, mood: 'bad' }] }],
    ['a repair', READY],
  ])('invalid: %s', (_, value) => {
    expect(judge(value)).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('no valid review-report/v1'),
    });
  });
});

describe('laws', () => {
  const VALID: Readonly<Record<string, readonly unknown[]>> = {
    'repair-result/v1': [READY, BLOCKED],
    'review-report/v1': [{ STATUS: 'READY', SUMMARY: 'all {read}', FINDINGS: [] }],
  };
  const contract = fc.constantFrom(...RESULT_CONTRACTS);
  /** Prose that has braces and quotes, and nothing that could be a result. */
  const prose = fc
    .array(
      fc.constantFrom(
        'word ',
        '{',
        '}',
        '{ ',
        '{}',
        "'",
        '"',
        '`',
        '```json\n',
        '```',
        '\n',
        '\\',
        '{"a":1}',
        '[',
        '🙂',
        'STATUS ',
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join(''));
  const wrapped = (value: unknown) =>
    fc.constantFrom(
      json(value),
      JSON.stringify(value, null, 2),
      `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``,
    );
  const found = fc.tuple(contract, fc.nat()).map(([name, index]) => {
    const values = VALID[name] ?? [];
    return { name, value: values[index % values.length] };
  });

  test('a valid result is found in any prose on lines of its own, and the last one wins', () => {
    fc.assert(
      fc.property(
        found.chain((one) => fc.tuple(fc.constant(one), wrapped(one.value))),
        prose.filter((text) => !/\{\s*["}]/.test(text)),
        prose.filter((text) => !/"/.test(text)),
        fc.boolean(),
        ([{ name, value }, text], before, after, twice) => {
          const said = `${before}\n${twice ? `{"STATUS":"DONE"}\n` : ''}${text}\n${after}`;
          expect(judgeWorkerResult(name, said), said).toMatchObject({ kind: 'valid', value });
        },
      ),
    );
  });

  test('cut anywhere, a result is never taken for a whole one', () => {
    fc.assert(
      fc.property(found, fc.nat(), ({ name, value }, at) => {
        const text = json(value);
        const judged = judgeWorkerResult(name, text.slice(0, at % text.length));
        expect(['missing', 'unparseable']).toContain(judged.kind);
      }),
    );
  });

  test('a whole result is never believed before one that was cut, nor within it', () => {
    const outer = json({ ...BLOCKED, CHANGES: [READY] });
    fc.assert(
      fc.property(fc.integer({ min: 2, max: outer.length - 1 }), (length) => {
        const cut = outer.slice(0, length);
        expect(judgeWorkerResult(CONTRACT, cut).kind).toBe('unparseable');
        expect(judgeWorkerResult(CONTRACT, `${json(READY)}\n${cut}`).kind).toBe('unparseable');
      }),
      { numRuns: 1000 },
    );
  });

  test('what is taken for valid is valid, whatever its members are', () => {
    const member = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('READY', 'BLOCKED', 'CONFIRMED x', 'x', ['x'], [], '', null),
    );
    const keys = ['STATUS', 'ROOT_CAUSE', 'CHANGES', 'VERIFICATION_EVIDENCE', 'ROLLBACK', 'RESIDUAL_RISK'] as const;
    fc.assert(
      fc.property(
        fc.record(Object.fromEntries(keys.map((key) => [key, member])), { requiredKeys: ['STATUS'] }),
        (value) => {
          const judged = judgeWorkerResult(CONTRACT, json(value));
          if (judged.kind !== 'valid') return;
          const { CHANGES, VERIFICATION_EVIDENCE, ROLLBACK, ROOT_CAUSE, RESIDUAL_RISK } = value as Record<
            string,
            unknown[]
          >;
          expect(String(ROOT_CAUSE)).toMatch(/^(CONFIRMED|LIKELY|SPECULATIVE)/);
          expect(RESIDUAL_RISK?.length).toBeGreaterThan(0);
          if (judged.status === 'READY') expect([CHANGES?.length, VERIFICATION_EVIDENCE?.length]).not.toContain(0);
          if (CHANGES?.length !== 0) expect(ROLLBACK?.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 3000 },
    );
  });
});
