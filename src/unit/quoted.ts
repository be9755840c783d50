/**
 * A packet's own words inside a message: bounded, on one line, and with nothing in it that a terminal would obey or hide.
 */

const SHOWN_CHARACTERS = 80;
/** Controls, format characters (zero-width, bidirectional), line separators and lone surrogates. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const escaped = (char: string): string => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;

/** In double quotes, at most 80 characters of the text. */
export function quoted(text: string): string {
  const start = text.slice(0, SHOWN_CHARACTERS);
  return `"${start.replace(UNSHOWABLE, escaped)}${text.length > start.length ? '…' : ''}"`;
}
