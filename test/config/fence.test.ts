/** What CommonMark sees as the block, and that every input is answered in bounded time. */
import { describe, expect, test } from 'vitest';
import { edit, findingsOf, marked, parse, VALID } from './sample.ts';

const BLOCK = VALID.slice(VALID.indexOf('```agent'), VALID.indexOf('\nMore words'));
const policyOf = (text: string | Uint8Array): unknown => {
  const result = parse(text);
  return result.ok ? result.value.policy : result.error.map(({ code }) => code);
};
const EXPECTED = policyOf(VALID);

const prefixed = (first: string, rest: string): string =>
  BLOCK.trimEnd()
    .split('\n')
    .map((line, index) => (index === 0 ? first : rest) + line)
    .join('\n');

describe('the same policy', () => {
  test.each([
    ['CRLF', VALID.replaceAll('\n', '\r\n')],
    ['CR', VALID.replaceAll('\n', '\r')],
    ['a byte order mark', `\ufeff${VALID}`],
    ['a byte order mark and CRLF', `\ufeff${VALID.replaceAll('\n', '\r\n')}`],
    ['no final newline', BLOCK.trimEnd()],
    ['in a quote', prefixed('> ', '> ')],
    ['in a list', prefixed('- ', '  ')],
    ['in a quote in a list', prefixed('1. > ', '   > ')],
    ['an indented fence', prefixed('   ', '   ')],
    ['a longer fence', BLOCK.replaceAll('```', '`````')],
    ['a longer closing fence', `${BLOCK.trimEnd()}\`\`\`  \n`],
    ['a space before the info string', BLOCK.replace('```agent', '``` \tagent')],
    ['a space after the info string', BLOCK.replace('agent-execution\n', 'agent-execution  \n')],
    ['a character reference in the info string', BLOCK.replace('```agent-', '```agent&#45;')],
    ['a character escape in the info string', BLOCK.replace('```agent-', '```agent\\-')],
    ['interrupting a paragraph', `words\n${BLOCK}words\n`],
    ['after an unrelated block', `\`\`\`sh\nls\n\`\`\`\n\n${BLOCK}`],
    ['beside an example in a longer fence', `\`\`\`\`md\n${BLOCK}\`\`\`\`\n\n${BLOCK}`],
    ['beside one in a comment', `<!--\n${BLOCK}-->\n\n${BLOCK}`],
    ['after an unclosed comment of one line', `<!-- x -->\n${BLOCK}`],
    ['blank lines and comments inside', edit('roles:\n', '\n\n# roles\n\nroles:\n\n')],
    ['a blank first line', edit('schema: agent', '\nschema: agent')],
  ])('%s', (_what, text) => {
    expect(policyOf(text)).toEqual(EXPECTED);
  });

  test('an optional key without a value is one left out', () => {
    const without = policyOf(edit('  isolation: auto\n', ''));
    expect(policyOf(edit('  isolation: auto\n', '  isolation:\n'))).toEqual(without);
    expect(policyOf(edit('  isolation: auto\n', '  isolation: null\n'))).toEqual(without);
  });
});

describe('positions in the file, wherever the block stands', () => {
  const wrong = BLOCK.trimEnd().replace('max_parallel: 1', 'max_parallel: ⟪65').split('\n');
  test.each([
    ['quote', '> ', '> '],
    ['list', '- ', '  '],
    ['deep list', '1. - * ', '       '],
    ['quote in list', '- > ', '  > '],
    ['list in quote', '> 1. ', '>    '],
    ['indented', '  ', '  '],
  ])('%s', (_what, first, rest) => {
    const { text, place } = marked(wrong.map((line, index) => (index === 0 ? first : rest) + line).join('\n'));
    for (const end of ['\n', '\r\n', '\r']) {
      const found = findingsOf(text.replaceAll('\n', end));
      expect(found.map(({ line, column, code }) => `${line}:${column} ${code}`)).toEqual([`${place} OUT_OF_RANGE`]);
      expect(found[0]?.source_line).toBe(text.split('\n')[(found[0]?.line ?? 0) - 1]);
    }
  });

  test('columns count UTF-16 units', () => {
    const { text, place } = marked(
      edit('model: big-1', 'model: "😀é" # x\n    cost: ⟪free').replace('    cost: metered\n', ''),
    );
    expect(findingsOf(text).map(({ line, column, code }) => `${line}:${column} ${code}`)).toContain(
      `${place} INVALID_VALUE`,
    );
  });
});

describe('hints at what was meant', () => {
  test.each([
    ['```agent_execution\n```\n', 'must be exactly agent-execution'],
    ['````md\n```agent-execution\n```\n````\n', 'inside another code block'],
    ['<!--\n```agent-execution\n```\n-->\n', 'HTML'],
    ['``agent-execution\n``\n', 'three backticks'],
    ['# nothing\n', 'Add a block'],
  ])('%j', (text, hint) => {
    expect(findingsOf(text)[0]?.hint).toContain(hint);
  });

  test('all that is wrong with a fence is said, and with its content too', () => {
    const text = edit('```agent-execution', '~~~agent-execution v1').replace('```\n\nMore', '~~~\n\nMore');
    const found = findingsOf(text.replace('max_parallel: 1', 'max_parallel: 65'));
    expect(found.map(({ code }) => code)).toEqual(['FENCE_TILDE', 'FENCE_EXTRA_WORDS', 'OUT_OF_RANGE']);
  });
});

