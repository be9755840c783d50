import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Observation } from '../../src/model/adapter.ts';
import type { Refusal } from '../../src/model/observation.ts';
import { afterReading, type Clocks, nextDeadline, startClocks } from '../../src/process/deadlines.ts';

const refusal: Refusal = { code: 'OVERLOADED', retry_after_seconds: 5, line: 'busy', source: 'event' };
const wait: Observation = { kind: 'provider-wait', refusal };
const work: Observation = { kind: 'activity', text: '' };
const done: Observation = { kind: 'finished' };
const LIMITS = { timeoutMs: 10_000, idleTimeoutMs: 1000, providerWaitMs: 3000, lingerMs: 50 };

type Step = readonly [at: number, lines: readonly (readonly Observation[])[], partial?: boolean];
const play = (...steps: Step[]): Clocks =>
  steps.reduce(
    (clocks, [at, lines, partial = false]) => afterReading(clocks, { stream: 'stdout', lines, partial }, at),
    startClocks(0),
  );

describe('the earliest deadline', () => {
  test.each<[string, Step[], object]>([
    ['silence from the start', [], { by: 'idle-timeout', at: 1000 }],
    ['a line nobody understands is output', [[400, [[]]]], { by: 'idle-timeout', at: 1400 }],
    ['an event is work', [[400, [[work]]]], { by: 'idle-timeout', at: 1400 }],
    ['a provider wait is neither', [[400, [[wait]]]], { by: 'idle-timeout', at: 1000 }],
    ['a line that has not ended is output', [[400, [], true]], { by: 'idle-timeout', at: 1400 }],
    [
      'until it turns out to be a provider wait',
      [
        [400, [], true],
        [500, [[wait]]],
      ],
      { by: 'idle-timeout', at: 1000 },
    ],
    ['work beside a wait', [[400, [[wait], [work]]]], { by: 'idle-timeout', at: 1400 }],
    ['a result starts the linger', [[100, [[done]]]], { by: 'finished', at: 150 }],
    [
      'the first result counts',
      [
        [100, [[done]]],
        [140, [[done]]],
      ],
      { by: 'finished', at: 150 },
    ],
  ])('%s', (_, steps, deadline) => {
    expect(nextDeadline(play(...steps), LIMITS)).toEqual(deadline);
  });

  const patient = { ...LIMITS, idleTimeoutMs: null };
  test.each<[string, Step[], object]>([
    ['no idle limit', [], { by: 'total-timeout', at: 10_000 }],
    [
      'the provider clock starts at the first wait',
      [
        [100, [[wait]]],
        [900, [[wait]]],
      ],
      { by: 'provider-wait', at: 3100 },
    ],
    [
      'a line nobody understands does not stop it',
      [
        [100, [[wait]]],
        [200, [[]]],
      ],
      { by: 'provider-wait', at: 3100 },
    ],
    [
      'an event stops it',
      [
        [100, [[wait]]],
        [200, [[work]]],
      ],
      { by: 'total-timeout', at: 10_000 },
    ],
    [
      'and another wait starts it anew',
      [
        [100, [[wait]]],
        [200, [[work]]],
        [300, [[wait]]],
      ],
      { by: 'provider-wait', at: 3300 },
    ],
  ])('%s', (_, steps, deadline) => {
    expect(nextDeadline(play(...steps), patient)).toEqual(deadline);
  });

  test('a provider wait of 0 is over at once', () => {
    expect(nextDeadline(play([100, [[wait]]]), { ...LIMITS, providerWaitMs: 0 })).toEqual({
      by: 'provider-wait',
      at: 100,
    });
  });
  test('the last word of the provider is the one that is kept', () => {
    const later = { ...refusal, code: 'RATE_LIMITED' as const };
    const clocks = play([1, [[wait]]], [2, [[{ kind: 'provider-wait', refusal: later }]]]);
    expect(clocks.waiting).toEqual({ since: 1, refusal: later });
  });
  test('no linger where the adapter wants the exit', () => {
    expect(nextDeadline(play([100, [[done]]]), { ...patient, lingerMs: null }).by).toBe('total-timeout');
  });

  test('whatever is read, the total timeout stands and waits never move the idle deadline', () => {
    const lines = fc.array(fc.array(fc.constantFrom(wait, work, done), { maxLength: 2 }), { maxLength: 3 });
    const steps = fc.array(fc.tuple(fc.nat(500), lines, fc.boolean()));
    fc.assert(
      fc.property(steps, (gaps) => {
        let now = 0;
        const timed = gaps.map(([gap, seen, partial]): Step => {
          now += gap;
          return [now, seen, partial];
        });
        const clocks = play(...timed);
        expect(nextDeadline(clocks, LIMITS).at).toBeLessThanOrEqual(LIMITS.timeoutMs);
        const waited = afterReading(clocks, { stream: 'stderr', lines: [[wait]], partial: false }, now + 1);
        expect(waited.activeAt).toBe(clocks.activeAt);
      }),
    );
  });
});
