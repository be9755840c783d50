/**
 * Makes text harmless to show. Untrusted words reach terminals, logs and task cards; a character that moves the cursor,
 * changes colour, reorders or hides what stands beside it must be seen instead of obeyed.
 */

/**
 * Controls (C0, DEL, C1), format characters (bidi controls, zero-width, byte order mark, tags), lone surrogates, line and
 * paragraph separators, and whatever else Unicode says is drawn as nothing. Not newline, tab, and the two variation
 * selectors that ordinary emoji carry.
 */
const UNSAFE = /(?!\n|\t|\uFE0E|\uFE0F)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const LONE_SURROGATE = /\p{Cs}/gu;

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');

/** `\x1b`, `\u202e`, `\u{e0041}`: the way programmers write it. */
function visible(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return code <= 0xff ? `\\x${hex(code, 2)}` : code <= 0xffff ? `\\u${hex(code, 4)}` : `\\u{${hex(code, 1)}}`;
}

/** Text for a console: only newline and tab are left of all controls. A carriage return is shown, not obeyed. */
export const neutralise = (text: string): string => text.replace(UNSAFE, visible);

/** Lone surrogates, which neither UTF-8 nor RFC 8785 can express, as visible escapes. */
export const wellFormed = (text: string): string => text.replace(LONE_SURROGATE, visible);

/**
 * JSON that holds no raw control, bidi, zero-width or lone surrogate character, so that a file or a line of it is safe to
 * print, and that parses to the same value as `JSON.stringify` gives. Throws for what JSON cannot express.
 */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  if (text === undefined) throw new Error('not a JSON value');
  return text.replace(UNSAFE, (char) => {
    let escaped = '';
    for (let at = 0; at < char.length; at++) escaped += `\\u${hex(char.charCodeAt(at), 4)}`;
    return escaped;
  });
}
