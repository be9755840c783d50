import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ATTEMPT_STATES, type AttemptCode, CONSEQUENCES } from '../../src/model/codes.ts';
import type { Evidence } from '../../src/model/evidence.ts';
import { classify } from '../../src/verdict/classify.ts';
import { change, evidence, ignored, path, refusal, report, taken } from './evidence-samples.ts';

const difference = { what: 'worktree', path: 'README.md', detail: 'changed' } as const;
const command = (code: number | null) => ({ argv: ['npm', 'test'], code, ok: code === 0, duration_ms: 1 });
const done = evidence().cleanup as Extract<Evidence['cleanup'], { kind: 'done' }>;

/** What differs from a good attempt -> the code it must end with. */
const TABLE: readonly (readonly [string, Partial<Evidence>, AttemptCode])[] = [
  ['a good attempt', {}, 'OK'],
  [
    'canonical changed where the worker could write',
    { canonical: { differences: [difference], workerCouldWrite: true } },
    'CANONICAL_CHANGED',
  ],
  ['canonical changed where it could not', { canonical: { differences: [difference], workerCouldWrite: false } }, 'OK'],
  [
    'a process left',
    { processes: { containment: 'session-sweep', escaped: 1, killed: 0, survivors: 1 } },
    'PROCESS_SURVIVED',
  ],
  ['processes not proven gone at cleanup', { cleanup: { ...done, processesGone: false } }, 'PROCESS_SURVIVED'],
  [
    'an unreadable file',
    {
      inventory: {
        kind: 'failed',
        message: 'unreadable',
        paths: [path('x')],
        changes: [],
        ignored: [],
        violations: [],
        findings: [],
      },
    },
    'INVENTORY_FAILED',
  ],
  ['a workspace that stays', { cleanup: { ...done, workspaceRemoved: false, problem: 'EBUSY' } }, 'CLEANUP_INEXACT'],
  [
    'work that no commit holds',
    { preservation: { kind: 'failed', message: 'ENOSPC', transport: null, quarantine: null } },
    'CLEANUP_INEXACT',
  ],
  ['a path out of scope', { outOfScope: [path('docs/d.txt')] }, 'PATH_OUT_OF_SCOPE'],
  [
    'a commit by the worker',
    {
      privateRepository: { violations: [{ code: 'WORKER_COMMITTED', message: 'HEAD moved', paths: [] }], commits: [] },
    },
    'WORKER_COMMITTED',
  ],
  [
    'a hook in the private repository',
    { privateRepository: { violations: [{ code: 'GIT_TAMPERED', message: 'hook', paths: [] }], commits: [] } },
    'GIT_TAMPERED',
  ],
  ...(['NESTED_REPOSITORY', 'SYMLINK_ESCAPE', 'SPECIAL_FILE', 'SECRET_FILE'] as const).map(
    (code) =>
      [code, { inventory: taken({ violations: [{ code, message: code, paths: [path('a')] }] }) }, code] as const,
  ),
  ['cancelled', { termination: { kind: 'stopped', by: 'cancel', signal: 'SIGTERM', code: 0 } }, 'CANCELLED'],
  [
    'found unavailable',
    {
      unavailable: { code: 'EXECUTABLE_MISSING', message: 'not on PATH' },
      termination: { kind: 'not-started', error: 'ENOENT' },
      inventory: { kind: 'none' },
    },
    'EXECUTABLE_MISSING',
  ],
  [
    'spawn failed',
    { termination: { kind: 'not-started', error: 'E2BIG' }, inventory: taken({ changes: [] }) },
    'SPAWN_FAILED',
  ],
  ['a start that failed and yet wrote', { termination: { kind: 'not-started', error: 'ENOENT' } }, 'EXIT_NONZERO'],
  [
    'stopped before the worker',
    { termination: { kind: 'not-started', error: 'CANCELLED' }, inventory: taken({ changes: [] }) },
    'CANCELLED',
  ],
  ['setup failed', { setup: [command(1)], termination: { kind: 'not-started', error: 'setup' } }, 'SETUP_FAILED'],
  [
    'refused, nothing written, exit 0',
    { report: report({ refusal: refusal('RATE_LIMITED', 120) }), inventory: taken({ changes: [] }) },
    'RATE_LIMITED',
  ],
  [
    'refused, nothing written, exit 1',
    {
      report: report({ refusal: refusal('AUTH_REJECTED') }),
      inventory: taken({ changes: [] }),
      termination: { kind: 'exited', code: 1 },
    },
    'AUTH_REJECTED',
  ],
  [
    'refused after a change, exit 0',
    { report: report({ refusal: refusal('RATE_LIMITED') }) },
    'PROVIDER_REFUSED_MIDWAY',
  ],
  [
    'refused after an ignored file',
    {
      report: report({ refusal: refusal('RATE_LIMITED') }),
      inventory: taken({ changes: [], ignored: [ignored('build/x')] }),
    },
    'PROVIDER_REFUSED_MIDWAY',
  ],
  ['exit 3', { termination: { kind: 'exited', code: 3 } }, 'EXIT_NONZERO'],
  ['a signal', { termination: { kind: 'signaled', signal: 'SIGSEGV' } }, 'SIGNALED'],
  [
    'total timeout, although it then exited 0',
    { termination: { kind: 'stopped', by: 'total-timeout', signal: 'SIGTERM', code: 0 } },
    'TIMEOUT',
  ],
  [
    'idle timeout',
    { termination: { kind: 'stopped', by: 'idle-timeout', signal: 'SIGKILL', code: null } },
    'IDLE_TIMEOUT',
  ],
  ['a reported error with exit 0', { report: report({ status: 'error', error: 'boom' }) }, 'REPORTED_ERROR'],
  [
    'another model',
    {
      model: { requested: 'claude-sonnet-5', resolved: 'claude-sonnet-5' },
      report: report({ model: 'claude-haiku-4' }),
    },
    'MODEL_MISMATCH',
  ],
  [
    'a dated name of the same model',
    {
      model: { requested: 'claude-sonnet-5', resolved: 'claude-sonnet-5' },
      report: report({ model: 'claude-sonnet-5-20260801' }),
    },
    'OK',
  ],
  ['no change', { inventory: taken({ changes: [] }) }, 'EMPTY_DIFF'],
  ['only ignored files', { inventory: taken({ changes: [], ignored: [ignored('build/x')] }) }, 'EMPTY_DIFF'],
  ['no change where a report will do', { expects: 'report', inventory: taken({ changes: [] }) }, 'OK'],
  [
    'neither change nor words',
    { expects: 'either', inventory: taken({ changes: [] }), report: report({ finalText: ' \n' }) },
    'NO_RESULT',
  ],
  ['changes and no report', { expects: 'report', report: report({ finalText: '' }) }, 'NO_RESULT'],
  ['changes and a report', { expects: 'report' }, 'OK'],
  ['changes and no words', { expects: 'either', report: report({ finalText: '' }) }, 'OK'],
  ['the result event is missing', { report: report({ resultMissing: true }) }, 'NO_RESULT'],
  ['the worker result is missing', { workerResult: { kind: 'missing' } }, 'NO_RESULT'],
  ['the worker result is garbage', { workerResult: { kind: 'unparseable', message: 'no JSON' } }, 'UNPARSEABLE_OUTPUT'],
  [
    'the worker result is incomplete',
    { workerResult: { kind: 'invalid', message: 'no ROLLBACK' } },
    'INVALID_WORKER_RESULT',
  ],
  ['the worker is blocked', { workerResult: { kind: 'valid', status: 'BLOCKED', value: {} } }, 'WORKER_BLOCKED'],
  ['verification failed', { verification: [command(0), command(1)] }, 'VERIFICATION_FAILED'],
  ['verification was stopped', { verification: [command(null)] }, 'VERIFICATION_FAILED'],
  ['verification passed', { verification: [command(0)] }, 'OK'],
  [
    'the tree was ended after the result',
    { termination: { kind: 'stopped', by: 'finished', signal: 'SIGTERM', code: null } },
    'OK',
  ],
];

