/** When a provider says to come back, in whatever way it says it, as seconds from now. */

const UNIT_SECONDS: ReadonlyMap<string, number> = new Map([
  ['ms', 0.001],
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
]);
/** A moment further away than this is a misreading. */
const LONGEST_SECONDS = 366 * 86_400;

const AMOUNT = String.raw`\d{1,9}(?:\.\d{1,9})?\s?(?:ms|milliseconds?|d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)\b|\d{1,9}(?:\.\d{1,9})?(?:ms|[dhms])(?=\d)`;
const DURATION = new RegExp(
  String.raw`\b(?:try again|retry(?:ing)?|resets?|wait|available again)(?:\s+(?:in|after|for))?:?\s+((?:(?:${AMOUNT})[\s,]*(?:and\s+)?){1,5})`,
  'i',
);
const ONE_AMOUNT =
  /(\d+(?:\.\d+)?)\s?(ms|milliseconds?|d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])/gi;
const FIELD =
  /\bretry[-_ ]?(?:after|delay)(?:[-_ ]?(ms|s|secs?|seconds))?["']?\s*[:= ]\s*["']?(\d{1,12}(?:\.\d{1,9})?)(?!\d)(ms|s)?/i;
const HTTP_DATE = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT\b/;
const EPOCH = /\b(?:resets?(?: at)?|reached\s?\||retry[-_ ]?after)["']?[\s:=|]*(\d{10}|\d{13})\b/i;

const unit = (word: string): number => {
  const lower = word.toLowerCase();
  return UNIT_SECONDS.get(lower.startsWith('ms') || lower.startsWith('mil') ? 'ms' : lower.charAt(0)) ?? 1;
};
const sane = (seconds: number): number | null =>
  Number.isFinite(seconds) && seconds >= 0 && seconds <= LONGEST_SECONDS ? Math.ceil(seconds * 1000) / 1000 : null;
const until = (momentMs: number, now: (() => number) | undefined): number | null =>
  now === undefined || Number.isNaN(momentMs) ? null : sane(Math.max(0, (momentMs - now()) / 1000));

/**
 * Reads "Resets in 2h39m52s", "try again in 20s", "Retry-After: 120", `retryDelay: "34s"`, an HTTP date or a moment in
 * epoch seconds. Null where the text names no time, or names a moment and no clock is given.
 */
export function retryAfterSeconds(text: string, now?: () => number): number | null {
  const epoch = EPOCH.exec(text)?.[1];
  if (epoch !== undefined) return until(Number(epoch) * (epoch.length === 10 ? 1000 : 1), now);
  const date = HTTP_DATE.exec(text)?.[0];
  if (date !== undefined && /retry|again|reset/i.test(text)) return until(Date.parse(date), now);
  const field = FIELD.exec(text);
  if (field !== null) return sane(Number(field[2]) * unit(field[3] ?? field[1] ?? 's'));
  const duration = DURATION.exec(text)?.[1];
  if (duration === undefined) return null;
  let seconds = 0;
  for (const [, amount, word] of duration.matchAll(ONE_AMOUNT)) seconds += Number(amount) * unit(word ?? 's');
  return sane(seconds);
}
