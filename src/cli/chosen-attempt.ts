/** The attempt of a run that a person names: its id, a unique beginning of one, or the profile that made it. */
import { EXIT } from '../model/codes.ts';
import { err, ok, type Result } from '../model/result.ts';
import { attemptStories } from '../run/attempt-story.ts';
import type { RunState } from '../store/run-state.ts';
import type { NotChosen } from './chosen-run.ts';

/** Ids of the attempts that a run has begun, in their order. */
export function attemptsOf({ receipt, journal }: RunState): string[] {
  return receipt.kind === 'valid'
    ? receipt.receipt.attempts.map(({ attempt_id }) => attempt_id)
    : attemptStories(journal).map(({ attemptId }) => attemptId);
}

/** The one of `ids` that is meant. */
export function chooseAttempt(runId: string, ids: readonly string[], wanted: string): Result<string, NotChosen> {
  if (ids.includes(wanted)) return ok(wanted);
  const matches = ids.filter((id) => (wanted !== '' && id.startsWith(wanted)) || id.replace(/^\d+-/, '') === wanted);
  const [only] = matches;
  if (only !== undefined && matches.length === 1) return ok(only);
  const shown = JSON.stringify(wanted);
  return only === undefined
    ? err({
        code: 'ATTEMPT_UNKNOWN',
        message: `run ${runId} has no attempt ${shown}. ${ids.length === 0 ? 'It has none.' : `It has ${ids.join(', ')}.`}`,
        exitCode: EXIT['invalid-config'],
      })
    : err({
        code: 'ATTEMPT_AMBIGUOUS',
        message: `${shown} fits ${matches.join(', ')} of run ${runId}. Give more of the id.`,
        exitCode: EXIT.usage,
      });
}
