/**
 * `agent-exec probe --live`: asks the user's own accounts, one profile at a time, and says before the first request that
 * this spends quota. Everything that can be refused is refused before that; whatever was learned is printed, however the
 * probe ends.
 */
import { CANCEL_EXIT, EXIT } from '../model/codes.ts';
import type { Policy } from '../model/config.ts';
import { err, ok, type Result } from '../model/result.ts';
import { candidatesOf } from '../plan/candidates.ts';
import { neutralise } from '../receipt/neutralise.ts';
import { CONFIG_FILE, fileFinding } from '../run/config-file.ts';
import { redactorFor } from '../run/credentials.ts';
import { askLive, type LiveAnswer, type LiveProblem } from '../run/live.ts';
import { stoppedBy } from '../run/surroundings.ts';
import { type CallingRepository, foldersOf } from './calling-repository.ts';
import type { CliIo } from './io.ts';
import { liveReceiptPlaces } from './live-receipts.ts';
import {
  type AskedProfile,
  announcement,
  liveExitCode,
  liveJson,
  liveText,
  notesOf,
  notesOn,
  notesOnTheRest,
} from './probe-live-answer.ts';
import { type Explained, explainStateRoot } from './problems.ts';
import { progressView, wordsBy } from './progress.ts';
import { listenForSignals } from './signals.ts';
import { stateRootFor, surroundingsOf } from './surroundings.ts';

export interface LiveProbe {
  readonly policy: Policy;
  readonly digest: string;
  /** Each name once, and known; empty: every enabled profile. */
  readonly asked: readonly string[];
  readonly calledFrom: CallingRepository | null;
  readonly options: {
    readonly stateDir?: string;
    readonly json?: boolean;
    readonly receipts?: string;
    readonly timeout?: string;
  };
}

/** One small file should not take longer; a policy's own limit is made for real work. */
const USUAL_LIMIT_SECONDS = 300;

/** The exit code. */
export async function probeLive(io: CliIo, probe: LiveProbe): Promise<number> {
  const { policy, calledFrom, options } = probe;
  const usage = (message: string): number => {
    io.note(`agent-exec probe: ${neutralise(message)}\n`);
    return EXIT.usage;
  };
  if ((io.env.AGENT_EXEC_CHAIN ?? '') !== '') {
    const message =
      "This was started inside a run (AGENT_EXEC_CHAIN is set). A worker must not spend the host's quota, for whichever repository: leave it to the host.";
    return refuse(io, probe, { code: 'RECURSION_DETECTED', message }, EXIT.exhausted);
  }
  const names = probe.asked.length > 0 ? probe.asked : enabledProfiles(policy);
  const timeoutSeconds = limitOf(policy, options.timeout);
  if (!timeoutSeconds.ok) return usage(timeoutSeconds.error);
  const stateRoot = await stateRootFor(io, options.stateDir, foldersOf(calledFrom));
  if (!stateRoot.ok) return refuse(io, probe, explainStateRoot(stateRoot.error), EXIT['invalid-config']);
  const receipts = await liveReceiptPlaces(io, names, calledFrom, options.receipts);
  if (!receipts.ok) return usage(receipts.error);
  io.note(announcement(policy, names, probe.asked.length > 0));
  return ask(io, probe, {
    names,
    timeoutSeconds: timeoutSeconds.value,
    stateRoot: stateRoot.value,
    receiptOf: (name) => receipts.value?.get(name) ?? null,
  });
}

const enabledProfiles = (policy: Policy): string[] =>
  Object.keys(policy.profiles).filter((name) => policy.profiles[name]?.enabled === true);

function limitOf({ execution }: Policy, given: string | undefined): Result<number, string> {
  if (given === undefined) return ok(Math.min(USUAL_LIMIT_SECONDS, execution.timeout_seconds));
  const seconds = /^[0-9]{1,9}$/.test(given) ? Number(given) : 0;
  return seconds >= 1 && seconds <= execution.timeout_seconds
    ? ok(seconds)
    : err(`--timeout ${given} is not a number of seconds from 1 to ${execution.timeout_seconds}, the policy's limit.`);
}

interface Asking {
  readonly names: readonly string[];
  readonly timeoutSeconds: number;
  readonly stateRoot: string;
  receiptOf(name: string): string | null;
}

/** One profile after another, until all were asked, the host stops it, or nothing can be written any more. */
async function ask(io: CliIo, probe: LiveProbe, asking: Asking): Promise<number> {
  const { names } = asking;
  const done: AskedProfile[] = [];
  const notes = notesOn(probe.calledFrom, names);
  const signals = listenForSignals((signal) => io.note(`${signal}: stopping\n`));
  let trouble: LiveProblem | null = null;
  /** Asked, for all that is known, and without an answer. */
  let unanswered: string | null = null;
  let complete = false;
  try {
    for (const name of names) {
      if (stoppedBy(signals.stop) !== null) break;
      unanswered = name;
      const asked = await askOne(io, probe, asking, name, signals.stop);
      if (asked.ok || !asked.error.mayHaveAsked) unanswered = null;
      if (!asked.ok) {
        trouble = asked.error;
        break;
      }
      done.push({ profile: name, adapter: probe.policy.profiles[name]?.adapter ?? '', answer: asked.value });
      notes.push(...notesOf(name, asked.value, asking.receiptOf(name)));
    }
    complete = true;
  } finally {
    signals.release();
    notes.push(...notesOnTheRest(names.slice(done.length), unanswered));
    const errors =
      trouble === null
        ? []
        : [fileFinding(trouble.path, 'STATE_ROOT_INVALID', `cannot be written: ${trouble.problem.message}`, null)];
    // A bug, too, leaves what was paid for.
    if (complete || done.length > 0 || unanswered !== null) {
      await io.out(probe.options.json === true ? liveJson(done, notes, errors) : liveText(done, notes));
    }
    for (const { file, message } of errors) io.note(`agent-exec probe: ${neutralise(`${file} ${message}`)}\n`);
  }
  const stopped = stoppedBy(signals.stop);
  if (stopped !== null) return CANCEL_EXIT[stopped];
  if (trouble === null) return liveExitCode(done);
  return unanswered !== null || done.some(wasAsked) ? EXIT.blocked : EXIT['invalid-config'];
}

const wasAsked = ({ answer }: AskedProfile): boolean =>
  answer.receipt.attempts.some(({ process_started: started }) => started);

async function askOne(
  io: CliIo,
  { policy, digest, calledFrom }: LiveProbe,
  { timeoutSeconds, stateRoot, receiptOf }: Asking,
  profile: string,
  stop: AbortSignal,
): Promise<Result<LiveAnswer, LiveProblem>> {
  const redactor = redactorFor(
    candidatesOf(policy, [profile]).map(({ adapter }) => adapter),
    io.env,
  );
  const view = progressView(io, false, wordsBy(redactor), () => performance.now());
  try {
    return await askLive({
      policy,
      configDigest: digest,
      profile,
      timeoutSeconds,
      stateRoot,
      receiptPath: receiptOf(profile),
      checkout: calledFrom === null ? null : { folders: foldersOf(calledFrom), facts: calledFrom.facts },
      around: surroundingsOf(io, stop, view.report),
    });
  } finally {
    view.end();
  }
}

/** Nothing was asked. */
async function refuse(io: CliIo, { options }: LiveProbe, { code, message }: Explained, exit: number): Promise<number> {
  if (options.json === true) await io.out(liveJson([], [], [fileFinding(CONFIG_FILE, code, message, null)]));
  io.note(`agent-exec probe: ${neutralise(message)}\n`);
  return exit;
}
