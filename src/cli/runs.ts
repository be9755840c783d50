/**
 * `agent-exec runs`: which runs there were, what came of each, and what of it is kept. Newest first, of the enclosing
 * repository unless all are asked for. Whatever is wrong with a run's directory is said in its line; looking changes nothing.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { EXIT } from '../model/codes.ts';
import { err, ok, type Result, unreachable } from '../model/result.ts';
import type { ListedRun, RunList } from '../model/runs.ts';
import { neutralise, printableJson } from '../receipt/neutralise.ts';
import { allRuns } from '../store/find-run.ts';
import { readRunState } from '../store/run-state.ts';
import { ageOf } from './age.ts';
import type { CliIo } from './io.ts';
import { listedRun } from './listed-run.ts';
import { nextCommand } from './next-command.ts';
import { type OwnRepository, ownRepository, whoseRun } from './own-repository.ts';
import { type Explained, explainFindRun, explainStateRoot } from './problems.ts';
import { existingStateRoot } from './surroundings.ts';
import { oneLine, type TableRow, tableLines } from './table.ts';

interface RunsOptions {
  readonly all?: boolean;
  readonly limit: number;
  readonly repo?: string;
  readonly stateDir?: string;
  readonly json?: boolean;
}

const DEFAULT_LIMIT = 20;

const AFTER_HELP = `
Examples:
  $ agent-exec runs
  $ agent-exec runs --all --limit 100
  $ agent-exec runs --json | jq -r '.runs[] | select(.outcome == "blocked") | .run_id'

OUTCOME is the run's, or: running (its agent-exec is at work), waiting (for its turn: max_parallel
runs of the repository are under way), unfinished (its agent-exec died; agent-exec recover finishes
it), unknown (its agent-exec is in another container or on another host), unaccountable (neither
plan nor receipt can be read).
KEPT is what the run left: transport (the commit of a success), quarantine (commits of everything
else), workspace (a folder that stayed). Whether you took it over since then is not known here.

Exit codes: 0, also where there is no run; 2 usage; 3 the state root or --repo cannot be used.`;

/** The command; its exit code goes through `io`. */
export function runsCommand(io: CliIo, now: () => Date = () => new Date()): Command {
  return new Command('runs')
    .description('Lists runs, newest first: what came of each and what of it is kept.')
    .addOption(
      new Option(
        '--all',
        'of every repository (default: of the enclosing one; outside of any: of every one)',
      ).conflicts('repo'),
    )
    .option('--limit <n>', 'at most so many', wholeNumber, DEFAULT_LIMIT)
    .option('--repo <path>', 'of this repository')
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .option('--json', 'answer with one JSON object (agent-exec schema runs)')
    .addHelpText('after', AFTER_HELP)
    .action((options: RunsOptions) => runs(io, options, now));
}

function wholeNumber(text: string): number {
  const value = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (value === 0) throw new InvalidArgumentError('it must be a whole number of at least 1.');
  return value;
}

async function runs(io: CliIo, options: RunsOptions, now: () => Date): Promise<void> {
  const listed = await listRuns(io, options);
  if (!listed.ok) {
    io.exit(EXIT['invalid-config']);
    io.note(`agent-exec runs: ${neutralise(listed.error.message)}\n`);
    return;
  }
  io.exit(EXIT.success);
  await io.out(options.json === true ? `${printableJson(listed.value)}\n` : wordsOf(listed.value, options, now()));
}

async function listRuns(io: CliIo, options: RunsOptions): Promise<Result<RunList, Explained>> {
  const own = options.all === true ? ok(null) : await ownRepository(io, options.repo);
  if (!own.ok) return own;
  const repository = own.value?.worktree ?? null;
  const none: RunList = {
    schema: 'agent-exec-runs/v1',
    state_root: null,
    repository,
    runs: [],
    truncated: false,
  };
  const root = await existingStateRoot(io, options.stateDir);
  if (!root.ok) return root.error.kind === 'missing' ? ok(none) : err(explainStateRoot(root.error));
  const all = await allRuns(root.value);
  if (!all.ok) return err(explainFindRun(all.error));
  const found: ListedRun[] = [];
  for (const place of all.value.toReversed()) {
    const run = await readRunState(place);
    if (!isMeant(run, own.value)) continue;
    if (found.length === options.limit) return ok({ ...none, state_root: root.value, runs: found, truncated: true });
    found.push(listedRun(run));
  }
  return ok({ ...none, state_root: root.value, runs: found });
}

