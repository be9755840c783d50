/**
 * Cuts a stream of bytes into blocks of whole lines, which stay bytes. Memory stays bounded whatever comes: of a line
 * longer than {@link MAX_LINE} characters at least that first part is given at once and the rest is dropped.
 */
import { MAX_LINE } from '../model/adapter.ts';

const NEWLINE = 0x0a;
/** A UTF-16 unit comes from at most three bytes, so this many bytes always hold MAX_LINE characters. */
const MAX_LINE_BYTES = 3 * MAX_LINE;
const LEAST_ROOM = 128 * 1024;
/** A line that is longer ends the waiting for its end; the last chunk comes on top. */
const MOST_ROOM = MAX_LINE_BYTES + LEAST_ROOM;

export interface LineBlocks {
  /**
   * Blocks of the lines that this chunk completes: joined by newlines, without the last newline. They are good until the
   * next call.
   */
  push(chunk: Buffer): readonly Buffer[];
  /** The last line, where the stream ended without a newline. */
  end(): readonly Buffer[];
  /** True while a line has begun and not ended. */
  partial(): boolean;
}

const NONE: readonly Buffer[] = [];

export function lineBlocks(): LineBlocks {
  // Growing buffers for what is unfinished, used again and again: a worker that writes byte by byte must not cost an
  // object a byte, nor one that floods a buffer a chunk. Two, for the finished line is still to be read when the next begins.
  let pending = Buffer.alloc(0);
  let other = pending;
  let used = 0;
  let skipping = false;

  function keep(bytes: Buffer): void {
    if (used + bytes.length > pending.length) {
      // In one step, for what is left behind stays in memory for long; pages nobody writes to cost nothing.
      const grown = Buffer.allocUnsafeSlow(used + bytes.length <= LEAST_ROOM ? LEAST_ROOM : MOST_ROOM + bytes.length);
      pending.copy(grown, 0, 0, used);
      pending = grown;
    }
    bytes.copy(pending, used);
    used += bytes.length;
  }

  /** What was unfinished, with these bytes behind it. */
  function finished(bytes: Buffer): Buffer {
    keep(bytes);
    const whole = pending.subarray(0, used);
    [pending, other] = [other, pending];
    used = 0;
    return whole;
  }

  return {
    push(chunk) {
      let rest = chunk;
      if (skipping) {
        const newline = rest.indexOf(NEWLINE);
        if (newline < 0) return NONE;
        skipping = false;
        rest = rest.subarray(newline + 1);
      }
      const blocks: Buffer[] = [];
      const first = used > 0 ? rest.indexOf(NEWLINE) : -1;
      if (first >= 0) {
        blocks.push(finished(rest.subarray(0, first)));
        rest = rest.subarray(first + 1);
      }
      const last = rest.lastIndexOf(NEWLINE);
      if (last >= 0) {
        blocks.push(rest.subarray(0, last));
        rest = rest.subarray(last + 1);
      }
      if (rest.length === 0) return blocks;
      keep(rest);
      if (used < MAX_LINE_BYTES) return blocks;
      skipping = true;
      return [...blocks, finished(Buffer.alloc(0))];
    },
    end() {
      skipping = false;
      return used > 0 ? [finished(Buffer.alloc(0))] : NONE;
    },
    partial: () => used > 0 || skipping,
  };
}
