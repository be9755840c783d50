/** Text within a bound: what a reader keeps of a worker's words never grows with how much the worker says. */

/** Characters of an error, a refusal's line and a progress text. */
const ERROR_CHARACTERS = 1000;
const LINE_CHARACTERS = 500;
const ACTIVITY_CHARACTERS = 200;

/**
 * What a cut may have left of a word: half a surrogate pair, or the first part of a key, which no redaction would know
 * again. Both are dropped.
 */
const CUT_WORD = /(?:[\w+/=.~%:-]+|[\ud800-\udbff])$/;

/** Anything that `oneLine` rewrites. Most lines have none of it, and a worker may print millions of them. */
const UNTIDY = /[^\S ]|[\u0000-\u001f\u007f-\u009f]| {2}|^ | $/;

/** Whitespace and control characters as single spaces, cut before the word that goes over `limit` characters. */
function oneLine(text: string, limit: number): string {
  if (text.length <= limit && !UNTIDY.test(text)) return text;
  // A text of a megabyte need not be rewritten whole to keep its first words.
  const head = text.slice(0, limit * 4);
  const line = head.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  if (head.length === text.length && line.length <= limit) return line;
  return `${line
    .slice(0, limit - 1)
    .replace(CUT_WORD, '')
    .trimEnd()}…`;
}

export const activityText = (text: string): string => oneLine(text, ACTIVITY_CHARACTERS);
export const refusalLine = (text: string): string => oneLine(text, LINE_CHARACTERS);
export const errorText = (text: string): string => oneLine(text, ERROR_CHARACTERS);

/** The last `limit` bytes of the text as UTF-8, from a whole character on. */
export function lastBytes(text: string, limit: number): string {
  if (text.length * 3 <= limit) return text;
  return lastCharacters(Buffer.from(text.slice(-limit), 'utf8'), limit, false);
}

/** The last `limit` of the bytes, from a whole character on. `isCut`: they may begin in the middle of one. */
export function lastCharacters(bytes: Buffer, limit: number, isCut: boolean): string {
  let start = Math.max(0, bytes.length - limit);
  while ((isCut || start > 0) && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString('utf8');
}

/** The end of a growing text, with memory bounded by a small multiple of `limit`. */
export interface Tail {
  add(text: string): void;
  /** Whole characters in UTF-8; the bytes are copied. */
  addBytes(bytes: Buffer): void;
  clear(): void;
  text(): string;
}

/** Pieces are joined by this many characters or this many at a time, so that each is copied once. */
const BLOCK_CHARACTERS = 16 * 1024;
const BLOCK_PIECES = 1024;
const HALF_PAIR = /[\ud800-\udbff]$/;

export function tail(limit: number): Tail {
  // Bytes that go round, not strings: those would live just long enough to pile up by the hundred megabytes until the
  // collector looks at what is old.
  let ring: Buffer | null = null;
  let total = 0;
  let pieces: string[] = [];
  let characters = 0;

  function settle(): void {
    const joined = pieces.join('');
    const half = HALF_PAIR.exec(joined)?.[0] ?? '';
    pieces = half === '' ? [] : [half];
    characters = half.length;
    append(Buffer.from(half === '' ? joined : joined.slice(0, -1), 'utf8'));
  }

  function append(all: Buffer): void {
    const bytes = all.subarray(-limit);
    ring ??= Buffer.allocUnsafe(limit);
    const before = bytes.copy(ring, total % limit);
    bytes.copy(ring, 0, before);
    total += bytes.length;
  }

  return {
    add(text) {
      if (text === '') return;
      const piece = text.length > limit ? text.slice(-limit) : text;
      pieces.push(piece);
      characters += piece.length;
      if (characters >= BLOCK_CHARACTERS || pieces.length >= BLOCK_PIECES) settle();
    },
    addBytes(bytes) {
      if (pieces.length > 0) settle();
      append(bytes);
    },
    clear() {
      total = 0;
      pieces = [];
      characters = 0;
    },
    text() {
      if (ring === null || total === 0) return lastBytes(pieces.join(''), limit);
      const isCut = total > limit;
      const start = isCut ? total % limit : 0;
      const older = [ring.subarray(start, Math.min(total, limit)), ring.subarray(0, start)];
      const end = lastCharacters(Buffer.concat([...older, Buffer.from(pieces.join(''), 'utf8')]), limit, isCut);
      // Bytes that are no UTF-8 are replaced by characters that take more room.
      return lastBytes(end, limit);
    },
  };
}
