/** A finding before it is shown: what is wrong and where in the Markdown file. report.ts turns findings into diagnostics. */

/** 1-based lines and columns in UTF-16 code units; the end is exclusive. */
export interface Span {
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

export interface Finding {
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint: string | null;
  /** null: the file as a whole. */
  readonly span: Span | null;
}

/** A finding that makes the configuration invalid. */
export const errorAt = (code: string, span: Span | null, message: string, hint: string | null = null): Finding => ({
  code,
  severity: 'error',
  message,
  hint,
  span,
});

/** A finding that leaves the configuration valid. */
export const warningAt = (code: string, span: Span | null, message: string, hint: string | null = null): Finding => ({
  code,
  severity: 'warning',
  message,
  hint,
  span,
});

/** `length` characters from a 1-based place on one line. */
export const spanOnLine = (line: number, column: number, length: number): Span => ({
  line,
  column,
  endLine: line,
  endColumn: column + length,
});

const SHOWN = 60;

/** A value as a message shows it: in double quotes, escaped, cut to a readable length. */
export function quote(value: string): string {
  const cut = value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value;
  return JSON.stringify(cut).replace(
    /[^\x20-\x7e\p{L}\p{N}…]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
