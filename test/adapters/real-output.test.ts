/**
 * The readers on what the real CLIs printed, driven against a scripted provider on loopback with the arguments that the
 * adapters themselves made. The files are scrubbed: no places, identities or times.
 */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { builtInAdapter } from '../../src/adapters/registry.ts';
import type { Adapter } from '../../src/model/adapter.ts';
import { readLines } from './request.ts';

function streamOf(name: string): readonly string[] {
  const read = (kind: string): readonly string[] => {
    const file = new URL(`./fixtures/${name}.${kind}`, import.meta.url);
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  };
  return [...read('out'), ...read('err').map((line) => `e> ${line}`)];
}
const reading = (name: string) => {
  const adapter = builtInAdapter(name.split('-')[0] ?? '') as Adapter;
  return readLines(adapter, streamOf(name));
};

const DONE = 'Done. The file is in place.';
test.each([
  [
    'claude-2.1.197-success',
    'success',
    { input_tokens: 240, output_tokens: 68, cache_read_tokens: 40, total_tokens: 348 },
  ],
  [
    'codex-0.171.0-success',
    'success',
    { input_tokens: 240, output_tokens: 68, cache_read_tokens: 40, total_tokens: 308 },
  ],
  [
    'opencode-1.18.33-success',
    'success',
    { input_tokens: 200, output_tokens: 68, cache_read_tokens: 40, total_tokens: 308 },
  ],
  ['pi-0.74.2-success', 'success', { input_tokens: 200, output_tokens: 68, cache_read_tokens: 40, total_tokens: 308 }],
  ['pi-1.6.0-success', 'success', { input_tokens: 200, output_tokens: 68, cache_read_tokens: 40, total_tokens: 308 }],
  ['kimi-2.1.0-success', null, { input_tokens: null, output_tokens: null, total_tokens: null }],
] as const)('%s', (name, status, usage) => {
  const { report, observations } = reading(name);
  expect(report).toMatchObject({ status, error: null, refusal: null, finalText: DONE, resultMissing: false, usage });
  expect(report.sessionId).toEqual(expect.any(String));
  // The tool call and the last words are seen on the way.
  const shown = observations.map((one) => (one.kind === 'activity' ? one.text : ''));
  expect(shown.some((text) => text.includes('notes'))).toBe(true);
  expect(shown.at(-1)).toBe(DONE);
  expect(observations.every((one) => one.kind === 'activity')).toBe(true);
});

test.each([
  ['claude-2.1.197-auth', 'AUTH_REJECTED', ['AUTH_REJECTED']],
  ['claude-2.1.197-not-logged-in', 'AUTH_REQUIRED', []],
  ['claude-2.1.197-not-logged-in-text', 'AUTH_REQUIRED', []],
  ['claude-2.1.197-rate-limit', 'RATE_LIMITED', ['RATE_LIMITED']],
  ['claude-2.1.197-quota', 'QUOTA_EXHAUSTED', []],
  ['claude-2.1.197-overloaded', 'OVERLOADED', ['OVERLOADED']],
  ['claude-2.1.197-server-error', 'PROVIDER_ERROR', ['PROVIDER_ERROR']],
  ['claude-2.1.197-model-unknown', 'MODEL_UNAVAILABLE', []],
  ['claude-2.1.197-unreachable', 'PROVIDER_UNREACHABLE', ['PROVIDER_UNREACHABLE']],
  ['claude-2.1.197-midway-rate-limit', 'RATE_LIMITED', ['RATE_LIMITED']],
  [
    'codex-0.171.0-auth',
    'AUTH_REJECTED',
    ['AUTH_REJECTED', 'AUTH_REJECTED', 'AUTH_REJECTED', 'AUTH_REJECTED', 'AUTH_REJECTED'],
  ],
  ['codex-0.171.0-missing-variable', 'AUTH_REQUIRED', []],
  ['codex-0.171.0-rate-limit', 'RATE_LIMITED', []],
  ['codex-0.171.0-quota', 'QUOTA_EXHAUSTED', []],
  ['codex-0.171.0-overloaded', 'OVERLOADED', []],
  ['codex-0.171.0-model-unknown', 'MODEL_UNAVAILABLE', []],
  ['opencode-1.18.33-auth', 'AUTH_REJECTED', []],
  ['opencode-1.18.33-model-unknown', 'MODEL_UNAVAILABLE', []],
  ['pi-0.74.2-auth', 'AUTH_REJECTED', []],
  ['pi-0.74.2-rate-limit', 'RATE_LIMITED', ['RATE_LIMITED', 'RATE_LIMITED', 'RATE_LIMITED']],
  ['pi-0.74.2-no-key', 'AUTH_REQUIRED', []],
  ['pi-0.74.2-unknown-provider', 'MODEL_UNAVAILABLE', []],
  ['pi-1.6.0-auth', 'AUTH_REJECTED', []],
  ['pi-1.6.0-quota', 'QUOTA_EXHAUSTED', []],
  ['kimi-2.1.0-auth', 'AUTH_REJECTED', []],
  ['kimi-2.1.0-rate-limit', 'RATE_LIMITED', ['RATE_LIMITED']],
  ['kimi-2.1.0-server-error', 'PROVIDER_ERROR', ['PROVIDER_ERROR']],
  ['kimi-2.1.0-credit', 'QUOTA_EXHAUSTED', []],
  ['kimi-2.1.0-unreachable', 'PROVIDER_UNREACHABLE', ['PROVIDER_UNREACHABLE']],
  ['kimi-2.1.0-not-configured', 'AUTH_REQUIRED', []],
  ['kimi-2.1.0-model-unknown', 'MODEL_UNAVAILABLE', []],
] as const)('%s is %s', (name, code, waits) => {
  const { report, observations } = reading(name);
  expect(report.refusal?.code).toBe(code);
  expect(report.status).not.toBe('success');
  expect(report.refusal?.line).not.toBe('');
  expect(observations.flatMap((one) => (one.kind === 'provider-wait' ? [one.refusal.code] : []))).toEqual(waits);
});

test('codex without a network waits, and says so without an error of its own', () => {
  const { report, observations } = reading('codex-0.171.0-no-network');
  expect(report).toMatchObject({ status: null, refusal: null, resultMissing: true });
  expect(observations.at(-1)).toMatchObject({ kind: 'provider-wait', refusal: { code: 'PROVIDER_UNREACHABLE' } });
});

test('what a CLI says of a wrong flag is no refusal', () => {
  const { report } = reading('codex-0.171.0-wrong-flag');
  expect(report).toMatchObject({ refusal: null, resultMissing: true });
});
