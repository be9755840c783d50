/**
 * Packets and allowed paths by the thousand: JSON texts with known flaws, every forbidden path in random disguises, and
 * the path matcher against one that keeps the set of all places a pattern can be at. `FUZZ_RUNS` makes the runs longer.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RepoPath } from '../../src/model/path.ts';
import { allowedPathProblems } from '../../src/unit/allowed-paths.ts';
import { isExecutedPath } from '../../src/unit/executed-paths.ts';
import { parseUnit } from '../../src/unit/packet.ts';
import { compileScope } from '../../src/unit/scope.ts';
import { isSecretPath } from '../../src/unit/secret-paths.ts';
import { expectShowable, runsOf } from '../config/shown.ts';
import { isJson, LIMITS, GOOD as SAMPLE } from './sample.ts';

const GOOD: Readonly<Record<string, unknown>> = SAMPLE;

/** A JSON text and what is known to be wrong with it. */
interface Text {
  readonly text: string;
  readonly flawed: boolean;
}
const space = fc.constantFrom('', '', ' ', '\n', '\r\n', '\r', '\t', '\n  ');
const notJson = fc.constantFrom(
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    'undefined',
    '0x10',
    '01',
    '.5',
    '5.',
    '+1',
    '1e',
    "'a'",
    '"a',
    '"\t"',
    '"\\x41"',
    '"\\u12"',
  ],
  ...[
    '[1,]',
    '[,]',
    '{"a":1,}',
    '{a:1}',
    '{"a"}',
    '/**/1',
    '1 // x',
    'tru',
    'True',
    '[',
    '{',
    '"a" "b"',
    '\u00a01',
    '\u2028',
    '\ufeff1',
  ],
);
const deep = fc
  .integer({ min: 1, max: 300 })
  .chain((depth) =>
    fc
      .constantFrom<[string, string]>(['[', ']'], ['{"a":', '}'])
      .map(([open, close]) => open.repeat(depth) + 1 + close.repeat(depth)),
  );
const number = fc.constantFrom(
  '1e400',
  '-1e400',
  '123456789012345678901234567890',
  '1e-400',
  '-0',
  '0',
  '0.5',
  '1801',
  '86401',
  '-5',
  '1e9',
  '600.5',
);
const halfPair = fc
  .constantFrom('\\ud800', '\\udc00', 'a\\udfff', '\\ud83d\\ud83d', '\\ude00\\ud83d')
  .map((text) => `"${text}"`);
const wrongValue = fc.oneof(
  ...[
    fc.constantFrom('null', 'true', '{}', '[[]]', '""', '"\\u0000"', '[null]', '[1]', '[""]', '{"a":[]}'),
    number,
    halfPair,
    deep,
    notJson,
  ],
  fc.json({ maxDepth: 2 }),
);

/** The judge of single values, written from the contract and not from the rules. */
function isLegal(key: string, value: unknown): boolean {
  const isText = (item: unknown): item is string => typeof item === 'string' && !/\0|\p{Cs}/u.test(item);
  const listOf = (item: unknown, each: (member: unknown) => boolean): boolean =>
    Array.isArray(item) && item.every(each);
  switch (key) {
    case 'schema':
      return value === 'agent-exec-unit/v1';
    case 'unit_id':
      return (
        typeof value === 'string' && value.length <= 64 && /^[A-Za-z0-9]/.test(value) && !/[^A-Za-z0-9._-]/.test(value)
      );
    case 'goal':
      return isText(value) && value.trim() !== '';
    case 'task':
    case 'context':
      return isText(value);
    case 'allowed_paths':
      return (
        listOf(value, (path) => isText(path) && allowedPathProblems(path).length === 0) && (value as []).length > 0
      );
    case 'verification':
      return listOf(value, (argv) => listOf(argv, isText) && ((argv as unknown[])[0] ?? '') !== '');
    case 'constraints':
      return listOf(value, isText);
    case 'network':
      return ['deny', 'provider-only', 'allow'].some((choice) => choice === value);
    case 'external_cost':
      return ['none', 'subscription', 'metered'].some((choice) => choice === value);
    case 'timeout_seconds':
      return typeof value === 'number' && value >= 1 && value <= 1800 && value % 1 === 0;
    default:
      return false;
  }
}
const depthOf = (text: string): number => {
  let depth = 0;
  let most = 0;
  for (const char of text.replace(/"(?:[^"\\]|\\.)*"/g, '')) {
    if (char === '[' || char === '{') most = Math.max(most, ++depth);
    if (char === ']' || char === '}') depth--;
  }
  return most;
};

