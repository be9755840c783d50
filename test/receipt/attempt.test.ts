import { describe, expect, test } from 'vitest';
import { decodePath } from '../../src/model/path.ts';
import { attemptRecord as attemptSchema } from '../../src/model/receipt.ts';
import { attemptRecord } from '../../src/receipt/attempt.ts';
import { createRedactor, REDACTED } from '../../src/receipt/redact.ts';
import { change, evidence, ignored, path, report, taken } from '../verdict/evidence-samples.ts';
import { attempt, attemptFacts, noSecrets, OID } from './record-samples.ts';

test('a success, field by field', () => {
  expect(attempt()).toEqual({
    attempt_id: '01-cursor',
    profile: 'cursor',
    adapter: 'cursor',
    state: 'success',
    code: 'OK',
    message: '1 path changed, all in scope',
    findings: [],
    process_started: true,
    probe: { available: true, code: null, message: null, executable: '/usr/bin/cursor-agent', version: '1.2.3' },
    model: { requested: null, resolved: null, reported: null },
    argv: ['cursor-agent', '-p', '{prompt}'],
    environment_names: ['HOME', 'PATH'],
    isolation: { level: 'guard', mechanism: 'bwrap', network: 'open' },
    termination: { kind: 'exited', code: 0 },
    processes: { containment: 'pid-namespace', escaped: 0, killed: 0, survivors: 0 },
    class: null,
    refusal: null,
    reported: { status: null, error: null, session_id: null },
    usage: evidence().report.usage,
    worker_result: null,
    setup: [],
    verification: [],
    changes: [{ path: 'src/add.js', status: 'M', mode: '100644', size: 3, oid: OID, binary: false, in_scope: true }],
    change_count: 1,
    changes_truncated: false,
    ignored: { count: 0, bytes: 0, paths: [] },
    canonical: { unchanged: true, differences: [] },
    transport: { ref: 'refs/agent-exec/r/01-a', commit: OID, tree: OID, parent: OID },
    quarantine: null,
    cleanup: {
      exact: true,
      workspace_removed: true,
      worktree_unregistered: true,
      processes_gone: true,
      canonical_unchanged: true,
      retained_path: null,
    },
    logs: [],
    summary: 'done',
    started_at: '2026-11-30T17:15:00.123Z',
    ended_at: '2026-11-30T17:15:01.623Z',
    duration_ms: 1500,
  });
});

test('a candidate that never started has no process, no changes and no commit', () => {
  const record = attempt({
    unavailable: { code: 'EXECUTABLE_MISSING', message: 'not found' },
    termination: { kind: 'not-started', error: 'ENOENT' },
    inventory: { kind: 'none' },
    preservation: { kind: 'nothing' },
  });
  expect(record).toMatchObject({
    state: 'unavailable',
    process_started: false,
    changes: [],
    change_count: 0,
    transport: null,
    quarantine: null,
  });
});

test('out-of-scope changes are marked, findings carry their paths', () => {
  const record = attempt({
    inventory: taken({ changes: [change('src/a'), change('other/b')], ignored: [ignored('cache/x'), ignored('y')] }),
    outOfScope: [path('other/b')],
  });
  expect(record.changes.map(({ path: name, in_scope }) => [name, in_scope])).toEqual([
    ['src/a', true],
    ['other/b', false],
  ]);
  expect(record.findings).toContainEqual(expect.objectContaining({ code: 'PATH_OUT_OF_SCOPE', paths: ['other/b'] }));
  expect(record.ignored).toEqual({ count: 2, bytes: 6, paths: ['cache/x', 'y'] });
});

describe('bounds', () => {
  test('lists are cut, counts are not', () => {
    const many = Array.from({ length: 1500 }, (_, i) => change(`src/f${i}`));
    const record = attempt({
      inventory: taken({ changes: many, ignored: many.map((c) => ignored(c.path)) }),
      outOfScope: many.map((c) => c.path),
      canonical: {
        differences: many.map((c) => ({ what: 'ref', path: c.path, detail: 'moved' })),
        workerCouldWrite: true,
      },
    });
    expect(record.changes).toHaveLength(1000);
    expect([record.change_count, record.changes_truncated]).toEqual([1500, true]);
    expect([record.ignored.count, record.ignored.paths.length]).toEqual([1500, 100]);
    expect(record.findings[0]?.paths).toHaveLength(100);
    expect(record.canonical.differences).toHaveLength(100);
    expect(attempt({ inventory: taken({ changes: many.slice(0, 1000) }) }).changes_truncated).toBe(false);
  });

  test('words are cut at a character border: messages at their start, the last words at their end', () => {
    const long = `${'é'.repeat(200_000)}END`;
    const record = attempt({
      report: report({ finalText: long, error: long, status: 'error', model: long, sessionId: long }),
      termination: { kind: 'exited', code: 1 },
    });
    for (const text of [record.reported.error, record.reported.session_id, record.model.reported, record.message]) {
      expect(Buffer.byteLength(text ?? '')).toBeLessThanOrEqual(4096);
    }
    expect(record.reported.error).toMatch(/^é+…$/);
    expect(Buffer.byteLength(record.summary)).toBeLessThanOrEqual(2048);
    expect(Buffer.byteLength(record.summary)).toBeGreaterThan(2040);
    expect(record.summary).toMatch(/^…é+END$/);
  });
});

