/** How long to wait, in whatever way a provider says it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryAfterSeconds } from '../../src/adapters/retry-after.ts';

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
  for (const unit of ['1', '1 ', '1s ', '1h1m', 'resets in 1s', 'retry after ']) {
    const started = performance.now();
    retryAfterSeconds(`try again in ${unit.repeat(4096)}`.slice(0, 4096), () => NOW);
    expect(performance.now() - started).toBeLessThan(200);
  }
});