describe('classify', () => {
  test.each(TABLE)('%s', (_name, over, code) => {
    const verdict = classify(evidence(over));
    expect(verdict.code).toBe(code);
    expect(verdict.state).toBe(CONSEQUENCES[code].state);
    expect(verdict.message).not.toBe('');
  });

  test('a worse state wins over every milder one', () => {
    // Rows of the table by state; each pair of a worse and a milder row must give the worse state when merged.
    const rank = (code: AttemptCode): number => ATTEMPT_STATES.indexOf(CONSEQUENCES[code].state);
    const bad = TABLE.filter(([, , code]) => ['failed-unknown', 'scope-expansion'].includes(CONSEQUENCES[code].state));
    for (const [, worse, worseCode] of bad) {
      for (const [, milder, milderCode] of TABLE) {
        if (rank(milderCode) <= rank(worseCode)) continue;
        const keys = Object.keys(worse);
        if (Object.keys(milder).some((key) => keys.includes(key))) continue;
        expect(classify(evidence({ ...milder, ...worse })).code).toBe(worseCode);
      }
    }
  });

  test('what is pending never counts against the worker, and never makes a failure a success', () => {
    for (const [, over, code] of TABLE) {
      const early = classify(evidence({ ...over, preservation: { kind: 'pending' }, cleanup: { kind: 'pending' } }));
      if (code === 'OK') expect(early.code).toBe('OK');
      if (!('cleanup' in over) && !('preservation' in over)) expect(early.code).toBe(code);
    }
  });

  test('is total, and success needs all of its evidence', () => {
    const overs = fc.constantFrom(...TABLE.map(([, over]) => over));
    fc.assert(
      fc.property(fc.array(overs, { minLength: 1, maxLength: 5 }), (parts) => {
        const merged = evidence(Object.assign({}, ...parts));
        const verdict = classify(merged);
        expect(CONSEQUENCES[verdict.code].state).toBe(verdict.state);
        if (verdict.state !== 'success') return;
        expect(merged.processes.survivors).toBe(0);
        expect(merged.outOfScope).toEqual([]);
        expect(merged.report.refusal).toBeNull();
        expect(merged.report.status).not.toBe('error');
        expect(['exited', 'stopped']).toContain(merged.termination.kind);
        if (merged.termination.kind === 'exited') expect(merged.termination.code).toBe(0);
        if (merged.expects === 'changes') {
          expect(merged.inventory.kind === 'taken' && merged.inventory.changes.length > 0).toBe(true);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a refusal hides neither a violation nor a survivor, and is itself told', () => {
    const verdict = classify(
      evidence({
        report: report({ refusal: refusal('RATE_LIMITED') }),
        outOfScope: [path('docs/x')],
        inventory: taken({ changes: [change('docs/x')] }),
      }),
    );
    expect(verdict.code).toBe('PATH_OUT_OF_SCOPE');
    expect(verdict.findings.map((f) => f.code)).toContain('PROVIDER_REFUSED_MIDWAY');
  });

  test('a move of the canonical repository that the worker could not make is a finding', () => {
    const verdict = classify(evidence({ canonical: { differences: [difference], workerCouldWrite: false } }));
    expect(verdict.state).toBe('success');
    expect(verdict.findings.map((f) => f.code)).toEqual(['CANONICAL_MOVED_BY_HOST']);
  });
});
