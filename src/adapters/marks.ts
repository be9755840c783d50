/**
 * Looking for a few words in many lines without reading them. All of it works on bytes, given as a latin1 string: that
 * costs a tenth of decoding them, and a newline byte is a newline whatever the rest means.
 */

/** UTF-8 as a string of its bytes. */
const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
const escaped = (literal: string): string => literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** A letter, a dot or an underscore in the way of `\u0061`: a name may be written with it. */
const ESCAPED_LETTER = '\\\\u00(?:[46][1-9a-fA-F]|[57][0-9aA]|2[eE]|5[fF])';
const NEVER = '(?!)';

/**
 * Finds what a JSON text must hold that has one of these names as a string or a key, in whatever way it was written. It
 * never begins and ends on different lines.
 */
export const jsonNames = (names: readonly string[]): RegExp =>
  new RegExp(names.length === 0 ? NEVER : `"(?:${names.map(escaped).join('|')})"|${ESCAPED_LETTER}`, 'g');

const WINDOW_BYTES = 64 * 1024;
/** More than the longest match. */
const OVERLAP_BYTES = 64;

/** Whether the line's bytes hold a match of `jsonNames`. A long one is never made a string as a whole. */
export function holdsMatch(line: Buffer, sought: RegExp): boolean {
  for (let at = 0; at < line.length; at += WINDOW_BYTES) {
    sought.lastIndex = 0;
    if (sought.test(line.toString('latin1', at, at + WINDOW_BYTES + OVERLAP_BYTES))) return true;
  }
  return false;
}

/**
 * Finds the lines that begin with one of the literals, or as `more` says, and all that have a colour or a carriage return
 * before their first character: those are looked at one by one.
 */
export function lineStarts(literals: readonly string[], more: RegExp | null = null): RegExp {
  const starts = [...literals.map(escaped), ...(more === null ? [] : [more.source.replace(/^\^/, '')])];
  return new RegExp(starts.length === 0 ? NEVER : `^(?:[\\r\\u001b]|${asBytes(starts.join('|'))})`, 'gm');
}
