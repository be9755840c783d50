/** Reads workers that print plain text: the last message is the end of stdout, a refusal is an anchored sentinel. */
import type { EventReader, Observation, ReaderFacts, Stream } from '../model/adapter.ts';
import { NO_USAGE, type Refusal } from '../model/observation.ts';
import { FINAL_TEXT_BYTES, tail } from './bounded-text.ts';
import { activity } from './event-reader.ts';
import { tidyBlock } from './lines.ts';
import { type Sentinel, sentinelReader } from './sentinel.ts';

export function textReader(sentinels: readonly Sentinel[], facts: ReaderFacts = {}): EventReader {
  const words = tail(FINAL_TEXT_BYTES);
  const told = sentinelReader(sentinels);
  let refusal: Refusal | null = null;
  /** `text`: tidy lines, joined by newlines. */
  const read = (stream: Stream, text: string): readonly Observation[] => {
    if (refusal === null && told.isIn(text)) {
      for (const line of text.split('\n')) refusal ??= told.by(stream, line, facts.now);
    }
    if (stream === 'stdout') words.add(`${text}\n`);
    const spoken = text.trimEnd();
    return activity(spoken.slice(spoken.lastIndexOf('\n') + 1));
  };
  return {
    read,
    readBlock: (stream, block) => [read(stream, tidyBlock(block))],
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
