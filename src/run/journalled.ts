/** A step with an effect, in the journal before and after it (SPEC 6.2). */
import type { FileProblem } from '../store/durable-file.ts';
import type { Journal } from '../store/journal.ts';

/** The run's own state cannot be written any more, so no further step may be taken: `recover` could not know of it. */
export class StateLostError extends Error {
  override readonly name = 'StateLostError';
  constructor(problem: FileProblem) {
    super(`the run's state could not be written (${problem.code}): ${problem.message}`);
  }
}

export async function journalled<T>(
  journal: Journal,
  step: string,
  attempt: string | null,
  data: Readonly<Record<string, unknown>>,
  action: () => Promise<T>,
): Promise<T> {
  const begun = await journal.before(step, attempt, data);
  if (!begun.ok) throw new StateLostError(begun.error);
  const result = await action();
  const ended = await journal.after(step, attempt);
  if (!ended.ok) throw new StateLostError(ended.error);
  return result;
}
