/**
 * The bounded answer of a run (SPEC 10): human text, at most `limit` bytes, that says what happened, where everything is
 * and what to do next. `--json` prints receipt/summary.ts instead.
 */
import type { RunOutcome } from '../model/codes.ts';
import type { Receipt } from '../model/receipt.ts';
import { unreachable } from '../model/result.ts';
import type { Summary } from '../model/summary.ts';
import { neutralise } from '../receipt/neutralise.ts';

const display = (path: Summary['changed_paths'][number]): string => (typeof path === 'string' ? path : path.display);
const oneLine = (text: string): string => neutralise(text).replaceAll('\n', '\\n');
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

const HEADLINES: Record<RunOutcome, string> = {
  success: 'success',
  'invalid-config': 'nothing was started',
  exhausted: 'exhausted: no candidate did the unit',
  'host-fallback-authorized': 'host fallback authorized: you may do the unit yourself',
  blocked: 'blocked: a person must look',
  'evidence-failed': 'the work succeeded, but its records could not be written',
  cancelled: 'cancelled',
};

function nextSteps(summary: Summary, receipt: Receipt | null): string[] {
  const base = receipt?.repository.base.slice(0, 12) ?? 'BASE';
  const ref = summary.transport?.ref;
  const kept = summary.quarantine.map((name) => `see     git diff ${base} ${name}`);
  switch (summary.outcome) {
    case 'success':
      return ref === undefined ? [] : [`see     git show ${ref}`, `take    git merge --ff-only ${ref}`];
    case 'evidence-failed':
      return ref === undefined ? [] : [`see     git show ${ref}`];
    case 'host-fallback-authorized':
      return [`allowed ${(summary.host_fallback?.allowed_paths ?? []).slice(0, 8).join(' ')}`];
    case 'blocked':
    case 'exhausted':
    case 'cancelled':
    case 'invalid-config':
      return kept;
    default:
      return unreachable(summary.outcome);
  }
}

/** `summary` must already be redacted. Neutralised before it is cut, because escapes make text longer. */
export function runAnswer(summary: Summary, receipt: Receipt | null, limit: number): string {
  const lines = [HEADLINES[summary.outcome], `why     ${summary.reason.code}: ${summary.reason.message}`];
  if (summary.transport !== null) lines.push(`commit  ${summary.transport.commit} ${summary.transport.ref}`);
  if (summary.change_count > 0) {
    const shown = summary.changed_paths.slice(0, 10).map(display);
    const more = summary.change_count - shown.length;
    lines.push(`paths   ${shown.map(quoted).join(' ')}${more > 0 ? ` and ${more} more` : ''}`);
  }
  for (const ref of summary.quarantine) lines.push(`kept    ${ref}`);
  for (const path of summary.retained) lines.push(`kept    ${quoted(path)}`);
  if (summary.receipt !== null) lines.push(`receipt ${quoted(summary.receipt)}`);
  lines.push(...nextSteps(summary, receipt));
  if (summary.telemetry_logged === false) lines.push('note    telemetry could not be written');
  return clip(`${lines.map(oneLine).join('\n')}\n`, limit);
}

/** Cuts at a character border so that no more than `limit` bytes are left. */
function clip(text: string, limit: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limit) return text;
  const cut = new TextDecoder('utf-8', { fatal: false }).decode(bytes.subarray(0, limit - 4)).replace(/\uFFFD+$/, '');
  return `${cut}...\n`;
}
