/** How long to wait, in whatever way a provider says it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryAfterSeconds } from '../../src/adapters/retry-after.ts';

// A time of day without a zone is the host's.
process.env.TZ = 'Europe/Berlin';

const NOW = Date.UTC(2026, 10, 30, 18, 0, 0);
const EPOCH = NOW / 1000;

test.each([
  ['RESOURCE_EXHAUSTED (code 429): Resets in 2h39m52s', 9592],
  ['Please try again in 20s.', 20],
  ['try again in 1.5 seconds', 1.5],
  ['Please try again in 6m0s.', 360],
  ['Try again in 2 hours and 5 minutes', 7500],
  ['try again in 120ms', 0.12],
  ['Retry-After: 120', 120],
  ['retry-after: 3600, date: now', 3600],
  ['retry after 45 seconds', 45],
  ['retry_after_seconds: 12', 12],
  ['"retry_after": 30}', 30],
  ['"retryDelay": "34s"', 34],
  ['{"retry_after_ms":1500}', 1.5],
  ['quota resets in 3 days', 259_200],
  ['Retry-After: Mon, 30 Nov 2026 18:02:00 GMT', 120],
  [`Claude AI usage limit reached|${EPOCH + 600}`, 600],
  [`resets at ${EPOCH + 60}`, 60],
  [`resets at ${(EPOCH + 60) * 1000}`, 60],
  [`resets at ${EPOCH - 60}`, 0],
  ['retry after 5 minutes', 300],
  ['retry after 1 hour', 3600],
  ['retry after 1 hr 5 mins', 3900],
  ['retry after: 2 hours', 7200],
  ['retry-after: 60 minutes', 3600],
  ['Request retry after 1m0s', 60],
  ['retry after 60', 60],
  ['Retry-After: 60, 120', 60],
  ['retry-after-ms: 1500', 1.5],
  ['"resets_in_seconds":13872', 13_872],
  [`"resets_at":${EPOCH + 60}`, 60],
  ['"reset_after_seconds": 60', 60],
  ['Quota resets in ~231 min', 13_860],
  ['try again in about 20 seconds', 20],
  ['try again in 2 weeks', 1_209_600],
  ['try again in an hour', 3600],
  ['try again in 00:05:00', 300],
  ['Server requested 2892s retry delay (max: 60s)', 2892],
  ['x-ratelimit-reset-requests: 6m0s', 360],
  ['quotaResetTimeStamp": "2026-12-01T00:00:00Z"', 21_600],
  ['retry after 2026-11-30T18:05:00.5+00:00', 300.5],
  ['retry after 2026-11-30T17:00:00Z', null],
  ['Retry-After: Monday, 30-Nov-26 18:05:00 GMT', 300],
  ['Retry-After: Mon, 30 Nov 2026 17:00:00 GMT', 0],
  ['Retry-After: Mon, 99 Nov 2026 17:00:00 GMT', null],
  ['will reset at 2026-12-01 18:00:00 UTC', 86_400],
  ['will reset at 2026-12-01 19:05:44', null],
  ['resets 7pm (America/Los_Angeles)', 32_400],
  ['resets 3pm', 72_000],
  ['resets 12am (UTC)', 21_600],
  ['resets 12:30pm (UTC)', 66_600],
  ['resets 6pm (UTC)', 86_400],
  ['resets at 14:00 (UTC)', 72_000],
  ['resets at 14:00', null],
  ['resets 3pm (Nowhere/Town)', null],
  ['resets 13pm', null],
  ['try again at 2:51 PM.', 71_460],
  ['try again at Dec 2nd, 2026 5:36 PM.', 167_760],
  ['resets Dec 2 at 3pm (UTC)', 162_000],
  ['resets Jan 2 at 3pm (UTC)', 2_840_400],
  ['resets Oct 6, 1pm', null],
  ['retry after 3 attempts, then try again in 7s', 7],
  ['retry after 3 attempts', null],
  ['Retry after 5 failed attempts', null],
  ['reset after 2 attempts', null],
  ['retry after 12/01/2026', null],
  ['Retry-After 30 Nov 2026', null],
  ['retry after 429', null],
  ['retry-after: -5', null],
  ['Retry-After: 1e3', null],
  ['retry-after: 0x10', null],
  ['try again in 1h30', null],
  ['resets in 1 month', null],
  ['', null],
  ['429 Too Many Requests', null],
  ['try again later', null],
  ['try again in a moment', null],
  ['retry attempt 3 of 10', null],
  ['at 20s I tried again', null],
  ['Retry-After: 99999999999', null],
  ['date: Mon, 30 Nov 2026 18:02:00 GMT', null],
] as const)('%j', (text, seconds) => {
  expect(retryAfterSeconds(text, () => NOW)).toBe(seconds);
});

test('a moment means nothing without a clock', () => {
  expect(retryAfterSeconds('Retry-After: Mon, 30 Nov 2026 18:02:00 GMT')).toBeNull();
  expect(retryAfterSeconds(`resets at ${EPOCH + 60}`)).toBeNull();
});

test('a day is as long as the clocks of the zone make it', () => {
  const before = Date.UTC(2026, 9, 24, 18, 0, 0);
  expect(retryAfterSeconds('resets 7pm (Europe/Berlin)', () => before)).toBe(24 * 3600);
  expect(retryAfterSeconds('resets Oct 25 at 7pm (Europe/Berlin)', () => before)).toBe(24 * 3600);
});

test('a time of day right behind a change of clocks', () => {
  const before = Date.UTC(2026, 9, 31, 20, 0, 0);
  expect(retryAfterSeconds('resets Nov 1 at 3am (America/Los_Angeles)', () => before)).toBe(15 * 3600);
});

test('law: whatever the text, the answer is null or a sane number, at once', () => {
  const piece = fc.oneof(
    fc.constantFrom('retry', ' after ', 'try again in ', 'resets ', '12', '3h', '5m', '.', ':', 's', ' ', '|', 'and '),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const seconds = retryAfterSeconds(pieces.join(''), () => NOW);
      expect(seconds === null || (Number.isFinite(seconds) && seconds >= 0)).toBe(true);
    }),
  );
  for (const unit of [
    'resets',
    'retry ',
    'resets at 3',
    'x-ratelimit-reset-',
    'anthropic-ratelimit-',
    '1',
    '1 ',
    '1s ',
    '1h1m',
    'resets in 1s',
    'retry after ',
  ]) {
    const started = performance.now();
    retryAfterSeconds(`try again in ${unit.repeat(4096)}`.slice(0, 4096), () => NOW);
    expect(performance.now() - started).toBeLessThan(200);
  }
});
