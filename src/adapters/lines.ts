/**
 * The lines of a block of output. Readers that can tell at one look that a block holds nothing of theirs never cut it.
 */
import { MAX_LINE } from '../model/adapter.ts';

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

/** `block`: whole lines joined by newlines, without the last newline. Each line without `\r` at its end, cut at `MAX_LINE`. */
export const linesOf = (block: string): string[] => block.split('\n').map(tidy);

/** The block with its lines as `linesOf` gives them. */
export const tidyBlock = (block: string): string =>
  block.length > MAX_LINE || block.includes('\r') ? linesOf(block).join('\n') : block;
