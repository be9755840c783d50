import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ATTEMPT_CODES, ATTEMPT_STATES, RUN_OUTCOMES } from '../../src/model/codes.ts';
import { type FittedSummary, type Summary, summary as summarySchema } from '../../src/model/summary.ts';
import { fitSummary, summarise } from '../../src/receipt/summary.ts';
import { change, taken } from '../verdict/evidence-samples.ts';
import { attempt, DIGEST, OID, RUN_ID, receipt } from './record-samples.ts';

const RECEIPT_PATH = `/tmp/agent-exec-1000/${RUN_ID}/receipt.json`;
const full: Summary = summarise(receipt(), RECEIPT_PATH, ['agent-exec show x']);
const bytes = (text: string): number => Buffer.byteLength(text);
const read = (text: string): FittedSummary => summarySchema.parse(JSON.parse(text));

test('a summary of a receipt', () => {
  expect(full).toEqual({
    schema: 'agent-exec-summary/v1',
    outcome: 'success',
    exit_code: 0,
    reason: { code: 'OK', message: 'cursor changed 1 file in scope' },
    run_id: RUN_ID,
    receipt: RECEIPT_PATH,
    role: 'repair',
    unit_id: 'fix-add',
    attempts: [{ attempt_id: '01-cursor', state: 'success', code: 'OK' }],
    transport: { ref: 'refs/agent-exec/r/01-a', commit: OID },
    quarantine: [],
    retained: [],
    next: ['agent-exec show x'],
    change_count: 1,
    changed_paths: ['src/add.js'],
    truncated: false,
    telemetry_logged: true,
    worker_result: null,
    host_fallback: null,
  });
});

test('it tells of the attempt that has the transport, and of every quarantine and kept workspace', () => {
  const commit = (ref: string) => ({ ref, commit: OID, tree: OID, parent: OID });
  const first = attempt({
    termination: { kind: 'exited', code: 1 },
    inventory: taken({ changes: [change('a'), change('b')] }),
    preservation: { kind: 'kept', transport: null, quarantine: commit('refs/agent-exec-quarantine/r/01-a') },
    cleanup: {
      kind: 'done',
      workspaceRemoved: false,
      worktreeUnregistered: false,
      processesGone: true,
      problem: null,
      retainedPath: '/w',
    },
  });
  const told = summarise(receipt({ attempts: [first, attempt(), { ...first, transport: null }] }), null, []);
  expect(told).toMatchObject({
    receipt: null,
    change_count: 1,
    changed_paths: ['src/add.js'],
    quarantine: ['refs/agent-exec-quarantine/r/01-a', 'refs/agent-exec-quarantine/r/01-a'],
    retained: ['/w', '/w'],
  });
  expect(summarise(receipt({ attempts: [attempt(), first].slice(1) }), null, [])).toMatchObject({
    transport: null,
    change_count: 2,
  });
});

