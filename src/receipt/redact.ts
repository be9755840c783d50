/**
 * Takes secrets out of whatever leaves the run: records, summaries, telemetry, console lines. Two nets: the values of the
 * credential variables of this run, in every form they leak in, and the shapes of known tokens. Both look at the
 * untouched text and their finds are united, so that one replacement never hides the rest of another secret. Raw logs
 * are not redacted; they stay private.
 */
import { mapStrings } from './json-walk.ts';
import { wellFormed } from './neutralise.ts';
import { SHORTEST_SECRET, secretFinder } from './secret-values.ts';
import { replaceRanges, type TextRange } from './text-range.ts';
import { findTokenShapes } from './token-shapes.ts';

export const REDACTED = '[redacted]';

export interface Redactor {
  /** Redacted text without lone surrogates. Bound it afterwards: a secret cut in half is no longer found. */
  text(text: string): string;
  /** The places of what `text` takes out, in no particular order; they may overlap. */
  places(text: string): TextRange[];
  /** A JSON value with every string and every member name redacted. */
  value<T>(json: T): T;
}

/**
 * `secrets`: values of credential variables. Those shorter than 6 characters are not searched for: they would turn up in
 * words, digests and ids.
 */
export function createRedactor(options: { readonly secrets: readonly string[] }): Redactor {
  const findSecrets = secretFinder(options.secrets.filter((secret) => !REDACTED.includes(secret)));
  const places = (given: string): TextRange[] =>
    given.length < SHORTEST_SECRET ? [] : [...findSecrets(given), ...findTokenShapes(given)];
  const text = (given: string): string => wellFormed(replaceRanges(given, places(given), REDACTED));
  return { text, places, value: <T>(json: T) => mapStrings(json, text, { keys: 'change' }) as T };
}
