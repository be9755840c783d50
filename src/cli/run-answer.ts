/**
 * The bounded answer of a run (SPEC 10): human text, at most `limit` bytes, that says what happened, where everything is
 * and what to do next. `--json` prints receipt/summary.ts instead.
 */
import type { RunOutcome } from '../model/codes.ts';
import type { Receipt } from '../model/receipt.ts';
import type { Summary } from '../model/summary.ts';
import { headOf } from '../receipt/bounded-text.ts';
import { neutralise } from '../receipt/neutralise.ts';
import { memberWords } from './attempt-words.ts';
import { nextCommand, shellWord } from './next-command.ts';
import { type NextStep, nextSteps, type Whereabouts } from './next-steps.ts';

const display = (path: Summary['changed_paths'][number]): string => (typeof path === 'string' ? path : path.display);
const oneLine = (text: string): string => neutralise(text).replaceAll('\n', '\\n');

const HEADLINES: Record<RunOutcome, string> = {
  success: 'success',
  'invalid-config': 'nothing was started',
  exhausted: 'exhausted: no candidate did the unit',
  'host-fallback-authorized': 'host fallback authorized: you may do the unit yourself',
  blocked: 'blocked: a person must look',
  'evidence-failed': 'the work succeeded, but its records could not be written',
  cancelled: 'cancelled',
};

/** As many as fit a short answer; `show` has them all. */
const SHOWN_STEPS = 3;

/** What leads to the work, in commands, most useful first; at the end the one that tells everything. */
export function commandsAfter(receipt: Receipt, where: Whereabouts): NextStep[] {
  const steps = nextSteps(receipt, where)
    .filter(({ command }) => command !== null)
    .slice(0, where.elsewhere === null ? SHOWN_STEPS : SHOWN_STEPS + 1);
  if (!where.isStored || receipt.outcome === 'success') return steps;
  return [...steps, { command: nextCommand(['show', receipt.run_id], where), why: 'all that is known' }];
}

/** `summary` must already be redacted. Neutralised before it is cut, because escapes make text longer. */
export function runAnswer(
  summary: Summary,
  receipt: Receipt,
  { limit, steps }: { readonly limit: number; readonly steps: readonly NextStep[] },
): string {
  const lines = [HEADLINES[summary.outcome], `why     ${summary.reason.code}: ${summary.reason.message}`];
  // What is in the way, in the worker's own words: nothing else says what the person who must look has to look at.
  if (summary.reason.code === 'WORKER_BLOCKED') lines.push(...saidLines(summary.worker_result));
  if (summary.transport !== null) lines.push(`commit  ${summary.transport.commit} ${summary.transport.ref}`);
  if (summary.change_count > 0) {
    const shown = summary.changed_paths.slice(0, 10).map(display);
    const more = summary.change_count - shown.length;
    lines.push(`paths   ${shown.map(shellWord).join(' ')}${more > 0 ? ` and ${more} more` : ''}`);
  }
  for (const ref of summary.quarantine) lines.push(`kept    ${ref}`);
  for (const path of summary.retained) lines.push(`kept    ${shellWord(path)}`);
  if (summary.receipt !== null) lines.push(`receipt ${shellWord(summary.receipt)}`);
  lines.push(...steps.map(({ command, why }) => `next    ${command}   # ${why}`));
  if (summary.transport !== null) lines.push(`or      git merge --ff-only ${summary.transport.ref}`);
  if (receipt.outcome === 'host-fallback-authorized') {
    lines.push(`allowed ${receipt.unit.allowed_paths.slice(0, 8).join(' ')}`);
  }
  if (summary.telemetry_logged === false) lines.push('note    telemetry could not be written');
  return clip(`${lines.map(oneLine).join('\n')}\n`, limit);
}

/** Each bounded, so that what to do next is still told. */
const SAID_BYTES = 300;
const SAID_LINES = 8;
const saidLines = (result: unknown): string[] =>
  (typeof result === 'object' && result !== null ? memberWords(result) : [])
    .filter((line) => !/^STATUS: |: $/.test(line))
    .slice(0, SAID_LINES)
    .map((line) => `says    ${headOf(oneLine(line), SAID_BYTES)}`);

/** Cuts at a character border so that no more than `limit` bytes are left. */
function clip(text: string, limit: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limit) return text;
  const cut = new TextDecoder('utf-8', { fatal: false }).decode(bytes.subarray(0, limit - 4)).replace(/\uFFFD+$/, '');
  return `${cut}...\n`;
}
