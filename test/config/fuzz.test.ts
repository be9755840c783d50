/**
 * The configuration by the thousand: documents whose blocks are known because the document was built around them, a
 * valid block with every forbidden construct at random places, and whatever is accepted read again by two plain YAML
 * readers. `FUZZ_RUNS` makes the runs longer.
 */
import fc from 'fast-check';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { looksLikeToken } from '../../src/config/credentials.ts';
import { findBlock } from '../../src/config/fence.ts';
import { readLines } from '../../src/config/source-text.ts';
import { policy as policySchema } from '../../src/model/config.ts';
import { edit, parse, readFile } from './sample.ts';
import { expectShowable, runsOf } from './shown.ts';

/** Every kind of line in as few lines as can be: each input is parsed whole. */
const BODY = `schema: agent-execution/v1 # the version
execution:
  fresh_process_per_unit: true
  permission: run-everything
  fallback_to_host: never
  max_parallel: 1
  timeout_seconds: 1800
  verify: none
  setup:
    - [npm, ci]
  summary_bytes: 4096
  raw_output_bytes: 10485760
roles:
  repair: [cursor, agy]
  review:
    candidates: [agy]
    expects: either
profiles:
  cursor:
    adapter: cursor
    executable: 'cursor-agent'
  agy:
    adapter: antigravity
    model: big-1
    enabled: true`.split('\n');
const SAMPLE = parse(['```agent-execution', ...BODY, '```'].join('\n'));
const POLICY = SAMPLE.ok ? SAMPLE.value.policy : null;

const asBytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Parses, and checks what every answer owes; the codes of the errors that have a place, or null where there are none. */
function codesOf(text: string): readonly string[] | null {
  const result = parse(text);
  expectShowable(text.replace(/^\ufeff/, ''), result.ok ? result.value.warnings : result.error);
  if (!result.ok && !result.error.some(({ severity }) => severity === 'error')) expect.fail('refused without an error');
  return result.ok ? null : result.error.filter(({ line }) => line > 0).map(({ code }) => code);
}

const ending = fc.constantFrom('\n', '\r\n', '\r');
const mark = fc.constantFrom('', '\ufeff');

/** A part of a document, and which blocks it is known to hold: good ones, or the code of what is wrong with a bad one. */
interface Part {
  readonly lines: readonly string[];
  readonly blocks: readonly ('good' | 'FENCE_TILDE' | 'FENCE_EXTRA_WORDS')[];
}
const indented = (lines: readonly string[], first: string, rest = first): string[] =>
  lines.map((line, index) => (index === 0 ? first : rest) + line);
const fenced = (marks: string, info: string): string[] => [`${marks}${info}`, ...BODY, marks];

const pad = fc.constantFrom('', ' ', '  ', '   ');
const marks = fc.constantFrom('```', '````', '`````');
const goodPart: fc.Arbitrary<Part> = fc
  .tuple(marks, pad, fc.constantFrom('', ' ', '\t'), fc.constantFrom('', ' ', '\t '), fc.nat(5))
  .map(([ticks, left, before, after, kind]) => {
    const plain = indented(fenced(ticks, `${before}agent-execution${after}`), left);
    const lines = [
      plain,
      indented(plain, '> '),
      indented(plain, '- ', '  '),
      indented(plain, '1. > ', '   > '),
      ['- an item', '', ...plain.map((line) => (left === '' ? line : `  ${line}`))],
      ['words that the fence interrupts', ...plain],
    ][kind] as string[];
    return { lines, blocks: ['good'] };
  });
