/**
 * Somebody else's text in a Markdown table. It always stands in a code span, in which GitHub makes no link, mention,
 * image, HTML or emphasis; the span is made so that nothing in the text can end it, nor its cell, nor its row.
 */
import { headOf } from '../receipt/bounded-text.ts';
import { neutralise } from '../receipt/neutralise.ts';

const MAX_BYTES = 240;
/** Where there is nothing. */
export const NOTHING = '—';

/** The text as a code span for a table's cell: one line, bounded; {@link NOTHING} where it is blank. */
export function codeSpan(text: string): string {
  const line = headOf(neutralise(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t'), MAX_BYTES);
  if (line.trim() === '') return NOTHING;
  // A table takes `\|` for a pipe, but not where a backslash stands before it: that pair is another escape.
  const inCell = line.replace(/\\\|/g, '\\\\x7c').replace(/\|/g, '\\|');
  const runs = inCell.match(/`+/g) ?? [];
  const fence = '`'.repeat(Math.max(0, ...runs.map((run) => run.length)) + 1);
  const room = /^[` ]|[` ]$/.test(inCell) ? ' ' : '';
  return `${fence}${room}${inCell}${room}${fence}`;
}

/** A table; the cells are Markdown already. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)];
}
