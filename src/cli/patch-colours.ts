/**
 * A patch for a terminal that has no pager: what the files hold is shown and never obeyed, and colours are added after
 * that, so that a file cannot pass for another kind of line. How many lines a hunk has is known from its head.
 */
import { neutralise } from '../receipt/neutralise.ts';

const COLOURS = { meta: '1', hunk: '36', '+': '32', '-': '31' } as const;

/** The patch, line by line harmless; coloured as git does where `colour` is set. */
export function shownPatch(patch: string, colour: boolean): string {
  const lines = patch.split('\n');
  const last = lines.pop();
  let left = { old: 0, new: 0 };
  const shown = lines.map((line) => {
    const text = neutralise(line);
    const inside = left.old > 0 || left.new > 0;
    const head = inside ? null : /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (head !== null) {
      left = { old: Number(head[1] ?? 1), new: Number(head[2] ?? 1) };
      return painted(text, 'hunk', colour);
    }
    if (!inside) return line.startsWith('\\') ? text : painted(text, 'meta', colour);
    const kind = line[0];
    // `\ No newline at end of file` counts on neither side.
    if (kind === '\\') return text;
    if (kind !== '+') left = { ...left, old: left.old - 1 };
    if (kind !== '-') left = { ...left, new: left.new - 1 };
    return kind === '+' || kind === '-' ? painted(text, kind, colour) : text;
  });
  return [...shown, neutralise(last ?? '')].join('\n');
}

const painted = (text: string, kind: keyof typeof COLOURS, colour: boolean): string =>
  colour && text !== '' ? `\u001b[${COLOURS[kind]}m${text}\u001b[0m` : text;
