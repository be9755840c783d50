/**
 * Reads workers that print plain text: the last message is the end of stdout, a refusal is an anchored sentinel. All but
 * the last line of a block stays bytes: a worker may print noise of which every byte would be decoded for nothing.
 */
import {
  type EventReader,
  FINAL_TEXT_BYTES,
  MAX_LINE,
  type Observation,
  type ReaderFacts,
  type Stream,
} from '../model/adapter.ts';
import { NO_USAGE, type Refusal } from '../model/observation.ts';
import { tail } from './bounded-text.ts';
import { activity } from './event-reader.ts';
import { linesOf } from './lines.ts';
import { type Sentinel, sentinelReader } from './sentinel.ts';

const NEWLINE = 0x0a;
/** More than a line shows of itself. */
const SHOWN_BYTES = 4096;
/** Of ASCII only: another blank may be a byte of some letter. */
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || (byte !== undefined && byte >= 9 && byte <= 13);

/** What the last line shows that says anything. */
function lastSaid(block: Buffer): readonly Observation[] {
  for (let end = block.length; end > 0; ) {
    while (isBlank(block[end - 1])) end--;
    if (end === 0) break;
    const start = block.lastIndexOf(NEWLINE, end - 1) + 1;
    const seen = activity(block.toString('utf8', start, Math.min(end, start + SHOWN_BYTES)).trimEnd());
    if (seen.length > 0) return seen;
    end = start - 1;
  }
  return [];
}

/** In the bytes of a block, and in what is left of them at the end. */
const LINE_END = /\r(?=\n|$)/g;
const LINE_FEED = Buffer.of(NEWLINE);

/** The block with long lines as `linesOf` cuts them; a carriage return before a line feed may stay. */
const cutBlock = (block: Buffer): Buffer =>
  block.length <= MAX_LINE ? block : Buffer.from(linesOf(block).join('\r\n'));

export function textReader(sentinels: readonly Sentinel[], facts: ReaderFacts = {}): EventReader {
  const words = tail(FINAL_TEXT_BYTES);
  const told = sentinelReader(sentinels);
  let refusal: Refusal | null = null;
  const readBlock = (stream: Stream, block: Buffer): readonly (readonly Observation[])[] => {
    if (sentinels.length > 0 && refusal === null && told.isIn(block.toString('latin1'))) {
      for (const line of linesOf(block)) refusal ??= told.by(stream, line, facts.now);
    }
    const cut = cutBlock(block);
    if (stream === 'stdout') {
      words.addBytes(cut);
      words.addBytes(LINE_FEED);
    }
    return [lastSaid(cut)];
  };
  return {
    // Its carriage return is gone already.
    read: (stream, line) => readBlock(stream, Buffer.from(line.endsWith('\r') ? `${line}\r` : line)).flat(),
    readBlock,
    refusalTold: () => refusal,
    report: () => ({
      status: null,
      error: null,
      model: null,
      sessionId: null,
      usage: NO_USAGE,
      finalText: words.text().replace(LINE_END, '').trimEnd(),
      refusal,
      resultMissing: false,
    }),
  };
}