/** A key as JSON may write it: any of its characters as an escape. */
const written = (key: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: key.length, maxLength: key.length }).map((escapes) => {
    const chars = Array.from(key, (char, at) =>
      escapes[at] && at % 3 === 0
        ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
        : JSON.stringify(char).slice(1, -1),
    );
    return `"${chars.join('')}"`;
  });
const changedKey = fc.constantFrom(...Object.keys(GOOD), 'schema', 'task', 'context');
const anyKey = fc.oneof(
  changedKey,
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'goals',
    'Goal',
    'goal ',
    '',
    'timeout',
    'unit-id',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
);

const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

const packet: fc.Arbitrary<Text> = fc
  .record({
    changed: fc.array(fc.tuple(changedKey, wrongValue), { maxLength: 2 }),
    added: fc.array(
      fc.tuple(
        anyKey.chain((key) => written(key)),
        fc.oneof(wrongValue, fc.constant('"x"')),
      ),
      { maxLength: 1 },
    ),
    left: seldom(fc.constantFrom(...Object.keys(GOOD))),
    twice: seldom(
      fc
        .constantFrom(...Object.keys(GOOD))
        .chain((key) => fc.tuple(written(key), fc.constant(JSON.stringify(GOOD[key])))),
    ),
    before: fc.constantFrom('', '\t', '\ufeff', '\ufeff\ufeff', ' ', '\n'),
    after: fc.constantFrom('', '', '', '', '', '\n', '\r\n', ' ', ',', '}', '{}', '//', '\u00a0'),
    comma: fc.constantFrom('', '', '', '', '', '', ','),
    gap: space,
    shuffle: fc.infiniteStream(fc.nat()),
  })
  .map(({ changed, added, left, twice, before, after, comma, gap, shuffle }) => {
    const values = new Map(Object.entries(GOOD).map(([key, value]) => [JSON.stringify(key), JSON.stringify(value)]));
    for (const [key, value] of changed) values.set(JSON.stringify(key), value);
    if (left !== null) values.delete(JSON.stringify(left));
    const members = [...values, ...added, ...(twice === null ? [] : [twice])]
      .map((member) => ({ member, place: shuffle.next().value }))
      .sort((a, b) => a.place - b.place)
      .map(({ member: [key, value] }) => `${gap}${key}${gap}:${gap}${value}${gap}`);
    const text = `${before}{${members.join(',')}${comma}}${after}`;
    const names = [...values, ...added, ...(twice === null ? [] : [twice])].map(([key]) => JSON.parse(key) as string);
    const flawed =
      new Set(names).size < names.length ||
      Object.keys(GOOD).some((key) => !names.includes(key)) ||
      [...values, ...added].some(
        ([key, value]) => !isJson(value) || depthOf(value) > 99 || !isLegal(JSON.parse(key), JSON.parse(value)),
      ) ||
      comma !== '' ||
      before === '\ufeff\ufeff' ||
      after.trim() !== '' ||
      after === '\u00a0';
    return { text, flawed };
  });

describe('packets', () => {
  test('are accepted where nothing is wrong with them, and only there', () => {
    let accepted = 0;
    fc.assert(
      fc.property(packet, ({ text, flawed }) => {
        const result = parseUnit({ file: 'unit.json', bytes: Buffer.from(text) }, LIMITS);
        expect(result.ok, text).toBe(!flawed);
        if (result.ok) {
          accepted += 1;
          expect(result.value).toEqual(JSON.parse(text.replace(/^\ufeff/, '')));
        } else expectShowable(text.replace(/^\ufeff/, ''), result.error);
      }),
      runsOf(1500),
    );
    expect(accepted).toBeGreaterThan(50);
  });

  test('of any bytes are answered', () => {
    const cut = fc
      .tuple(packet, fc.nat(), fc.nat(4), fc.uint8Array({ maxLength: 3 }))
      .map(([{ text }, at, drop, put]) => {
        const bytes = Buffer.from(text);
        const from = at % (bytes.length + 1);
        return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + drop)]);
      });
    fc.assert(
      fc.property(cut, (bytes) => {
        const result = parseUnit({ file: 'unit.json', bytes }, LIMITS);
        if (result.ok)
          for (const [key, value] of Object.entries(result.value)) expect(isLegal(key, value), key).toBe(true);
        else expectShowable(new TextDecoder().decode(bytes), result.error);
      }),
      runsOf(2000),
    );
  });

  test('globs are bounded in all, and literal names are not', () => {
    const parse = (paths: readonly string[]) =>
      parseUnit({ file: 'unit.json', bytes: Buffer.from(JSON.stringify({ ...GOOD, allowed_paths: paths })) }, LIMITS);
    const open = '['.repeat(4096);
    expect(parse(Array.from({ length: 16 }, () => open)).ok).toBe(true);
    const result = parse(['a', ...Array.from({ length: 40 }, () => open)]);
    expect(result.ok ? [] : result.error.map(({ code }) => code)).toEqual(['UNIT_GLOBS_TOO_LONG']);
    expect(parse(Array.from({ length: 40 }, () => 'a'.repeat(4096))).ok).toBe(true);
  });
});

