/** One attempt of a receipt in words, in the order in which things happened. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { AttemptState } from '../model/codes.ts';
import type { CommandResult, Log } from '../model/observation.ts';
import type { AttemptRecord } from '../model/receipt.ts';
import { durationOf } from './age.ts';
import { shellWord } from './next-command.ts';
import { ranWords } from './ran-words.ts';
import { sizeOf } from './size.ts';
import { firstOf, moment, shownPath, told } from './told.ts';

const STATES: Record<AttemptState, string> = {
  success: 'it did the unit',
  'failed-clean': 'it did not do the unit, and everything else is as it was',
  unavailable: 'it did no work',
  cancelled: 'you stopped it',
  'scope-expansion': 'it did more than it was allowed to',
  'failed-unknown': 'something about it cannot be proven, so do not take it for harmless',
};

const SHOWN_CHANGES = 10;
const SHOWN_FINDINGS = 10;

/** The lines of an attempt; its first one names it. */
export function attemptWords(attempt: AttemptRecord): string[] {
  const { state, code, message } = attempt;
  return [
    `${attempt.attempt_id}: ${state}, ${STATES[state]}`,
    ...told('why', `${code}: ${message}`),
    ...told('started', `${moment(attempt.started_at)}, took ${durationOf(attempt.duration_ms)}`),
    ...told('CLI', cliWords(attempt)),
    ...(attempt.process_started ? ranWords(attempt) : []),
    ...told('setup', attempt.setup.map(commandWords)),
    ...told('refusal', refusalWords(attempt)),
    ...told('changes', changeWords(attempt)),
    ...told('ignored', ignoredWords(attempt)),
    ...told('finding', findingWords(attempt.findings)),
    ...told('repository', canonicalWords(attempt)),
    ...told('verified', attempt.verification.map(commandWords)),
    ...told('result', resultWords(attempt.worker_result)),
    ...told('transport', commitWords(attempt.transport)),
    ...told('quarantine', commitWords(attempt.quarantine)),
    ...told('workspace', workspaceWords(attempt)),
    ...told('cleanup', cleanupWords(attempt)),
    ...told('logs', logWords(attempt.logs)),
    ...told('last words', attempt.summary.trim() === '' ? null : `${tailOf(attempt.summary)} (self-reported)`),
  ];
}

function cliWords({ profile, adapter, probe }: AttemptRecord): string {
  const version = probe.version === null ? 'version unknown' : `version ${probe.version}`;
  const program = probe.executable === null ? 'no program found' : `${shellWord(probe.executable)}, ${version}`;
  return `${profile === adapter ? profile : `${profile} (adapter ${adapter})`}: ${program}`;
}

function refusalWords({ refusal }: AttemptRecord): string | null {
  if (refusal === null) return null;
  const wait = refusal.retry_after_seconds;
  const after = wait === null ? '' : `, try again in ${durationOf(wait * 1000)}`;
  return `the provider refused: ${refusal.code}${after}. It said (${refusal.source}): ${refusal.line}`;
}

const STATUS = { A: 'added', M: 'modified', D: 'deleted', T: 'retyped' } as const;

function changeWords({ changes, change_count: count, process_started: started }: AttemptRecord): string[] {
  if (count === 0) return started ? ['none'] : [];
  const lines = changes.map(
    ({ path, status, in_scope: inScope }) =>
      `${STATUS[status].padEnd(9)}${shownPath(path)}${inScope ? '' : '   <- not in allowed_paths'}`,
  );
  const outside = changes.filter(({ in_scope: inScope }) => !inScope).length;
  const scope = outside === 0 ? 'all in allowed_paths' : `${outside} not in allowed_paths`;
  // What was not allowed is what a reader must not miss.
  const order = [...lines.keys()].sort((a, b) => Number(changes[a]?.in_scope) - Number(changes[b]?.in_scope));
  return [
    `${count === 1 ? '1 path' : `${count} paths`}, ${scope}`,
    ...firstOf(
      order.flatMap((i) => lines[i] ?? []),
      SHOWN_CHANGES,
      count,
    ),
  ];
}

