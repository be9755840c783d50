import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { neutralise, printableJson, wellFormed } from '../../src/receipt/neutralise.ts';

// Written out by code point, so that this list does not share its source with the code.
const HOSTILE = [
  ...Array.from({ length: 0x20 }, (_, i) => i).filter((c) => c !== 9 && c !== 10),
  ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i),
  0xad,
  0x61c,
  0x180e,
  0x200b,
  0x200c,
  0x200d,
  0x200e,
  0x200f,
  0x2028,
  0x2029,
  0x202a,
  0x202b,
  0x202c,
  0x202d,
  0x202e,
  0x2060,
  0x2061,
  0x2062,
  0x2063,
  0x2064,
  0x2066,
  0x2067,
  0x2068,
  0x2069,
  0x206a,
  0x206f,
  0xfeff,
  0xfff9,
  0xfffb,
  0x115f,
  0x3164,
  0xffa0,
  0xe0001,
  0xe0041,
  0xe007f,
  0xe0100,
  0xd800,
  0xdbff,
  0xdc00,
  0xdfff,
].map((code) => String.fromCodePoint(code));
const anyText = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...HOSTILE))).map((p) => p.join(''));
const rawHostile = (text: string): string[] => {
  const units = new Set(HOSTILE);
  return [...text].filter((char) => units.has(char));
};

describe('neutralise', () => {
  test.each([
    ['\x1b[2J\x1b]0;title\x07', '\\x1b[2J\\x1b]0;title\\x07'],
    ['a\rb\bc', 'a\\x0db\\x08c'],
    ['one\ntwo\tthree', 'one\ntwo\tthree'],
    ['user\u202etxt.exe', 'user\\u202etxt.exe'],
    ['a\u200bb\ufeff', 'a\\u200bb\\ufeff'],
    ['\u009b31m', '\\x9b31m'],
    ['a\u2028b', 'a\\u2028b'],
    ['x\ud800y', 'x\\ud800y'],
    ['\u{e0041}', '\\u{e0041}'],
    ['naïve 日本語 ❤️ 😀', 'naïve 日本語 ❤️ 😀'],
  ])('%j', (given, wanted) => {
    expect(neutralise(given)).toBe(wanted);
  });

  test('no hostile character is left of any text, and a second pass changes nothing', () => {
    for (const char of HOSTILE) expect(neutralise(`a${char}b`)).toMatch(/^a\\[xu{}0-9a-f]+b$/);
    fc.assert(
      fc.property(anyText, (text) => {
        expect(rawHostile(neutralise(text))).toEqual([]);
        expect(neutralise(neutralise(text))).toBe(neutralise(text));
      }),
    );
  });
});

test('wellFormed touches lone surrogates only', () => {
  expect(wellFormed('a\ud83d\ude00\ud83d\x1b\u202e')).toBe('a😀\\ud83d\x1b\u202e');
});

describe('printableJson', () => {
  test('any value: no hostile character is raw, and it parses to what JSON.stringify parses to', () => {
    const anyJson = fc.oneof(fc.jsonValue(), fc.dictionary(anyText, anyText), fc.array(anyText), anyText);
    fc.assert(
      fc.property(anyJson, fc.constantFrom(undefined, 0, 2), (value, indent) => {
        const text = printableJson(value, indent);
        expect(rawHostile(text)).toEqual([]);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('one line unless indented; astral characters as a pair of escapes', () => {
    expect(printableJson({ a: '\u{e0041}\x7f', b: [1] })).toBe('{"a":"\\udb40\\udc41\\u007f","b":[1]}');
    expect(printableJson({ a: 1 }, 2)).toBe('{\n  "a": 1\n}');
    expect(() => printableJson(undefined)).toThrow();
  });
});
