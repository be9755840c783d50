/** What must hold of every list of findings, whatever they are about: places inside the file, and each form safe to print. */
import { expect } from 'vitest';
import { diagnosticsGithub, diagnosticsText } from '../../src/cli/diagnostics.ts';
import { type Diagnostic, diagnostic } from '../../src/model/diagnostic.ts';
import { printableJson } from '../../src/receipt/neutralise.ts';

/** Controls but the line end, and what is not seen or changes its neighbours; the two selectors of ordinary emoji may stay. */
const UNSAFE = /(?!\n|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}]/u;

/**
 * Fails where a finding lies outside `text` (without a byte order mark), is out of order, or cannot be shown. Plain
 * comparisons, because it is asked of findings by the hundred thousand.
 */
export function expectShowable(text: string, findings: readonly Diagnostic[]): void {
  const lines = text.split(/\r\n|\n|\r/);
  let before = 0;
  for (const finding of findings) {
    const problem = placeProblem(finding, lines);
    if (problem !== null) expect.fail(`${problem}: ${JSON.stringify(finding)}`);
    const place = finding.line * 1e6 + finding.column;
    if (place < before) expect.fail(`out of order: ${JSON.stringify(finding)}`);
    before = place;
    if (!diagnostic.safeParse(finding).success) expect.fail(`no diagnostic: ${JSON.stringify(finding)}`);
  }
  const json = printableJson({ ok: false, findings }, 2);
  expect(JSON.parse(json)).toEqual({ ok: false, findings });
  const forms = [json, diagnosticsText(findings, { enabled: false }), diagnosticsGithub(findings, (file) => file)];
  for (const form of forms) if (UNSAFE.test(form)) expect.fail(`unsafe to print: ${JSON.stringify(form)}`);
}

function placeProblem(finding: Diagnostic, lines: readonly string[]): string | null {
  const { line, column, end_line: endLine, end_column: endColumn, source_line: shown } = finding;
  if (line === 0) return column + endLine + endColumn === 0 && shown === null ? null : 'half a place';
  const first = lines[line - 1];
  const last = lines[endLine - 1];
  if (first === undefined || last === undefined) return 'line outside';
  // A line's own end counts as one more character: that is where a missing one belongs.
  if (column < 1 || column > first.length + 1) return 'column outside';
  if (endColumn < 1 || endColumn > last.length + 2) return 'end column outside';
  if (endLine < line || (endLine === line && endColumn < column)) return 'ends before it begins';
  if (shown !== null && shown !== first) return 'another line is shown';
  const drawn = diagnosticsText([finding], { enabled: false }).split('\n');
  if (shown !== null && !/^ +\| +\^+$/.test(drawn[2] ?? '')) return `no carets under the line: ${drawn.join('\n')}`;
  return null;
}

/** How many inputs a law sees: as many as the test asks for, or `FUZZ_RUNS` of them. */
export const runsOf = (usual: number): { readonly numRuns: number } => ({
  numRuns: Number(process.env.FUZZ_RUNS ?? usual),
});
