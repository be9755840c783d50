/** Reads workers that print plain text: the last message is the end of stdout, a refusal is an anchored sentinel. */
import type { EventReader, ReaderFacts } from '../model/adapter.ts';
import { NO_USAGE, type Refusal } from '../model/observation.ts';
import { FINAL_TEXT_BYTES, tail } from './bounded-text.ts';
import { activity } from './event-reader.ts';
import { type Sentinel, sentinelRefusal } from './sentinel.ts';

export function textReader(sentinels: readonly Sentinel[], facts: ReaderFacts = {}): EventReader {
  const words = tail(FINAL_TEXT_BYTES);
  let refusal: Refusal | null = null;
  return {
    read(stream, line) {
      refusal ??= sentinelRefusal(sentinels, stream, line, facts.now);
      if (stream === 'stdout') words.add(`${line}\n`);
      return activity(line);
    },
    refusalTold: () => refusal,
    report: () => ({
      status: null,
      error: null,
      model: null,
      sessionId: null,
      usage: NO_USAGE,
      finalText: words.text().trimEnd(),
      refusal,
      resultMissing: false,
    }),
  };
}
