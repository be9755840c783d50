/**
 * A source line as a terminal can show it: tabs widened, control and direction characters written out, cut around the
 * place of interest, with a line of carets below that lands under the right characters.
 */

const TAB_WIDTH = 4;
const MAX_WIDTH = 110;

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const ESCAPED = /[\p{Cc}\p{Cf}\p{Cs}\p{DI}\p{Zl}\p{Zp}]/u;
const COMBINING = /[\p{Mn}\p{Me}]/u;

/** Text of others on one line without anything that a terminal or a reader could take for something else. */
export const showable = (text: string): string => [...text].map((char) => shownChar(char).text).join('');

interface ShownChar {
  readonly text: string;
  readonly width: number;
}

function shownChar(char: string): ShownChar {
  if (ESCAPED.test(char)) {
    const text = `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
    return { text, width: text.length };
  }
  if (COMBINING.test(char)) return { text: char, width: 0 };
  return { text: char, width: WIDE.test(char) ? 2 : 1 };
}

interface Cell extends ShownChar {
  /** UTF-16 index in the line. */
  readonly index: number;
  /** Cells from the line's start. */
  readonly at: number;
}

function cellsOf(line: string): Cell[] {
  const cells: Cell[] = [];
  let index = 0;
  let at = 0;
  for (const char of line) {
    const tab = TAB_WIDTH - (at % TAB_WIDTH);
    const shown = char === '\t' ? { text: ' '.repeat(tab), width: tab } : shownChar(char);
    cells.push({ ...shown, index, at });
    index += char.length;
    at += shown.width;
  }
  return cells;
}

/** The line and its carets for columns `[column, endColumn)`, 1-based UTF-16; at least one caret. */
export function excerpt(
  line: string,
  column: number,
  endColumn: number,
): { readonly text: string; readonly carets: string } {
  const cells = cellsOf(line);
  const width = (cells.at(-1)?.at ?? 0) + (cells.at(-1)?.width ?? 0);
  const cellAt = (index: number): number => cells.find((cell) => cell.index >= index)?.at ?? width;
  const from = cellAt(column - 1);
  const to = Math.max(from + 1, cellAt(endColumn - 1));

  const left = width <= MAX_WIDTH || from < MAX_WIDTH - 20 ? 0 : from - 40;
  const right = left + MAX_WIDTH;
  const visible = cells.filter((cell) => cell.at >= left && cell.at + cell.width <= right);
  const start = visible[0]?.at ?? left;
  const before = left > 0 ? '…' : '';
  const after = width > right ? '…' : '';
  return {
    text: `${before}${visible.map((cell) => cell.text).join('')}${after}`,
    carets: ' '.repeat(before.length + from - start) + '^'.repeat(Math.max(1, Math.min(to, right) - from)),
  };
}
