/**
 * A run's progress on stderr: one live line on a terminal, one line for each attempt's start and end elsewhere (and one
 * a minute while a worker is busy), nothing with --quiet. Whatever a worker printed is redacted and neutralised first.
 */
import yoctoSpinner from 'yocto-spinner';
import { unreachable } from '../model/result.ts';
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

function sparseView(io: CliIo, clean: (text: string) => string, now: () => number): ProgressView {
  let lastSpoke = now();
  let startedAt = now();
  let activity = '';
  const say = (line: string): void => {
    lastSpoke = now();
    io.note(`${line}\n`);
  };
  const busy = setInterval(() => {
    if (now() - lastSpoke >= BUSY_EVERY_MS)
      say(`  still running after ${seconds(now() - startedAt)}${activity && `: ${activity}`}`);
  }, 5000);
  busy.unref();
  const report = (event: ProgressEvent): void => {
    switch (event.kind) {
      case 'run-started':
        return say(`run ${event.runId}: ${event.candidates.join(', ')}`);
      case 'attempt-started':
        startedAt = now();
        return say(`${event.attemptId}  started (${event.position} of ${event.of})`);
      case 'attempt-ended':
        return say(ended(event, clean));
      case 'waiting':
        return say(
          `${event.attemptId}  waiting on its provider: ${event.refusal.code} ${clean(event.refusal.line).slice(0, 200)}`,
        );
      case 'activity':
        activity = clean(event.text).slice(0, 120);
        return;
      case 'phase':
        activity = PHASES[event.phase];
        return;
      default:
        return unreachable(event);
    }
  };
  return { report, end: () => clearInterval(busy) };
}

function liveView(clean: (text: string) => string, now: () => number): ProgressView {
  const spinner = yoctoSpinner({ stream: process.stderr, handleSignals: false });
  let attempt = '';
  let doing = '';
  let startedAt = now();
  const draw = (): void => {
    const width = Math.max(20, (process.stderr.columns ?? 80) - 4);
    spinner.text = `${attempt}  ${seconds(now() - startedAt)}  ${doing}`.replaceAll('\n', ' ').slice(0, width);
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
        return line(`run ${event.runId}: ${event.candidates.join(', ')}`);
      case 'attempt-started':
        attempt = `${event.attemptId} (${event.position} of ${event.of})`;
        startedAt = now();
        doing = '';
        if (!spinner.isSpinning) spinner.start();
        return draw();
      case 'phase':
        doing = PHASES[event.phase];
        return draw();
      case 'activity':
        doing = clean(event.text);
        return draw();
      case 'waiting':
        doing = `waiting on its provider (${event.refusal.code})`;
        return draw();
      case 'attempt-ended':
        spinner.stop();
        return line(ended(event, clean));
      default:
        return unreachable(event);
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
