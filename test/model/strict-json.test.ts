/** Strict JSON is what `JSON.parse` reads, and no object in it names a member twice. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readStrictJson, utf8Text } from '../../src/model/strict-json.ts';

test('any JSON value that was written by JSON.stringify is read as itself', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(readStrictJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
    }),
  );
});

test('text that is no JSON is not, whatever it is', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      expect(readStrictJson(text).ok).toBe(isJson);
    }),
  );
});

test.each([
  '{"a":1,"a":1}',
  '{"a":1,"b":{"c":1},"a":2}',
  '{"x":[{"a":1},{"b":1,"b":2}]}',
  '{"a":1,"\\u0061":2}',
  '{"":1,"":2}',
  '{"__proto__":1,"__proto__":2}',
  '{"a":"{\\"a\\":1}","b":[1,"a",{"a":"a"}],"a":0}',
])('%s names a member twice', (text) => {
  expect(readStrictJson(text)).toMatchObject({ ok: false, error: { kind: 'duplicate-member' } });
});

test.each([
  '{"a":{"a":{"a":1}},"b":{"a":1}}',
  '[{"a":1},{"a":2}]',
  '{"a":"a","b":"a"}',
  '{"a":["a","a"],"b":"\\\\\\"a\\":"}',
  '{"a":"x\\"","b":",\\"a\\":1"}',
])('%s does not', (text) => {
  expect(readStrictJson(text).ok).toBe(true);
});

test('bytes that are not UTF-8 are no text; a byte order mark is none of it', () => {
  expect(utf8Text(Buffer.from([0x22, 0xff, 0x22])).ok).toBe(false);
  expect(utf8Text(Buffer.from('\ufeff{}'))).toEqual({ ok: true, value: '{}' });
});
