/**
 * Cuts a stream of bytes into lines. Memory stays bounded whatever comes: of a line longer than {@link MAX_LINE}
 * characters the first part is given at once and the rest is dropped. Decoding happens on whole lines, so a character
 * split between two chunks comes out right.
 */
import { MAX_LINE } from '../model/adapter.ts';

const NEWLINE = 0x0a;
/** A UTF-16 unit comes from at most three bytes, so this many bytes always hold MAX_LINE characters. */
const MAX_LINE_BYTES = 3 * MAX_LINE;

export interface LineSplitter {
  /** The lines that this chunk completes, without `\n` or `\r\n`. */
  push(chunk: Buffer): string[];
  /** The last line, where the stream ended without a newline. */
  end(): string[];
  /** True while a line has begun and not ended. */
  partial(): boolean;
}

function tidy(line: string): string {
  let end = line.length;
  if (end > 0 && line.charCodeAt(end - 1) === 0x0d) end--;
  if (end > MAX_LINE) {
    const last = line.charCodeAt(MAX_LINE - 1);
    // Never leave half of a surrogate pair at the cut.
    end = last >= 0xd800 && last <= 0xdbff ? MAX_LINE - 1 : MAX_LINE;
  }
  return end === line.length ? line : line.slice(0, end);
}

export function lineSplitter(): LineSplitter {
  // One growing buffer instead of a list of chunks: a worker that writes byte by byte must not cost an object a byte.
  let pending = Buffer.alloc(0);
  let used = 0;
  let skipping = false;

  function keep(bytes: Buffer): void {
    if (used + bytes.length > pending.length) {
      const grown = Buffer.allocUnsafe(Math.max(4096, 2 * (used + bytes.length)));
      pending.copy(grown, 0, 0, used);
      pending = grown;
    }
    bytes.copy(pending, used);
    used += bytes.length;
  }

  function take(): Buffer {
    const taken = pending.subarray(0, used);
    pending = Buffer.alloc(0);
    used = 0;
    return taken;
  }

  return {
    push(chunk) {
      let rest = chunk;
      if (skipping) {
        const newline = rest.indexOf(NEWLINE);
        if (newline < 0) return [];
        skipping = false;
        rest = rest.subarray(newline + 1);
      }
      const lines: string[] = [];
      const last = rest.lastIndexOf(NEWLINE);
      if (last >= 0) {
        let complete = rest.subarray(0, last);
        if (used > 0) {
          keep(complete);
          complete = take();
        }
        // One decoding for all lines of the chunk: a newline byte is never part of another character.
        for (const line of complete.toString('utf8').split('\n')) lines.push(tidy(line));
        rest = rest.subarray(last + 1);
      }
      if (rest.length > 0) keep(rest);
      if (used >= MAX_LINE_BYTES) {
        lines.push(tidy(take().toString('utf8')));
        skipping = true;
      }
      return lines;
    },
    end() {
      const lines = used > 0 ? [tidy(take().toString('utf8'))] : [];
      skipping = false;
      return lines;
    },
    partial: () => used > 0 || skipping,
  };
}
