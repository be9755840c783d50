/** The lines of a block of output. Readers that can tell at one look that a block holds nothing of theirs never cut it. */
import { MAX_LINE } from '../model/adapter.ts';

/** Without `\r` at its end, cut at `MAX_LINE`. */
function tidy(line: string): string {
  let end = line.length;
  if (end > 0 && line.charCodeAt(end - 1) === 0x0d) end--;
  if (end > MAX_LINE) {
    const last = line.charCodeAt(MAX_LINE - 1);
    // Never leave half of a surrogate pair at the cut.
    end = last >= 0xd800 && last <= 0xdbff ? MAX_LINE - 1 : MAX_LINE;
  }
  return end === line.length ? line : line.slice(0, end);
}

/** The line from byte `start` to byte `end` of a block, as readers want it. */
export const lineIn = (block: Buffer, start: number, end: number): string => tidy(block.toString('utf8', start, end));

/** `block`: whole lines joined by newlines, without the last newline. */
export const linesOf = (block: Buffer): string[] => block.toString('utf8').split('\n').map(tidy);

/**
 * Gives `take` each line that holds a match, by its bytes' places; false where any line has none. `sought` is global, and
 * its matches are never empty and within one line. `known` tells at a line's beginning, sooner, that it holds one.
 */
export function eachLineWith(
  bytes: string,
  sought: RegExp,
  known: (start: number) => boolean,
  take: (start: number, end: number) => void,
): boolean {
  let all = true;
  for (let at = 0; at <= bytes.length; ) {
    let inside = at;
    let start = at;
    if (!known(at)) {
      sought.lastIndex = at;
      if (!sought.test(bytes)) return false;
      inside = sought.lastIndex - 1;
      start = bytes.lastIndexOf('\n', inside) + 1;
    }
    const newline = bytes.indexOf('\n', inside);
    const end = newline < 0 ? bytes.length : newline;
    if (start > at) all = false;
    take(start, end);
    at = end + 1;
  }
  return all;
}
