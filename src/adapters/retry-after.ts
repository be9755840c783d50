/**
 * When a provider says to come back, in whatever way it says it, as seconds from now. A number counts only behind words
 * that announce a time, and only with a unit, in a field of such a name, or as a moment.
 */
import { momentAt } from './reset-moment.ts';

const UNIT_SECONDS: ReadonlyMap<string, number> = new Map([
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
  ['w', 604_800],
]);
/** A moment further away than this is a misreading. */
const LONGEST_SECONDS = 366 * 86_400;
const MOST_AMOUNTS = 6;

const AMOUNT =
  /(\d{1,9}(?:\.\d{1,9})?)\s?(ms|milliseconds?|w(?:(?:ee)?ks?)?|d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])/iy;
const ONE = /an?\s(hour|minute|day|week)\b/iy;
const BETWEEN = /[\s,]{0,3}(?:and\s)?/iy;
const CLOCK = /(\d{1,2}):(\d\d):(\d\d)(?![\w:])/y;
const BARE = /(\d{1,12}(?:\.\d{1,9})?)(?![\w:/-]|\.\d)/y;
const NEXT_WORD = /["']?\s+([a-z]{3,})/iy;
const MONTH = /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i;
const HTTP_ERROR = /^[45]\d\d$/;

/** What announces a time, most telling first: a header or field of that name, words, and the other way round. */
const FIELD =
  /\b(?:retry[-_ ]?(?:after|delay)|resets?[-_]?in|reset[-_]?after)(?:[-_ ]?(milliseconds|ms|seconds?|secs?|s)(?![a-z]))?["']?\s{0,3}([:=])?\s{0,3}["']?/gi;
const RESET_FIELD =
  /(?:\bresets?[-_]?at|reset[-_]?time(?:stamp)?|\bx-ratelimit-reset(?:-[a-z]+)*|\banthropic-ratelimit-[a-z-]+-reset|\breached\s?\|)["']?\s{0,3}[:=]?\s{0,3}["']?/gi;
const WORDS =
  /\b(?:(?:try|available) again|retry(?:ing)?|resets?|wait|refresh(?:es|ed)?)(?:\s(?:in|after|for|at|on))?:?\s{0,3}(?:(?:~|about|around|approximately|at least)\s?)?/gi;
const BEFORE = /\brequested (?:a )?(?=\d+\S* retry delay)/gi;

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const secondsOf = (amount: string, unit: string): number => {
  const lower = unit.toLowerCase();
  return Number(amount) * (/^m(?:s|il)/.test(lower) ? 0.001 : (UNIT_SECONDS.get(lower.charAt(0)) ?? 1));
};

/** "2h39m52s", "2 hours and 5 minutes", "an hour", "00:05:00"; null where a number is left over, as in "1h30". */
function durationAt(text: string, at: number): number | null {
  const one = match(ONE, text, at)?.[1];
  if (one !== undefined) return secondsOf('1', one);
  const clock = match(CLOCK, text, at);
  if (clock !== null) return Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3]);
  let seconds: number | null = null;
  let [next, end] = [at, at];
  for (let count = 0; count < MOST_AMOUNTS; count++) {
    const amount = match(AMOUNT, text, next);
    if (amount === null) break;
    seconds = (seconds ?? 0) + secondsOf(amount[1] ?? '', amount[2] ?? '');
    end = next + amount[0].length;
    next = end + (match(BETWEEN, text, end)?.[0].length ?? 0);
  }
  return /\w/.test(text.charAt(end)) ? null : seconds;
}

/** A number of which the field's name says the unit. In prose what is counted stands behind it, and a status may. */
function bareAt(text: string, at: number, unit: string | undefined, isField: boolean): number | null {
  const number = match(BARE, text, at)?.[1];
  if (number === undefined) return null;
  const word = match(NEXT_WORD, text, at + number.length)?.[1];
  if (word !== undefined && (!isField || MONTH.test(word))) return null;
  return !isField && HTTP_ERROR.test(number) ? null : secondsOf(number, unit ?? 's');
}

const sane = (seconds: number): number | null =>
  Number.isFinite(seconds) && seconds >= 0 && seconds <= LONGEST_SECONDS ? Math.ceil(seconds * 1000) / 1000 : null;

/** Seconds until the moment; one that has passed is 0. */
function untilAt(text: string, at: number, now: (() => number) | undefined): number | null {
  const momentMs = momentAt(text, at, now?.() ?? 0);
  return momentMs === null || now === undefined ? null : Math.max(0, (momentMs - now()) / 1000);
}

/**
 * Reads "Resets in 2h39m52s", "try again in 20s", "Retry-After: 120", `"resets_in_seconds": 60`, an HTTP date, a moment in
 * epoch seconds or with its zone, "resets 7pm (Europe/Berlin)". Null where the text names no time, or names a moment and
 * no clock is given.
 */
export function retryAfterSeconds(text: string, now?: () => number): number | null {
  for (const pattern of [FIELD, RESET_FIELD, WORDS, BEFORE]) {
    for (const lead of text.matchAll(pattern)) {
      const at = lead.index + lead[0].length;
      const unit = lead[1];
      const isField = lead[2] !== undefined || unit !== undefined;
      const said = durationAt(text, at) ?? (unit === undefined ? untilAt(text, at, now) : null);
      const seconds = said ?? (pattern === FIELD ? bareAt(text, at, unit, isField) : null);
      const kept = seconds === null ? null : sane(seconds);
      if (kept !== null) return kept;
    }
  }
  return null;
}
