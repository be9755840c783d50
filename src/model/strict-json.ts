/**
 * JSON of which every reader sees the same: UTF-8, one value, no member named twice. Readers disagree on which of two
 * equal names counts, so a text that has them says one thing to this tool and another to somebody else. Without
 * recursion: neither depth nor size of a hostile text matters beyond the time to read it once.
 */
import { err, ok, type Result } from './result.ts';

export type JsonProblem =
  /** No JSON at all: nothing was said that could be judged. */
  | { readonly kind: 'not-json'; readonly message: string }
  /** More than can be judged in a moment. */
  | { readonly kind: 'too-many-values'; readonly message: string }
  | { readonly kind: 'duplicate-member'; readonly message: string };

/** UTF-8 bytes as text; a byte order mark is dropped. */
export function utf8Text(bytes: Uint8Array): Result<string, JsonProblem> {
  try {
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The decoder throws exactly where the bytes are not UTF-8.
    return err({ kind: 'not-json', message: 'not UTF-8 text' });
  }
}

/** The value of a JSON text. */
export function readStrictJson(text: string): Result<unknown, JsonProblem> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return err({ kind: 'not-json', message: 'not JSON' });
    throw error;
  }
  const name = duplicateMember(text);
  if (name === TOO_MANY) {
    const message = `more than ${MAX_VALUES} values, which no record has`;
    return err({ kind: 'too-many-values', message });
  }
  return name === null
    ? ok(value)
    : err({
        kind: 'duplicate-member',
        message: `an object has two members named ${JSON.stringify(name.slice(0, 80))}`,
      });
}

/** Thirty attempts of a thousand changes have as many. */
const MAX_VALUES = 250_000;
const TOO_MANY = Symbol('too many values');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The end of the string that opens at `start`, in a text known to be JSON. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** The first name that some object gives to two members, compared as parsed; the text is known to be JSON. */
function duplicateMember(text: string): string | typeof TOO_MANY | null {
  let values = 1;
  /** The names of each open object, from its first on; null for a list. */
  const open: (Set<string> | null | 'no names')[] = [];
  let nameNext = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
        open.push('no names');
        nameNext = true;
        break;
      case '[':
        open.push(null);
        nameNext = false;
        break;
      case '}':
      case ']':
        open.pop();
        nameNext = false;
        break;
      case ',':
        nameNext = open.at(-1) !== null;
        if (++values > MAX_VALUES) return TOO_MANY;
        break;
      case '"': {
        const end = stringEnd(text, at);
        if (nameNext) {
          const name = JSON.parse(text.slice(at, end)) as string;
          const names = open.at(-1);
          if (!(names instanceof Set)) open[open.length - 1] = new Set([name]);
          else if (names.has(name)) return name;
          else names.add(name);
          nameNext = false;
        }
        at = end - 1;
        break;
      }
      default:
    }
  }
  return null;
}

/** What a JSON value is, in words that follow "it is". */
export function kindOfJson(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