const badPart: fc.Arbitrary<Part> = fc.oneof(
  fc.constant<Part>({ lines: fenced('~~~', 'agent-execution'), blocks: ['FENCE_TILDE'] }),
  fc
    .constantFrom('v1', '{.x}', 'agent-execution', '#')
    .map<Part>((word) => ({ lines: fenced('```', `agent-execution ${word}`), blocks: ['FENCE_EXTRA_WORDS'] })),
);
const block = fenced('```', 'agent-execution');
const noPart: fc.Arbitrary<Part> = fc
  .oneof(
    fc.constantFrom(
      ['words'],
      ['## heading'],
      ['a', '==='],
      ['| a | b |', '|---|---|'],
      ['[a]: b "c"'],
      ['***'],
      ['`agent-execution`'],
      ['``agent-execution', '``'],
      ['    a: b', '', '\tc: d'],
      fenced('```', 'sh'),
      fenced('~~~', ''),
    ),
    fc.constantFrom('````md', '~~~', '~~~~ md', '`````').map((open) => [open, ...block, open.replace(/[^`~]+$/, '')]),
    fc
      .constantFrom(
        ['<!--', '-->'],
        ['<pre>', '</pre>'],
        ['<script>', '</script>'],
        ['<?x', '?>'],
        ['<![CDATA[', ']]>'],
      )
      .map(([open, close]) => [open as string, ...block, '', ...block, close as string]),
    fc.constantFrom('    ', '\t', ' \t', '      ').map((left) => indented(block, left)),
    fc.constantFrom('    ', '     ').map((left) => indented(indented(block, left), '> ')),
    fc
      .constantFrom('<div>', '<table class="a">', '</p>', '<x-y>')
      .map((open) => [open, ...block.map((line) => line || '#')]),
    fc
      .constantFrom(
        'Agent-execution',
        'agent_execution',
        'agent-executions',
        'agent-execution\u00a0',
        'agent\u2010execution',
      )
      .map((info) => fenced('```', info)),
    fc
      .constantFrom('agent-execution\u200b', 'agent-execution,x', '{agent-execution}', 'agent-execution`')
      .map((info) => [...fenced('~~~', info)]),
  )
  .map((lines) => ({ lines, blocks: [] }));

describe('fences', () => {
  const built = fc.tuple(
    fc.array(fc.oneof({ weight: 6, arbitrary: noPart }, { weight: 2, arbitrary: goodPart }, badPart), { maxLength: 5 }),
    fc.nat(3).map((nat) => nat === 3),
    ending,
    mark,
  );

  test('a document is read as it was built', () => {
    let good = 0;
    fc.assert(
      fc.property(built, ([parts, open, end, bom]) => {
        // A heading between the parts ends every list, quote and HTML block that is open.
        const lines = parts.flatMap((part) => [...part.lines, '', '# part', '']);
        const blocks = parts.flatMap((part) => part.blocks);
        if (open) lines.push('```agent-execution', ...BODY);
        const text = bom + lines.join(end);
        const expected = new Set<string>(blocks.filter((what) => what !== 'good'));
        if (open) expected.add('FENCE_UNCLOSED');
        const total = blocks.length + (open ? 1 : 0);
        if (total === 0) expected.add('FENCE_MISSING');
        if (total > 1) expected.add('FENCE_REPEATED');
        const result = parse(text);
        const found = result.ok ? [] : result.error.map(({ code }) => code);
        expect(new Set(found)).toEqual(expected);
        expectShowable(text.replace(/^\ufeff/, ''), result.ok ? result.value.warnings : result.error);
        if (!result.ok) return;
        good += 1;
        expect(result.value.policy).toEqual(POLICY);
      }),
      runsOf(60),
    );

    expect(good).toBeGreaterThan(0);
  });

  const piece = fc.constantFrom(
    ...[
      '```agent-execution',
      '```',
      '````',
      '~~~',
      '~~~agent-execution',
      '`',
      '``',
      '```agent-execution x',
      '``` agent-execution',
    ],
    ...['> ', '>', '- ', '  ', '    ', '\t', '1. ', '* ', '+', '# ', '---', '===', '   '],
    ...[
      '<!--',
      '-->',
      '<div>',
      '</div>',
      '<pre>',
      '</pre>',
      '<a',
      '>',
      '<?',
      '?>',
      '<!X',
      '<![CDATA[',
      ']]>',
      '<script>',
    ],
    ...[
      'a',
      'a: b',
      '[a]: b',
      '[a]:',
      '"',
      '(',
      '](',
      '&#97;',
      '\\',
      '\\`',
      '&nbsp;',
      '\u00a0',
      '\u0000',
      '\u000b',
      '\f',
      '|',
    ],
  );
  const soup = fc
    .tuple(
      fc.array(
        fc.array(piece, { maxLength: 4 }).map((parts) => parts.join('')),
        { maxLength: 14 },
      ),
      ending,
    )
    .map(([lines, end]) => lines.join(end));

  test('any lines hold the blocks that a parser with nothing switched off sees', () => {
    let named = 0;
    fc.assert(
      fc.property(soup, (text) => {
        const lines = readLines(asBytes(text));
        if (!lines.ok) return;
        const codes: { lang?: string | null | undefined; value: string }[] = [];
        const collect = (node: { type: string; children?: unknown[] }): void => {
          if (node.type === 'code') codes.push(node as unknown as { value: string });
          for (const child of node.children ?? []) collect(child as { type: string });
        };
        collect(fromMarkdown(lines.value.join('\n')));
        const blocks = codes.filter(({ lang }) => lang === 'agent-execution');
        const { block: found, findings } = findBlock(lines.value);
        const all = findings.map(({ code }) => code);
        expect(all.filter((code) => code === 'FENCE_REPEATED').length).toBe(Math.max(0, blocks.length - 1));
        expect(all.includes('FENCE_MISSING')).toBe(blocks.length === 0);
        if (blocks.length > 0) named += 1;
        if (found !== null) expect(found.lines.map((line) => line.text).join('\n')).toBe(blocks[0]?.value);
        for (const { text: shown, line, column } of found?.lines ?? []) {
          // A tab that a quote mark or a list took a part of leaves its rest as spaces.
          expect((lines.value[line - 1] ?? '').slice(column - 1).trimStart()).toBe(shown.trimStart());
        }
        codesOf(text);
      }),
      runsOf(500),
    );
    expect(named).toBeGreaterThan(10);
  });
});

/** Lines of the block by what can be done to them. */
const linesThat = (pattern: RegExp): number[] => BODY.flatMap((line, index) => (pattern.test(line) ? [index] : []));
const PLAIN_LINES = linesThat(/^ *[a-z_]+: [^[\]'"{}#]+$/);
const LIST_LINES = linesThat(/^ *[a-z_]+: \[[^'"]+\]$/);
const MAP_LINES = linesThat(/^ +[a-z]+:$/);
const ALL_LINES = BODY.map((_, index) => index);
const BARE_LINES = linesThat(/^[^'"#]*$/);

interface Mutation {
  readonly name: string;
  readonly at: readonly number[];
  /** The line, rewritten; may be several. */
  readonly rewrite: (line: string, pick: string, offset: number) => string;
  readonly picks: fc.Arbitrary<string>;
  /** One of these must be among the findings; empty: any error will do. */
  readonly codes: readonly string[];
}
const value = (line: string, put: string): string => line.replace(/: .*/, () => `: ${put}`);
const old = (line: string): string => line.replace(/^[^:]*: /, '');
const indentOf = (line: string): string => /^ */.exec(line)?.[0] ?? '';
const insert = (line: string, put: string, offset: number, from = 0): string => {
  const at = from + (offset % (line.length - from + 1));
  return line.slice(0, at) + put + line.slice(at);
};
const before = (line: string, put: string): string => `${indentOf(line)}${put}\n${line}`;

const cased = (...words: string[]): fc.Arbitrary<string> =>
  fc.constantFrom(...words).chain((word) => fc.mixedCase(fc.constant(word)));
const lookAlike = fc.oneof(
  cased('yes', 'no', 'on', 'off', 'y', 'n'),
  cased('true', 'false', 'null').filter((word) => !/^(?:true|false|null)$/.test(word)),
  fc.constantFrom('~', '=', '.inf', '-.INF', '.NaN', '+.inf', '0o7', '0x1F', '0b11', '-0x0', '+1', '1_000', '-0', '00'),
  fc.stringMatching(/^[-+]?0[0-7_]{1,6}$/),
  fc.stringMatching(/^[-+]?[1-9]\d{0,2}(:[0-5]?\d){1,2}(\.\d*)?$/),
  fc.stringMatching(/^\d{4}-[01]?\d-[0-3]?\d([Tt ]\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d)?)?$/),
  fc.stringMatching(/^[-+]?\d{1,4}\.\d{0,4}([eE][-+]?\d{1,2})?$/),
  fc.stringMatching(/^[-+]?\d{1,3}[eE][-+]?\d{1,2}$/),
);
const unsafe = fc.constantFrom(
  ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__', '__x__'],
  ...['isPrototypeOf', '"__proto__"', "'constructor'", '"\\u005f_proto__"', 'toLocaleString', '__lookupSetter__'],
);
const bidirectional = fc.constantFrom(
  '\u202a',
  '\u202b',
  '\u202d',
  '\u202e',
  '\u2066',
  '\u2067',
  '\u2068',
  '\u200e',
  '\u061c',
);
const zeroWidth = fc.constantFrom(
  '\u200b',
  '\u200c',
  '\u200d',
  '\u2060',
  '\ufeff',
  '\u00ad',
  '\u180e',
  '\ufe0f',
  '\u{e0041}',
  '\u3164',
);
const space = fc.constantFrom('\u00a0', '\u2003', '\u3000', '\u2028', '\u2029', '\u1680');
const decomposed = fc.constantFrom('e\u0301', 'o\u0308', 'A\u030a', '\u1112\u1161', '\u212b', '\u2126');
const none = fc.constant('');

const MUTATIONS: readonly Mutation[] = [
  {
    name: 'anchor',
    at: PLAIN_LINES,
    picks: fc.stringMatching(/^[a-z0-9]{0,3}$/),
    codes: ['ANCHOR'],
    rewrite: (line, pick) => value(line, `&${pick} ${old(line)}`),
  },
  {
    name: 'anchor in a list',
    at: LIST_LINES,
    picks: none,
    codes: ['ANCHOR'],
    rewrite: (line) => line.replace('[', '[&a '),
  },
  {
    name: 'alias',
    at: PLAIN_LINES,
    picks: fc.stringMatching(/^[a-z0-9]{1,3}$/),
    codes: ['ALIAS'],
    rewrite: (line, pick) => value(line, `*${pick}`),
  },
  {
    name: 'alias in a list',
    at: LIST_LINES,
    picks: none,
    codes: ['ALIAS'],
    rewrite: (line) => line.replace(']', ', *a]'),
  },
  { name: 'alias as a key', at: PLAIN_LINES, picks: none, codes: ['ALIAS'], rewrite: (line) => before(line, '*a : b') },
  {
    name: 'merge key',
    at: PLAIN_LINES,
    picks: fc.constantFrom('{}', '[]', 'a', '*a', ''),
    codes: ['MERGE_KEY'],
    rewrite: (line, pick) => before(line, `<<: ${pick}`.trimEnd()),
  },
  {
    name: 'tag',
    at: PLAIN_LINES,
    picks: fc.constantFrom('!', '!!str', '!!int', '!x', '!<a>', '!!python/none'),
    codes: ['TAG'],
    rewrite: (line, pick) => value(line, `${pick} ${old(line)}`),
  },
  {
    name: 'tag in a list',
    at: LIST_LINES,
    picks: none,
    codes: ['TAG'],
    rewrite: (line) => line.replace('[', '[!!str '),
  },
  {
    name: 'block scalar',
    at: PLAIN_LINES,
    picks: fc.constantFrom('|', '>', '|-', '>+', '|2', '>2-'),
    codes: ['BLOCK_SCALAR'],
    rewrite: (line, pick) => `${value(line, pick)}\n${indentOf(line)}  ${old(line)}`,
  },
  {
    name: 'document mark',
    at: ALL_LINES,
    picks: fc.constantFrom('---', '...', '--- ', '--- a', '... # x', '--- |'),
    codes: ['MULTI_DOCUMENT'],
    rewrite: (line, pick) => `${pick}\n${line}`,
  },
  {
    name: 'directive',
    at: ALL_LINES,
    picks: fc.constantFrom('%YAML 1.1', '%TAG ! !x', '%a', '%'),
    codes: ['DIRECTIVE'],
    rewrite: (line, pick) => `${pick}\n${line}`,
  },
  {
    name: 'inline mapping',
    at: PLAIN_LINES,
    picks: fc.constantFrom('{a: 1}', '{a}', '{ a: b, c: d }', '{"a":1}', '{,}', '{a: {}}', '{'),
    codes: ['FLOW_MAPPING'],
    rewrite: value,
  },
  {
    name: 'mapping in a list',
    at: LIST_LINES,
    picks: fc.constantFrom('a: b', '{a: b}', '"a": b'),
    codes: ['FLOW_MAPPING'],
    rewrite: (line, pick) => line.replace(']', `, ${pick}]`),
  },
  { name: 'look-alike', at: PLAIN_LINES, picks: lookAlike, codes: ['AMBIGUOUS_SCALAR'], rewrite: value },
  {
    name: 'look-alike in a list',
    at: LIST_LINES,
    picks: lookAlike,
    codes: ['AMBIGUOUS_SCALAR'],
    rewrite: (line, pick) => line.replace(']', `, ${pick}]`),
  },
  {
    name: 'look-alike as a key',
    at: MAP_LINES,
    picks: lookAlike.filter((word) => !/[~=:<]/.test(word)),
    codes: ['AMBIGUOUS_SCALAR'],
    rewrite: (line, pick) => before(line, `${pick}: x`),
  },
  {
    name: 'duplicate key',
    at: PLAIN_LINES,
    picks: none,
    codes: ['DUPLICATE_KEY'],
    rewrite: (line) => `${line}\n${line}`,
  },
  {
    name: 'duplicate key in quotes',
    at: PLAIN_LINES,
    picks: fc.constantFrom("'", '"'),
    codes: ['DUPLICATE_KEY'],
    rewrite: (line, pick) => `${line}\n${line.replace(/([a-z_]+):/, `${pick}$1${pick}:`)}`,
  },
  {
    name: 'duplicate key escaped',
    at: PLAIN_LINES,
    picks: none,
    codes: ['DUPLICATE_KEY'],
    rewrite: (line) =>
      `${line}\n${line.replace(/([a-z_])([a-z_]*):/, (_, a: string, b: string) => `"\\x${a.charCodeAt(0).toString(16)}${b}":`)}`,
  },
  {
    name: 'unknown key',
    at: PLAIN_LINES,
    picks: fc.stringMatching(/^[a-z][a-z_-]{0,9}$/).filter((key) => !/^[ny]$|pass|pwd|token|secret/.test(key)),
    codes: [
      'UNKNOWN_KEY',
      'DUPLICATE_KEY',
      'AMBIGUOUS_SCALAR',
      'EFFORT_CONFLICT',
      'EFFORT_UNSUPPORTED',
      'INVALID_VALUE',
    ],
    rewrite: (line, pick) => before(line, `${pick}: x`),
  },
  {
    name: 'unsafe key',
    at: PLAIN_LINES,
    picks: unsafe,
    codes: ['UNSAFE_KEY'],
    rewrite: (line, pick) => before(line, `${pick}: x`),
  },
  {
    name: 'unsafe name',
    at: MAP_LINES,
    picks: unsafe,
    codes: ['UNSAFE_KEY'],
    rewrite: (line, pick) => before(line, `${pick}: [cursor]`),
  },
  {
    name: 'tab',
    at: ALL_LINES,
    picks: none,
    codes: ['TAB'],
    rewrite: (line, _pick, offset) => insert(line, '\t', offset),
  },
  {
    name: 'more indentation',
    at: ALL_LINES,
    picks: fc.constantFrom(' ', '  ', '   ', '    '),
    codes: [],
    rewrite: (line, pick) => pick + line,
  },
  {
    name: 'less indentation',
    at: linesThat(/^ /),
    picks: fc.constantFrom('1', '2', '3', '4'),
    codes: [],
    rewrite: (line, pick) => line.slice(Math.min(Number(pick), indentOf(line).length)),
  },
  {
    name: 'text direction',
    at: ALL_LINES,
    picks: bidirectional,
    codes: ['INVISIBLE_CHARACTER'],
    rewrite: (line, pick, offset) => insert(line, pick, offset),
  },
  {
    name: 'zero width',
    at: BARE_LINES,
    picks: zeroWidth,
    codes: [],
    rewrite: (line, pick, offset) => insert(line, pick, offset, indentOf(line).length),
  },
  {
    name: 'another space',
    at: BARE_LINES,
    picks: space,
    codes: [],
    rewrite: (line, pick, offset) => insert(line, pick, offset, indentOf(line).length),
  },
  {
    name: 'control character',
    at: ALL_LINES,
    picks: fc.constantFrom('\u0001', '\u0007', '\u000b', '\f', '\u001b', '\u007f', '\u0085', '\u009f'),
    codes: ['CONTROL_CHARACTER'],
    rewrite: (line, pick, offset) => insert(line, pick, offset),
  },
  {
    name: 'not NFC',
    at: PLAIN_LINES,
    picks: decomposed,
    codes: ['NOT_NFC'],
    rewrite: (line, pick) => value(line, `x${pick}`),
  },
  {
    name: 'a name not NFC',
    at: MAP_LINES,
    picks: decomposed,
    codes: ['NOT_NFC'],
    rewrite: (line, pick) => line.replace(':', `${pick}:`),
  },
  {
    name: 'explicit key',
    at: PLAIN_LINES,
    picks: none,
    codes: ['EXPLICIT_KEY'],
    rewrite: (line) => line.replace(/([a-z_]+): /, `? $1\n${indentOf(line)}: `),
  },
  {
    name: 'value on two lines',
    at: PLAIN_LINES,
    picks: fc.constantFrom('', '"', "'"),
    codes: ['MULTILINE_SCALAR'],
    rewrite: (line, pick) => value(line, `${pick}big\n${indentOf(line)}    one${pick}`),
  },
  {
    name: 'value below its key',
    at: [...PLAIN_LINES, ...LIST_LINES],
    picks: fc.constantFrom(' ', '  ', '    '),
    codes: ['MULTILINE_SCALAR', 'YAML_SYNTAX', 'INDENTATION'],
    rewrite: (line, pick) => line.replace(/: /, `:\n${indentOf(line)}${pick}`),
  },
  {
    name: 'colon below its key',
    at: [...PLAIN_LINES, ...LIST_LINES],
    picks: fc.constantFrom(' ', '  ', ' # x\n  '),
    codes: ['YAML_SYNTAX', 'MULTILINE_SCALAR'],
    rewrite: (line, pick) => line.replace(/: /, `${pick.includes('#') ? ' # x' : ''}\n${indentOf(line)}  : `),
  },
  {
    name: 'list on two lines',
    at: LIST_LINES,
    picks: none,
    codes: ['MULTILINE_LIST'],
    rewrite: (line) => line.replace('[', `[\n${indentOf(line)}    `),
  },
  {
    name: 'list in a list',
    at: LIST_LINES,
    picks: fc.constantFrom('[]', '[a]', '[[a]]'),
    codes: ['NESTED_LIST'],
    rewrite: (line, pick) => line.replace(']', `, ${pick}]`),
  },
  {
    name: 'block list',
    at: LIST_LINES,
    picks: none,
    codes: ['BLOCK_LIST'],
    rewrite: (line) =>
      line.replace(/ \[(.*)\]$/, (_, items: string) =>
        items
          .split(', ')
          .map((item) => `\n${indentOf(line)}  - ${item}`)
          .join(''),
      ),
  },
  {
    name: 'credential',
    at: ALL_LINES,
    picks: fc.constantFrom(
      'sk-ant-api03-Zx9Yw8Vu7Ts6Rq5Po4Nm',
      'ghp_0123456789012345678901',
      'https://u:pw@h',
      'eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0',
    ),
    codes: ['CREDENTIAL_VALUE', 'CREDENTIAL_KEY'],
    rewrite: (line, pick) => `${line} # ${pick}`,
  },
];

describe('what the subset forbids, at a random place', () => {
  const each = Math.ceil(runsOf(8 * MUTATIONS.length).numRuns / MUTATIONS.length);

  test.each(MUTATIONS)('$name', ({ at, picks, rewrite, codes }) => {
    const place = fc.tuple(fc.constantFrom(...at), picks, fc.nat(60), ending, mark, fc.constantFrom('', '> ', '  '));
    fc.assert(
      fc.property(place, ([index, pick, offset, end, bom, container]) => {
        const lines = BODY.flatMap((line, at) => (at === index ? rewrite(line, pick, offset).split('\n') : [line]));
        const text = bom + ['```agent-execution', ...lines, '```', ''].map((line) => container + line).join(end);
        const found = codesOf(text);
        if (found === null) return expect.fail(`accepted: ${JSON.stringify(lines.slice(index, index + 2))}`);
        expect(found).not.toEqual([]);
        if (codes.length > 0)
          expect(
            found.filter((code) => codes.includes(code)),
            `${found} ${lines[index]}`,
          ).not.toEqual([]);
      }),
      { numRuns: each },
    );
  });
});

/** Objects without the members that are null: an optional key without a value is one left out. */
function withoutNulls(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(withoutNulls);
  if (typeof data !== 'object' || data === null) return data;
  const kept = Object.entries(data).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member)]));
}

/** What a line of the subset may look like, in one expression each; written without a look at the parser. */
const QUOTED = `"(?:[^"\\\\]|\\\\.)*"|'(?:[^']|'')*'`;
const PLAIN = `(?![-?:] |[-?:]$|[&*!|>'"%@\`{}[\\],#])(?:[^:# ]|:(?=[^ ])|(?<=[^ ])#| +(?![# ]|$))+`;
const ITEM = `(?:${QUOTED}|(?![-?:][ ,\\]]|[&*!|>'"%@\`{}[\\],#])(?:[^:#,[\\]{} ]|:(?=[^ ,[\\]{}])|(?<=[^ ])#| +(?![# ,\\]]|$))+)`;
const LIST = `\\[ *(?:${ITEM} *, *)*(?:${ITEM})? *\\]`;
const LINE = new RegExp(
  `^(?:  )*(?:(?:(?:${QUOTED}|[A-Za-z0-9_-]+) *:(?: +(?:${QUOTED}|${LIST}|\\{ *\\}|${PLAIN}))?)|- +${LIST})? *(?: #.*|^ *#.*)?$`,
  'u',
);

const pieces = fc.constantFrom(
  ...[
    '\t',
    ' ',
    '  ',
    '\n',
    '\n  ',
    '\n    ',
    ':',
    ': ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '{}',
    ',',
    ', ',
    '#',
    ' # ',
    '&a ',
    '*a',
    '!x ',
    '|',
    '>',
    '"',
    "'",
  ],
  ...[
    '---\n',
    '...\n',
    '%YAML 1.1\n',
    '<<: ',
    '? ',
    'yes',
    '~',
    '0x1',
    '1.5',
    '1:30',
    '2026-01-02',
    '\u200b',
    '\u202e',
    'é',
    'e\u0301',
    'null',
    '  ',
  ],
  ...[
    'true',
    'auto',
    'none',
    'host',
    '12',
    '300',
    'pi',
    'big-1',
    "'x'",
    '"x"',
    '"\\n"',
    '[]',
    '[cursor]',
    '[a, b]',
    'setup:\n    - [a, b]\n',
  ],
  ...[
    '  test: [agy]\n',
    '    cost: local\n',
    '    enabled: false\n',
    '  idle_timeout_seconds:\n',
    '# x\n',
    '\n\n',
    '\\',
    "''",
    'a b',
    'a:b',
    'a#b',
    '-',
    '?',
  ],
);
const anywhere = fc.nat(BODY.join('\n').length);
const edits = fc.array(fc.tuple(anywhere, fc.oneof(fc.constant(0), fc.nat(8)), pieces, fc.boolean()), {
  minLength: 1,
  maxLength: 3,
});
const mutant = edits.map((list) =>
  list.reduce((text, [at, drop, put, lineStart]) => {
    const from = lineStart ? text.lastIndexOf('\n', at) + 1 : at;
    return text.slice(0, from) + put + text.slice(from + drop);
  }, BODY.join('\n')),
);

/** One value exchanged for another: more often legal than an edit anywhere. */
const exchanged = fc
  .tuple(fc.constantFrom(...PLAIN_LINES, ...LIST_LINES), pieces, fc.constantFrom('', '', ' ', ' # x', '#'))
  .map(([at, put, end]) => BODY.map((line, index) => (index === at ? value(line, put) + end : line)).join('\n'));

describe('what is accepted', () => {
  test('reads the same in YAML 1.1 and 1.2, and every line of it is of the subset', () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(mutant, exchanged), (yaml) => {
        const text = `\`\`\`agent-execution\n${yaml}\n\`\`\`\n`;
        const result = parse(text);
        expectShowable(text, result.ok ? result.value.warnings : result.error);
        if (!result.ok) return;
        accepted += 1;
        for (const version of ['1.1', '1.2'] as const) {
          const read = parseDocument(yaml, { version, merge: version === '1.1' });
          expect(
            read.errors.map(({ code }) => code),
            yaml,
          ).toEqual([]);
          expect(policySchema.parse(withoutNulls(read.toJS())), yaml).toEqual(result.value.policy);
        }
        for (const line of yaml.split('\n')) if (!LINE.test(line)) expect.fail(`accepted: ${JSON.stringify(line)}`);
        expect(yaml.normalize('NFC').match(/\t|\u202e/)).toBeNull();
      }),
      runsOf(500),
    );
    expect(accepted).toBeGreaterThan(5);
  });
});

describe('work that would grow with the square of the file', () => {
  const many = (count: number, line: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => line(index)).join('\n');

  test('long runs in which a token could begin anywhere are read once', () => {
    // Quadratic time on half a million characters is a matter of minutes, and this test has one.
    for (const unit of [
      'a-',
      'a.',
      'eyJ-',
      'eyJaaaaaaaa-',
      'a://',
      'a://b:',
      'sk-',
      'SG.',
      'Basic ',
      'token=',
      'authorization ',
      '-----BEGIN ',
    ])
      expect(typeof looksLikeToken(unit.repeat(2 ** 19 / unit.length))).toBe('boolean');
  });

  test('a long list of unknown words gets hints as far as anyone reads', () => {
    const profiles = many(70, (index) => `  prof${index}:\n    adapter: ado${index}`);
    const result = parse(
      `\`\`\`agent-execution\nroles:\n  a: [${many(70, (index) => `prog${index}`).replaceAll('\n', ', ')}]\nprofiles:\n${profiles}\n\`\`\`\n`,
    );
    const hints = (code: string) =>
      result.ok ? [] : result.error.filter((error) => error.code === code).map(({ hint }) => hint);
    for (const code of ['UNKNOWN_PROFILE', 'UNKNOWN_ADAPTER']) {
      expect(hints(code).length).toBeGreaterThan(60);
      expect(hints(code).filter((hint) => hint !== null).length).toBe(50);
    }
  });

  test('with more than a hundred credentials nothing else is told', () => {
    const found = (count: number): Set<string> => {
      const secrets = many(count, (index) => `password: hidden${index}`);
      const result = parse(`\`\`\`agent-execution\n${secrets}\nother: no\n\`\`\`\n`);
      return new Set(result.ok ? [] : result.error.map(({ code }) => code));
    };
    expect(found(100)).toContain('AMBIGUOUS_SCALAR');
    expect(found(101)).not.toContain('AMBIGUOUS_SCALAR');
    expect(found(101)).toContain('CREDENTIAL_KEY');
  });

  test('more than two hundred refusal prefixes are refused, not looked for', () => {
    const list = many(201, (index) => `"Quota ${index} exceeded:"`).replaceAll('\n', ', ');
    const asked: string[] = [];
    const text = edit('["Quota exceeded:"]', `[${list}]`);
    const result = parse(text, (path) => {
      asked.push(path);
      return readFile(path);
    });
    const errors = result.ok ? [] : result.error;
    expect(errors.map(({ code }) => code)).toEqual(['REFUSAL_PREFIX']);
    expect(errors[0]?.column).toBe(
      (text
        .split('\n')
        .find((line) => line.includes('Quota 200'))
        ?.indexOf('"Quota 200') as number) + 1,
    );
    expect(asked).toEqual(['agents/review.md']);
  });
});
