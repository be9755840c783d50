/**
 * A run's progress on stderr: one live line on a terminal, one line for each attempt's start and end elsewhere (and one
 * a minute while a worker is busy), nothing with --quiet. Whatever a worker printed is redacted and neutralised first.
 */
import yoctoSpinner from 'yocto-spinner';
import { unreachable } from '../model/result.ts';
import { neutralise } from '../receipt/neutralise.ts';
import type { Redactor } from '../receipt/redact.ts';
import type { Phase, Progress, ProgressEvent } from '../run/progress.ts';
import type { CliIo } from './io.ts';

const PHASES: Record<Phase, string> = {
  probe: 'looking for the CLI',
  workspace: 'making the workspace',
  setup: 'running setup',
  worker: 'worker is running',
  inspection: 'inspecting what it did',
  verification: 'verifying',
  cleanup: 'cleaning up',
};
const BUSY_EVERY_MS = 60_000;

const seconds = (ms: number): string => (ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`);

export interface ProgressView {
  readonly report: Progress;
  /** Must be called once, however the run ends. */
  end(): void;
}

/** What is shown of a worker's words: redacted, harmless, on one line. */
export const wordsBy =
  (redactor: Redactor) =>
  (text: string): string =>
    neutralise(redactor.text(text)).replaceAll('\n', ' ');

/** `clean` redacts and neutralises worker text; `now` is a clock in milliseconds. */
export function progressView(
  io: CliIo,
  quiet: boolean,
  clean: (text: string) => string,
  now: () => number,
): ProgressView {
  if (quiet) return { report: () => {}, end: () => {} };
  return io.stderrIsTerminal && io.env.TERM !== 'dumb' ? liveView(clean, now) : sparseView(io, clean, now);
}

const ended = (event: Extract<ProgressEvent, { kind: 'attempt-ended' }>, clean: (text: string) => string): string =>
  `${event.attemptId}  ${event.verdict.state} ${event.verdict.code} after ${seconds(event.durationMs)}: ${clean(event.verdict.message).slice(0, 300)}`;

const queued = (limit: number): string =>
  `waiting: ${limit === 1 ? 'another run' : `${limit} other runs`} of this repository ${limit === 1 ? 'is' : 'are'} under way, as many as max_parallel of AGENT-EXECUTION.md allows`;

function sparseView(io: CliIo, clean: (text: string) => string, now: () => number): ProgressView {
  let lastSpoke = now();
  let startedAt = now();
  let activity = (): string => '';
  const say = (line: string): void => {
    lastSpoke = now();
    io.note(`${line}\n`);
  };
  const busy = setInterval(() => {
    if (now() - lastSpoke < BUSY_EVERY_MS) return;
    const doing = activity();
    say(`  still running after ${seconds(now() - startedAt)}${doing && `: ${doing}`}`);
  }, 5000);
  busy.unref();
  const report = (event: ProgressEvent): void => {
    switch (event.kind) {
      case 'run-started':
        say(`run ${event.runId}: ${event.candidates.join(', ')}`);
        return;
      case 'queued':
        say(queued(event.limit));
        activity = () => 'waiting for another run to end';
        return;
      case 'attempt-started':
        startedAt = now();
        say(`${event.attemptId}  started (${event.position} of ${event.of})`);
        return;
      case 'attempt-ended':
        say(ended(event, clean));
        return;
      case 'waiting':
        say(
          `${event.attemptId}  waiting on its provider: ${event.refusal.code} ${clean(event.refusal.line).slice(0, 200)}`,
        );
        return;
      case 'activity':
        // Cleaned when it is said: a worker may print a million lines between two looks.
        activity = () => clean(event.text).slice(0, 120);
        return;
      case 'phase':
        activity = () => PHASES[event.phase];
        return;
      default:
        unreachable(event);
    }
  };
  return { report, end: () => clearInterval(busy) };
}

function liveView(clean: (text: string) => string, now: () => number): ProgressView {
  const spinner = yoctoSpinner({ stream: process.stderr, handleSignals: false });
  let attempt = '';
  let doing = (): string => '';
  let startedAt = now();
  const draw = (): void => {
    const width = Math.max(20, (process.stderr.columns ?? 80) - 4);
    spinner.text = `${attempt}  ${seconds(now() - startedAt)}  ${doing()}`.replaceAll('\n', ' ').slice(0, width);
  };
  const clock = setInterval(draw, 500);
  clock.unref();
  const line = (text: string): void => {
    const spinning = spinner.isSpinning;
    if (spinning) spinner.stop();
    process.stderr.write(`${text}\n`);
    if (spinning) spinner.start();
  };
  const report = (event: ProgressEvent): void => {
    switch (event.kind) {
      case 'run-started':
        line(`run ${event.runId}: ${event.candidates.join(', ')}`);
        return;
      case 'queued':
        line(queued(event.limit));
        return;
      case 'attempt-started':
        attempt = `${event.attemptId} (${event.position} of ${event.of})`;
        startedAt = now();
        doing = () => '';
        if (!spinner.isSpinning) spinner.start();
        draw();
        return;
      case 'phase':
        doing = () => PHASES[event.phase];
        draw();
        return;
      case 'activity':
        // Cleaned and drawn by the clock: a worker may say a thousand things a second.
        doing = () => clean(event.text);
        return;
      case 'waiting':
        doing = () => `waiting on its provider (${event.refusal.code})`;
        draw();
        return;
      case 'attempt-ended':
        spinner.stop();
        line(ended(event, clean));
        return;
      default:
        unreachable(event);
    }
  };
  return {
    report,
    end: () => {
      clearInterval(clock);
      if (spinner.isSpinning) spinner.stop();
    },
  };
}
