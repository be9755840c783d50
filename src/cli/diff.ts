/**
 * `agent-exec diff`: what a run changed, by git's own diff: its transport, or the work that was preserved of an attempt
 * that did not succeed. On a terminal through the user's pager, elsewhere git's own bytes and nothing else.
 */
import { relative } from 'node:path';
import { Command } from 'commander';
import { type DiffRequest, hasPager, pageDiff, readDiff, writeDiff } from '../git/show-diff.ts';
import { EXIT } from '../model/codes.ts';
import type { PublishedCommit } from '../model/evidence.ts';
import { neutralise } from '../receipt/neutralise.ts';
import { type KeptWork, keptWork } from '../run/kept-work.ts';
import type { RunState } from '../store/run-state.ts';
import { chooseAttempt } from './chosen-attempt.ts';
import { type ChoosingOptions, chooseRun, sayNotChosen } from './chosen-run.ts';
import type { CliIo } from './io.ts';
import { nextCommand, shellWord } from './next-command.ts';
import { shownPatch } from './patch-colours.ts';
import { repositoryWith } from './repository-with.ts';
import { listenForSignals } from './signals.ts';

interface DiffOptions extends ChoosingOptions {
  readonly attempt?: string;
  readonly quarantine?: boolean;
  readonly stat?: boolean;
  readonly nameOnly?: boolean;
  /** False where `--no-pager` was given. */
  readonly pager: boolean;
}

const AFTER_HELP = `
Examples:
  $ agent-exec diff last
  $ agent-exec diff last --stat
  $ agent-exec diff last -- src/ ':!*.lock'
  $ agent-exec diff last --attempt 02-codex --quarantine     what an attempt left that did not succeed
  $ agent-exec diff last > change.patch                      whole, binary files included: for git apply

Without --quarantine the transport is shown or, where the run has none, the last quarantine.
On a terminal your git settings and pager apply; an external diff, a textconv or a hook never runs.

Exit codes: 0 (also where nothing was changed), 2 usage, 3 no such run, or no repository that has it.`;

/** The command; its exit code goes through `io`. */
export function diffCommand(io: CliIo): Command {
  return new Command('diff')
    .description('Shows what a run changed, or what it left that did not succeed, against its base.')
    .argument('<run>', 'id, a unique beginning of one, or last')
    .argument('[paths...]', 'after --: only these, as git takes them')
    .option('--attempt <id>', 'of this attempt')
    .option('--quarantine', 'the quarantine, also where there is a transport')
    .option('--stat', 'how much of which file')
    .option('--name-only', 'only the names')
    .option('--no-pager', 'straight to the terminal')
    .option('--repo <path>', 'where the commit is (default: the enclosing repository, then that of the run)')
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .addHelpText('after', AFTER_HELP)
    .action(async (wanted: string, paths: string[], options: DiffOptions, command: Command) => {
      if (options.stat === true && options.nameOnly === true)
        command.error('error: --stat or --name-only, not both.', { exitCode: EXIT.usage });
      await diff(io, wanted, paths, options);
    });
}

async function diff(io: CliIo, wanted: string, paths: readonly string[], options: DiffOptions): Promise<void> {
  const chosen = await chooseRun(io, options, wanted);
  if (!chosen.ok) return sayNotChosen(io, 'diff', chosen.error);
  const run = chosen.value;
  const all = keptWork(run);
  const ids = all.map(({ attemptId }) => attemptId);
  const attempt = options.attempt === undefined ? null : chooseAttempt(run.place.runId, ids, options.attempt);
  if (attempt !== null && !attempt.ok) return sayNotChosen(io, 'diff', attempt.error);
  const meant = attempt === null ? all : all.filter(({ attemptId }) => attemptId === attempt.value);
  const commit = commitOf(io, meant, options);
  const base = baseOf(run);
  if (commit === null || base === null) return sayNothing(io, run, meant, options);
  const repository = await repositoryWith(io, options, run, commit.commit);
  if (!repository.ok) return sayNotChosen(io, 'diff', repository.error);
  const { worktree } = repository.value;
  const isOutside = relative(worktree, io.cwd()).startsWith('..');
  await show(io, options, {
    ...repository.value,
    hostEnv: io.env,
    from: base,
    to: commit.commit,
    form: options.stat === true ? 'stat' : options.nameOnly === true ? 'name-only' : 'patch',
    paths,
    cwd: isOutside ? worktree : io.cwd(),
  });
}

