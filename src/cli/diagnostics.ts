/** Findings in words: for people as compilers write them, as GitHub annotations, or as they are for programs. */
import type { Diagnostic } from '../model/diagnostic.ts';
import { excerpt, showable } from './excerpt.ts';

export const FORMATS = ['text', 'json', 'github'] as const;
export type Format = (typeof FORMATS)[number];

export interface Colour {
  readonly enabled: boolean;
}

type Style = 'red' | 'yellow' | 'bold' | 'dim';
const CODES: Record<Style, number> = { red: 31, yellow: 33, bold: 1, dim: 2 };
const paint = (colour: Colour, style: Style, text: string): string =>
  colour.enabled ? `\u001b[${CODES[style]}m${text}\u001b[0m` : text;

/** `FILE:LINE:COLUMN severity CODE message`, the line with carets, the hint; one paragraph a finding, ends in a newline. */
export function diagnosticsText(findings: readonly Diagnostic[], colour: Colour): string {
  return findings.map((finding) => `${paragraph(finding, colour)}\n`).join('\n');
}

function paragraph(finding: Diagnostic, colour: Colour): string {
  const { file, line, column, severity, code, message, hint } = finding;
  const place = line === 0 ? showable(file) : `${showable(file)}:${line}:${column}`;
  const tone = severity === 'error' ? 'red' : 'yellow';
  const head = `${paint(colour, 'bold', place)} ${paint(colour, tone, severity)} ${code} ${showable(message)}`;
  const below = hint === null ? [] : [`  ${paint(colour, 'dim', 'hint:')} ${showable(hint)}`];
  return [head, ...sourceLines(finding, colour, tone), ...below].join('\n');
}

function sourceLines(finding: Diagnostic, colour: Colour, tone: Style): string[] {
  const { source_line: source, line, column, end_line: endLine, end_column: endColumn } = finding;
  if (source === null) return [];
  const { text, carets } = excerpt(source, column, endLine === line ? endColumn : source.length + 1);
  const number = String(line);
  const bar = paint(colour, 'dim', '|');
  const empty = ' '.repeat(number.length);
  return [`  ${paint(colour, 'dim', number)} ${bar} ${text}`, `  ${empty} ${bar} ${paint(colour, tone, carets)}`];
}

const data = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** Workflow commands; `pathOf` gives the path that GitHub knows the file by. */
export function diagnosticsGithub(findings: readonly Diagnostic[], pathOf: (file: string) => string): string {
  return findings
    .map((finding) => {
      const { severity, code, line, column, end_line: endLine, end_column: endColumn } = finding;
      const place: Record<string, string | number> = { file: pathOf(finding.file) };
      if (line > 0) Object.assign(place, { line, endLine, col: column });
      if (line > 0 && endLine === line && endColumn > column) place.endColumn = endColumn;
      const properties = Object.entries({ ...place, title: code }).map(
        ([key, value]) => `${key}=${property(String(value))}`,
      );
      const text = [finding.message, ...(finding.hint === null ? [] : [finding.hint])].map(showable).join('\n');
      return `::${severity} ${properties.join(',')}::${data(text)}\n`;
    })
    .join('');
}

/** `2 errors, 1 warning`. */
export function countFindings(findings: readonly Diagnostic[]): string {
  const count = (severity: Diagnostic['severity']): string[] => {
    const n = findings.filter((finding) => finding.severity === severity).length;
    return n === 0 ? [] : [`${n} ${severity}${n === 1 ? '' : 's'}`];
  };
  return [...count('error'), ...count('warning')].join(', ');
}