const cased = (word: string): fc.Arbitrary<string> => fc.mixedCase(fc.constant(word));
const ignored = fc.constantFrom('', '', '', '\u200c', '\u200d', '\u200e', '\u202e', '\u206a', '\ufeff');
const tail = fc.constantFrom(
  '',
  '.',
  ' ',
  '...',
  '. .',
  ':',
  '::$INDEX_ALLOCATION',
  ':$I30:$INDEX_ALLOCATION',
  ' ::$DATA',
);
/** A name as some file system would still take it for itself: case, code points that do not count, and what falls away. */
const disguised = (word: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(word.chain(cased), ignored, fc.nat(), tail).map(([name, hidden, at, end]) => {
    const from = at % (name.length + 1);
    return name.slice(0, from) + hidden + name.slice(from) + end;
  });
/** A character as a class of itself. */
const classed = (name: string, at: number): string => {
  const from = at % name.length;
  return /[\p{L}._-]/u.test(name[from] ?? '') ? `${name.slice(0, from)}[${name[from]}]${name.slice(from + 1)}` : name;
};
const secretName = fc.constantFrom(
  ...[
    '.env',
    '.env.local',
    '.env.production',
    'server.pem',
    'tls.key',
    'id_rsa',
    'id_ed25519',
    'id_ecdsa_sk',
    '.npmrc',
    '.netrc',
  ],
  ...['.aws', '.ssh', '.gnupg', '.git-credentials', 'x.p12', 'a.keystore'],
);
const legalName = fc.constantFrom(
  'src',
  'a',
  'lib-2',
  'x.ts',
  '.github',
  'grüße',
  'a b',
  '*',
  '**',
  '*.ts',
  'v?',
  '[slug]',
  '[a-c]x',
  '{a,b}',
);
const place = fc.tuple(
  fc.array(legalName, { maxLength: 3 }),
  fc.array(legalName, { maxLength: 2 }),
  fc.constantFrom('', '/'),
);
const put = (name: string, [above, below, slash]: [string[], string[], string]): string =>
  [...above, name, ...below].join('/') + slash;

const REJECTED: readonly (readonly [code: string, entry: fc.Arbitrary<string>])[] = [
  ['PATH_GIT', fc.tuple(disguised(fc.constantFrom('.git', 'git~1')), place).map(([name, at]) => put(name, at))],
  ['PATH_GIT', fc.tuple(cased('.git'), fc.nat(), place).map(([name, at, where]) => put(classed(name, at), where))],
  ['PATH_DOT_SEGMENT', fc.tuple(fc.constantFrom('.', '..'), place).map(([name, at]) => put(name, at))],
  [
    'PATH_BACKSLASH',
    fc.tuple(fc.constantFrom('a\\b', '\\', '\\*', '..\\x', 'x\\'), place).map(([name, at]) => put(name, at)),
  ],
  [
    'PATH_CONTROL_CHARACTER',
    fc
      .tuple(
        fc
          .integer({ min: 0, max: 65 })
          .map((code) =>
            String.fromCharCode(code < 32 ? code : code - 32 + 127 - (code > 64 ? 1 : 0)).replace(
              /[^\p{Cc}]/u,
              '\u0007',
            ),
          ),
        place,
      )
      .map(([char, at]) => put(`a${char}b`, at)),
  ],
  ['PATH_ABSOLUTE', place.map((at) => `/${put('x', at)}`)],
  ['PATH_ABSOLUTE', fc.tuple(fc.stringMatching(/^[A-Za-z]:[/\\]$/), place).map(([drive, at]) => drive + put('x', at))],
  ['PATH_EMPTY_SEGMENT', place.map((at) => `a//${put('x', at)}`)],
  [
    'PATH_SECRET',
    fc
      .tuple(disguised(secretName), fc.array(legalName, { maxLength: 3 }), fc.constantFrom('', '/'))
      .map(([name, above, slash]) => [...above, name].join('/') + slash),
  ],
  [
    'PATH_SECRET',
    fc
      .tuple(secretName, fc.nat(), fc.array(legalName, { maxLength: 3 }))
      .map(([name, at, above]) => [...above, classed(name, at)].join('/')),
  ],
  [
    'PATH_SECRET',
    fc
      .tuple(secretName, fc.nat(), fc.array(legalName, { maxLength: 3 }))
      .map(([name, at, above]) =>
        [...above, `${name.slice(0, at % (name.length + 1))}*${name.slice(at % (name.length + 1))}`].join('/'),
      ),
  ],
  [
    'PATH_SECRET',
    fc.tuple(fc.constantFrom('.aws', '.ssh', '.gnupg').chain(cased), place).map(([name, at]) => put(name, at)),
  ],
];

describe('allowed paths', () => {
  const each = Math.ceil(runsOf(500 * REJECTED.length).numRuns / REJECTED.length);
  test.each(REJECTED)('%s is told in any disguise (%#)', (code, entry) => {
    fc.assert(
      fc.property(entry, (text) => {
        expect(
          allowedPathProblems(text).map((problem) => problem.code),
          JSON.stringify(text),
        ).toContain(code);
      }),
      { numRuns: each },
    );
  });

  test('harmless names are legal wherever they stand', () => {
    fc.assert(
      fc.property(fc.array(legalName, { minLength: 1, maxLength: 5 }), fc.constantFrom('', '/'), (names, slash) => {
        expect(allowedPathProblems(names.join('/') + slash)).toEqual([]);
      }),
      runsOf(1000),
    );
  });
});

type Token = { readonly kind: 'one' | 'star' | 'globstar' | 'slash'; readonly fits: (char: string) => boolean };

/** The pattern as a list of what may stand at a place. `**` is one only where it is a whole name. */
function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = [];
  for (const [index, name] of pattern.split('/').entries()) {
    if (index > 0) tokens.push({ kind: 'slash', fits: (char) => char === '/' });
    if (name === '**') tokens.push({ kind: 'globstar', fits: () => true });
    else tokens.push(...nameTokens(Array.from(name)));
  }
  return tokens;
}

