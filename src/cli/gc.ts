/**
 * `agent-exec gc`: removes the state of finished runs, and their refs where a branch or tag has the work. Says of every
 * run what goes and what stays and why; a dry run says the same.
 */
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { discoverRepository } from '../git/repository.ts';
import { EXIT } from '../model/codes.ts';
import type { GcEntry } from '../model/gc.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import { printableJson } from '../receipt/neutralise.ts';
import { carryOut, type GcDecision, type GcRequest, planGc } from '../run/gc.ts';
import { fileProblem } from '../store/durable-file.ts';
import { acquireLock } from '../store/lock.ts';
import { chooseRun, type NotChosen, sayNotChosen } from './chosen-run.ts';
import { gcEntry, gcText } from './gc-answer.ts';
import type { CliIo } from './io.ts';
import { explainRepository, explainStateRoot } from './problems.ts';
import { existingStateRoot } from './surroundings.ts';

interface GcOptions {
  readonly olderThan?: string;
  readonly dryRun?: boolean;
  readonly repo?: string;
  readonly stateDir?: string;
  readonly json?: boolean;
}

const DEFAULT_AGE = '14d';
const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 } as const;

const AFTER_HELP = `
Examples:
  $ agent-exec gc --dry-run
  $ agent-exec gc --older-than 30d
  $ agent-exec gc 20261130t1715      this run with all that it holds, unmerged work and workspaces too

Without a name, what is kept: runs that are under way or never ended, workspaces, and every run of which
a ref holds work that no branch, tag or HEAD contains. Telemetry is never touched.

Exit codes: 0, 2 usage, 3 no such run or no usable state root, 6 something that should go is still there.`;

/** The command; its exit code goes through `io`. */
export function gcCommand(io: CliIo, now: () => Date = () => new Date()): Command {
  return new Command('gc')
    .description(
      'Removes the state of finished runs, and refs whose work a branch or tag has. Says what it keeps and why.',
    )
    .argument('[runs...]', 'ids, unique beginnings, or last: these, whatever they hold (default: all that are old)')
    .option('--older-than <age>', `30m, 12h, 30d or 2w since they ended (default: ${DEFAULT_AGE})`)
    .option('--dry-run', 'only say what would go and what would stay')
    .option('--repo <path>', 'only runs of this repository (default: of every one)')
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .option('--json', 'answer with one JSON object')
    .addHelpText('after', AFTER_HELP)
    .action(async (wanted: string[], options: GcOptions, command: Command) => {
      const usage = (message: string) => command.error(`error: ${message}`, { exitCode: EXIT.usage });
      if (wanted.length > 0 && options.olderThan !== undefined)
        usage('--older-than is for runs that are not named: a named one goes whatever its age.');
      const olderThanMs = millisecondsOf(options.olderThan ?? DEFAULT_AGE);
      if (olderThanMs === null)
        return usage(`--older-than ${options.olderThan} is no age. Give a number and m, h, d or w: 30d.`);
      await gc(io, wanted, options, { olderThanMs, now: now() });
    });
}

function millisecondsOf(age: string): number | null {
  const [, number, unit] = /^(\d{1,6})([mhdw])$/.exec(age) ?? [];
  return number === undefined ? null : Number(number) * UNITS[unit as keyof typeof UNITS];
}

async function gc(
  io: CliIo,
  wanted: readonly string[],
  options: GcOptions,
  age: Pick<GcRequest, 'olderThanMs' | 'now'>,
): Promise<void> {
  const root = await existingStateRoot(io, options.stateDir);
  if (!root.ok) {
    if (root.error.kind === 'missing' && wanted.length === 0) return answer(io, [], options, true);
    return sayNotChosen(io, 'gc', invalid(explainStateRoot(root.error).message));
  }
  const stateRoot = root.value;
  const named = await namedRuns(io, wanted, options);
  if (!named.ok) return sayNotChosen(io, 'gc', named.error);
  const repository = await meantRepository(io, options);
  if (!repository.ok) return sayNotChosen(io, 'gc', repository.error);
  const request = { ...age, stateRoot, named: named.value, repository: repository.value };
  try {
    const done = await (options.dryRun === true ? ok(await planGc(request)) : whileLocked(request));
    if (!done.ok) return sayNotChosen(io, 'gc', { code: 'BUSY', message: done.error, exitCode: EXIT.blocked });
    await answer(io, done.value, options, wanted.length === 0);
  } catch (error) {
    sayNotChosen(io, 'gc', invalid(`${stateRoot}: ${fileProblem(error).message}`));
  }
}

/** One gc at a time: what one of them judges, another must not be removing. */
async function whileLocked(request: GcRequest): Promise<Result<readonly GcDecision[], string>> {
  const { stateRoot } = request;
  const lock = await acquireLock(join(stateRoot, 'gc.lock'), { waitMs: 60_000, oldestUnknownMs: 3_600_000 });
  if (!lock.ok) return err(`another gc is at work: ${lock.error.message}`);
  try {
    const done: GcDecision[] = [];
    for (const decision of await planGc(request)) done.push(await carryOut(stateRoot, decision));
    return ok(done);
  } finally {
    await lock.value.release();
  }
}

async function answer(
  io: CliIo,
  decisions: readonly GcDecision[],
  options: GcOptions,
  isTidying: boolean,
): Promise<void> {
  const entries: GcEntry[] = decisions.map(gcEntry);
  // Who names a run wants it gone; who tidies up does not mind what stays, unless it should have gone.
  const isLeft = (entry: GcEntry): boolean => entry.reason === 'not-removable' || (!isTidying && entry.reason !== null);
  io.exit(entries.some(isLeft) ? EXIT.blocked : EXIT.success);
  const dryRun = options.dryRun === true;
  const report = { schema: 'agent-exec-gc/v1', dry_run: dryRun, entries } as const;
  await io.out(options.json === true ? `${printableJson(report)}\n` : gcText(report));
}

async function namedRuns(
  io: CliIo,
  wanted: readonly string[],
  options: GcOptions,
): Promise<Result<ReadonlySet<string>, NotChosen>> {
  const named = new Set<string>();
  for (const one of wanted) {
    const chosen = await chooseRun(io, options, one);
    if (!chosen.ok) return chosen;
    named.add(chosen.value.place.runId);
  }
  return ok(named);
}

async function meantRepository(io: CliIo, { repo }: GcOptions): Promise<Result<RepositoryFacts | null, NotChosen>> {
  if (repo === undefined) return ok(null);
  const found = await discoverRepository(resolve(io.cwd(), repo), io.env);
  return found.ok ? found : err(invalid(explainRepository(found.error).message));
}

const invalid = (message: string): NotChosen => ({
  code: 'STATE_ROOT_INVALID',
  message,
  exitCode: EXIT['invalid-config'],
});
