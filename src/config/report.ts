/**
 * Findings of all stages -> diagnostics: one for each root cause, by place, without anything that looks like a
 * credential.
 */
import type { Diagnostic } from '../model/diagnostic.ts';
import { type CredentialReading, looksLikeToken } from './credentials.ts';
import { errorAt, type Finding } from './finding.ts';

/** More findings than a person reads; the last one says how many were left out. */
const MAX_FINDINGS = 200;
/**
 * With more credentials than this, a file is told of them alone: every other finding would have to be compared with each.
 */
const MAX_SECRETS = 100;
/** A longer line is not shown: it would be most of the report. */
const MAX_SHOWN_LINE = 2000;

export interface ReportSource {
  readonly file: string;
  readonly lines: readonly string[];
  /** Findings by stage: an earlier stage's finding is the cause of a later one's at the same place. */
  readonly stages: readonly (readonly Finding[])[];
  readonly credentials: CredentialReading;
}

/** Sorted by place; columns count UTF-16 code units. */
export function report({ file, lines, stages, credentials }: ReportSource): Diagnostic[] {
  const found = rootCauses([credentials.findings, ...stages]).sort(byPlace);
  const isConcealed = concealment(lines, credentials);
  const shown: Finding[] = [];
  let left = 0;
  for (const finding of found) {
    if (shown.length >= MAX_FINDINGS) left += 1;
    else if (isCredentialFinding(finding) || !isConcealed(finding)) shown.push(finding);
  }
  if (left > 0) shown.push(errorAt('MORE_FINDINGS', shown.at(-1)?.span ?? null, `${left} more findings are not shown`));
  return shown.map((finding) => diagnosticOf(finding, file, lines, credentials));
}

function rootCauses(stages: readonly (readonly Finding[])[]): Finding[] {
  const places = new Set<string>();
  const kept: Finding[] = [];
  for (const stage of stages) {
    const seen = new Set<string>();
    const here: string[] = [];
    for (const finding of stage) {
      const place = finding.span === null ? null : `${finding.span.line}:${finding.span.column}`;
      const same = `${place} ${finding.code} ${finding.message}`;
      if (seen.has(same) || (place !== null && places.has(place))) continue;
      seen.add(same);
      if (place !== null) here.push(place);
      kept.push(finding);
    }
    for (const place of here) places.add(place);
  }
  return kept;
}

const isCredentialFinding = (finding: Finding): boolean => finding.code.startsWith('CREDENTIAL_');

/**
 * Whether showing a finding could show a credential: its line holds one, or repeats one found elsewhere. Such findings
 * are left out, which never makes a policy valid: the credential's own finding stays.
 */
function concealment(lines: readonly string[], found: CredentialReading): (finding: Finding) => boolean {
  const holdsSecret = (text: string): boolean => found.secrets.some((secret) => holdsWord(text, secret));
  const knownLines = new Map<number, boolean>();
  const lineHoldsSecret = (line: number): boolean => {
    const known = knownLines.get(line) ?? holdsSecret(lines[line - 1] ?? '');
    knownLines.set(line, known);
    return known;
  };
  return ({ span, message, hint }) => {
    if (span === null) return false;
    if (found.secrets.length > MAX_SECRETS || found.concealedLines.has(span.line)) return true;
    return lineHoldsSecret(span.line) || holdsSecret(message) || holdsSecret(hint ?? '');
  };
}

function holdsWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const around = `${text[at - 1] ?? ''}${text[at + word.length] ?? ''}`;
    if (!/[A-Za-z0-9_-]/.test(around)) return true;
  }
  return false;
}

const byPlace = (a: Finding, b: Finding): number =>
  (a.span?.line ?? 0) - (b.span?.line ?? 0) ||
  (a.span?.column ?? 0) - (b.span?.column ?? 0) ||
  (a.code < b.code ? -1 : a.code > b.code ? 1 : 0);

function diagnosticOf(finding: Finding, file: string, lines: readonly string[], found: CredentialReading): Diagnostic {
  const { code, severity, message, hint, span } = finding;
  const place = span ?? { line: 0, column: 0, endLine: 0, endColumn: 0 };
  const line = span === null ? null : (lines[span.line - 1] ?? null);
  const hidden =
    line === null || line.length > MAX_SHOWN_LINE || found.concealedLines.has(place.line) || looksLikeToken(line);
  return {
    code,
    severity,
    message: looksLikeToken(message) ? 'this line is wrong, and holds what looks like a credential' : message,
    file,
    line: place.line,
    column: place.column,
    end_line: place.endLine,
    end_column: place.endColumn,
    source_line: hidden ? null : line,
    hint: hint !== null && looksLikeToken(hint) ? null : hint,
  };
}