function nameTokens(chars: readonly string[]): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at] as string;
    const negated = chars[at + 1] === '!' || chars[at + 1] === '^';
    const first = at + (negated ? 2 : 1);
    const close = char === '[' ? chars.indexOf(']', first + 1) : -1;
    if (char === '*') tokens.push({ kind: 'star', fits: (other) => other !== '/' });
    else if (char === '?') tokens.push({ kind: 'one', fits: (other) => other !== '/' });
    else if (close > 0) {
      const holds = classOf(chars.slice(first, close));
      tokens.push({ kind: 'one', fits: (other) => other !== '/' && holds(other) !== negated });
      at = close;
    } else tokens.push({ kind: 'one', fits: (other) => other === char });
  }
  return tokens;
}

function classOf(members: readonly string[]): (char: string) => boolean {
  const ranges: [number, number][] = [];
  for (let at = 0; at < members.length; at++) {
    const low = (members[at] as string).codePointAt(0) as number;
    const high = members[at + 1] === '-' ? members[at + 2]?.codePointAt(0) : undefined;
    ranges.push([low, high ?? low]);
    if (high !== undefined) at += 2;
  }
  return (char) =>
    ranges.some(([low, high]) => low <= (char.codePointAt(0) as number) && (char.codePointAt(0) as number) <= high);
}

/** All places of the pattern that the characters so far can have led to, one character at a time. */
function plainMatch(pattern: string, path: string): boolean {
  const tokens = tokensOf(pattern);
  const spread = (places: Set<number>, atNameStart: boolean): Set<number> => {
    for (const at of places) {
      const token = tokens[at];
      if (token?.kind === 'star') places.add(at + 1);
      // No folder at all: the slash behind is skipped with it. At the end of a pattern there must be a name.
      if (token?.kind === 'globstar' && atNameStart && at + 1 < tokens.length) places.add(at + 2);
    }
    return places;
  };
  let places = spread(new Set([0]), true);
  for (const char of path) {
    const next = new Set<number>();
    for (const at of places) {
      const token = tokens[at];
      if (!token?.fits(char)) continue;
      if (token.kind === 'star') next.add(at);
      else if (token.kind === 'globstar') next.add(at);
      else next.add(at + 1);
    }
    places = spread(next, char === '/');
  }
  return (
    places.has(tokens.length) ||
    (tokens.at(-1)?.kind === 'globstar' && places.has(tokens.length - 1) && path !== '' && !path.endsWith('/'))
  );
}

