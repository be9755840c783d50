/** No text, whatever it holds, leaves its code span, its cell or its row. */
import fc from 'fast-check';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { expect, test } from 'vitest';
import { codeSpan, NOTHING, table } from '../../src/cli/markdown.ts';

/** The cells of a row as GitHub's tables split it: a backslash takes the punctuation behind it along. */
function cellsOf(row: string): string[] {
  const cells: string[] = [];
  let cell = '';
  for (let at = 0; at < row.length; at++) {
    if (row[at] === '\\' && /[!-/:-@[-`{-~]/.test(row[at + 1] ?? '')) cell += row.slice(at, ++at + 1);
    else if (row[at] === '|') {
      cells.push(cell);
      cell = '';
    } else cell += row[at];
  }
  return cells.slice(1).map((text) => text.trim().replaceAll('\\|', '|'));
}

/** What a cell's Markdown is made of. */
const kindsIn = (cell: string): string[] => {
  const [paragraph] = fromMarkdown(cell).children;
  return paragraph?.type === 'paragraph' ? paragraph.children.map(({ type }) => type) : [paragraph?.type ?? 'nothing'];
};

const NASTY = fc.stringMatching(/^[`|\\<>[\]()!@#*_~:/ \n\ta.&;$-]{0,40}$/);

test.each([NASTY, fc.string({ unit: 'binary' })])('any text stays in one code span of one cell', (texts) => {
  fc.assert(
    fc.property(texts, (text) => {
      const [, , row = ''] = table(['a', 'b'], [[codeSpan(text), 'end']]);
      expect(row).not.toMatch(/[\n\r]/);
      const cells = cellsOf(row);
      expect(cells).toHaveLength(2);
      expect(cells[1]).toBe('end');
      expect(kindsIn(cells[0] ?? '')).toEqual([cells[0] === NOTHING ? 'text' : 'inlineCode']);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['plain', '`plain`'],
  ['a|b', '`a\\|b`'],
  ['a\\|b', '`a\\\\x7cb`'],
  ['`', '`` ` ``'],
  ['a``b`c', '```a``b`c```'],
  ['two\nlines', '`two\\nlines`'],
  ['\u001b[31m\u202e', '`\\x1b[31m\\u202e`'],
  ['   ', NOTHING],
  ['', NOTHING],
])('%j is %j', (text, expected) => {
  expect(codeSpan(text)).toBe(expected);
});

test('is bounded', () => {
  expect(codeSpan('x'.repeat(10_000)).length).toBeLessThan(300);
});
