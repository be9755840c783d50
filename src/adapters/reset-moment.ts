/**
 * The moments that providers and CLIs write after "resets at" or "try again at", as milliseconds since the epoch. A date
 * counts only with its zone. A time of day with am or pm counts also without one: the CLI printed the host's own time.
 */

/** Longer than any of the forms. */
const LOOKED_AT = 64;

const EPOCH = /^(\d{10}|\d{13})(?![\w.])/;
const ISO = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|UTC|GMT|[+-]\d\d:?\d\d)(?!\w)/;
/** RFC 9110: the date of today and the one of RFC 850. */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4}|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2}) \d{2}:\d{2}:\d{2} GMT\b/;
const ZONE = String.raw`(?:\s?\((?<zone>[A-Za-z_]+(?:\/[\w+-]+){0,2})\)|\s(?<utc>UTC|GMT)\b)`;
const TIME = String.raw`(?:(?<h12>\d{1,2})(?::(?<m12>\d\d))?\s?(?<half>[ap])\.?m\b\.?${ZONE}?|(?<h24>\d{1,2}):(?<m24>\d\d)${ZONE.replaceAll('?<zone>', '?<zone24>').replaceAll('?<utc>', '?<utc24>')})`;
const TIME_OF_DAY = new RegExp(`^${TIME}`, 'i');
const DAY_AND_TIME = new RegExp(
  String.raw`^(?<month>[a-z]{3})[a-z]{0,6}\.? (?<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?<year>\d{4}))?(?:,? at|,)? ${TIME}`,
  'i',
);
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAY_MS = 86_400_000;

/** A moment's wall clock in a zone, as if it were UTC. Throws a RangeError for a zone that nobody knows. */
function wallClock(momentMs: number, zone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const parts = new Map(format.formatToParts(momentMs).map(({ type, value }) => [type, Number(value)]));
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
}

/** The moment at which the zone's clocks show `wallMs`. */
function momentOf(wallMs: number, zone: string): number {
  // The second round is right where the first guess fell on the other side of a change of clocks.
  const guess = wallMs - (wallClock(wallMs, zone) - wallMs);
  return wallMs - (wallClock(guess, zone) - guess);
}

type Groups = Readonly<Record<string, string | undefined>>;

/** Milliseconds after midnight, or null where no clock shows that. */
function timeOfDay({ h12, m12, half, h24, m24 }: Groups): number | null {
  const hours = h12 === undefined ? Number(h24) : (Number(h12) % 12) + (half?.toLowerCase() === 'p' ? 12 : 0);
  const minutes = Number(m12 ?? m24 ?? 0);
  return hours > 23 || minutes > 59 || Number(h12) > 12 || h12 === '0' ? null : (hours * 60 + minutes) * 60_000;
}

function zoneOf({ zone, zone24, utc, utc24 }: Groups): string | null {
  if (utc !== undefined || utc24 !== undefined) return 'UTC';
  const named = zone ?? zone24 ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: named }).resolvedOptions().timeZone;
  } catch {
    // Words in brackets that name no zone: the moment is not known.
    return null;
  }
}

/** The next moment at which the zone's clocks show that time of day. */
function nextTimeOfDay(groups: Groups, nowMs: number): number | null {
  const [zone, time] = [zoneOf(groups), timeOfDay(groups)];
  if (zone === null || time === null) return null;
  const wall = wallClock(nowMs, zone);
  const midnight = wall - (wall % DAY_MS);
  const today = momentOf(midnight + time, zone);
  return today > nowMs ? today : momentOf(midnight + DAY_MS + time, zone);
}

/** That day and time; without a year the one nearest to now. */
function dayAndTime(groups: Groups, nowMs: number): number | null {
  const [zone, time] = [zoneOf(groups), timeOfDay(groups)];
  const month = MONTHS.indexOf((groups.month ?? '').toLowerCase());
  if (zone === null || time === null || month < 0) return null;
  const thisYear = new Date(wallClock(nowMs, zone)).getUTCFullYear();
  const years = groups.year === undefined ? [thisYear - 1, thisYear, thisYear + 1] : [Number(groups.year)];
  const moments = years.map((year) => momentOf(Date.UTC(year, month, Number(groups.day)) + time, zone));
  return moments.reduce((best, one) => (Math.abs(one - nowMs) < Math.abs(best - nowMs) ? one : best));
}

/** The moment that stands at `at` in the text; null where none does. Epoch seconds and HTTP dates may have passed. */
export function momentAt(text: string, at: number, nowMs: number): number | null {
  const here = text.slice(at, at + LOOKED_AT);
  const epoch = EPOCH.exec(here)?.[1];
  if (epoch !== undefined) return Number(epoch) * (epoch.length === 10 ? 1000 : 1);
  const iso = ISO.exec(here);
  if (iso !== null) {
    const zone = /^[+-]/.test(iso[3] ?? '') ? iso[3] : 'Z';
    return future(Date.parse(`${iso[1]}T${iso[2]}${zone}`), nowMs);
  }
  const date = HTTP_DATE.exec(here)?.[0];
  if (date !== undefined) return Date.parse(date) || null;
  const day = DAY_AND_TIME.exec(here)?.groups;
  if (day !== undefined) return future(dayAndTime(day, nowMs), nowMs);
  const time = TIME_OF_DAY.exec(here)?.groups;
  return time === undefined ? null : nextTimeOfDay(time, nowMs);
}

/** A written date that has passed announces nothing: the text is old, or was misread. */
const future = (momentMs: number | null, nowMs: number): number | null =>
  momentMs !== null && momentMs >= nowMs ? momentMs : null;