describe('what a worker says', () => {
  const secret = 'Zq7wLx92mPdKeR04';
  const redactor = createRedactor({ secrets: [secret] });

  test('is redacted before it is cut, in every field', () => {
    const record = attemptRecord(
      attemptFacts(
        {
          report: report({
            finalText: `${'x'.repeat(2040)}${secret}${'y'.repeat(2040)}`,
            error: `bad key ${secret}`,
            status: 'error',
            sessionId: secret,
            refusal: { code: 'AUTH_REJECTED', retry_after_seconds: null, line: `401 ${secret}`, source: 'stderr' },
          }),
          workerResult: { kind: 'valid', status: 'READY', value: { STATUS: 'READY', [secret]: [`a${secret}`] } },
          inventory: taken({ changes: [change(`src/${secret}`)], ignored: [ignored(`i/${secret}`)] }),
          verification: [{ argv: ['curl', secret], code: 0, ok: true, duration_ms: 1 }],
          logs: [
            {
              stream: 'stdout',
              path: `/l/${secret}`,
              bytes_seen: 0,
              bytes_kept: 0,
              sha256: `sha256:${'0'.repeat(64)}`,
            },
          ],
        },
        { argv: ['w', secret], probe: { ...attemptFacts().probe, message: secret, version: secret } },
      ),
      redactor,
    );
    expect(JSON.stringify(record)).not.toContain(secret);
    // The end of the secret would stand right at the cut.
    expect(record.summary).not.toContain(secret.slice(-4));
    expect(record.worker_result).toEqual({ STATUS: 'READY', [REDACTED]: [`a${REDACTED}`] });
    expect(record.changes[0]?.path).toBe(`src/${REDACTED}`);
    expect(attemptSchema.parse(record)).toEqual(record);
  });

  test('is harmless to show', () => {
    const record = attempt({
      report: report({ finalText: '\x1b[2Jdone\u202e\ud800', error: 'a\rb', status: 'error' }),
    });
    expect(record.summary).toBe('\\x1b[2Jdone\\u202e\\ud800');
    expect(record.reported.error).toBe('a\\x0db');
    expect(record.message).toBe('the worker reported an error: a\\x0db');
  });

  test('a result that nests without end is cut, not a crash', () => {
    const value = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
    expect(JSON.stringify(attempt({ workerResult: { kind: 'valid', status: 'READY', value } }))).toContain(
      'too deeply',
    );
  });
});

test('paths that are not UTF-8 keep their bytes, unless they hold a secret', () => {
  const secret = 'Zq7wLx92mPdKeR04';
  const odd = decodePath(Buffer.from([0x73, 0xff, 0x2f, 0x78]));
  const leaking = decodePath(Buffer.concat([Buffer.from([0xff]), Buffer.from(secret)]));
  const record = attempt(
    {
      inventory: taken({
        changes: [
          { ...change(''), path: odd },
          { ...change(''), path: leaking },
        ],
      }),
    },
    createRedactor({ secrets: [secret] }),
  );
  expect(record.changes[0]?.path).toEqual({ bytes: 'c/8veA==', display: 's\\xff/x' });
  expect(record.changes[1]?.path).toBe(`\\xff${REDACTED}`);
});

test('a weak secret that occurs in names and digests does not break the record', () => {
  const secrets = ['cursor', 'aaaaaa', '100644', 'exited', 'success', '000000', 'READY1', 'refs/agent-exec'];
  const record = attempt({}, createRedactor({ secrets }));
  expect(record).toEqual({
    ...attempt(),
    argv: [`${REDACTED}-agent`, '-p', '{prompt}'],
    probe: { ...attempt().probe, executable: `/usr/bin/${REDACTED}-agent` },
  });
  const members = ['attempt_id', 'profile', 'findings', 'message', 'summary', 'display'];
  expect(Object.keys(attempt({}, createRedactor({ secrets: members })))).toEqual(Object.keys(attempt()));
});

describe('cleanup', () => {
  const done = evidence().cleanup as Extract<ReturnType<typeof evidence>['cleanup'], { kind: 'done' }>;
  const moved = [{ what: 'worktree', path: 'README.md', detail: 'modified' }] as const;
  test.each([
    ['all done', {}, true],
    ['still pending', { cleanup: { kind: 'pending' } }, false],
    ['a workspace kept on purpose', { cleanup: { ...done, workspaceRemoved: false, retainedPath: '/w' } }, false],
    ['a problem', { cleanup: { ...done, problem: 'busy' } }, false],
    ['processes left', { cleanup: { ...done, processesGone: false } }, false],
    [
      'work that no commit holds',
      { preservation: { kind: 'failed', message: 'x', transport: null, quarantine: null } },
      false,
    ],
    ['the host moved under guard', { canonical: { differences: moved, workerCouldWrite: false } }, true],
    [
      'something moved and nothing kept the worker from it',
      { canonical: { differences: moved, workerCouldWrite: true } },
      false,
    ],
  ] as const)('%s', (_, over, exact) => {
    const record = attempt(over as Parameters<typeof attempt>[0]);
    expect(record.cleanup.exact).toBe(exact);
    expect(record.cleanup.canonical_unchanged).toBe(record.canonical.unchanged);
  });
});

test('the record that comes out is the record that can be read', () => {
  expect(attemptSchema.parse(JSON.parse(JSON.stringify(attempt())))).toEqual(attempt());
  expect(() => attemptRecord(attemptFacts({ termination: { kind: 'exited', code: 0.5 } }), noSecrets)).toThrow();
});
