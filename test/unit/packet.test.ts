import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Unit, unit as unitSchema } from '../../src/model/unit.ts';
import { parseUnit, unitFromFlags } from '../../src/unit/packet.ts';
import { GOOD, LIMITS } from './sample.ts';

const parse = (text: string | Uint8Array) =>
  parseUnit({ file: 'unit.json', bytes: typeof text === 'string' ? Buffer.from(text) : text }, LIMITS);
const parseValue = (value: unknown) => parse(JSON.stringify(value, null, 2));
const codes = (result: ReturnType<typeof parse>): string[] => (result.ok ? [] : result.error.map(({ code }) => code));
const without = (key: keyof typeof GOOD) => Object.fromEntries(Object.entries(GOOD).filter(([name]) => name !== key));

describe('a good packet', () => {
  test('is the unit, optional keys and all', () => {
    expect(parseValue(GOOD)).toEqual({ ok: true, value: GOOD });
    const full = { schema: 'agent-exec-unit/v1', ...GOOD, task: 'At length.', context: 'It fails since May.' };
    expect(parseValue(full)).toEqual({ ok: true, value: full });
  });
  test('may carry a byte order mark, CRLF, and escapes', () => {
    expect(parse(`\ufeff${JSON.stringify(GOOD, null, 2).replaceAll('\n', '\r\n')}`)).toEqual({ ok: true, value: GOOD });
    expect(parse(JSON.stringify(GOOD).replace('fix-parser', 'fix\\u002dparser'))).toEqual({ ok: true, value: GOOD });
  });
  test('may say nothing about verification and constraints, but must say so', () => {
    expect(parseValue({ ...GOOD, verification: [], constraints: [] }).ok).toBe(true);
    expect(codes(parseValue(without('verification')))).toEqual(['UNIT_KEY_MISSING']);
  });
  test('of many megabytes is read in a moment', () => {
    const goal = 'grüße "\\ \n'.repeat(400_000);
    const started = performance.now();
    const result = parseValue({ ...GOOD, goal, task: goal });
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(result.ok && result.value.goal === goal).toBe(true);
  });
});

test('a ledger that is given for a packet is told from one', () => {
  for (const text of ['{"milestones": {}}', '{"milestone": "m1", "unit": {}}']) {
    const result = parse(text);
    const hints = result.ok ? [] : result.error.map(({ hint }) => hint);
    expect(hints).toContain('This is a ledger: give it with --ledger FILE --milestone ID.');
  }
});

describe('every rule', () => {
  const cases: readonly (readonly [string, unknown, string[]])[] = [
    ['unit_id', 'has space', ['UNIT_ID_INVALID']],
    ['unit_id', '.hidden', ['UNIT_ID_INVALID']],
    ['unit_id', '-x', ['UNIT_ID_INVALID']],
    ['unit_id', '', ['UNIT_ID_INVALID']],
    ['unit_id', 'a'.repeat(65), ['UNIT_ID_INVALID']],
    ['unit_id', 'a\n', ['UNIT_ID_INVALID']],
    ['unit_id', 'a'.repeat(64), []],
    ['unit_id', 7, ['UNIT_WRONG_TYPE']],
    ['goal', '', ['UNIT_GOAL_EMPTY']],
    ['goal', ' \n\t', ['UNIT_GOAL_EMPTY']],
    ['goal', 'a\u0000b', ['UNIT_NUL']],
    ['goal', '\ud800', ['UNIT_NOT_TEXT']],
    ['goal', ['x'], ['UNIT_WRONG_TYPE']],
    ['task', 5, ['UNIT_WRONG_TYPE']],
    ['context', null, ['UNIT_WRONG_TYPE']],
    ['schema', 'agent-exec-unit/v2', ['UNIT_NOT_A_CHOICE']],
    ['allowed_paths', [], ['UNIT_NO_ALLOWED_PATHS']],
    ['allowed_paths', 'src/', ['UNIT_WRONG_TYPE']],
    ['allowed_paths', ['src/', 3], ['UNIT_WRONG_TYPE']],
    ['allowed_paths', ['/etc/passwd', '../x', '.env'], ['PATH_ABSOLUTE', 'PATH_DOT_SEGMENT', 'PATH_SECRET']],
    ['allowed_paths', Array.from({ length: 10_001 }, (_, i) => `f${i}`), ['UNIT_LIST_TOO_LONG']],
    ['verification', ['npm test'], ['UNIT_COMMAND_IS_STRING']],
    ['verification', [[]], ['UNIT_COMMAND_EMPTY']],
    ['verification', [['', 'x']], ['UNIT_COMMAND_EMPTY']],
    ['verification', [['a', 1]], ['UNIT_WRONG_TYPE']],
    ['verification', [['a', 'b\u0000']], ['UNIT_NUL']],
    ['verification', [['a', '']], []],
    ['verification', {}, ['UNIT_WRONG_TYPE']],
    ['constraints', 'none', ['UNIT_WRONG_TYPE']],
    ['constraints', [null], ['UNIT_WRONG_TYPE']],
    ['network', 'none', ['UNIT_NOT_A_CHOICE']],
    ['network', null, ['UNIT_NOT_A_CHOICE']],
    ['external_cost', 'free', ['UNIT_NOT_A_CHOICE']],
    ['timeout_seconds', 0, ['UNIT_TIMEOUT_INVALID']],
    ['timeout_seconds', 1.5, ['UNIT_TIMEOUT_INVALID']],
    ['timeout_seconds', '60', ['UNIT_TIMEOUT_INVALID']],
    ['timeout_seconds', 1801, ['UNIT_TIMEOUT_ABOVE_POLICY']],
    ['timeout_seconds', 1800, []],
  ];
  test.each(cases)('%s %j', (key, value, expected) => {
    expect(codes(parseValue({ ...GOOD, [key]: value }))).toEqual(expected);
  });

  test.each(Object.keys(GOOD) as (keyof typeof GOOD)[])('%s is required', (key) => {
    expect(codes(parseValue(without(key)))).toEqual(['UNIT_KEY_MISSING']);
  });
});

