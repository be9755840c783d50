import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { elementsOf, membersOf, rootStart, syntaxProblemOf } from '../../src/model/json-text.ts';
import { isJson } from '../unit/sample.ts';

/** JSON texts with one piece cut out, doubled or replaced: near misses, where a scanner goes wrong. */
const nearJson = fc
  .tuple(
    fc.json(),
    fc.nat(),
    fc.nat(6),
    fc.constantFrom(
      '',
      ',',
      '"',
      '\\',
      '}',
      ']',
      '{',
      '[',
      ':',
      '0',
      '-',
      '.',
      'e',
      '\n',
      '\u0001',
      'null',
      '\\u00',
      ' ',
    ),
  )
  .map(([text, at, length, piece]) => {
    const start = at % (text.length + 1);
    return text.slice(0, start) + piece + text.slice(start + length);
  });

describe('syntax', () => {
  test('agrees with JSON.parse on any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json(), nearJson), (text) => {
        expect(syntaxProblemOf(text) === null).toBe(isJson(text));
      }),
      { numRuns: 5000 },
    );
  });

  test('every cut of a text is a problem inside the text or at its end', () => {
    const text = '{"a": [1, -0.5e3, "\\u00e9\\n", true, null, {"b": {}}], "c": []}';
    for (let end = 0; end < text.length; end++) {
      const problem = syntaxProblemOf(text.slice(0, end));
      expect(problem, text.slice(0, end)).not.toBeNull();
      expect(problem?.at).toBeLessThanOrEqual(end);
    }
    expect(syntaxProblemOf(text)).toBeNull();
  });

  test.each([
    ['{"a": 1,}', 8, /no comma after the last member/],
    ['[1, 2,]', 6, /no comma after the last/],
    ["{'a': 1}", 1, /double quotes/],
    ['{a: 1}', 1, /double quotes/],
    ['{"a": \'x\'}', 6, /double quotes/],
    ['// hello\n{}', 0, /no comments/],
    ['{"a": 1 // one\n}', 8, /comma or }/],
    ['{"a" 1}', 5, /colon/],
    ['{"a": True}', 6, /bare word/],
    ['{"a": NaN}', 6, /bare word/],
    ['{"a": 01}', 7, /comma or }/],
    ['{"a": "x\ny"}', 8, /raw line break/],
    ['{"a": "\\x"}', 7, /escape/],
    ['{"a": "x', 6, /never closed/],
    ['{"a": [1, 2', 11, /ends before a \]/],
    ['{} {}', 3, /more text/],
    ['{"a":', 5, /ends where a value/],
  ])('%s', (text, at, message) => {
    expect(syntaxProblemOf(text)).toEqual({ at, message: expect.stringMatching(message) });
    expect(isJson(text)).toBe(false);
  });

  test('a pile of brackets is refused at once', () => {
    expect(syntaxProblemOf('['.repeat(5_000_000))?.message).toMatch(/deeper/);
    expect(syntaxProblemOf('{"a":'.repeat(2_000_000))?.message).toMatch(/deeper/);
  });
});

describe('spans', () => {
  test('the members of any object, written with any whitespace, are its members', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()),
        fc.constantFrom(0, 2, '\t'),
        (object, indent) => {
          const text = JSON.stringify(object, null, indent);
          const read = [...membersOf(text, rootStart(text))];
          expect(read.map(({ key }) => key)).toEqual(Object.keys(JSON.parse(text)));
          for (const { key, keySpan, valueSpan } of read) {
            expect(JSON.parse(text.slice(keySpan.start, keySpan.end))).toBe(key);
            expect(JSON.parse(text.slice(valueSpan.start, valueSpan.end))).toEqual(JSON.parse(text)[key]);
          }
        },
      ),
    );
  });

  test('the elements of any list are its elements', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(0, 2, '\t'), (list, indent) => {
        const text = JSON.stringify(list, null, indent);
        const read = [...elementsOf(text, rootStart(text))].map(({ start, end }) => JSON.parse(text.slice(start, end)));
        expect(read).toEqual(JSON.parse(text));
      }),
    );
  });

  test('a key written twice is seen twice, however it is escaped', () => {
    const text = '{"goal": 1, "\\u0067oal": 2}';
    expect([...membersOf(text, rootStart(text))].map(({ key }) => key)).toEqual(['goal', 'goal']);
  });
});
