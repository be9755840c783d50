/**
 * The readers on the streams that the real CLIs printed while `agent-exec` ran them (test/real), one row for each: what
 * the provider played is in the file's name.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { builtInAdapter } from '../../src/adapters/registry.ts';
import type { Adapter, WorkerReport } from '../../src/model/adapter.ts';
import { readLines } from './request.ts';

const FOLDER = new URL('./captured/', import.meta.url);
const DONE = 'Done. The file is in place.';
const NOTHING = 'There is nothing to change.';
const OPUS = 'claude-opus-4-8[1m]';
const SCRIPTED = 'scripted-model';

/** Input, output, cached and all tokens of the whole run. */
type Tokens = readonly [number, number, number, number] | null;
const NONE: Tokens = null;
const ZERO: Tokens = [0, 0, 0, 0];

/** `waits`: the codes of its waiting on the provider; `times`: how often it said so. */
type Row = readonly [
  name: string,
  status: WorkerReport['status'],
  code: string | null,
  model: string | null,
  session: boolean,
  tokens: Tokens,
  dollars: number | null,
  finalText: string,
  waits: readonly string[],
  times: number,
  resultMissing: boolean,
];
// biome-ignore format: a table
const ROWS: readonly Row[] = [
  ['claude-401', 'error', 'AUTH_REJECTED', OPUS, true, ZERO, 0, '', ['AUTH_REJECTED'], 2, false],
  ['claude-429', 'error', 'RATE_LIMITED', OPUS, true, ZERO, 0, '', ['RATE_LIMITED'], 2, false],
  ['claude-429-retry-after-2', 'error', 'RATE_LIMITED', OPUS, true, ZERO, 0, '', ['RATE_LIMITED'], 2, false],
  ['claude-429-retry-after-3600', 'error', 'RATE_LIMITED', OPUS, true, ZERO, 0, '', [], 0, false],
  ['claude-500', 'error', 'PROVIDER_ERROR', OPUS, true, ZERO, 0, '', ['PROVIDER_ERROR'], 2, false],
  ['claude-background-process', 'success', null, OPUS, true, [360,102,60,522], 0.00438, DONE, [], 0, false],
  ['claude-commit', 'success', null, OPUS, true, [360,102,60,522], 0.00438, DONE, [], 0, false],
  ['claude-drop', 'error', 'PROVIDER_UNREACHABLE', OPUS, true, ZERO, 0, '', [], 0, false],
  ['claude-html', 'error', 'PROVIDER_ERROR', OPUS, true, ZERO, 0, '', [], 0, false],
  ['claude-midway-401', 'error', 'AUTH_REJECTED', OPUS, true, [120,34,20,174], 0.00146, '', ['AUTH_REJECTED'], 2, false],
  ['claude-model-unknown', 'error', 'MODEL_UNAVAILABLE', OPUS, true, ZERO, 0, '', [], 0, false],
  ['claude-no-credentials', 'error', 'AUTH_REQUIRED', OPUS, true, ZERO, 0, '', [], 0, false],
  ['claude-overloaded', 'error', 'OVERLOADED', OPUS, true, ZERO, 0, '', ['OVERLOADED'], 2, false],
  ['claude-quota', 'error', 'QUOTA_EXHAUSTED', OPUS, true, ZERO, 0, '', [], 0, false],
  ['claude-text-only', 'success', null, OPUS, true, [120,34,20,174], 0.00146, NOTHING, [], 0, false],
  ['claude-unreachable', 'error', 'PROVIDER_UNREACHABLE', OPUS, true, ZERO, 0, '', ['PROVIDER_UNREACHABLE'], 2, false],
  ['claude-write-file', 'success', null, OPUS, true, [240,68,40,348], 0.00292, DONE, [], 0, false],
  ['codex-401', 'error', 'AUTH_REJECTED', null, true, NONE, null, '', ['AUTH_REJECTED'], 5, false],
  ['codex-429', 'error', 'RATE_LIMITED', null, true, NONE, null, '', [], 0, false],
  ['codex-429-retry-after-2', 'error', 'RATE_LIMITED', null, true, NONE, null, '', ['RATE_LIMITED'], 5, false],
  ['codex-500', 'error', 'OVERLOADED', null, true, NONE, null, '', ['OVERLOADED'], 5, false],
  ['codex-background-process', 'success', null, null, true, [360,102,60,462], null, DONE, [], 0, false],
  ['codex-commit', 'success', null, null, true, [360,102,60,462], null, DONE, [], 0, false],
  ['codex-drop', 'error', 'PROVIDER_UNREACHABLE', null, true, NONE, null, '', ['PROVIDER_UNREACHABLE'], 5, false],
  ['codex-html', 'error', 'PROVIDER_UNREACHABLE', null, true, NONE, null, '', ['PROVIDER_UNREACHABLE'], 5, false],
  ['codex-midway-401', 'error', 'AUTH_REJECTED', null, true, NONE, null, '', ['AUTH_REJECTED'], 5, false],
  ['codex-model-unknown', 'error', 'MODEL_UNAVAILABLE', null, true, NONE, null, '', [], 0, false],
  ['codex-no-credentials', 'error', 'AUTH_REJECTED', null, true, NONE, null, '', ['AUTH_REJECTED'], 5, false],
  ['codex-overloaded', 'error', 'OVERLOADED', null, true, NONE, null, '', [], 0, false],
  ['codex-quota', 'error', 'QUOTA_EXHAUSTED', null, true, NONE, null, '', [], 0, false],
  ['codex-text-only', 'success', null, null, true, [120,34,20,154], null, NOTHING, [], 0, false],
  ['codex-unreachable', null, null, null, true, NONE, null, '', ['PROVIDER_UNREACHABLE'], 6, true],
  ['codex-write-file', 'success', null, null, true, [240,68,40,308], null, DONE, [], 0, false],
  ['kimi-401', 'error', 'AUTH_REJECTED', null, false, NONE, null, '', [], 0, true],
  ['kimi-429', 'error', 'RATE_LIMITED', null, false, NONE, null, '', ['RATE_LIMITED'], 9, true],
  ['kimi-429-retry-after-2', 'error', 'RATE_LIMITED', null, false, NONE, null, '', ['RATE_LIMITED'], 9, true],
  ['kimi-429-retry-after-3600', null, null, null, false, NONE, null, '', ['RATE_LIMITED'], 1, true],
  ['kimi-500', 'error', 'PROVIDER_ERROR', null, false, NONE, null, '', ['PROVIDER_ERROR'], 9, true],
  ['kimi-background-process', null, null, null, true, NONE, null, DONE, [], 0, false],
  ['kimi-commit', null, null, null, true, NONE, null, DONE, [], 0, false],
  ['kimi-drop', 'error', 'PROVIDER_UNREACHABLE', null, false, NONE, null, 'Half of an', ['PROVIDER_UNREACHABLE'], 9, false],
  ['kimi-html', 'error', 'PROVIDER_ERROR', null, false, NONE, null, '', ['PROVIDER_ERROR'], 9, true],
  ['kimi-midway-401', 'error', 'AUTH_REJECTED', null, false, NONE, null, '', [], 0, false],
  ['kimi-model-unknown', 'error', 'MODEL_UNAVAILABLE', null, false, NONE, null, '', [], 0, true],
  ['kimi-no-credentials', 'error', 'AUTH_REQUIRED', null, false, NONE, null, '', [], 0, true],
  ['kimi-overloaded', 'error', 'OVERLOADED', null, false, NONE, null, '', ['OVERLOADED'], 9, true],
  ['kimi-quota', 'error', 'QUOTA_EXHAUSTED', null, false, NONE, null, '', [], 0, true],
  ['kimi-text-only', null, null, null, true, NONE, null, NOTHING, [], 0, false],
  ['kimi-unreachable', 'error', 'PROVIDER_UNREACHABLE', null, false, NONE, null, '', ['PROVIDER_UNREACHABLE'], 9, true],
  ['kimi-write-file', null, null, null, true, NONE, null, DONE, [], 0, false],
  ['opencode-401', 'error', 'AUTH_REJECTED', null, true, NONE, null, '', ['AUTH_REJECTED'], 1, true],
  ['opencode-429', 'error', 'RATE_LIMITED', null, true, NONE, null, '', ['RATE_LIMITED'], 3, true],
  ['opencode-429-retry-after-2', 'error', 'RATE_LIMITED', null, true, NONE, null, '', ['RATE_LIMITED'], 4, true],
  ['opencode-429-retry-after-3600', null, null, null, false, NONE, null, '', ['RATE_LIMITED'], 1, true],
  ['opencode-500', 'error', 'PROVIDER_ERROR', null, true, NONE, null, '', ['PROVIDER_ERROR'], 3, true],
  ['opencode-drop', null, null, null, true, NONE, null, '', ['PROVIDER_UNREACHABLE'], 1, true],
  ['opencode-html', null, null, null, true, ZERO, 0, '', ['PROVIDER_ERROR'], 5, false],
  ['opencode-midway-401', 'error', 'AUTH_REJECTED', null, true, [100,34,20,154], 0, '', ['AUTH_REJECTED'], 1, false],
  ['opencode-model-unknown', 'error', 'MODEL_UNAVAILABLE', null, true, NONE, null, '', ['MODEL_UNAVAILABLE'], 1, true],
  ['opencode-no-credentials', 'error', 'AUTH_REJECTED', null, true, NONE, null, '', ['AUTH_REJECTED'], 1, true],
  ['opencode-overloaded', 'error', 'OVERLOADED', null, true, NONE, null, '', ['OVERLOADED'], 3, true],
  ['opencode-quota', 'error', 'QUOTA_EXHAUSTED', null, true, NONE, null, '', ['QUOTA_EXHAUSTED'], 3, true],
  ['opencode-text-only', 'success', null, null, true, [100,34,20,154], 0, NOTHING, [], 0, false],
  ['opencode-unreachable', 'error', 'PROVIDER_UNREACHABLE', null, true, NONE, null, '', ['PROVIDER_UNREACHABLE'], 3, true],
  ['opencode-write-file', 'success', null, null, true, [200,68,40,308], 0, DONE, [], 0, false],
  ['pi-401', 'error', 'AUTH_REJECTED', SCRIPTED, true, ZERO, 0, '', [], 0, false],
  ['pi-429', 'error', 'RATE_LIMITED', SCRIPTED, true, ZERO, 0, '', ['RATE_LIMITED'], 3, false],
  ['pi-drop', 'error', 'PROVIDER_UNREACHABLE', SCRIPTED, true, ZERO, 0, '', ['PROVIDER_UNREACHABLE'], 3, false],
  ['pi-html', 'error', 'PROVIDER_ERROR', SCRIPTED, true, ZERO, 0, '', ['PROVIDER_ERROR'], 3, false],
  ['pi-midway-401', 'error', 'AUTH_REJECTED', SCRIPTED, true, [100,34,20,154], 0, '', [], 0, false],
  ['pi-node22-401', 'error', 'AUTH_REJECTED', SCRIPTED, true, ZERO, 0, '', [], 0, false],
  ['pi-node22-drop', 'error', 'PROVIDER_UNREACHABLE', SCRIPTED, true, ZERO, 0, '', ['PROVIDER_UNREACHABLE'], 3, false],
  ['pi-node22-html', 'error', 'PROVIDER_ERROR', SCRIPTED, true, ZERO, 0, '', ['PROVIDER_ERROR'], 3, false],
  ['pi-node22-no-credentials', null, 'AUTH_REQUIRED', null, true, NONE, null, '', [], 0, true],
  ['pi-node22-quota', 'error', 'QUOTA_EXHAUSTED', SCRIPTED, true, ZERO, 0, '', [], 0, false],
  ['pi-node22-write-file', 'success', null, SCRIPTED, true, [200,68,40,308], 0, DONE, [], 0, false],
  ['pi-quota', 'error', 'QUOTA_EXHAUSTED', SCRIPTED, true, ZERO, 0, '', ['QUOTA_EXHAUSTED'], 3, false],
  ['pi-text-only', 'success', null, SCRIPTED, true, [100,34,20,154], 0, NOTHING, [], 0, false],
  ['pi-unreachable', 'error', 'PROVIDER_UNREACHABLE', SCRIPTED, true, ZERO, 0, '', ['PROVIDER_UNREACHABLE'], 3, false],
  ['pi-write-file', 'success', null, SCRIPTED, true, [200,68,40,308], 0, DONE, [], 0, false],
];

