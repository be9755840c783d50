/** Carets under the right characters, nothing that a terminal acts on, and GitHub's escaping. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diagnosticsGithub, diagnosticsText } from '../../src/cli/diagnostics.ts';
import { excerpt, showable } from '../../src/cli/excerpt.ts';
import type { Diagnostic } from '../../src/model/diagnostic.ts';

const finding = (parts: Partial<Diagnostic>): Diagnostic => ({
  code: 'X',
  severity: 'error',
  message: 'm',
  file: 'f.md',
  line: 1,
  column: 1,
  end_line: 1,
  end_column: 2,
  source_line: null,
  hint: null,
  ...parts,
});

describe('excerpt', () => {
  test.each([
    ['plain', 'abc', 2, 3, 'abc', ' ^'],
    ['several', 'abcd', 2, 4, 'abcd', ' ^^'],
    ['behind the end', 'ab', 3, 4, 'ab', '  ^'],
    ['empty line', '', 1, 1, '', '^'],
    ['tab before', '\tab', 2, 3, '    ab', '    ^'],
    ['tab in the middle', 'a\tb', 3, 4, 'a   b', '    ^'],
    ['wide characters', '漢字x', 3, 4, '漢字x', '    ^'],
    ['a pair of surrogates', '😀x', 3, 4, '😀x', '  ^'],
    ['combining mark', 'e\u0301x', 3, 4, 'e\u0301x', ' ^'],
    ['escape', '\u001b[31mx', 6, 7, '\\u{1b}[31mx', '          ^'],
    ['direction', 'a\u202eb', 3, 4, 'a\\u{202e}b', '         ^'],
    ['zero width', 'a\u200bb', 2, 3, 'a\\u{200b}b', ' ^^^^^^^^'],
  ])('%s', (_what, line, column, end, text, carets) => {
    expect(excerpt(line, column, end)).toEqual({ text, carets });
  });

  test('a long line is cut around the place', () => {
    const { text, carets } = excerpt(`${'a'.repeat(500)}HERE${'b'.repeat(500)}`, 501, 505);
    expect(text.length).toBeLessThan(130);
    expect(text.slice(carets.indexOf('^'), carets.length)).toBe('HERE');
    expect(text).toMatch(/^…a+HEREb+…$/);
  });

  test('law: one line, bounded, nothing a terminal acts on, always a caret', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.nat(320), fc.nat(320), (line, column, length) => {
        const { text, carets } = excerpt(line, column + 1, column + 1 + length);
        expect(text).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
        expect(carets).toMatch(/^ *\^+$/);
        expect(carets.length).toBeLessThan(260);
        expect(showable(line)).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
      }),
    );
  });
});

test('control characters of file names and messages are written out', () => {
  const text = diagnosticsText([finding({ file: 'a\u001b]0;x\u0007.md', message: 'a\nb', hint: '\u202e' })], {
    enabled: false,
  });
  expect(text).toBe('a\\u{1b}]0;x\\u{7}.md:1:1 error X a\\u{a}b\n  hint: \\u{202e}\n');
});

test('a finding about the whole file has no place', () => {
  const whole = finding({ line: 0, column: 0, end_line: 0, end_column: 0 });
  expect(diagnosticsText([whole], { enabled: false })).toBe('f.md error X m\n');
  expect(diagnosticsGithub([whole], (file) => file)).toBe('::error file=f.md,title=X::m\n');
});

test('GitHub annotations are escaped', () => {
  const hostile = finding({ severity: 'warning', message: '50%\r\n::error::x', file: 'a:b,c%.md', hint: 'h' });
  expect(diagnosticsGithub([hostile], (file) => file)).toBe(
    '::warning file=a%3Ab%2Cc%25.md,line=1,endLine=1,col=1,endColumn=2,title=X::50%25\\u{d}\\u{a}::error::x%0Ah\n',
  );
});
