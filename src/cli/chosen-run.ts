/**
 * The run that a person names to a command: an id, a unique beginning of one, or `last`. `last` is the newest run of the
 * enclosing repository; a beginning means a run of that repository first, and of any other where none of its own begins
 * so. Looking makes and changes nothing.
 */
import { EXIT } from '../model/codes.ts';
import { err, ok, type Result } from '../model/result.ts';
import { neutralise } from '../receipt/neutralise.ts';
import { type FindRunProblem, findRun } from '../store/find-run.ts';
import { type RunState, readRunState } from '../store/run-state.ts';
import type { CliIo } from './io.ts';
import { ownRepository, whoseRun } from './own-repository.ts';
import { type Explained, explainFindRun, explainStateRoot } from './problems.ts';
import { existingStateRoot } from './surroundings.ts';

/** The flags of a command that is about one run. */
export interface ChoosingOptions {
  readonly stateDir?: string;
  readonly repo?: string;
}

/** Why no run is meant, and the exit code that says so: 2 where the words fit several runs, otherwise 3. */
export interface NotChosen extends Explained {
  readonly exitCode: number;
}

/** What the directory of the run says that `wanted` names, as it is now. */
export async function chooseRun(
  io: CliIo,
  options: ChoosingOptions,
  wanted: string,
): Promise<Result<RunState, NotChosen>> {
  const root = await existingStateRoot(io, options.stateDir);
  if (!root.ok) return notChosen(explainStateRoot(root.error));
  const own = await ownRepository(io, options.repo);
  if (!own.ok) return notChosen(own.error);
  const repository = own.value;
  if (repository === null) return chosen(await findRun(root.value, wanted));
  const ownFirst = await findRun(
    root.value,
    wanted,
    async (place) => whoseRun(await readRunState(place), repository) === 'own',
  );
  if (ownFirst.ok || ownFirst.error.kind === 'ambiguous') return chosen(ownFirst);
  if (wanted !== 'last') return chosen(await findRun(root.value, wanted));
  return (await findRun(root.value, wanted)).ok
    ? notChosen({
        code: 'RUN_UNKNOWN',
        message: `${root.value} holds no run of ${repository.worktree}. agent-exec runs --all lists those of other repositories; name one by its id.`,
      })
    : chosen(ownFirst);
}

/** Says on stderr why no run is meant, and sets the exit code. */
export function sayNotChosen(io: CliIo, command: string, { message, exitCode }: NotChosen): void {
  io.exit(exitCode);
  io.note(`agent-exec ${command}: ${neutralise(message).replaceAll('\n', '\\n')}\n`);
}

const notChosen = (why: Explained, exitCode: number = EXIT['invalid-config']): Result<never, NotChosen> =>
  err({ ...why, exitCode });

async function chosen(found: Awaited<ReturnType<typeof findRun>>): Promise<Result<RunState, NotChosen>> {
  if (found.ok) return ok(await readRunState(found.value));
  return notChosen(explainFindRun(found.error), exitCodeOf(found.error));
}

const exitCodeOf = ({ kind }: FindRunProblem): number => (kind === 'ambiguous' ? EXIT.usage : EXIT['invalid-config']);
