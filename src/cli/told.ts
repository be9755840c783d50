/**
 * Lines of words for people, with a label before each. Whatever else is in them is somebody else's text: it stays on its
 * line and does nothing to a terminal.
 */
import type { RecordedPath } from '../model/path.ts';
import { neutralise } from '../receipt/neutralise.ts';
import { oneLine } from './table.ts';

const LABEL_WIDTH = 11;
const LONGEST = 1200;

/** `  label      text`; nothing where there is no text. Several texts stand below each other. */
export function told(label: string, text: string | readonly string[] | null): string[] {
  const texts = text === null ? [] : typeof text === 'string' ? [text] : text;
  return texts.map((one, i) => `  ${(i === 0 ? label : '').padEnd(LABEL_WIDTH)}${bounded(oneLine(one))}`.trimEnd());
}

const bounded = (text: string): string => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}...`);

/** A path as a record carries it; a newline in it is seen. */
export const shownPath = (path: RecordedPath): string =>
  neutralise(typeof path === 'string' ? path : path.display).replaceAll('\n', '\\n');

/** The first `limit` of a list, and how many more there are. */
export function firstOf(items: readonly string[], limit: number, total: number = items.length): string[] {
  const shown = items.slice(0, limit);
  return total > shown.length ? [...shown, `and ${total - shown.length} more`] : shown;
}

/** `2026-11-30 17:15:00 UTC`. */
export const moment = (time: string): string => `${time.slice(0, 19).replace('T', ' ')} UTC`;
