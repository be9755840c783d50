/**
 * Reads a worker's two streams to their end: into the logs, and line by line to whoever understands them. Nobody waits
 * for a pipe: somebody who is not the worker may hold it open for ever.
 */

import type { Readable } from 'node:stream';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import type { Observation, Stream } from '../model/adapter.ts';
import type { LogCapture } from './capture.ts';
import type { Reading } from './deadlines.ts';
import { lineBlocks } from './lines.ts';

/** What the lines of a block mean, in their order; lines that mean nothing may stand as one. */
export type BlockReader = (stream: Stream, block: Buffer) => readonly (readonly Observation[])[];

export interface OutputReading {
  /** Reads what is in the pipe already, for at most `limitMs`, then lets go of it. */
  drain(limitMs: number): Promise<void>;
}

/** A line nobody reads is work all the same. */
const UNREAD: Omit<Reading, 'stream'> = { lines: [[]], partial: false };

/**
 * Follows one stream. `onReading` is told of every chunk; `onFault` of a reader that threw, which a total reader never
 * does: after it lines are no longer given.
 */
export function readOutput(
  source: Readable,
  stream: Stream,
  log: LogCapture,
  reader: BlockReader | null,
  onReading: (reading: Reading) => void,
  onFault: (thrown: unknown) => void,
): OutputReading {
  const blocks = lineBlocks();
  let reads = reader;

  function give(given: readonly Buffer[]): readonly (readonly Observation[])[] {
    const reader = reads;
    if (reader === null) return [];
    try {
      return given.flatMap((block) => reader(stream, block));
    } catch (thrown) {
      reads = null;
      onFault(thrown);
      return [];
    }
  }

  source.on('data', (chunk: Buffer) => {
    log.write(chunk);
    if (reads === null) return onReading({ stream, ...UNREAD });
    const lines = give(blocks.push(chunk));
    onReading({ stream, lines, partial: blocks.partial() });
  });
  const drained = follow(source);
  return {
    async drain(limitMs) {
      await drained(limitMs);
      give(blocks.end());
    },
  };
}

/**
 * Prepares for letting go of a stream: the function given back reads what is in the pipe already, for at most `limitMs`,
 * and closes it.
 */
export function follow(source: Readable): (limitMs: number) => Promise<void> {
  // A connection that breaks (ECONNRESET) is an end like any other.
  source.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    source.once('close', resolve);
  });
  return async (limitMs) => {
    const over = new AbortController();
    await Promise.race([closed, delay(limitMs, undefined, { signal: over.signal }).catch(() => {})]);
    over.abort();
    // A busy loop may reach the timer first: what was in the pipe is read before letting go.
    await turn();
    await turn();
    source.destroy();
  };
}