function linesOf(name: string): readonly string[] {
  const read = (file: string): readonly string[] => {
    const place = new URL(file, FOLDER);
    return existsSync(place) ? readFileSync(place, 'utf8').split('\n') : [];
  };
  return [...read(`${name}.jsonl`), ...read(`${name}.stderr.txt`).map((line) => `e> ${line}`)];
}

test.each(ROWS.map((row) => ({ name: row[0], row })))('$name', ({ row }) => {
  const [name, status, code, model, session, tokens, dollars, finalText, waits, times, resultMissing] = row;
  const { report, observations } = readLines(builtInAdapter(name.split('-')[0] ?? '') as Adapter, linesOf(name));
  const said = observations.flatMap((one) => (one.kind === 'provider-wait' ? [one.refusal.code] : []));
  const { input_tokens, output_tokens, cache_read_tokens, total_tokens } = report.usage;
  const counted = [input_tokens, output_tokens, cache_read_tokens, total_tokens];
  expect({
    status: report.status,
    code: report.refusal?.code ?? null,
    model: report.model,
    session: report.sessionId !== null,
    tokens: counted.every((count) => count === null) ? null : counted,
    dollars: report.usage.cost_usd,
    finalText: report.finalText,
    waits: [...new Set(said)],
    times: said.length,
    resultMissing: report.resultMissing,
  }).toEqual({ status, code, model, session, tokens, dollars, finalText, waits, times, resultMissing });
  // An error is told in words, and only where there is one.
  expect(report.error !== null).toBe(status === 'error');
});

test('every captured stream has its row', () => {
  const names = new Set(readdirSync(FOLDER).map((file) => file.replace(/\.(?:jsonl|stderr\.txt)$/, '')));
  expect(ROWS.map(([name]) => name).sort()).toEqual([...names].sort());
});
