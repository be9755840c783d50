/**
 * `agent-exec show`: one run in words. Of a finished one its receipt is told, of any other what plan and journal say so
 * far. A receipt that was changed after it was sealed is told as such before anything that it says.
 */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { EXIT } from '../model/codes.ts';
import { neutralise } from '../receipt/neutralise.ts';
import { checkDigest, parseReceipt } from '../receipt/receipt.ts';
import { readRegularFile } from '../run/config-file.ts';
import type { RunState } from '../store/run-state.ts';
import { type ByteOutput, standardOutput } from './byte-output.ts';
import { type ChoosingOptions, chooseRun, sayNotChosen } from './chosen-run.ts';
import type { CliIo } from './io.ts';
import { nextCommand } from './next-command.ts';
import type { Whereabouts } from './next-steps.ts';
import { ownRepository, whoseRun } from './own-repository.ts';
import { receiptWords } from './receipt-words.ts';
import { underwayWords } from './underway-words.ts';
import { whyUnreadable } from './unreadable-file.ts';

interface ShowOptions extends ChoosingOptions {
  readonly json?: boolean;
}

const AFTER_HELP = `
Examples:
  $ agent-exec show last
  $ agent-exec show 20261130t1715
  $ agent-exec show ./receipt.json               a receipt that came from elsewhere, such as from CI
  $ agent-exec show last --json | jq .attempts   the receipt itself (agent-exec schema receipt)

Words are taken for a path where they contain a slash, end in .json or name an existing file.

Exit codes: 0, 2 usage (also where a beginning fits several runs), 3 no such run, or no receipt
that can be read, 6 the receipt was changed after it was written: do not trust it.`;

/** Beyond it nothing is a receipt; the reader says so. */
const MAX_BYTES = 512 * 1024 * 1024;

/** The command; its exit code goes through `io`. */
export function showCommand(
  io: CliIo,
  now: () => Date = () => new Date(),
  output: ByteOutput = standardOutput,
): Command {
  return new Command('show')
    .description('Tells what happened in a run, attempt by attempt, why, and what to do next.')
    .argument('<run|receipt>', 'id of a run, a unique beginning of one, last, or the path of a receipt')
    .option('--json', 'the receipt itself, byte for byte')
    .option('--repo <path>', 'whose runs "last" and a beginning mean (default: the enclosing repository)')
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .addHelpText('after', AFTER_HELP)
    .action((wanted: string, options: ShowOptions) => show(io, wanted, options, now(), output));
}

async function show(io: CliIo, wanted: string, options: ShowOptions, now: Date, output: ByteOutput): Promise<void> {
  if (isPath(io, wanted)) return showFile(io, wanted, options, now, output);
  const chosen = await chooseRun(io, options, wanted);
  if (!chosen.ok) return sayNotChosen(io, 'show', chosen.error);
  const run = chosen.value;
  const { place } = run;
  if (run.receipt.kind !== 'absent') {
    const where = { isStored: true, stateDir: options.stateDir, elsewhere: await elsewhere(io, run, options) };
    const told = await showReceipt(io, place.receipt, options, where, now, output);
    if (told) {
      const again = nextCommand(['recover', place.runId], options);
      // The receipt is there, and what comes after it is not.
      if (run.phase === 'unfinished' && run.receipt.kind === 'valid')
        io.note(`agent-exec show: its agent-exec died before the last records were written. Finish it: ${again}\n`);
      return;
    }
  } else if (options.json === true) {
    complain(
      io,
      `run ${place.runId} has no receipt yet (it is ${run.phase}). agent-exec runs --json tells what is known.`,
    );
    return;
  }
  if (options.json === true) return;
  const isTold = run.receipt.kind === 'absent' && run.phase !== 'unaccountable';
  io.exit(isTold ? EXIT.success : EXIT['invalid-config']);
  await io.out(textOf(underwayWords(run, options.stateDir, now)));
}

/** A name of a run never contains a slash. */
function isPath(io: CliIo, wanted: string): boolean {
  if (wanted.includes('/') || wanted.endsWith('.json')) return true;
  return (
    wanted !== '' &&
    !wanted.includes('\0') &&
    statSync(resolve(io.cwd(), wanted), { throwIfNoEntry: false })?.isFile() === true
  );
}

/** The worktree of the run, where the command was called from outside of its repository. */
async function elsewhere(io: CliIo, run: RunState, options: ShowOptions): Promise<string | null> {
  const own = await ownRepository(io, options.repo);
  if (run.plan === null || (own.ok && own.value !== null && whoseRun(run, own.value) === 'own')) return null;
  return run.plan.repository.worktree;
}

async function showFile(io: CliIo, wanted: string, options: ShowOptions, now: Date, output: ByteOutput): Promise<void> {
  const path = resolve(io.cwd(), wanted);
  await showReceipt(io, path, options, { isStored: false, stateDir: options.stateDir, elsewhere: null }, now, output);
}

/** False where there is no receipt that can be read; that is said, and the exit code is set. */
async function showReceipt(
  io: CliIo,
  path: string,
  options: ShowOptions,
  where: Whereabouts,
  now: Date,
  output: ByteOutput,
): Promise<boolean> {
  const bytes = readRegularFile(path, MAX_BYTES);
  if (!bytes.ok) {
    complain(io, `${path} cannot be read: ${whyUnreadable(bytes.error)}.`);
    return false;
  }
  const parsed = parseReceipt(bytes.value);
  if (!parsed.ok) {
    complain(io, `${path} is no receipt that can be read: ${parsed.error}.`);
    return false;
  }
  const holds = checkDigest(parsed.value);
  if (!holds) io.note(BROKEN);
  io.exit(holds ? EXIT.success : EXIT.blocked);
  if (options.json === true) {
    await output.write(bytes.value);
    return true;
  }
  const lines = receiptWords(parsed.value, path, where, now);
  await io.out(textOf(holds ? lines : [...CHANGED, '', ...lines]));
  return true;
}

const BROKEN =
  'agent-exec show: THIS RECEIPT WAS CHANGED after it was written: its digest does not hold. Do not trust what it says.\n';
const CHANGED = [
  '!!! THIS RECEIPT WAS CHANGED AFTER IT WAS WRITTEN. Its digest does not hold: nothing of what follows is proven. !!!',
];

const textOf = (lines: readonly string[]): string => `${lines.map(neutralise).join('\n')}\n`;

function complain(io: CliIo, message: string): void {
  io.exit(EXIT['invalid-config']);
  io.note(`agent-exec show: ${neutralise(message).replaceAll('\n', '\\n')}\n`);
}