describe('fitting', () => {
  test('what fits is printed whole', () => {
    const text = fitSummary(full, 4096);
    expect(text).toBe(`${JSON.stringify(full)}\n`);
    expect(fitSummary(full, bytes(text))).toBe(text);
    expect(JSON.parse(fitSummary(full, bytes(text) - 1)).truncated).toBe(true);
  });

  test('at 256 bytes: verdict and run id, and what is then most useful', () => {
    for (const outcome of RUN_OUTCOMES) {
      const text = fitSummary(
        { ...full, outcome, exit_code: 143, reason: { code: 'A'.repeat(64), message: 'why' } },
        256,
      );
      expect(bytes(text)).toBeLessThanOrEqual(256);
      expect(read(text)).toMatchObject({ outcome, exit_code: 143, run_id: RUN_ID, truncated: true });
    }
    const text = fitSummary({ ...full, reason: { code: 'OK', message: 'because '.repeat(99) } }, 256);
    expect(read(text).receipt).toBe(RECEIPT_PATH);
  });

  test('a receipt path as long as the answer does not push out the transport', () => {
    const told = read(fitSummary({ ...full, receipt: `/${'long/'.repeat(90)}` }, 512));
    expect([told.transport, told.receipt]).toEqual([full.transport, undefined]);
  });

  test('paths go first, from the end, and the count stays', () => {
    const paths = Array.from({ length: 500 }, (_, i) => `src/folder/file-${i}.ts`);
    const text = fitSummary(
      { ...full, change_count: 500, changed_paths: paths, worker_result: { STATUS: 'READY' } },
      4096,
    );
    const told = read(text);
    const shown = told.changed_paths ?? [];
    expect(told).toEqual({
      ...full,
      change_count: 500,
      changed_paths: shown,
      worker_result: { STATUS: 'READY' },
      truncated: true,
    });
    expect(shown).toEqual(paths.slice(0, shown.length));
    expect(bytes(text)).toBeGreaterThan(4096 - 30);
  });

  test('the room is used, whatever is left of it', () => {
    const paths = Array.from({ length: 50 }, (_, i) => `p/${'x'.repeat(i % 7)}`);
    for (let limit = 700; limit < 800; limit++) {
      const text = fitSummary({ ...full, change_count: 50, changed_paths: paths }, limit);
      expect(read(text).changed_paths?.length).toBeGreaterThan(3);
      expect(bytes(text)).toBeGreaterThan(limit - 12);
    }
  });

  test('a large worker result goes before short words', () => {
    const told = read(fitSummary({ ...full, worker_result: { text: 'x'.repeat(5000) } }, 4096));
    const { worker_result: _, ...rest } = full;
    expect(told).toEqual({ ...rest, truncated: true });
  });

  test('missing means that it did not fit, null that it does not apply, an empty list that there is none', () => {
    for (let limit = 256; limit < 1400; limit += 7) {
      const big = {
        ...full,
        quarantine: ['refs/agent-exec-quarantine/r/01'],
        retained: ['/tmp/w'],
        worker_result: ['x'.repeat(200)],
      };
      const told = read(fitSummary(big, limit)) as Record<string, unknown>;
      for (const [name, value] of Object.entries(told)) {
        const whole = (big as Record<string, unknown>)[name];
        if (value === null) expect(whole).toBeNull();
        if (Array.isArray(value) && value.length === 0) expect(whole).toEqual([]);
      }
    }
  });

  test('a permission is whole or names no path: never a list that looks whole and is not', () => {
    const host_fallback = {
      authorized: true as const,
      unit_digest: DIGEST,
      base: OID,
      allowed_paths: Array.from({ length: 40 }, (_, i) => `packages/p${i}/`),
      issued_at: '2026-11-30T17:15:00.123Z',
      evidence: ['01-cursor'],
    };
    const given: Summary = {
      ...full,
      outcome: 'host-fallback-authorized',
      exit_code: 5,
      transport: null,
      host_fallback,
    };
    for (let limit = 256; limit < 2500; limit += 11) {
      const told = read(fitSummary(given, limit)).host_fallback;
      if (told) expect([0, 40]).toContain(told.allowed_paths.length);
    }
    expect(read(fitSummary(given, 2500)).host_fallback).toEqual(host_fallback);
  });

  test('any content, any bound: within it, valid, with the verdict in it', () => {
    const words = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ maxLength: 3000 }));
    const anySummary: fc.Arbitrary<Summary> = fc.record({
      schema: fc.constant('agent-exec-summary/v1'),
      outcome: fc.constantFrom(...RUN_OUTCOMES),
      exit_code: fc.integer({ min: 0, max: 255 }),
      reason: fc.record({ code: fc.stringMatching(/^[A-Z][A-Z0-9_]{0,63}$/), message: words }),
      run_id: fc.constantFrom(RUN_ID, null),
      receipt: fc.option(words),
      role: fc.option(words),
      unit_id: fc.option(words),
      attempts: fc.array(
        fc.record({
          attempt_id: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/),
          state: fc.constantFrom(...ATTEMPT_STATES),
          code: fc.constantFrom(...ATTEMPT_CODES),
        }),
      ),
      transport: fc.option(
        fc.record({ ref: fc.stringMatching(/^refs\/[a-z][a-z0-9/-]{0,200}$/), commit: fc.constant(OID) }),
      ),
      quarantine: fc.array(fc.stringMatching(/^refs\/[a-z][a-z0-9/-]{0,200}$/)),
      retained: fc.array(words),
      next: fc.array(words),
      change_count: fc.nat(),
      changed_paths: fc.array(fc.oneof(words, fc.record({ bytes: fc.constant('c/8veA=='), display: words })), {
        maxLength: 100,
      }),
      truncated: fc.boolean(),
      telemetry_logged: fc.option(fc.boolean()),
      worker_result: fc.option(fc.jsonValue()),
      host_fallback: fc.option(
        fc.record({
          authorized: fc.constant(true as const),
          unit_digest: fc.constant(DIGEST),
          base: fc.constant(OID),
          allowed_paths: fc.array(words),
          issued_at: fc.constant('2026-11-30T17:15:00.123Z'),
          evidence: fc.constant(['01-cursor']),
        }),
      ),
    });
    fc.assert(
      fc.property(
        anySummary,
        fc.oneof(fc.integer({ min: 256, max: 1500 }), fc.integer({ min: 256, max: 65_536 })),
        (given, limit) => {
          const text = fitSummary(given, limit);
          expect(bytes(text)).toBeLessThanOrEqual(limit);
          expect(text.indexOf('\n')).toBe(text.length - 1);
          const told = read(text);
          const { outcome, exit_code, run_id } = given;
          expect(told).toMatchObject({ outcome, exit_code, run_id });
          expect(told.reason?.code).toBe(given.reason.code);
          if (!told.truncated) expect(told).toEqual(JSON.parse(JSON.stringify(given)));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('a thousand long paths take no time', () => {
    const paths = Array.from({ length: 1000 }, (_, i) => `${'é'.repeat(1500)}${i}`);
    const start = performance.now();
    for (const limit of [256, 4096, 65_536]) fitSummary({ ...full, change_count: 1000, changed_paths: paths }, limit);
    expect(performance.now() - start).toBeLessThan(1500);
  });
});
