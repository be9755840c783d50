/**
 * The block as one YAML text, and the way back: every offset of the text has its exact place in the Markdown file, also
 * where the block stands in a quote or a list.
 */
import type { BlockLine } from './fence.ts';
import type { Span } from './finding.ts';

export interface BlockText {
  readonly text: string;
  /** Column of an offset within its own line of the block, from 0: what indentation is measured by. */
  indentOf(offset: number): number;
  /** Line of an offset within the block, from 0. */
  lineOf(offset: number): number;
  /** Place of `[start, end)` in the file. */
  span(start: number, end: number): Span;
}

/** The lines joined by newlines; offsets are UTF-16 code units of that text. */
export function joinBlock(lines: readonly BlockLine[]): BlockText {
  const starts: number[] = [];
  let length = 0;
  for (const line of lines) {
    starts.push(length);
    length += line.text.length + 1;
  }
  const lineOf = (offset: number): number => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const indentOf = (offset: number): number => {
    const index = lineOf(offset);
    return Math.min(offset - (starts[index] ?? 0), lines[index]?.text.length ?? 0);
  };
  const place = (offset: number) => {
    const line = lines[lineOf(offset)];
    return { line: line?.line ?? 1, column: (line?.column ?? 1) + indentOf(offset) };
  };
  return {
    text: lines.map((line) => line.text).join('\n'),
    indentOf,
    lineOf,
    span(start, end) {
      const from = place(start);
      const to = place(Math.max(start, end));
      return { ...from, endLine: to.line, endColumn: to.column };
    },
  };
}
