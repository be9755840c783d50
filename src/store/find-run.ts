/** The run that a person means: an id, a unique beginning of one, or `last`. */
import { err, ok, type Result } from '../model/result.ts';
import { fileProblem } from './durable-file.ts';
import { listRunDirectories, type RunDirectory } from './run-directory.ts';

export type FindRunProblem =
  | { readonly kind: 'no-runs'; readonly stateRoot: string }
  | { readonly kind: 'unknown'; readonly wanted: string; readonly stateRoot: string }
  /** `matches`: some of the ids that begin so. */
  | { readonly kind: 'ambiguous'; readonly wanted: string; readonly matches: readonly string[]; readonly count: number }
  | { readonly kind: 'unreadable'; readonly stateRoot: string; readonly message: string };

const SHOWN = 5;

/** Every run in the state root, oldest first. */
export async function allRuns(stateRoot: string): Promise<Result<readonly RunDirectory[], FindRunProblem>> {
  try {
    return ok((await listRunDirectories(stateRoot)).runs);
  } catch (error) {
    const { code, message } = fileProblem(error);
    return code === 'ENOENT' ? ok([]) : err({ kind: 'unreadable', stateRoot, message });
  }
}

/** `isMeant` narrows what `last` and a beginning may mean, such as to the runs of one repository; a whole id needs none. */
export async function findRun(
  stateRoot: string,
  wanted: string,
  isMeant: (run: RunDirectory) => Promise<boolean> = async () => true,
): Promise<Result<RunDirectory, FindRunProblem>> {
  const listed = await allRuns(stateRoot);
  if (!listed.ok) return listed;
  const runs = listed.value;
  const exact = runs.find(({ runId }) => runId === wanted);
  if (exact !== undefined) return ok(exact);
  if (runs.length === 0) return err({ kind: 'no-runs', stateRoot });
  if (wanted === 'last') {
    for (const run of runs.toReversed()) if (await isMeant(run)) return ok(run);
    return err({ kind: 'no-runs', stateRoot });
  }
  const matches: RunDirectory[] = [];
  for (const run of runs) if (wanted !== '' && run.runId.startsWith(wanted) && (await isMeant(run))) matches.push(run);
  const [first] = matches;
  if (first === undefined) return err({ kind: 'unknown', wanted, stateRoot });
  if (matches.length === 1) return ok(first);
  return err({
    kind: 'ambiguous',
    wanted,
    matches: matches.slice(0, SHOWN).map(({ runId }) => runId),
    count: matches.length,
  });
}
