/**
 * Reports what is wrong with single lines of the block before YAML is read, and answers with a text of the same length
 * in which it is mended or blanked, so that it does not hide or garble what follows.
 */
import { BIDIRECTIONAL, CONTROL, codePoint } from './characters.ts';

/** Reports `length` characters from offset `start` of the block's text. */
export type Report = (start: number, length: number, code: string, message: string, hint: string) => void;

/** One finding of a kind for a line; the characters are replaced by spaces. */
export function repairLines(text: string, report: Report): string {
  let offset = 0;
  const repaired = text.split('\n').map((line) => {
    const start = offset;
    offset += line.length + 1;
    if (/^(?:---|\.\.\.)(?:[ \t]|$)/.test(line)) {
      report(start, 3, 'MULTI_DOCUMENT', `the document mark ${line.slice(0, 3)} is not allowed`, 'Remove this line.');
      return ' '.repeat(line.length);
    }
    if (line.startsWith('%')) {
      report(start, line.length, 'DIRECTIVE', 'YAML directives are not allowed', 'Remove this line.');
      return ' '.repeat(line.length);
    }
    return repairCharacters(line, start, report);
  });
  return repaired.join('\n');
}

function repairCharacters(line: string, start: number, report: Report): string {
  const tab = line.indexOf('\t');
  if (tab >= 0) {
    report(start + tab, 1, 'TAB', 'tabs are not allowed', 'Indent with two spaces, separate with one.');
  }
  const control = CONTROL.exec(line);
  if (control !== null) {
    const name = codePoint(control[0]);
    const message = `the control character ${name} is not allowed`;
    report(start + control.index, control[0].length, 'CONTROL_CHARACTER', message, 'Remove it.');
  }
  const turned = BIDIRECTIONAL.exec(line);
  if (turned !== null) {
    const message = `the text-direction character ${codePoint(turned[0])} is not allowed`;
    const hint = 'It makes the line read differently from what it says; remove it.';
    report(start + turned.index, turned[0].length, 'INVISIBLE_CHARACTER', message, hint);
  }
  if (tab < 0 && control === null) return line;
  return line.replace(/\t/g, ' ').replace(new RegExp(CONTROL.source, 'gu'), ' ');
}

const SECOND_COLON = /^( *(?:[A-Za-z_][\w.-]*|"[^"]*"|'[^']*'): +[^\s'"[{#|>&*!%@`][^#]*?):(?= )/;

/** `key: text: more` would swallow the lines below it as a mapping of its own. */
export function repairColons(text: string, report: (start: number) => void): string {
  let offset = 0;
  const lines = text.split('\n').map((line) => {
    const start = offset;
    offset += line.length + 1;
    const before = SECOND_COLON.exec(line)?.[1];
    if (before === undefined) return line;
    report(start + before.length);
    return `${before}_${line.slice(before.length + 1).replace(/:(?= )/g, '_')}`;
  });
  return lines.join('\n');
}

const VALUE_LINE = /^ *[^\s#:'"[\]{}|>-][^:'"[\]{}|>]*: +[^\s#'"[{|>&*!]/;
const KEY_LINE = /^ *["']?([A-Za-z_][^:#"']*)["']?:(?: |$)/;

/**
 * A key below and right of a `key: value` line. YAML reads both as one long key and loses the first with the second; so
 * the hanging line is reported where it stands and taken out.
 */
export function removeHangingKeys(text: string, lostKeys: Set<string>, report: Report): string {
  let offset = 0;
  // The first key of all must not be indented further than a later one.
  let valueIndent: number | null = /^(?! |#)\S/m.test(text) ? 0 : null;
  const lines = text.split('\n').map((line) => {
    const start = offset;
    offset += line.length + 1;
    const indent = line.search(/[^ ]|$/);
    if (/^ *(?:#|$)/.test(line)) return line;
    const key = KEY_LINE.exec(line)?.[1];
    if (valueIndent !== null && indent > valueIndent && key !== undefined) {
      lostKeys.add(key);
      const message = 'this key is indented below a line that already has a value';
      report(
        start + indent,
        1,
        'INDENTATION',
        message,
        'Give it the indentation of its neighbours: two spaces a level.',
      );
      return ' '.repeat(line.length);
    }
    valueIndent = VALUE_LINE.test(line) ? indent : null;
    return line;
  });
  return lines.join('\n');
}
