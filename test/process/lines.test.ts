import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linesOf } from '../../src/adapters/lines.ts';
import { MAX_LINE } from '../../src/model/adapter.ts';
import { lineBlocks } from '../../src/process/lines.ts';

function split(...chunks: (string | Uint8Array)[]): string[] {
  const blocks = lineBlocks();
  // Each is read before the next comes, as the blocks are good no longer.
  const given = [
    ...chunks.map((chunk) => blocks.push(Buffer.from(chunk as string)).flatMap(linesOf)),
    blocks.end().flatMap(linesOf),
  ];
  return given.flat();
}

describe('lines of a stream', () => {
  test.each<[string, (string | Uint8Array)[], string[]]>([
    ['nothing', [], []],
    ['an empty line', ['\n'], ['']],
    ['two lines', ['a\nb\n'], ['a', 'b']],
    ['no newline at the end', ['a\nb'], ['a', 'b']],
    ['carriage returns', ['a\r\n\r\nb\r'], ['a', '', 'b']],
    ['a carriage return in the middle', ['a\rb\n'], ['a\rb']],
    ['a newline of its own chunk', ['a', '\n', 'b'], ['a', 'b']],
    ['a character in two chunks', [Buffer.from([0x61, 0xe2, 0x82]), Buffer.from([0xac, 0x0a])], ['a€']],
    ['a broken character before a newline', [Buffer.from([0xe2, 0x82, 0x0a, 0x62, 0x0a])], ['\ufffd', 'b']],
    ['bytes that are no text', [Buffer.from([0xff, 0x0a])], ['\ufffd']],
  ])('%s', (_, chunks, lines) => {
    expect(split(...chunks)).toEqual(lines);
  });

  test('cutting the bytes anywhere changes nothing', () => {
    const bytes = fc.uint8Array({ maxLength: 60 }).map((raw) => raw.map((byte) => (byte % 5 === 0 ? 0x0a : byte)));
    fc.assert(
      fc.property(
        fc.oneof(
          bytes,
          fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
        ),
        fc.array(fc.nat(60)),
        (raw, cuts) => {
          const places = [0, ...cuts.map((cut) => Math.min(cut, raw.length)).sort((a, b) => a - b), raw.length];
          const chunks = places.slice(1).map((end, i) => raw.slice(places[i], end));
          expect(split(...chunks)).toEqual(split(raw));
        },
      ),
    );
  });

  test('a long line is cut, its rest dropped, the following line whole', () => {
    const lines = split('x'.repeat(3 * MAX_LINE), 'x'.repeat(MAX_LINE), 'end\nnext\n');
    expect(lines.map((line) => line.length)).toEqual([MAX_LINE, 4]);
    expect(lines[1]).toBe('next');
  });
  test('a long line within one chunk is cut too', () => {
    expect(split(`${'x'.repeat(MAX_LINE + 1)}\nb\n`).map((line) => line.length)).toEqual([MAX_LINE, 1]);
  });
  test('three-byte characters fill the line before the bytes are cut', () => {
    expect(split('€'.repeat(MAX_LINE + 5))[0]).toHaveLength(MAX_LINE);
  });
  test('the cut never leaves half a character', () => {
    const line = split(`x${'😀'.repeat(MAX_LINE)}\n`)[0] ?? '';
    expect(Buffer.from(line).toString()).toBe(line);
    expect(line).toHaveLength(MAX_LINE - 1);
  });
  test('knows whether a line has begun', () => {
    const blocks = lineBlocks();
    expect(blocks.partial()).toBe(false);
    blocks.push(Buffer.from('a\nb'));
    expect(blocks.partial()).toBe(true);
    blocks.push(Buffer.from('\n'));
    expect(blocks.partial()).toBe(false);
  });
});
