/** Whatever the pieces: the same text, no secret, nothing that a terminal would obey. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/receipt/redact.ts';
import { shownStream } from '../../src/receipt/shown-stream.ts';

const SECRET = 'correct horse battery/staple';
const redactor = createRedactor({ secrets: [SECRET] });
const KEY = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n'.repeat(20)}-----END PRIVATE KEY-----\n`;
const BASE64 = Buffer.from(SECRET).toString('base64');

/** The bytes in pieces of these sizes, over and over. */
function* pieces(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

function shown(bytes: Buffer, sizes: readonly number[] = [64 * 1024]): string {
  const stream = shownStream(redactor);
  let text = '';
  for (const piece of pieces(bytes, sizes)) text += stream.push(piece);
  return text + stream.end();
}

describe('a stream in pieces', () => {
  const part = fc.constantFrom(
    ...['word ', 'ünïcödé ', '\n', '\r\n', '\x1b[31m', '\u202e', '\t', '😀', 'x'.repeat(3000)],
    ...[SECRET, `${BASE64} `, KEY, 'sk-ant-abcdefghij0123456789 '],
  );

  test('is shown as in one', () => {
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 60 }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }),
        (text, sizes) => {
          const bytes = Buffer.from(text.join(''));
          expect(shown(bytes, sizes)).toBe(shown(bytes, [2 ** 30]));
        },
      ),
    );
  });

  test('gives no secret away however it lies across windows, lines and rests', () => {
    for (const secret of [SECRET, KEY, BASE64, `sk-ant-${'a1b2'.repeat(20)}`]) {
      for (const before of [0, 5, 448 * 1024 - 20, 512 * 1024 - 20]) {
        const filler = `${'line of words\n'.repeat(before / 14)}x `;
        const text = shown(Buffer.from(`${filler}${secret} ${'y\n'.repeat(40_000)}`), [1000]);
        expect(text).toContain('[redacted]');
        for (const line of secret.split('\n')) if (line.length > 6) expect(text).not.toContain(line);
      }
    }
  });

  test('of a line without end is shown, and a secret without end is not', () => {
    const word = Buffer.from('word '.repeat(400_000));
    expect(shown(word)).toBe(word.toString());
    const endless = shown(Buffer.from(`sk-ant-${'a1b2c3d4'.repeat(300_000)} after\n`));
    expect(endless).toMatch(/^(\[redacted\])+ after\n$/);
  });

  test('is cut between lines, so that neither a line end nor a word falls apart', () => {
    const ends = shown(Buffer.from(`x${'\r\n'.repeat(1_000_000)}`));
    expect(ends).toBe(`x${'\n'.repeat(1_000_000)}`);
  });

  test('does nothing to a terminal', () => {
    const text = shown(
      Buffer.from([0x1b, 0x5b, 0x32, 0x4a, 0x0d, 0x0a, 0x0d, 0x07, 0xff, 0xc2, 0x9b, 0xef, 0xbb, 0xbf]),
    );
    expect(text).toBe('\\x1b[2J\n\\x0d\\x07\ufffd\\x9b\\ufeff');
  });
});

describe('a stream that rests', () => {
  test('gives whole lines at once and keeps what may be the beginning of a secret', () => {
    const stream = shownStream(redactor);
    expect(stream.push(Buffer.from('one\ntwo\nthr'))).toBe('');
    expect(stream.rest()).toBe('one\ntwo\n');
    expect(stream.rest()).toBe('');
    stream.push(Buffer.from('ee\n'));
    expect(stream.rest()).toBe('three\n');
    const [begin, ...rest] = KEY.split(/(?<=\n)/);
    let text = '';
    for (const line of [`before\n${begin}`, ...rest]) {
      stream.push(Buffer.from(line));
      text += stream.rest();
    }
    stream.push(Buffer.from('after\n'));
    expect(text + stream.rest() + stream.end()).not.toContain('MIIE');
    expect(text).toContain('before\n');
  });
});

describe('a stream with context', () => {
  test('does not show the context, nor the rest of a secret that began in it', () => {
    const lines = KEY.split(/(?<=\n)/);
    const stream = shownStream(redactor, Buffer.from(`before\n${lines.slice(0, 15).join('')}`));
    const text = stream.push(Buffer.from(`${lines.slice(15).join('')}after\n`)) + stream.end();
    expect(text).toBe('[redacted]\nafter\n');
    const plain = shownStream(redactor, Buffer.from('context\n'));
    expect(plain.push(Buffer.from(`${SECRET} shown\n`)) + plain.end()).toBe('[redacted] shown\n');
  });
});
