/**
 * `agent-exec logs`: what the worker of an attempt printed, or one of the host's own commands around it. A terminal gets it
 * without secrets and without anything that it would obey; the bytes as they are go only where nothing obeys them.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { CANCEL_EXIT, type CancelSignal, EXIT } from '../model/codes.ts';
import { neutralise } from '../receipt/neutralise.ts';
import { type AttemptLog, logsOfRun } from '../run/attempt-logs.ts';
import { redactorFor } from '../run/credentials.ts';
import { fileProblem } from '../store/durable-file.ts';
import { type RunState, readRunState } from '../store/run-state.ts';
import { type ByteOutput, standardOutput } from './byte-output.ts';
import { chooseLogs, type Following, fittingLogs, noLog, type WantedLogs } from './chosen-logs.ts';
import { type ChoosingOptions, chooseRun, sayNotChosen } from './chosen-run.ts';
import type { CliIo } from './io.ts';
import { followLogs } from './log-follow.ts';
import { bytesIn, type LogPrinter, logPrinter } from './log-printer.ts';
import { nextCommand } from './next-command.ts';
import { listenForSignals } from './signals.ts';
import { sizeOf } from './size.ts';

interface LogsOptions extends ChoosingOptions, WantedLogs {
  readonly raw?: boolean;
  readonly tail?: number;
}

const AFTER_HELP = `
Examples:
  $ agent-exec logs last
  $ agent-exec logs last --follow                  of a run that is under way, until it ends or Ctrl-C
  $ agent-exec logs last --attempt 01 --stream stderr --tail 50
  $ agent-exec logs last --command verification-1  of a command of execution.setup or of the verification
  $ agent-exec logs last --stream stdout --raw | jq .

Secrets are taken out, and what would move a cursor or change colours is shown instead of done.
--raw gives the bytes as the worker wrote them, so only to a file or a pipe.

Exit codes: 0, 2 usage, 3 no such run, attempt or log, 130 --follow was ended by Ctrl-C (the run
goes on).`;

/** The command; its exit code goes through `io`. */
export function logsCommand(io: CliIo, output: ByteOutput = standardOutput): Command {
  const command = new Command('logs')
    .description('Prints what a worker printed, safe for a terminal.')
    .argument('<run>', 'id, a unique beginning of one, or last')
    .option('--attempt <id>', 'id, a unique beginning of one, or a profile (default: the last that has logs)')
    .addOption(new Option('--stream <stream>', 'which').choices(['stdout', 'stderr', 'all']).default('all'))
    .option('--command <name>', "the host's own command instead of the worker: setup-1, verification-1, ...")
    .option('--follow', 'go on printing until the run ends; Ctrl-C ends the printing, not the run')
    .addOption(new Option('--raw', 'the bytes as they are; not to a terminal'))
    .option('--tail <n>', 'only the last lines of each log', lineCount)
    .option('--repo <path>', 'whose runs "last" and a beginning mean (default: the enclosing repository)')
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .addHelpText('after', AFTER_HELP);
  return command.action(async (wanted: string, options: LogsOptions) => {
    if (options.raw === true && io.stdoutIsTerminal) {
      command.error(
        'error: --raw writes bytes that a terminal would obey: a worker can move the cursor, rename the window or hide lines with them. Send them elsewhere, such as --raw | less -R, or leave --raw out.',
        { exitCode: EXIT.usage },
      );
    }
    await logs(io, wanted, options, output);
  });
}

function lineCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('it must be a whole number.');
  return Number(text);
}

async function logs(io: CliIo, wanted: string, options: LogsOptions, output: ByteOutput): Promise<void> {
  const run = await chooseRun(io, options, wanted);
  if (!run.ok) return sayNotChosen(io, 'logs', run.error);
  try {
    const chosen = await chooseLogs(run.value, options);
    if (!chosen.ok) return sayNotChosen(io, 'logs', chosen.error);
    io.exit(EXIT.success);
    await (chosen.value.kind === 'follow'
      ? follow(io, run.value, chosen.value, options, output)
      : printAll(io, run.value, chosen.value.logs, options, output));
  } catch (error) {
    const { message } = fileProblem(error);
    sayNotChosen(io, 'logs', noLog(`a log of run ${run.value.place.runId} cannot be read: ${message}`));
  }
}

const printerFor = (io: CliIo, options: LogsOptions, output: ByteOutput, headers: boolean): LogPrinter =>
  logPrinter({
    output,
    redactor: options.raw === true ? null : redactorFor([], io.env),
    headers,
    note: (line) => io.note(neutralise(line)),
  });

async function printAll(
  io: CliIo,
  run: RunState,
  logs: readonly AttemptLog[],
  options: LogsOptions,
  output: ByteOutput,
): Promise<void> {
  const printer = printerFor(io, options, output, logs.length > 1);
  const isRunning = run.phase === 'running';
  for (const log of logs) {
    const printed = await printer.open(log, options.tail ?? null);
    try {
      if (!(await printer.head(log, bytesIn(log.path) === 0 ? ', empty' : `, ${sizeOf(bytesIn(log.path))}`))) return;
      if (!(await printed.more()) || !(await printed.end(isRunning))) return;
    } finally {
      await printed.close();
    }
  }
  if (isRunning) {
    const again = nextCommand(['logs', run.place.runId, '--follow'], options);
    io.note(`agent-exec logs: the run is under way; ${neutralise(again)} goes on printing\n`);
  }
}

async function follow(
  io: CliIo,
  run: RunState,
  { attemptId, from }: Following,
  options: LogsOptions,
  output: ByteOutput,
): Promise<void> {
  const { stop, release } = listenForSignals(() => {});
  try {
    const count = await followLogs({
      run,
      attemptId,
      find: async () =>
        [...(await logsOfRun(run.place))]
          .filter(([id]) => (attemptId === null ? id >= from : id === attemptId))
          .flatMap(([, logs]) => fittingLogs(logs, options, 'or-none')),
      printer: printerFor(io, options, output, options.stream === 'all' || attemptId === null),
      lastLines: options.tail ?? null,
      stop,
      note: (line) => io.note(neutralise(line)),
    });
    if (stop.aborted) return io.exit(CANCEL_EXIT[stop.reason as CancelSignal]);
    if (count > 0) return;
  } finally {
    release();
  }
  // It ended, and what was waited for never came.
  const instead = await chooseLogs(await readRunState(run.place), options);
  if (!instead.ok) sayNotChosen(io, 'logs', instead.error);
  else if (instead.value.kind === 'print') await printAll(io, run, instead.value.logs, options, output);
}
