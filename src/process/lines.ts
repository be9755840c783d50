/**
 * Cuts a stream of bytes into blocks of whole lines. Memory stays bounded whatever comes: of a line longer than
 * {@link MAX_LINE} characters at least that first part is given at once and the rest is dropped. Decoding happens on whole
 * lines, so a character split between two chunks comes out right.
 */
import { MAX_LINE } from '../model/adapter.ts';

const NEWLINE = 0x0a;
/** A UTF-16 unit comes from at most three bytes, so this many bytes always hold MAX_LINE characters. */
const MAX_LINE_BYTES = 3 * MAX_LINE;

export interface LineBlocks {
  /** The lines that this chunk completes, joined by newlines, without the last newline; null where it completes none. */
  push(chunk: Buffer): string | null;
  /** The last line, where the stream ended without a newline. */
  end(): string | null;
  /** True while a line has begun and not ended. */
  partial(): boolean;
}

export function lineBlocks(): LineBlocks {
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
        if (newline < 0) return null;
        skipping = false;
        rest = rest.subarray(newline + 1);
      }
      let block: string | null = null;
      const last = rest.lastIndexOf(NEWLINE);
      if (last >= 0) {
        let complete = rest.subarray(0, last);
        if (used > 0) {
          keep(complete);
          complete = take();
        }
        // One decoding for all lines of the chunk: a newline byte is never part of another character.
        block = complete.toString('utf8');
        rest = rest.subarray(last + 1);
      }
      if (rest.length > 0) keep(rest);
      if (used >= MAX_LINE_BYTES) {
        const long = take().toString('utf8');
        block = block === null ? long : `${block}\n${long}`;
        skipping = true;
      }
      return block;
    },
    end() {
      const block = used > 0 ? take().toString('utf8') : null;
      skipping = false;
      return block;
    },
    partial: () => used > 0 || skipping,
  };
}
