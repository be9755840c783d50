import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { termination } from '../../src/model/observation.ts';
import { advance, type EndingEvent, exitOf, RUNNING } from '../../src/process/ending.ts';

const anyExit = fc.oneof(
  fc.record({ code: fc.integer({ min: 0, max: 255 }), signal: fc.constant(null) }),
  fc.record({ code: fc.constant(null), signal: fc.constantFrom('SIGTERM', 'SIGKILL', 'SIGSEGV') }),
);
const stop = fc.record({
  kind: fc.constant('stop' as const),
  by: fc.constantFrom('total-timeout', 'idle-timeout', 'provider-wait', 'cancel', 'finished'),
  signal: fc.constantFrom('SIGTERM', 'SIGINT', 'SIGHUP'),
});
const last = fc.oneof(
  fc.record({ kind: fc.constant('exit' as const), exit: anyExit }),
  fc.record({ kind: fc.constant('not-started' as const), error: fc.constantFrom('ENOENT', 'E2BIG') }),
  fc.constant({ kind: 'lost' as const }),
);
const escalate = fc.constant({ kind: 'escalate' as const, signal: 'SIGKILL' });
const anyEvent: fc.Arbitrary<EndingEvent> = fc.oneof(stop, last, escalate);
const play = (events: readonly EndingEvent[]) => events.reduce(advance, RUNNING);
const isLast = (event: EndingEvent) => event.kind !== 'stop' && event.kind !== 'escalate';

describe('the ending of a worker', () => {
  test('any order of events with an end in it gives exactly one termination, a legal one', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), last, fc.array(anyEvent), (before, end, after) => {
        const ending = play([...before, end, ...after]);
        expect(ending.phase).toBe('ended');
        if (ending.phase === 'ended') expect(termination.parse(ending.termination)).toEqual(ending.termination);
      }),
    );
  });

  test('the first reason wins: nothing that comes after the end changes it', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), last, fc.array(anyEvent), (before, end, after) => {
        expect(play([...before, end, ...after])).toEqual(play([...before, end]));
      }),
    );
  });

  test('a worker is stopped exactly where a stop came before its end, and by the first one', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), last, (before, end) => {
        const events = [...before, end];
        const reason = events.slice(0, events.findIndex(isLast)).find((event) => event.kind === 'stop');
        const ending = play(events);
        if (ending.phase !== 'ended') throw new Error('not ended');
        if (reason?.kind === 'stop') expect(ending.termination).toMatchObject({ kind: 'stopped', by: reason.by });
        else expect(ending.termination.kind).not.toBe('stopped');
      }),
    );
  });

  test('no end, no termination', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(stop, escalate)), (events) => {
        expect(play(events).phase).not.toBe('ended');
      }),
    );
  });

  test('a cancelled worker keeps the name of the host signal, others that of the strongest they were sent', () => {
    const stopped = (by: 'cancel' | 'idle-timeout', signal: string) =>
      play([{ kind: 'stop', by, signal }, { kind: 'escalate', signal: 'SIGKILL' }, { kind: 'lost' }]);
    expect(stopped('cancel', 'SIGINT')).toMatchObject({ termination: { signal: 'SIGINT' } });
    expect(stopped('idle-timeout', 'SIGTERM')).toMatchObject({ termination: { signal: 'SIGKILL' } });
  });
});

test.each([
  [0, null, 'direct', { code: 0, signal: null }],
  [137, null, 'direct', { code: 137, signal: null }],
  [null, 'SIGKILL', 'direct', { code: null, signal: 'SIGKILL' }],
  [137, null, 'init', { code: null, signal: 'SIGKILL' }],
  [143, null, 'init', { code: null, signal: 'SIGTERM' }],
  [134, null, 'init', { code: null, signal: 'SIGABRT' }],
  [127, null, 'init', { code: 127, signal: null }],
  [128, null, 'init', { code: 128, signal: null }],
  [255, null, 'init', { code: 255, signal: null }],
] as const)('code %s and signal %s through %s', (code, signal, through, exit) => {
  expect(exitOf(code, signal, through)).toEqual(exit);
});
