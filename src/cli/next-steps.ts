/** What a person can do after a run, as command lines to copy. What fits depends on the outcome and on what is still there. */
import { existsSync } from 'node:fs';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import { unreachable } from '../model/result.ts';
import { ADVICE } from './code-advice.ts';
import { nextCommand, shellWord } from './next-command.ts';

/** `command` null: there is nothing to type, only something to know. */
export interface NextStep {
  readonly command: string | null;
  readonly why: string;
}

/** Where what is told of a run can be looked for. */
export interface Whereabouts {
  /** False for a receipt from elsewhere: only the repository has what it tells of. */
  readonly isStored: boolean;
  readonly stateDir: string | undefined;
  /** The worktree to go to first; null where the command was called from within the run's repository. */
  readonly elsewhere: string | null;
}

const SHOWN_ATTEMPTS = 3;

/** The steps, most useful first. */
export function nextSteps(receipt: Receipt, where: Whereabouts): NextStep[] {
  const { outcome, attempts } = receipt;
  const goThere: NextStep[] =
    where.elsewhere === null
      ? []
      : [{ command: `cd ${shellWord(where.elsewhere)}`, why: 'the repository of this run' }];
  switch (outcome) {
    case 'success':
      return [...goThere, ...takeOver(receipt, where), ...besideTransport(receipt, where)];
    case 'evidence-failed':
      return [
        ...goThere,
        ...takeOver(receipt, where),
        { command: null, why: 'the change is whole. Find out why the records could not be written (see "why")' },
      ];
    case 'blocked':
      return [...advice(attempts.slice(-1)), ...goThere, ...keptWork(receipt, where), ...lookAtLogs(receipt, where)];
    case 'cancelled':
      return [...goThere, ...keptWork(receipt, where), { command: null, why: 'run again when you like' }];
    case 'exhausted':
      return [...advice(attempts), ...goThere, ...keptWork(receipt, where), ...lookAtLogs(receipt, where)];
    case 'host-fallback-authorized':
      return [
        {
          command: null,
          why: `do the unit yourself, from ${receipt.repository.base.slice(0, 12)}, within: ${receipt.unit.allowed_paths.join(' ')}`,
        },
        ...advice(attempts),
      ];
    case 'invalid-config':
      return [
        { command: nextCommand(['validate'], { stateDir: undefined }), why: 'what is wrong with the configuration' },
      ];
    default:
      return unreachable(outcome);
  }
}

const command = (where: Whereabouts, why: string, ...words: string[]): NextStep => ({
  command: nextCommand(words, where),
  why,
});

function takeOver({ run_id: id, attempts }: Receipt, where: Whereabouts): NextStep[] {
  const ref = attempts.find(({ transport }) => transport !== null)?.transport?.ref;
  if (ref === undefined) return [];
  if (!where.isStored) return [gitShow(ref, 'look at the change')];
  return [
    command(where, 'look at the change', 'diff', id),
    command(where, 'put it into your worktree, without a commit', 'apply', id),
    command(where, 'or make a branch of it', 'apply', id, '--branch', 'NAME'),
  ];
}

const gitShow = (ref: string, why: string): NextStep => ({ command: `git show ${ref}`, why });

/** A success may leave ignored files as well. */
const besideTransport = ({ run_id: id, attempts }: Receipt, where: Whereabouts): NextStep[] =>
  quarantined(attempts.filter(({ state }) => state === 'success')).map(({ attemptId, ref }) => {
    const why = 'ignored files that it left, kept apart';
    return where.isStored
      ? command(where, why, 'diff', id, '--attempt', attemptId, '--quarantine', '--stat')
      : gitShow(ref, why);
  });

const quarantined = (attempts: readonly AttemptRecord[]): { readonly attemptId: string; readonly ref: string }[] =>
  attempts.flatMap(({ attempt_id: attemptId, quarantine }) =>
    quarantine === null ? [] : [{ attemptId, ref: quarantine.ref }],
  );

/** What unsuccessful attempts left, the newest first. */
function keptWork({ run_id: id, attempts }: Receipt, where: Whereabouts): NextStep[] {
  const commits = quarantined(attempts).reverse().slice(0, SHOWN_ATTEMPTS);
  const steps = commits.flatMap(({ attemptId, ref }) =>
    where.isStored
      ? [
          command(where, `look at what ${attemptId} left`, 'diff', id, '--attempt', attemptId, '--quarantine'),
          command(where, 'take it over all the same', 'apply', id, '--attempt', attemptId, '--quarantine'),
        ]
      : [gitShow(ref, `look at what ${attemptId} left`)],
  );
  const folders = attempts
    .flatMap(({ cleanup }) => cleanup.retained_path ?? [])
    .filter((path) => existsSync(path))
    .map((path): NextStep => ({ command: `cd ${shellWord(path)}`, why: 'the workspace, as the worker left it' }));
  return [...steps, ...folders.slice(-SHOWN_ATTEMPTS)];
}

function lookAtLogs({ run_id: id, attempts }: Receipt, where: Whereabouts): NextStep[] {
  const last = attempts.findLast(({ logs }) => logs.length > 0);
  if (!where.isStored || last === undefined) return [];
  return [command(where, `what ${last.attempt_id} printed`, 'logs', id, '--attempt', last.attempt_id)];
}

/** Each piece of advice once, however many attempts it fits. */
function advice(attempts: readonly AttemptRecord[]): NextStep[] {
  const words = attempts.flatMap(({ attempt_id: id, code }) => {
    const what = ADVICE[code];
    return what === null ? [] : [{ id, what }];
  });
  return [...new Set(words.map(({ what }) => what))].map((what) => ({
    command: null,
    why: `${words.flatMap((one) => (one.what === what ? [one.id] : [])).join(', ')}: ${what}`,
  }));
}