test('an extra word that is no more than a vertical tab is pointed at', () => {
  const { text, place } = marked('```agent-execution  ⟪\u000b\n```\n');
  const found = findingsOf(text).find(({ code }) => code === 'FENCE_EXTRA_WORDS');
  expect(`${found?.line}:${found?.column}-${found?.end_column}`).toBe(`${place}-22`);
});

describe('bounded time', () => {
  const block = (yaml: string): string => `\`\`\`agent-execution\n${yaml}\n\`\`\`\n`;
  const MiB = 1 << 20;
  const hostile: Record<string, string> = {
    brackets: '['.repeat(100_000),
    quotes: '>'.repeat(100_000),
    'spaced quotes': '> '.repeat(100_000),
    backticks: '`'.repeat(100_000),
    'spaced backticks': '` `` '.repeat(20_000),
    tildes: '~'.repeat(100_000),
    stars: '*a '.repeat(100_000),
    dashes: '- '.repeat(100_000),
    ampersands: '&'.repeat(100_000),
    'angle brackets': '<'.repeat(MiB),
    comments: '<!-- '.repeat(200_000),
    references: `${'[a]: b\n'.repeat(1999)}`,
    titles: '[a]: b "\n'.repeat(1999),
    headings: 'a\n=\n'.repeat(999),
    lists: '- a\n'.repeat(1999),
    'nested lists': '- - - - -\n'.repeat(390),
    'deep lists on every line': `${'- '.repeat(50)}a\n`.repeat(1990),
    'lists by indentation': Array.from({ length: 500 }, (_, i) => `${' '.repeat(2 * i)}- a`).join('\n'),
    'lazy lines': `${'>'.repeat(20)}a\n${'b\n'.repeat(1990)}`,
    fences: '```x\n```\n'.repeat(999),
    'named fences': '```agent-execution\n```\n'.repeat(999),
    'references in info strings': '```&#97;&#98;\n```\n'.repeat(999),
    'a long info string': `\`\`\`${'&amp;'.repeat(200_000)}\n`,
    'a million lines': '\n'.repeat(MiB),
    tabs: '\t'.repeat(MiB),
    'one long line': 'a'.repeat(MiB),
    everything: '**a**_b_`c`<d>[e](f)![g](h)&amp;\\*'.repeat(30_000),
    'flow lists': block(`a: ${'['.repeat(300_000)}`),
    'flow mappings': block(`a: ${'{'.repeat(300_000)}`),
    'list marks': block('- '.repeat(300_000)),
    'key marks': block('? '.repeat(300_000)),
    colons: block(': '.repeat(300_000)),
    'colons in brackets': block(`a: [${': '.repeat(300_000)}`),
    'empty keys': block(Array.from({ length: 1400 }, (_, i) => `${' '.repeat(i)}:`).join('\n')),
    'marks and colons': block('- : '.repeat(100_000)),
    'deep mapping': block(Array.from({ length: 1400 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')),
    'many keys': block(Array.from({ length: 1990 }, (_, i) => `k${i}: 1`).join('\n')),
    'one key': block('k: 1\n'.repeat(1990)),
    'long list': block(`a: [${'x, '.repeat(300_000)}]`),
    'long string': block(`a: "${'\\u0041'.repeat(150_000)}"`),
    'unclosed quote': block(`a: "${'b\n'.repeat(1990)}`),
    'long key': block(`${'a'.repeat(900_000)}: 1`),
    'long token': block(`a: ${'sk-'.repeat(300_000)}`),
    'long address': block(`a: ${'a:'.repeat(400_000)}`),
    'long assignment': block(`a: ${'a_'.repeat(400_000)}`),
    anchors: block('&a '.repeat(300_000)),
    aliases: block(`a: [${'*a, '.repeat(200_000)}]`),
    spaces: block(`a:${' '.repeat(900_000)}b`),
    'spaces between': block(`a: ${'b '.repeat(400_000)}`),
    'spaces and colons': block(`a: ${'b : '.repeat(200_000)}`),
    'many candidates': block(`roles:\n  a: [${Array.from({ length: 50_000 }, (_, i) => `p${i}`).join(', ')}]`),
    'the same candidate': block(`roles:\n  a: [${'p, '.repeat(200_000)}]\nprofiles:\n  b:\n    adapter: c`),
  };

  /** The same characters in lines that are just short enough to be parsed. */
  const folded = (text: string): string =>
    text
      .replace(/[^\n]{8000}/g, '$&\n')
      .slice(0, 256 * 1024 - 5)
      .concat('\n```\n');

  test.each(Object.keys(hostile))('%s', (name) => {
    const text = hostile[name] as string;
    for (const input of [text.slice(0, MiB), folded(text)]) {
      const before = process.cpuUsage();
      expect(parse(new TextEncoder().encode(input)).ok).toBe(false);
      const { user, system } = process.cpuUsage(before);
      const took = (user + system) / 1000;
      if (process.env.SHOW_TIMES) process.stdout.write(`${name} ${Math.round(took)}\n`);
      // Processor time, because machines are busy: about a second at worst, and quadratic time takes minutes.
      expect(took).toBeLessThan(5000);
    }
  });
});
