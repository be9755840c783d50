import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { receipt as receiptSchema } from '../../src/model/receipt.ts';
import { buildReceipt, checkDigest, parseReceipt, renderReceipt, sealReceipt } from '../../src/receipt/receipt.ts';
import { createRedactor, REDACTED } from '../../src/receipt/redact.ts';
import { path, report } from '../verdict/evidence-samples.ts';
import { attempt, DIGEST, OID, plan, RUN_ID, receipt, runFacts } from './record-samples.ts';

const bytesOf = (value: unknown): Buffer => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

test('a receipt says what the plan and the attempts say', () => {
  const { attempts, digest, ...rest } = receipt();
  expect(attempts).toEqual([attempt()]);
  expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(rest).toEqual({
    schema: 'agent-exec-receipt/v1',
    tool: { name: 'agent-exec', version: '0.1.0' },
    run_id: RUN_ID,
    outcome: 'success',
    exit_code: 0,
    reason: { code: 'OK', message: 'cursor changed 1 file in scope' },
    role: 'repair',
    repository: {
      head: OID,
      head_ref: 'refs/heads/main',
      base: OID,
      tree: OID,
      object_format: 'sha1',
      dirty_paths: 0,
      lfs: false,
    },
    config: { path: 'AGENT-EXECUTION.md', digest: DIGEST },
    unit: {
      unit_id: 'fix-add',
      digest: DIGEST,
      allowed_paths: ['src/'],
      timeout_seconds: 900,
      network: 'allow',
      external_cost: 'subscription',
    },
    plan_digest: DIGEST,
    policy: { permission: 'run-everything', fallback_to_host: 'all-unavailable', isolation: 'auto' },
    candidates: [],
    host_fallback: null,
    findings: [],
    telemetry: { path: '/r/.git/agent-exec/calls.jsonl', logged: true, error: null },
    started_at: '2026-11-30T17:15:00.123Z',
    ended_at: '2026-11-30T17:15:02.123Z',
    duration_ms: 2000,
  });
});

test('what is written is what is read, and its digest holds', () => {
  const hostile = 'a\x1b[31m\u202eb\u200b\ud800 é 😀 \u2028 "q" \\ \x7f';
  const written = receipt({
    reason: { code: 'OK', message: hostile },
    findings: [{ code: 'CONFIG_CHANGED', message: hostile, paths: [path(hostile)] }],
    attempts: [
      attempt({
        report: report({ finalText: hostile }),
        workerResult: { kind: 'valid', status: 'READY', value: { [hostile]: hostile, n: [1.5, -0, 1e300, null] } },
      }),
    ],
  });
  const text = renderReceipt(written);
  expect(text.endsWith('}\n')).toBe(true);
  expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e]/);
  const read = parseReceipt(Buffer.from(text));
  expect(read).toEqual({ ok: true, value: JSON.parse(JSON.stringify(written)) });
  expect(read.ok && checkDigest(read.value)).toBe(true);
});

test('the digest covers every field and does not depend on the order of members', () => {
  const sealed = receipt();
  const { digest, ...unsealed } = sealed;
  expect(sealReceipt(Object.fromEntries(Object.entries(unsealed).reverse()) as typeof unsealed).digest).toBe(digest);
  const leaves: (readonly (string | number)[])[] = [];
  const collect = (value: unknown, at: readonly (string | number)[]): void => {
    if (value !== null && typeof value === 'object') {
      for (const [key, member] of Object.entries(value)) collect(member, [...at, key]);
    } else leaves.push(at);
  };
  collect(unsealed, []);
  expect(leaves.length).toBeGreaterThan(80);
  for (const leaf of leaves) {
    const changed = structuredClone(sealed) as unknown as Record<string | number, unknown>;
    const parent = leaf.slice(0, -1).reduce((node, key) => node[key] as typeof node, changed);
    const last = leaf.at(-1) as string;
    parent[last] = typeof parent[last] === 'number' ? (parent[last] as number) + 1 : `${parent[last]}x`;
    expect(checkDigest(changed as never), leaf.join('.')).toBe(false);
  }
  expect(checkDigest(sealed)).toBe(true);
});