const ignoredWords = ({ ignored }: AttemptRecord): string | null =>
  ignored.count === 0
    ? null
    : `${ignored.count === 1 ? '1 ignored file' : `${ignored.count} ignored files`}, ${sizeOf(ignored.bytes)}: ${firstOf(ignored.paths.map(shownPath), 3, ignored.count).join(', ')}`;

/** `CODE: message (first paths)`. */
export const findingWords = (findings: AttemptRecord['findings']): string[] =>
  firstOf(
    findings.map(({ code, message, paths }) => {
      const shown = firstOf(paths.map(shownPath), 3).join(', ');
      return `${code}: ${message}${shown === '' ? '' : ` (${shown})`}`;
    }),
    SHOWN_FINDINGS,
  );

const canonicalWords = ({ canonical }: AttemptRecord): string[] =>
  canonical.unchanged
    ? []
    : [
        'something in your own repository changed meanwhile:',
        ...firstOf(
          canonical.differences.map(({ what, path, detail }) => `${what} ${path}: ${detail}`),
          SHOWN_FINDINGS,
        ),
      ];

const commandWords = ({ argv, ok, code, duration_ms: ms }: CommandResult): string =>
  `${argv.map(shellWord).join(' ')}: ${ok ? 'ok' : code === null ? 'was not run to its end' : `exit code ${code}`}, ${durationOf(ms)}`;

function resultWords(result: unknown): string[] {
  if (result === null || result === undefined) return [];
  if (typeof result !== 'object') return [`${String(result)} (self-reported)`];
  return ['what the worker says of its work (self-reported):', ...firstOf(memberWords(result), 20)];
}

/** The members of a worker's own result, each on its line. */
export const memberWords = (result: object): string[] =>
  Object.entries(result).map(([name, value]) => {
    const shown = Array.isArray(value) && value.every((item) => typeof item === 'string') ? value.join('; ') : value;
    return `${name}: ${typeof shown === 'string' ? shown : JSON.stringify(shown)}`;
  });

const commitWords = (commit: AttemptRecord['transport']): string | null =>
  commit === null ? null : `${commit.commit.slice(0, 12)} ${commit.ref}`;

function workspaceWords({ cleanup }: AttemptRecord): string | null {
  const path = cleanup.retained_path;
  if (path === null) return null;
  return existsSync(path) ? `kept: ${shellWord(path)}` : `was kept, and is not there any more: ${shellWord(path)}`;
}

function cleanupWords({ cleanup, process_started: started }: AttemptRecord): string | null {
  if (cleanup.exact || !started) return null;
  // A workspace that is kept on purpose is told of above.
  const isKept = cleanup.retained_path !== null;
  const open = [
    ...(cleanup.workspace_removed || isKept ? [] : ['the workspace stays']),
    ...(cleanup.worktree_unregistered || isKept ? [] : ['its worktree is still registered']),
    ...(cleanup.processes_gone ? [] : ['processes may be left']),
    ...(cleanup.canonical_unchanged ? [] : ['your repository changed meanwhile']),
  ];
  if (open.length === 0) return isKept ? null : 'not exact: not everything could be kept';
  return `not exact: ${open.join(', ')}`;
}

/** A line for the worker's, and one for those of each of the host's own commands, named by their files. */
function logWords(logs: readonly Log[]): string[] {
  const lines = new Map<string, string[]>();
  for (const { stream, path, bytes_seen: seen, bytes_kept: kept } of logs) {
    const command = /^(.+)\.(?:stdout|stderr)\.log$/.exec(basename(path))?.[1] ?? '';
    const size = `${stream} ${seen === 0 ? 'empty' : sizeOf(seen)}${kept < seen ? ` (${sizeOf(kept)} of it kept)` : ''}`;
    lines.set(command, [...(lines.get(command) ?? []), size]);
  }
  return [...lines].map(([command, sizes]) => `${command === '' ? '' : `${command}: `}${sizes.join(', ')}`);
}

const LAST_WORDS = 400;
const tailOf = (text: string): string => (text.length <= LAST_WORDS ? text : `...${text.slice(-LAST_WORDS)}`);
