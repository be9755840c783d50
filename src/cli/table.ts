/** A table for people: columns as wide as their longest cell, with lines below a row where it needs words. */
import { neutralise } from '../receipt/neutralise.ts';

export interface TableRow {
  readonly cells: readonly string[];
  /** Indented to the second column. */
  readonly below: readonly string[];
}

/** Whatever a program said, on one line and without what a terminal would obey. */
export const oneLine = (text: string): string => neutralise(text.trim().replace(/\s*[\r\n]+\s*/g, ' '));

/** The lines of the table; cells and words below are made harmless here. */
export function tableLines(head: readonly string[], rows: readonly TableRow[]): string[] {
  const all = [head, ...rows.map(({ cells }) => cells.map(oneLine))];
  const widths = head.map((_, i) => Math.max(...all.map((cells) => cells[i]?.length ?? 0)));
  const line = (cells: readonly string[] = []): string =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  const indent = ' '.repeat((widths[0] ?? 0) + 2);
  return [
    line(all[0]),
    ...rows.flatMap(({ below }, i) => [line(all[i + 1]), ...below.map((words) => `${indent}${oneLine(words)}`)]),
  ];
}
