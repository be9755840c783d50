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
import { askLive, type LiveAnswer } from '../run/live.ts';
import { runAround } from '../run/recursion.ts';
import type { RunUnitProblem } from '../run/run.ts';
import { stoppedBy } from '../run/surroundings.ts';
import { openStateRoot } from '../store/state-root.ts';
import type { CliIo } from './io.ts';
import { type Home, liveReceiptPlaces } from './live-receipts.ts';
import { type AskedProfile, liveExitCode, liveJson, liveText } from './probe-live-answer.ts';
import { type Explained, explainStateRoot } from './problems.ts';
import { progressView } from './progress.ts';
import { listenForSignals } from './signals.ts';
import { VERSION } from './version.ts';

export interface LiveProbe {
  readonly policy: Policy;
  readonly digest: string;
  /** Each name once, and known; empty: every enabled profile. */
  readonly asked: readonly string[];
  readonly home: Home | null;
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
  const { policy, home, options } = probe;
  const usage = (message: string): number => {
    io.note(`agent-exec probe: ${neutralise(message)}\n`);
    return EXIT.usage;
  };
  const names = probe.asked.length > 0 ? probe.asked : enabledProfiles(policy);
  const timeoutSeconds = limitOf(policy, options.timeout);
  if (!timeoutSeconds.ok) return usage(timeoutSeconds.error);
  const inside = home?.facts == null ? null : await runAround(io.env.AGENT_EXEC_CHAIN, home.facts);
  if (inside !== null) {
    const message = `This was started inside run ${inside} of the same repository. A worker must not spend the host's quota.`;
    return refuse(io, probe, { code: 'RECURSION_DETECTED', message }, EXIT.exhausted);
  }
  const stateRoot = await openStateRoot({
    override: options.stateDir ?? io.env.AGENT_EXEC_STATE_DIR ?? null,
    cwd: io.cwd(),
    uid: process.getuid?.() ?? 0,
    repositoryFolders: foldersOf(home),
  });
  if (!stateRoot.ok) return refuse(io, probe, explainStateRoot(stateRoot.error), EXIT['invalid-config']);
  const receipts = await liveReceiptPlaces(io, names, home, options.receipts);
  if (!receipts.ok) return usage(receipts.error);
  io.note(announcement(policy, names));
  return ask(io, probe, {
    names,
    timeoutSeconds: timeoutSeconds.value,
    stateRoot: stateRoot.value,
    receiptOf: (name) => receipts.value?.get(name) ?? null,
  });
}

const enabledProfiles = (policy: Policy): string[] =>
  Object.keys(policy.profiles).filter((name) => policy.profiles[name]?.enabled === true);

const foldersOf = (home: Home | null): string[] =>
  home === null ? [] : [home.worktree, ...(home.facts === null ? [] : [home.facts.gitDir, home.facts.commonDir])];

function limitOf({ execution }: Policy, given: string | undefined): Result<number, string> {
  if (given === undefined) return ok(Math.min(USUAL_LIMIT_SECONDS, execution.timeout_seconds));
  const seconds = /^[0-9]{1,9}$/.test(given) ? Number(given) : 0;
  return seconds >= 1 && seconds <= execution.timeout_seconds
    ? ok(seconds)
    : err(`--timeout ${given} is not a number of seconds from 1 to ${execution.timeout_seconds}, the policy's limit.`);
}

/** Before the first request, so that it can still be stopped. */
function announcement(policy: Policy, names: readonly string[]): string {
  const asked = names.filter((name) => policy.profiles[name]?.enabled === true);
  if (asked.length === 0) return 'probe --live asks nobody: no profile is enabled.\n';
  const metered = asked.filter((name) => policy.profiles[name]?.cost === 'metered');
  const billed = metered.length === 0 ? '' : ` Billed by use: ${metered.join(', ')}.`;
  return `probe --live asks, one at a time: ${asked.join(', ')}. Each request spends quota of the account behind it.${billed}\n`;
}

interface Asking {
  readonly names: readonly string[];
  readonly timeoutSeconds: number;
  readonly stateRoot: string;
  receiptOf(name: string): string | null;
}

