/** Turns findings in a text into diagnostics: offsets become lines and columns in one pass, however many there are. */
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Finding } from './fields.ts';

/** A longer line (a packet written on one line) is not repeated in a diagnostic. */
const MAX_SOURCE_LINE = 400;
const LF = 0x0a;
const CR = 0x0d;

/** How far the text has been read, and on which line that is. */
interface Cursor {
  readonly at: number;
  readonly line: number;
  readonly lineStart: number;
}

/** Reads on from `from` to `offset`, which lies at or behind it. Lines end with LF, CRLF or CR. */
function advance(text: string, from: Cursor, offset: number): Cursor {
  let { line, lineStart } = from;
  for (let at = from.at; at < offset; at++) {
    const char = text.charCodeAt(at);
    if (char !== LF && (char !== CR || text.charCodeAt(at + 1) === LF)) continue;
    line++;
    lineStart = at + 1;
  }
  return { at: offset, line, lineStart };
}

function lineAt(text: string, lineStart: number): string | null {
  const start = text.slice(lineStart, lineStart + MAX_SOURCE_LINE + 1);
  const end = start.search(/[\r\n]/);
  if (end < 0 && start.length > MAX_SOURCE_LINE) return null;
  return end < 0 ? start : start.slice(0, end);
}

/** Diagnostics for the findings, sorted by place. A flag stands in the place of the file, without a line. */
export function diagnosticsOf(file: string, text: string, findings: readonly Finding[]): Diagnostic[] {
  const startOf = ({ place }: Finding): number => (place.kind === 'text' ? place.span.start : -1);
  let cursor: Cursor = { at: 0, line: 1, lineStart: 0 };
  return [...findings]
    .sort((a, b) => startOf(a) - startOf(b))
    .map(({ code, message, hint, place }) => {
      const said = { code, severity: 'error', message, hint } as const;
      if (place.kind === 'flag')
        return { ...said, file: place.flag, line: 0, column: 0, end_line: 0, end_column: 0, source_line: null };
      cursor = advance(text, cursor, place.span.start);
      const end = advance(text, cursor, place.span.end);
      return {
        ...said,
        file,
        line: cursor.line,
        column: place.span.start - cursor.lineStart + 1,
        end_line: end.line,
        end_column: place.span.end - end.lineStart + 1,
        source_line: lineAt(text, cursor.lineStart),
      };
    });
}
