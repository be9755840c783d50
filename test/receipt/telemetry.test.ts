import { expect, test } from 'vitest';
import { telemetryEvent } from '../../src/model/telemetry.ts';
import { attemptEvent, runEvent } from '../../src/receipt/telemetry.ts';
import { report } from '../verdict/evidence-samples.ts';
import { attempt, RUN_ID } from './record-samples.ts';

const run = { runId: RUN_ID, unitId: 'fix-add', role: 'repair' };

test('one event for an attempt', () => {
  const event = attemptEvent(attempt(), run);
  expect(telemetryEvent.parse(event)).toEqual(event);
  expect(event).toMatchObject({
    schema: 'agent-exec-telemetry/v1',
    event: 'attempt',
    run_id: RUN_ID,
    attempt_id: '01-cursor',
    unit_id: 'fix-add',
    role: 'repair',
    profile: 'cursor',
    adapter: 'cursor',
    model: null,
    started_at: '2026-11-30T17:15:00.123Z',
    duration_ms: 1500,
    exit_status: 0,
    ok: true,
    state: 'success',
    error: null,
    worker_status: null,
  });
});

test.each([
  [{ kind: 'exited', code: 7 }, 7],
  [{ kind: 'signaled', signal: 'SIGSEGV' }, 'SIGSEGV'],
  [{ kind: 'stopped', by: 'total-timeout', signal: 'SIGKILL', code: null }, 'SIGKILL'],
  [{ kind: 'stopped', by: 'idle-timeout', signal: 'SIGTERM', code: 143 }, 143],
  [{ kind: 'not-started', error: 'ENOENT' }, null],
] as const)('exit status of %j', (termination, wanted) => {
  const event = attemptEvent(attempt({ termination }), run);
  expect(event.exit_status).toBe(wanted);
  expect([event.ok, event.error]).toEqual([false, attempt({ termination }).code]);
});

test('model: what was asked for, else what the worker says', () => {
  const reported = report({ model: 'said' });
  expect(attemptEvent(attempt({ report: reported }), run).model).toBe('said');
  expect(attemptEvent(attempt({ report: reported, model: { requested: 'r', resolved: null } }), run).model).toBe('r');
  expect(attemptEvent(attempt({ model: { requested: 'r', resolved: 'r-1' } }), run).model).toBe('r-1');
});

test("worker status: its result's word, else its format's", () => {
  const value = { STATUS: 'READY' };
  expect(attemptEvent(attempt({ workerResult: { kind: 'valid', status: 'READY', value } }), run).worker_status).toBe(
    'READY',
  );
  expect(attemptEvent(attempt({ report: report({ status: 'error' }) }), run).worker_status).toBe('error');
});

test('one event for the run', () => {
  const at = new Date('2026-11-30T17:15:00.123Z');
  const event = runEvent({
    ...run,
    outcome: 'exhausted',
    exitCode: 4,
    attempts: 3,
    startedAt: at,
    endedAt: at,
    durationMs: 12.7,
    receiptPath: '/x/receipt.json',
  });
  expect(telemetryEvent.parse(event)).toEqual(event);
  expect(event).toMatchObject({ event: 'run', outcome: 'exhausted', exit_code: 4, attempts: 3, duration_ms: 13 });
});
