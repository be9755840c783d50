import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, digestOf } from '../../src/receipt/canonical.ts';

test('RFC 8785: keys sorted by UTF-16 units, numbers as ECMAScript writes them, no white space', () => {
  // The key order example of RFC 8785, section 3.2.3.
  const given = {
    '\u20ac': 'Euro',
    '\r': 'CR',
    '\ufb33': 'Dalet',
    1: 'One',
    '\u{1f600}': 'Smile',
    '\u0080': 'C',
    ö: 'o',
  };
  expect(canonicalJson(given)).toBe(
    '{"\\r":"CR","1":"One","\u0080":"C","ö":"o","€":"Euro","\u{1f600}":"Smile","\ufb33":"Dalet"}',
  );
  expect(canonicalJson([1e21, 1e-7, 0.1 + 0.2, -0, 333333333.3333333, true, null])).toBe(
    '[1e+21,1e-7,0.30000000000000004,0,333333333.3333333,true,null]',
  );
});

test('the order of members never matters, any change of value does', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const reversed = Object.fromEntries(Object.entries(value).reverse());
      expect(canonicalJson(reversed)).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      expect(digestOf({ ...value, more: 1 })).not.toBe(digestOf({ ...value, more: 2 }));
    }),
  );
});

test('lone surrogates are written as visible escapes', () => {
  expect(canonicalJson({ 'k\udc80': 'a\ud800b' })).toBe('{"k\\\\udc80":"a\\\\ud800b"}');
});

test('digests: bytes as they are, anything else by its canonical JSON', () => {
  const sha = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
  expect(digestOf(Buffer.from('abc'))).toBe(sha('abc'));
  expect(digestOf(new Uint8Array([97, 98, 99]))).toBe(sha('abc'));
  expect(digestOf('abc')).toBe(sha('"abc"'));
  expect(digestOf({ b: 1, a: 2 })).toBe(sha('{"a":2,"b":1}'));
});

test('what is no JSON value is a bug and throws', () => {
  expect(() => canonicalJson(undefined)).toThrow();
  expect(() => canonicalJson({ a: Number.NaN })).toThrow();
  expect(() => canonicalJson(JSON.parse('['.repeat(5000) + ']'.repeat(5000)))).toThrow('nested too deeply');
});