test('secrets are gone before the seal', () => {
  const secret = 'Zq7wLx92mPdKeR04';
  const redactor = createRedactor({ secrets: [secret] });
  const written = buildReceipt(
    runFacts({
      plan: {
        ...plan,
        repository: { ...plan.repository, headRef: `refs/heads/${secret}` },
        unit: { ...plan.unit, allowed_paths: [`src/${secret}`] },
        config: { ...plan.config, path: `https://u:p@h/${secret}` },
      },
      reason: { code: 'OK', message: `key ${Buffer.from(secret).toString('base64')}` },
      telemetry: { path: `/t/${secret}`, logged: false, error: `ENOSPC ${secret}` },
      findings: [{ code: 'X', message: secret, paths: [path(secret)] }],
    }),
    redactor,
  );
  expect(renderReceipt(written)).not.toContain(secret);
  expect(written.config.path).toBe(`https://${REDACTED}@h/${REDACTED}`);
  expect(written.reason.message).toContain(REDACTED);
  expect(checkDigest(written)).toBe(true);
});

test('host fallback is carried as it is', () => {
  const hostFallback = {
    authorized: true,
    unit_digest: DIGEST,
    base: OID,
    allowed_paths: ['src/'],
    issued_at: '2026-11-30T17:15:00.123Z',
    evidence: ['01-cursor'],
  } as const;
  const written = receipt({
    outcome: 'host-fallback-authorized',
    exitCode: 5,
    hostFallback: { ...hostFallback, allowed_paths: ['src/'], evidence: ['01-cursor'] },
  });
  expect(written.host_fallback).toEqual(hostFallback);
  expect(receiptSchema.parse(written)).toEqual(written);
});

describe('parseReceipt refuses, in one line', () => {
  const valid = receipt();
  const without = (name: string) => Object.fromEntries(Object.entries(valid).filter(([key]) => key !== name));
  test.each<[string, Uint8Array, RegExp]>([
    ['nothing', Buffer.alloc(0), /^not JSON$/],
    ['bytes that are no text', Buffer.from([0xff, 0xfe]), /^not UTF-8 text$/],
    ['a cut file', Buffer.from(renderReceipt(valid)).subarray(0, 500), /^not JSON$/],
    ['another type', bytesOf([1]), /^receipt: /],
    ['a missing field', bytesOf(without('digest')), /^digest: /],
    ['an unknown field', bytesOf({ ...valid, extra: 1 }), /^receipt: .*extra/],
    ['another version', bytesOf({ ...valid, schema: 'agent-exec-receipt/v2' }), /^schema: /],
    [
      'a wrong state deep inside',
      bytesOf({ ...valid, attempts: [{ ...valid.attempts[0], state: 'great' }] }),
      /^attempts\.0\.state: /,
    ],
    ['a lone surrogate', bytesOf(JSON.stringify(valid).replace('"done"', '"\\ud800"')), /not Unicode/],
    ['bottomless nesting', bytesOf(`${'['.repeat(90_000)}${']'.repeat(90_000)}`), /nested too deeply/],
    ['controls in a field name', bytesOf({ ...valid, '\x1b[2J': 1 }), /^receipt: [^\x1b]*$/],
  ])('%s', (_, bytes, wanted) => {
    const read = parseReceipt(bytes);
    expect(read.ok).toBe(false);
    expect(read.ok ? '' : read.error).toMatch(wanted);
    expect(read.ok ? '' : read.error).not.toContain('\n');
  });

  test('any damage: never throws, and never passes schema and digest with other content', () => {
    const text = Buffer.from(renderReceipt(valid));
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.nat(255), fc.boolean(), (at, byte, cut) => {
        const damaged = Buffer.from(cut ? text.subarray(0, at) : text);
        if (!cut) damaged[at] = byte;
        const read = parseReceipt(damaged);
        if (read.ok && checkDigest(read.value)) expect(read.value).toEqual(JSON.parse(text.toString()));
      }),
      { numRuns: 2000 },
    );
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void parseReceipt(bytes)));
  });
});