/** A run whose plan cannot be read may be of this repository: it is listed rather than lost. */
const isMeant = (run: Parameters<typeof whoseRun>[0], own: OwnRepository | null): boolean =>
  own === null || whoseRun(run, own) !== 'other';

const HEAD = ['RUN', 'AGE', 'ROLE', 'UNIT', 'OUTCOME', 'KEPT', 'ATTEMPTS'];
const LONGEST_UNIT = 32;

function wordsOf(list: RunList, options: RunsOptions, now: Date): string {
  const whose = list.repository === null ? '' : ` of ${oneLine(list.repository)}`;
  if (list.runs.length === 0) {
    const others =
      list.repository === null || list.state_root === null
        ? ''
        : `; ${nextCommand(['runs', '--all'], options)} lists those of every repository`;
    const where = list.state_root === null ? '' : ` in ${oneLine(list.state_root)}`;
    return `no runs${whose}${where}${others}\n`;
  }
  const lines = tableLines(
    HEAD,
    list.runs.map((run) => rowOf(run, options, now)),
  );
  if (list.truncated)
    lines.push(`older runs are not shown: ${nextCommand(['runs', '--limit', String(5 * options.limit)], options)}`);
  return `${lines.join('\n')}\n`;
}

function rowOf(run: ListedRun, options: RunsOptions, now: Date): TableRow {
  const unit = run.unit_id ?? '-';
  return {
    cells: [
      run.run_id,
      ageOf(new Date(run.started_at), now),
      run.role ?? '-',
      unit.length > LONGEST_UNIT ? `${unit.slice(0, LONGEST_UNIT - 3)}...` : unit,
      outcomeOf(run),
      keptOf(run),
      attemptsOf(run),
    ],
    below: hintsOf(run, options),
  };
}

const outcomeOf = ({ phase, waiting, outcome }: ListedRun): string =>
  waiting ? 'waiting' : phase === 'finished' && outcome !== null ? outcome : phase;

function keptOf({ transport, quarantine, retained }: ListedRun): string {
  const many = (count: number, what: string): string[] =>
    count === 0 ? [] : [count === 1 ? what : `${what} x${count}`];
  const kept = [
    ...(transport === null ? [] : ['transport']),
    ...many(quarantine.length, 'quarantine'),
    ...many(retained.length, 'workspace'),
  ];
  return kept.length === 0 ? '-' : kept.join('+');
}

/** `01-a 02-b unavailable, 03-c success`: neighbours that ended alike share the word. */
function attemptsOf({ attempts, phase }: ListedRun): string {
  const groups: { word: string; ids: string[] }[] = [];
  for (const { attempt_id, state, step } of attempts) {
    const word = state ?? (phase === 'running' ? `at work (${step})` : `cut off (${step})`);
    const last = groups.at(-1);
    if (last?.word === word) last.ids.push(attempt_id);
    else groups.push({ word, ids: [attempt_id] });
  }
  return groups.length === 0 ? '-' : groups.map(({ ids, word }) => `${ids.join(' ')} ${word}`).join(', ');
}

function hintsOf(run: ListedRun, options: RunsOptions): string[] {
  const problem = run.problem === null ? [] : [run.problem];
  switch (run.phase) {
    case 'running':
    case 'finished':
      return problem;
    case 'unfinished':
      return [...problem, `its agent-exec died; finish it: ${nextCommand(['recover', run.run_id], options)}`];
    case 'unknown':
      return [
        ...problem,
        `begun in another container or on another host. If that is gone: ${nextCommand(['recover', run.run_id, '--assume-gone'], options)}`,
      ];
    case 'unaccountable':
      return [...problem, `look into ${run.directory}`];
    default:
      return unreachable(run.phase);
  }
}