const baseOf = ({ receipt, plan }: RunState): string | null =>
  receipt.kind === 'valid' ? receipt.receipt.repository.base : (plan?.base ?? null);

/** The transport, or the last quarantine; what else there is goes to stderr, where it disturbs nobody. */
function commitOf(io: CliIo, meant: readonly KeptWork[], { quarantine }: DiffOptions): PublishedCommit | null {
  const transport = meant.findLast((work) => work.transport !== null)?.transport ?? null;
  if (transport !== null && quarantine !== true) return transport;
  const kept = meant.filter((work) => work.quarantine !== null);
  const last = kept.at(-1);
  if (last === undefined) return null;
  const others = kept.slice(0, -1).map(({ attemptId }) => attemptId);
  const more = others.length === 0 ? '' : ` Others have one too: --attempt ${others.join(', ')}.`;
  io.note(
    `agent-exec diff: this is the quarantine of ${last.attemptId} (${last.verdict ?? 'not judged yet'}), not a success.${more}\n`,
  );
  return last.quarantine;
}

/** There is no commit to show: where is the work, if there is any? */
function sayNothing(io: CliIo, run: RunState, meant: readonly KeptWork[], options: DiffOptions): void {
  const { runId } = run.place;
  const which = options.attempt === undefined ? `run ${runId}` : `attempt ${meant[0]?.attemptId} of run ${runId}`;
  const kind = options.quarantine === true ? 'no quarantine' : 'no transport and no quarantine';
  const lines = [`${which} has ${kind}.`];
  const workspaces = meant.flatMap(({ workspace }) => workspace ?? []);
  for (const path of workspaces) lines.push(`Its workspace is still there: ${shellWord(path)}`);
  if (run.phase === 'running') lines.push('It is under way: nothing is in a commit before an attempt ends.');
  else if (run.phase === 'unfinished')
    lines.push(`It never ended; its work is put into a commit by: ${nextCommand(['recover', runId], options)}`);
  else if (workspaces.length === 0) lines.push('Nothing was changed, or nothing of it is left.');
  io.note(`${neutralise(lines.join('\n'))}\n`);
}

async function show(io: CliIo, options: DiffOptions, request: DiffRequest): Promise<void> {
  const colour = (io.env.NO_COLOR ?? '') === '';
  if (io.stdoutIsTerminal && (!options.pager || !(await hasPager(request)))) {
    const read = await readDiff(request);
    if ('error' in read) return sayNotChosen(io, 'diff', failed(read.error));
    const isPatch = request.form === 'patch';
    await io.out(isPatch ? shownPatch(read.text, colour) : neutralise(read.text));
    return;
  }
  // Ctrl-C is the pager's to answer, as with git itself.
  const signals = listenForSignals(() => {});
  try {
    const shown = io.stdoutIsTerminal ? await pageDiff(request, colour) : await writeDiff(request);
    if (typeof shown === 'string') return sayNotChosen(io, 'diff', failed(shown));
    // No code: its reader went away, as with `| head`. Git has said itself why it exits with another.
    if (shown.code !== null && shown.code !== 0 && shown.code !== 141) io.exit(EXIT['invalid-config']);
  } finally {
    signals.release();
  }
}

const failed = (message: string) => ({ code: 'GIT_FAILED', message, exitCode: EXIT['invalid-config'] });
