/**
 * Events that pass: each only shows that the CLI works, and what it says is soon replaced by later words, or pushed out of
 * the bounded last message. A CLI may print millions of them, so they are put off as they came, and of many only the
 * newest are read that count. Invariant: what is told of them is what reading each in its turn would have told.
 */
import { FINAL_TEXT_BYTES, type Observation } from '../model/adapter.ts';
import { lastCharacters } from './bounded-text.ts';
import type { JsonObject } from './json-lines.ts';
import { holdsMatch } from './marks.ts';

export interface PassingEvents {
  /** How the CLI itself begins such a line; an event that begins otherwise is read at once. */
  readonly heads: readonly string[];
  /** A line of them without a match has no words; null where none ever has. */
  readonly wordsMark: RegExp | null;
  /** Later words replace the earlier ones (`last`), or stand behind them (`all`). */
  readonly kept: 'last' | 'all';
  /** Whether the event passes indeed: a head is only the beginning of a line. */
  fits(event: JsonObject): boolean;
  words(event: JsonObject): string;
  shown(event: JsonObject): readonly Observation[];
}

/** What a number of such events comes to. */
export interface Passed {
  /** Those that were read, in their order; at least the newest one. Of long ones only the kind is to be relied on. */
  readonly events: readonly JsonObject[];
  readonly words: string;
}

type Parse = (line: string) => JsonObject | null;

export interface PutOff {
  /** Whether the line that begins at `start` of these bytes is one to put off. */
  isOne(bytes: string, start: number): boolean;
  /** Whole lines joined by newlines; false where there is no room: `passed` first. */
  add(lines: Buffer): boolean;
  /** What those show that came since the last time this was asked; null where one of them does not pass. */
  shown(parse: Parse): readonly Observation[] | null;
  /** What all of them come to; null where one of them does not pass. */
  passed(parse: Parse): Passed | null;
  /** The lines in their order, the ones not shown yet marked. */
  lines(): { readonly line: string; readonly isNew: boolean }[];
  clear(): void;
}

const NEWLINE = 0x0a;
const ROOM_BYTES = 8 * 1024 * 1024;
/** A longer line is not read only to show its first words. */
const LONG_BYTES = 64 * 1024;
const LONG: readonly Observation[] = [{ kind: 'activity', text: 'answering' }];

/** The end of a text of which each character is a byte: long ones are not decoded whole, for a last message is bounded. */
const endOfBytes = (text: string): string => lastCharacters(Buffer.from(text, 'latin1'), FINAL_TEXT_BYTES, false);

export function putOff(kind: PassingEvents): PutOff {
  let held = Buffer.alloc(0);
  let used = 0;
  let shownTo = 0;

  /** From the newest to the oldest, until `take` says that it is enough. */
  function backwards(from: number, take: (line: Buffer) => boolean): void {
    for (let end = used - 1; end > from; ) {
      const start = held.lastIndexOf(NEWLINE, end - 1) + 1;
      if (take(held.subarray(start, end))) return;
      end = start - 1;
    }
  }
  return {
    isOne: (bytes, start) => kind.heads.some((head) => bytes.startsWith(head, start)),
    add(lines) {
      const wanted = used + lines.length + 1;
      if (wanted > ROOM_BYTES) return false;
      if (wanted > held.length) {
        // In one step, for what is left behind stays in memory for long; pages nobody writes to cost nothing.
        const grown = Buffer.allocUnsafeSlow(wanted <= LONG_BYTES ? LONG_BYTES : ROOM_BYTES);
        held.copy(grown, 0, 0, used);
        held = grown;
      }
      lines.copy(held, used);
      held[wanted - 1] = NEWLINE;
      used = wanted;
      return true;
    },
    shown(parse) {
      let found: readonly Observation[] | null = [];
      backwards(shownTo, (line) => {
        if (line.length > LONG_BYTES) {
          found = LONG;
          return true;
        }
        const event = parse(line.toString('utf8'));
        if (event === null) return false;
        found = kind.fits(event) ? kind.shown(event) : null;
        return found === null || found.length > 0;
      });
      if (found !== null) shownTo = used;
      return found;
    },
    passed(parse) {
      const events: JsonObject[] = [];
      const words: string[] = [];
      let length = 0;
      let allFit = true;
      backwards(0, (line) => {
        const { wordsMark } = kind;
        if (events.length > 0 && wordsMark !== null && !holdsMatch(line, wordsMark)) return false;
        const asBytes = kind.kept === 'last' && line.length > LONG_BYTES && !line.includes('\\u');
        const event = parse(line.toString(asBytes ? 'latin1' : 'utf8'));
        if (event === null) return false;
        if (!kind.fits(event)) {
          allFit = false;
          return true;
        }
        events.push(event);
        const said = kind.words(event);
        words.push(asBytes ? endOfBytes(said) : said);
        length += said.length;
        if (wordsMark === null) return true;
        return kind.kept === 'last' ? length > 0 : length >= FINAL_TEXT_BYTES;
      });
      return allFit ? { events: events.reverse(), words: words.reverse().join('') } : null;
    },
    lines() {
      const all: { line: string; isNew: boolean }[] = [];
      for (let start = 0; start < used; ) {
        const end = held.indexOf(NEWLINE, start);
        all.push({ line: held.toString('utf8', start, end), isNew: start >= shownTo });
        start = end + 1;
      }
      return all;
    },
    clear() {
      used = 0;
      shownTo = 0;
    },
  };
}
