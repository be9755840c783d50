/** A step with an effect, in the journal before and after it (SPEC 6.2). */
import { GitError } from '../git/run.ts';
import { isShortage, ShortageError } from '../process/shortage.ts';
import { type FileProblem, fileProblem } from '../store/durable-file.ts';
import type { Journal } from '../store/journal.ts';

/** The run's own state cannot be written any more, so no further step may be taken: `recover` could not know of it. */
export class StateLostError extends Error {
  override readonly name = 'StateLostError';
  readonly code: 'STATE_LOST' | 'RESOURCES_EXHAUSTED';
  constructor(problem: FileProblem | ShortageError) {
    const isShort = problem instanceof ShortageError;
    super(isShort ? problem.message : `the run's state could not be written (${problem.code}): ${problem.message}`);
    this.code = isShort || isShortage(problem.code) ? 'RESOURCES_EXHAUSTED' : 'STATE_LOST';
  }
}

/** What a disk answers that takes nothing more. Any other system error is not expected in a folder of ours. */
const DISK_PROBLEMS = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EFBIG'];

/** The error as lost state, where the disk or a shortage of the machine is to blame; throws it on where neither is. */
export function stateLost(error: unknown): StateLostError {
  if (error instanceof StateLostError) return error;
  if (error instanceof ShortageError) return new StateLostError(error);
  if (error instanceof GitError && error.output.failure === 'not-started') {
    return new StateLostError(new ShortageError(error.message));
  }
  const problem = fileProblem(error);
  if (!DISK_PROBLEMS.includes(problem.code) && !isShortage(problem.code)) throw error;
  return new StateLostError(problem);
}

/** Does the step if it could be announced; `outcome` says what of its result is written down. Throws {@link StateLostError} where the journal cannot be written. */
export async function journalled<T>(
  journal: Journal,
  step: string,
  attempt: string | null,
  data: Readonly<Record<string, unknown>>,
  action: () => Promise<T>,
  outcome?: (result: T) => Readonly<Record<string, unknown>>,
): Promise<T> {
  const begun = await journal.before(step, attempt, data);
  if (!begun.ok) throw new StateLostError(begun.error);
  const result = await action();
  const ended = await journal.after(step, attempt, outcome?.(result));
  if (!ended.ok) throw new StateLostError(ended.error);
  return result;
}