/** One profile after another, until all were asked, the host stops it, or nothing can be written any more. */
async function ask(io: CliIo, probe: LiveProbe, asking: Asking): Promise<number> {
  const done: AskedProfile[] = [];
  const notes = notesOn(probe.home, asking.names);
  const signals = listenForSignals((signal) => io.note(`${signal}: stopping\n`));
  let trouble: RunUnitProblem | null = null;
  let complete = false;
  try {
    for (const name of asking.names) {
      if (stoppedBy(signals.stop) !== null || trouble !== null) break;
      const asked = await askOne(io, probe, asking, name, signals.stop);
      if (!asked.ok) trouble = asked.error;
      else {
        done.push({ profile: name, adapter: probe.policy.profiles[name]?.adapter ?? '', answer: asked.value });
        notes.push(...notesOf(name, asked.value, asking.receiptOf(name)));
      }
    }
    complete = true;
  } finally {
    signals.release();
    const skipped = asking.names.slice(done.length);
    if (skipped.length > 0) notes.push(`Not asked: ${skipped.join(', ')}.`);
    const errors =
      trouble === null
        ? []
        : [fileFinding(trouble.path, 'STATE_ROOT_INVALID', `cannot be written: ${trouble.problem.message}`, null)];
    // A bug, too, leaves what was paid for.
    if (complete || done.length > 0) {
      await io.out(probe.options.json === true ? liveJson(done, notes, errors) : liveText(done, notes));
    }
    for (const { file, message } of errors) io.note(`agent-exec probe: ${neutralise(`${file} ${message}`)}\n`);
  }
  const stopped = stoppedBy(signals.stop);
  if (stopped !== null) return CANCEL_EXIT[stopped];
  return trouble === null ? liveExitCode(done) : EXIT['invalid-config'];
}

async function askOne(
  io: CliIo,
  { policy, digest, home }: LiveProbe,
  { timeoutSeconds, stateRoot, receiptOf }: Asking,
  profile: string,
  stop: AbortSignal,
): Promise<Result<LiveAnswer, RunUnitProblem>> {
  const redactor = redactorFor(
    candidatesOf(policy, [profile]).map(({ adapter }) => adapter),
    io.env,
  );
  const clean = (text: string): string => neutralise(redactor.text(text)).replaceAll('\n', ' ');
  const view = progressView(io, false, clean, () => performance.now());
  try {
    return await askLive({
      policy,
      configDigest: digest,
      profile,
      timeoutSeconds,
      stateRoot,
      receiptPath: receiptOf(profile),
      caller: home?.facts ?? null,
      around: {
        hostEnv: io.env,
        platform: process.platform,
        uid: process.getuid?.() ?? 0,
        toolVersion: VERSION,
        now: () => new Date(),
        stop,
        progress: view.report,
      },
    });
  } finally {
    view.end();
  }
}

function notesOn(home: Home | null, names: readonly string[]): string[] {
  if (names.length === 0) return ['No profile is enabled, so nothing was asked.'];
  return home !== null && home.facts === null
    ? ['This repository has no commit yet: whether it stayed as it was could not be compared.']
    : [];
}

function notesOf(
  name: string,
  { movedByHost, verdict, kept, receiptPath }: LiveAnswer,
  wanted: string | null,
): string[] {
  const notes = movedByHost.slice(0, 1).map(({ what, path }) => {
    const more = movedByHost.length - 1;
    return `Your checkout changed while ${name} was asked, which it could not have done itself: ${what} ${path}${more > 0 ? ` and ${more} more` : ''}.`;
  });
  if (wanted !== null && receiptPath === null) notes.push(`The receipt of ${name} could not be written to ${wanted}.`);
  if (verdict.result !== 'failed') notes.push(...kept.map((folder) => `${folder} could not be removed.`));
  return notes;
}

/** Nothing was asked. */
async function refuse(io: CliIo, { options }: LiveProbe, { code, message }: Explained, exit: number): Promise<number> {
  if (options.json === true) await io.out(liveJson([], [], [fileFinding(CONFIG_FILE, code, message, null)]));
  io.note(`agent-exec probe: ${neutralise(message)}\n`);
  return exit;
}