describe('keys', () => {
  const withMember = (member: string) => parse(JSON.stringify(GOOD).replace('{', `{${member},`));
  test('an unknown key is refused, with the one that was meant', () => {
    const result = withMember('"allowedpath": []');
    expect(result).toMatchObject({
      ok: false,
      error: [{ code: 'UNIT_KEY_UNKNOWN', line: 1, column: 2, end_column: 15, hint: 'Did you mean "allowed_paths"?' }],
    });
    expect(withMember('"colour": 1')).toMatchObject({
      error: [{ hint: expect.stringMatching(/^Known keys: schema/) }],
    });
  });
  test('a key given twice is refused, also in disguise', () => {
    expect(codes(withMember('"goal": "other"'))).toEqual(['UNIT_KEY_DUPLICATE']);
    expect(codes(withMember('"\\u0067oal": "other"'))).toEqual(['UNIT_KEY_DUPLICATE']);
  });
  test.each(['__proto__', 'constructor', 'prototype', '\\u005f_proto__'])('%s is refused', (key) => {
    expect(codes(withMember(`"${key}": {"goal": "x"}`))).toEqual(['UNIT_KEY_FORBIDDEN']);
  });
});

describe('what is no packet at all', () => {
  const cases: readonly (readonly [string, Uint8Array, string])[] = [
    ['nothing', Buffer.alloc(0), 'UNIT_EMPTY'],
    ['white space', Buffer.from(' \r\n'), 'UNIT_EMPTY'],
    ['only a byte order mark', Buffer.from('\ufeff'), 'UNIT_EMPTY'],
    ['UTF-16', Buffer.from('\ufeff{}', 'utf16le'), 'UNIT_NOT_UTF8'],
    ['Latin-1', Buffer.from('{"goal":"gr\xfc"}', 'latin1'), 'UNIT_NOT_UTF8'],
    ['a program', Buffer.from('\x7fELF\x02\x01\x01\0\0\0'), 'UNIT_BINARY'],
    ['YAML', Buffer.from('unit_id: x\ngoal: y\n'), 'UNIT_NOT_JSON'],
    ['JSON lines', Buffer.from('{}\n{}\n'), 'UNIT_NOT_JSON'],
    ['a list', Buffer.from('[]'), 'UNIT_NOT_OBJECT'],
    ['a string', Buffer.from('"x"'), 'UNIT_NOT_OBJECT'],
    ['null', Buffer.from('null'), 'UNIT_NOT_OBJECT'],
    ['a pit of lists', Buffer.from('['.repeat(1_000_000)), 'UNIT_NOT_JSON'],
    ['a pit of objects', Buffer.from(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`), 'UNIT_NOT_JSON'],
    ['too much', Buffer.alloc(16 * 1024 * 1024 + 1, ' '), 'UNIT_TOO_LARGE'],
  ];
  test.each(cases)('%s', (_, bytes, code) => {
    const result = parse(bytes);
    expect(codes(result)).toEqual([code]);
  });
});

test('all findings come at once, in the order of the text, each at its place', () => {
  const text = [
    '{',
    '  "unit_id": "a b",',
    '  "gaol": "x",',
    '  "allowed_paths": ["/abs", "ok",',
    '    ".git/config"],',
    '  "verification": [["x"], "npm test"],',
    '  "constraints": [],',
    '  "network": "alow",',
    '  "external_cost": "none",',
    '  "timeout_seconds": 9999',
    '}',
  ].join('\r\n');
  const result = parse(text);
  expect(
    result.ok ? [] : result.error.map(({ code, line, column, end_column }) => [code, line, column, end_column]),
  ).toEqual([
    ['UNIT_KEY_MISSING', 1, 1, 2],
    ['UNIT_ID_INVALID', 2, 14, 19],
    ['UNIT_KEY_UNKNOWN', 3, 3, 9],
    ['PATH_ABSOLUTE', 4, 21, 27],
    ['PATH_GIT', 5, 5, 18],
    ['UNIT_COMMAND_IS_STRING', 6, 27, 37],
    ['UNIT_NOT_A_CHOICE', 8, 14, 20],
    ['UNIT_TIMEOUT_ABOVE_POLICY', 10, 22, 26],
  ]);
  expect(result.ok ? null : result.error[4]?.source_line).toBe('    ".git/config"],');
});

describe('hostile packets', () => {
  test('a hundred findings are enough, and they come fast', () => {
    const hostile = [
      `{${Array.from({ length: 500_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
      JSON.stringify({ ...GOOD, constraints: Array(10_000).fill(1) }),
      JSON.stringify({ ...GOOD, verification: Array(5000).fill(['']) }, null, 1),
      JSON.stringify({ ...GOOD, allowed_paths: Array.from({ length: 4000 }, () => `${'.'.repeat(4000)}a//`) }),
      JSON.stringify({ ...GOOD, allowed_paths: [`${'.'.repeat(8_000_000)}a`, '/'.repeat(4_000_000)] }),
      JSON.stringify({ ...GOOD, allowed_paths: Array(2_000_000).fill(1) }),
    ];
    for (const text of hostile) {
      const started = performance.now();
      const result = parse(text);
      expect(performance.now() - started).toBeLessThan(15_000);
      expect(result.ok ? 0 : result.error.length).toBeGreaterThan(0);
      expect(result.ok ? 0 : result.error.length).toBeLessThanOrEqual(100);
      expect(JSON.stringify(result).length).toBeLessThan(200_000);
    }
  });

  const anyPacket = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    fc.json().map((text) => Buffer.from(text)),
    // A good packet with bytes overwritten, and one with values of any kind.
    fc.tuple(fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }), fc.boolean()).map(([edits, pretty]) => {
      const bytes = Buffer.from(JSON.stringify(GOOD, null, pretty ? 2 : 0));
      for (const [at, byte] of edits) bytes[at % bytes.length] = byte;
      return bytes;
    }),
    fc
      .record(
        {
          schema: fc.oneof(fc.constant('agent-exec-unit/v1'), fc.jsonValue()),
          unit_id: fc.oneof(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,9}$/), fc.jsonValue()),
          goal: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
          task: fc.string({ unit: 'binary' }),
          context: fc.oneof(fc.string(), fc.jsonValue()),
          allowed_paths: fc.oneof(
            fc.array(fc.stringMatching(/^[a.g/i*~t\\]{1,12}$/), { minLength: 1, maxLength: 3 }),
            fc.jsonValue(),
          ),
          verification: fc.oneof(fc.array(fc.array(fc.string(), { maxLength: 3 }), { maxLength: 3 }), fc.jsonValue()),
          constraints: fc.oneof(fc.array(fc.string()), fc.jsonValue()),
          network: fc.constantFrom('deny', 'provider-only', 'allow', 'x'),
          external_cost: fc.constantFrom('none', 'subscription', 'metered', 1),
          timeout_seconds: fc.oneof(fc.integer({ min: 1, max: 1900 }), fc.double()),
          extra: fc.jsonValue(),
        },
        {
          requiredKeys: [
            'unit_id',
            'goal',
            'allowed_paths',
            'verification',
            'constraints',
            'network',
            'external_cost',
            'timeout_seconds',
          ],
        },
      )
      .map((value) => Buffer.from(JSON.stringify(value, null, 1))),
  );

  /** The rules once more, written as plainly as possible and apart from the code. */
  function obeysTheRules(unit: Unit): boolean {
    const strings = [
      unit.goal,
      unit.task ?? '',
      unit.context ?? '',
      ...unit.allowed_paths,
      ...unit.constraints,
      ...unit.verification.flat(),
    ];
    return (
      unitSchema.safeParse(unit).success &&
      unit.timeout_seconds <= LIMITS.timeoutSeconds &&
      strings.every((text) => !text.includes('\0') && Buffer.from(text).toString() === text) &&
      unit.verification.every((argv) => argv[0] !== '') &&
      unit.allowed_paths.every((path) => {
        const segments = path.replace(/\/$/, '').split('/');
        return (
          !path.startsWith('/') &&
          !path.includes('\\') &&
          segments.every((s) => s !== '' && s !== '.' && s !== '..') &&
          segments.every((s) => !/^(\.git|git~1)[. ]*(:.*)?$/i.test(s))
        );
      })
    );
  }

  test('any bytes: never an exception, places inside the file, and what is accepted obeys every rule', () => {
    let accepted = 0;
    fc.assert(
      fc.property(anyPacket, (bytes) => {
        const result = parse(bytes);
        if (result.ok) {
          accepted++;
          expect(obeysTheRules(result.value)).toBe(true);
          return;
        }
        expect(result.error.length).toBeGreaterThan(0);
        const lines = Buffer.from(bytes)
          .toString('utf8')
          .replace(/^\ufeff/, '')
          .split(/\r\n|\n|\r/);
        for (const { line, column, end_line, end_column, source_line, message } of result.error) {
          expect(message).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e]/);
          if (line === 0) continue;
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(end_line).toBeLessThanOrEqual(lines.length);
          expect(column).toBeGreaterThanOrEqual(1);
          expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1);
          expect(end_column).toBeLessThanOrEqual((lines[end_line - 1] ?? '').length + 1);
          expect(end_line > line || end_column >= column).toBe(true);
          const whole = lines[line - 1] ?? '';
          expect(source_line).toBe(whole.length > 400 ? null : whole);
        }
      }),
      { numRuns: 2000 },
    );
    expect(accepted).toBeGreaterThan(50);
  });

  test('whatever the rules accept, the published schema accepts, and the reverse but for what a schema cannot say', () => {
    fc.assert(
      fc.property(anyPacket, (bytes) => {
        const result = parse(bytes);
        if (
          result.ok ||
          result.error.some(({ code }) => !/WRONG_TYPE|KEY_MISSING|NOT_A_CHOICE|ID_INVALID|GOAL_EMPTY/.test(code))
        )
          return;
        expect(unitSchema.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8'))).success).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

describe('inline flags', () => {
  test('make a packet with the defaults of the policy', () => {
    const flags = { goal: 'Fix it.', allow: ['src/'], verifyCmd: ['["npm", "test"]'], constraint: ['Small.'] };
    const result = unitFromFlags(flags, LIMITS);
    expect(result).toEqual({
      ok: true,
      value: {
        unit_id: expect.stringMatching(/^inline-[0-9a-f]{12}$/),
        goal: 'Fix it.',
        allowed_paths: ['src/'],
        verification: [['npm', 'test']],
        constraints: ['Small.'],
        network: 'allow',
        external_cost: 'subscription',
        timeout_seconds: 1800,
      },
    });
    expect(unitFromFlags(flags, LIMITS)).toEqual(result);
    const other = unitFromFlags({ ...flags, goal: 'Fix it!' }, LIMITS);
    expect(other.ok && result.ok && other.value.unit_id !== result.value.unit_id).toBe(true);
    expect(unitFromFlags({ ...flags, unitId: 'mine', timeout: '60' }, LIMITS)).toMatchObject({
      value: { unit_id: 'mine', timeout_seconds: 60 },
    });
  });
  test.each([
    [{ goal: ' ' }, ['UNIT_GOAL_EMPTY'], '--goal'],
    [{ allow: [] }, ['UNIT_NO_ALLOWED_PATHS'], '--allow'],
    [{ allow: ['/abs', 'ok'] }, ['PATH_ABSOLUTE'], '--allow'],
    [{ verifyCmd: ['npm test'] }, ['UNIT_COMMAND_IS_STRING'], '--verify-cmd'],
    [{ verifyCmd: ['["npm",'] }, ['UNIT_COMMAND_IS_STRING'], '--verify-cmd'],
    [{ verifyCmd: ['"npm test"'] }, ['UNIT_COMMAND_IS_STRING'], '--verify-cmd'],
    [{ verifyCmd: ['{"a":1}'] }, ['UNIT_WRONG_TYPE'], '--verify-cmd'],
    [{ timeout: '1h' }, ['UNIT_TIMEOUT_INVALID'], '--timeout'],
    [{ timeout: '-1' }, ['UNIT_TIMEOUT_INVALID'], '--timeout'],
    [{ timeout: '99999' }, ['UNIT_TIMEOUT_ABOVE_POLICY'], '--timeout'],
    [{ unitId: 'a/b' }, ['UNIT_ID_INVALID'], '--unit-id'],
  ])('%j', (flags, expected, flag) => {
    const result = unitFromFlags({ goal: 'Fix it.', allow: ['src/'], ...flags }, LIMITS);
    expect(codes(result)).toEqual(expected);
    expect(result).toMatchObject({ error: [{ file: flag, line: 0 }] });
  });
});
