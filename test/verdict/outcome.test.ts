import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ATTEMPT_CODES, type AttemptCode, CONSEQUENCES } from '../../src/model/codes.ts';
import { judgeRun, type RunFacts, stopsRun } from '../../src/verdict/outcome.ts';

const attempt = (code: AttemptCode, cleanupExact = true) => ({
  attemptId: `01-${code.toLowerCase()}`,
  cleanupExact,
  verdict: { code, state: CONSEQUENCES[code].state, message: code, findings: [] },
});
const facts = (codes: readonly AttemptCode[], over: Partial<RunFacts> = {}): RunFacts => ({
  attempts: codes.map((code) => attempt(code)),
  candidateCount: codes.length,
  fallbackToHost: 'all-unavailable',
  cancelledBy: null,
  ...over,
});

test.each([
  [['OK'], {}, 'success', 0],
  [['EXECUTABLE_MISSING', 'RATE_LIMITED', 'OK'], {}, 'success', 0],
  [['EXECUTABLE_MISSING', 'RATE_LIMITED'], {}, 'host-fallback-authorized', 5],
  [['EXECUTABLE_MISSING', 'RATE_LIMITED'], { fallbackToHost: 'never' }, 'exhausted', 4],
  [['EXECUTABLE_MISSING', 'EXIT_NONZERO'], {}, 'exhausted', 4],
  [['EXECUTABLE_MISSING'], { candidateCount: 2 }, 'exhausted', 4],
  [['EXECUTABLE_MISSING', 'PROCESS_SURVIVED'], {}, 'blocked', 6],
  [['PATH_OUT_OF_SCOPE'], {}, 'blocked', 6],
  [['WORKER_BLOCKED'], {}, 'blocked', 6],
  [['CANCELLED'], { cancelledBy: 'SIGINT' }, 'cancelled', 130],
  [['CANCELLED'], { cancelledBy: 'SIGTERM' }, 'cancelled', 143],
  [['CANCELLED'], { cancelledBy: 'SIGHUP' }, 'cancelled', 129],
  [[], { cancelledBy: 'SIGINT', candidateCount: 3 }, 'cancelled', 130],
  [['EXIT_NONZERO'], { cancelledBy: 'SIGINT', candidateCount: 2 }, 'cancelled', 130],
  [['CANONICAL_CHANGED'], { cancelledBy: 'SIGINT' }, 'blocked', 6],
] as const)('%j %j -> %s', (codes, over, outcome, exitCode) => {
  const verdict = judgeRun(facts(codes as readonly AttemptCode[], over as Partial<RunFacts>));
  expect(verdict).toMatchObject({ outcome, exitCode });
});

test('an unavailable candidate whose cleanup is not exact authorises nothing', () => {
  const verdict = judgeRun(facts([], { attempts: [attempt('RATE_LIMITED', false)], candidateCount: 1 }));
  expect(verdict.outcome).toBe('exhausted');
});

test('host fallback is authorised exactly when every candidate is proven unavailable', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...ATTEMPT_CODES), { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      fc.nat(2),
      (codes, never, unreached) => {
        const verdict = judgeRun(
          facts(codes, {
            fallbackToHost: never ? 'never' : 'all-unavailable',
            candidateCount: codes.length + unreached,
          }),
        );
        const proven = !never && unreached === 0 && codes.every((code) => CONSEQUENCES[code].state === 'unavailable');
        expect(verdict.outcome === 'host-fallback-authorized').toBe(proven);
        expect(verdict.exitCode === 0).toBe(codes.includes('OK'));
      },
    ),
  );
});

test('what goes on and what stops', () => {
  for (const code of ATTEMPT_CODES) {
    const { state } = CONSEQUENCES[code];
    const goesOn = (state === 'failed-clean' && code !== 'WORKER_BLOCKED') || state === 'unavailable';
    expect(stopsRun(attempt(code).verdict)).toBe(!goesOn);
  }
});
