/** Text within a bound: what a reader keeps of a worker's words never grows with how much the worker says. */

/** Bytes of the last message that a report carries. */
export const FINAL_TEXT_BYTES = 256 * 1024;
/** Characters of an error, a refusal's line and a progress text. */
const ERROR_CHARACTERS = 1000;
const LINE_CHARACTERS = 500;
const ACTIVITY_CHARACTERS = 200;

/** Whitespace and control characters as single spaces, cut after `limit` characters (never inside a surrogate pair). */
function oneLine(text: string, limit: number): string {
  // A text of a megabyte need not be rewritten whole to keep its first words.
  const line = text
    .slice(0, limit * 4)
    .replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

export const activityText = (text: string): string => oneLine(text, ACTIVITY_CHARACTERS);
export const refusalLine = (text: string): string => oneLine(text, LINE_CHARACTERS);
export const errorText = (text: string): string => oneLine(text, ERROR_CHARACTERS);

/** The last `limit` bytes of the text as UTF-8, from a whole character on. */
export function lastBytes(text: string, limit: number): string {
  if (text.length * 3 <= limit) return text;
  const bytes = Buffer.from(text.slice(-limit), 'utf8');
  if (bytes.length <= limit) return bytes.toString('utf8');
  let start = bytes.length - limit;
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString('utf8');
}

/** The end of a growing text, with memory bounded by a small multiple of `limit`. */
export interface Tail {
  add(text: string): void;
  clear(): void;
  text(): string;
}

export function tail(limit: number): Tail {
  let parts: string[] = [];
  let length = 0;
  const settle = (): string => {
    const kept = lastBytes(parts.join(''), limit);
    parts = [kept];
    length = kept.length;
    return kept;
  };
  return {
    add(text) {
      parts.push(text.length > limit ? text.slice(-limit) : text);
      length += Math.min(text.length, limit);
      // Many tiny parts cost more than their characters.
      if (length > 2 * limit || parts.length > 4096) settle();
    },
    clear() {
      parts = [];
      length = 0;
    },
    text: settle,
  };
}