describe('the path matcher', () => {
  const char = fc.constantFrom(
    'a',
    'b',
    'c',
    'B',
    '.',
    '-',
    ']',
    '!',
    '^',
    '😀',
    'é',
    '\n',
    ' ',
    '+',
    '(',
    ')',
    '{',
    ',',
    '}',
    '|',
    '$',
    '\udc80',
  );
  const wild = fc.constantFrom(
    '*',
    '**',
    '?',
    '[ab]',
    '[!a]',
    '[^b.]',
    '[a-c]',
    '[]a]',
    '[!]]',
    '[a-]',
    '[-a]',
    '[😀-😂]',
    '[é]',
    '[',
    '[*]',
    '[?]',
    '[a',
    '[c-a]',
    '[.]',
    '[{]',
    '***',
    '?*',
    '*?',
  );
  const segment = fc.oneof(
    fc.array(fc.oneof(char, wild), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
    fc.constantFrom('**', '**', '*', 'a', '.github', 'workflows', '.husky', '.gitattributes'),
  );
  const isPlain = (text: string): boolean => text !== '.' && text !== '..';
  const pattern = fc.array(segment.filter(isPlain), { minLength: 1, maxLength: 5 }).map((names) => names.join('/'));
  const name = fc.oneof(
    fc
      .array(fc.oneof(char, fc.constantFrom('a', 'b', '*', '[')), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join('')),
    fc.constantFrom('a', 'b', 'ab', '.github', 'workflows', '.husky', '.gitattributes', '.env'),
  );
  const path = fc.array(name.filter(isPlain), { minLength: 1, maxLength: 5 }).map((names) => names.join('/'));
  const allows = (entry: string, changed: string): boolean =>
    compileScope([entry], () => false).allows(changed as RepoPath);

  test('agrees with one that follows every way at once', () => {
    let hits = 0;
    fc.assert(
      fc.property(pattern, fc.constantFrom('', '', '/'), path, (glob, slash, changed) => {
        const entry = glob + slash;
        const under = slash === '' ? entry : `${entry}**`;
        const covered =
          entry === changed ||
          (!isExecutedPath(changed) && (changed.startsWith(slash === '' ? '\0' : entry) || plainMatch(under, changed)));
        if (covered) hits += 1;
        if (allows(entry, changed) !== covered)
          expect.fail(`${JSON.stringify(entry)} over ${JSON.stringify(changed)}: ${!covered}`);
      }),
      runsOf(8000),
    );
    expect(hits).toBeGreaterThan(100);
  });

  const executed = fc
    .constantFrom(
      'AGENT-EXECUTION.md',
      '.gitattributes',
      'a/.gitattributes',
      '.gitmodules',
      '.husky/h',
      'a/.husky/h',
      '.github/workflows/ci.yml',
      '.gitlab-ci.yml',
      'Jenkinsfile',
      '.circleci/config.yml',
    )
    .chain((whole) =>
      fc.tuple(...whole.split('/').map((part) => disguised(fc.constant(part)))).map((parts) => parts.join('/')),
    );
  const wide = fc.constantFrom(
    '**',
    '*',
    '**/*',
    '*/**',
    '.*',
    '.*/**',
    '**/.*',
    '.g*/**',
    '[.]*/**',
    '?*',
    '*.md',
    '*.yml',
    '.github/',
    '.husky/',
    'a/',
    '.github/workflows/',
    '*/',
  );

  test('what git and CI execute is covered by its own name alone', () => {
    fc.assert(
      fc.property(executed, fc.array(fc.oneof(wide, pattern), { minLength: 1, maxLength: 4 }), (changed, entries) => {
        const scope = compileScope([...entries, ...entries.map((entry) => `${entry}/`)], () => true);
        expect(scope.allows(changed as RepoPath)).toBe(false);
        expect(compileScope([changed], () => false).allows(changed as RepoPath)).toBe(true);
      }),
      runsOf(3000),
    );
  });

  test('a secret cannot be named, whichever file system reads the name', () => {
    fc.assert(
      fc.property(disguised(secretName), (text) => {
        expect(isSecretPath(text), JSON.stringify(text)).toBe(true);
      }),
      runsOf(1000),
    );
    for (const text of ['.env.', '.ENV ', '.npmrc::$DATA', 'id_r\u200dsa']) expect(isSecretPath(text)).toBe(true);
    for (const text of ['.env.example', 'a:b.ts', 'env.']) expect(isSecretPath(text)).toBe(false);
  });
});
