/** A whole receipt in words: what came of the run and why, what it was about, each attempt, and what to do next. */
import type { RunOutcome } from '../model/codes.ts';
import type { Receipt } from '../model/receipt.ts';
import { ageOf, durationOf } from './age.ts';
import { attemptWords, findingWords } from './attempt-words.ts';
import { shellWord } from './next-command.ts';
import { type NextStep, nextSteps, type Whereabouts } from './next-steps.ts';
import { oneLine } from './table.ts';
import { firstOf, moment, told } from './told.ts';

const HEADLINES: Record<RunOutcome, string> = {
  success: 'the unit is done; the change waits in a commit, and your checkout was not touched',
  'invalid-config': 'nothing was started',
  exhausted: 'every candidate was tried and none did the unit',
  'host-fallback-authorized': 'no candidate can do it and none left anything: you may do the unit yourself',
  blocked: 'it stopped, because a person must look',
  'evidence-failed': 'the work succeeded, but its records could not be written',
  cancelled: 'you stopped it',
};

/** The lines. `path`: where the receipt is. */
export function receiptWords(receipt: Receipt, path: string, where: Whereabouts, now: Date): string[] {
  const { outcome, reason, unit, repository, policy, attempts, telemetry } = receipt;
  return [
    `run ${receipt.run_id}: ${outcome}, ${HEADLINES[outcome]}`,
    ...told('why', `${reason.code}: ${reason.message}`),
    ...told('unit', `${unit.unit_id}, in the role ${receipt.role}`),
    ...told('allowed', firstOf(unit.allowed_paths, 8).join(' ')),
    ...told('base', baseWords(repository)),
    ...told(
      'started',
      `${moment(receipt.started_at)} (${ageOf(new Date(receipt.started_at), now)} ago), took ${durationOf(receipt.duration_ms)}`,
    ),
    ...told('candidates', candidateWords(receipt)),
    ...told(
      'rules',
      `isolation ${policy.isolation}; network ${unit.network}; cost ${unit.external_cost}; host fallback ${policy.fallback_to_host}; time limit ${durationOf(unit.timeout_seconds * 1000)}`,
    ),
    ...told('finding', findingWords(receipt.findings)),
    ...told('telemetry', telemetry.logged ? null : `not written to ${telemetry.path}: ${telemetry.error ?? 'unknown'}`),
    ...told('receipt', `${shellWord(path)} (agent-exec ${receipt.tool.version}, exit code ${receipt.exit_code})`),
    ...(attempts.length === 0 ? ['', 'no attempt was made'] : attempts.flatMap((one) => ['', ...attemptWords(one)])),
    ...nextWords(nextSteps(receipt, where)),
  ];
}

function baseWords({ base, head, head_ref: ref, dirty_paths: dirty, lfs }: Receipt['repository']): string {
  const branch = ref?.replace(/^refs\/heads\//, '') ?? 'no branch';
  return [
    base.slice(0, 12),
    base === head ? `(HEAD, ${branch})` : `(HEAD was ${head.slice(0, 12)}, ${branch})`,
    ...(dirty === 0 ? [] : [`; your checkout had ${dirty} uncommitted paths, which the worker did not see`]),
    ...(lfs ? ['; uses Git LFS, of which the worker saw pointers'] : []),
  ]
    .join(' ')
    .replaceAll(' ;', ';');
}

function candidateWords({ candidates, attempts }: Receipt): string {
  const untried = candidates.length - attempts.length;
  return `${firstOf(candidates, 12).join(', ')}${untried > 0 ? ` (${untried} not tried)` : ''}`;
}

const WIDEST = 72;

/** The steps under their heading; what a command is for stands behind it, as a comment of the shell. */
export function nextWords(steps: readonly NextStep[]): string[] {
  if (steps.length === 0) return [];
  const widths = steps.flatMap(({ command }) => (command === null ? [] : [command.length]));
  const width = Math.max(0, ...widths.filter((one) => one <= WIDEST));
  return [
    '',
    'what to do next',
    ...steps.map(({ command, why }) =>
      command === null ? `  ${oneLine(why)}` : `  ${oneLine(command).padEnd(width)}  # ${oneLine(why)}`,
    ),
  ];
}
