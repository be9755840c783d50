/** What the readers make of single formats' events; the CLIs that cannot be installed are covered here alone. */
import { describe, expect, test } from 'vitest';
import { builtInAdapter } from '../../src/adapters/registry.ts';
import type { Adapter } from '../../src/model/adapter.ts';
import { readLines } from './request.ts';

const adapter = (name: string): Adapter => builtInAdapter(name) as Adapter;
const json = (...events: readonly object[]): string[] => events.map((event) => JSON.stringify(event));

describe('cursor', () => {
  const cursor = adapter('cursor');
  const init = { type: 'system', subtype: 'init', model: 'GPT-6 High', session_id: 's1', permissionMode: 'default' };
  const say = (text: string) => ({ type: 'assistant', message: { content: [{ type: 'text', text }] } });
  const tool = {
    type: 'tool_call',
    subtype: 'started',
    tool_call: { shellToolCall: { args: { command: 'npm test' } } },
  };
  const usage = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 50, cacheWriteTokens: 5 };

  test('a success', () => {
    const { report, observations } = readLines(
      cursor,
      json(init, say('Looking.'), tool, say('Done.'), {
        type: 'result',
        subtype: 'success',
        is_error: false,
        result: 'All done.',
        usage,
      }),
    );
    expect(report).toEqual({
      status: 'success',
      error: null,
      model: 'GPT-6 High',
      sessionId: 's1',
      usage: { input_tokens: 100, output_tokens: 20, cache_read_tokens: 50, total_tokens: null, cost_usd: null },
      finalText: 'All done.',
      refusal: null,
      resultMissing: false,
    });
    expect(observations).toEqual([
      { kind: 'activity', text: 'Looking.' },
      { kind: 'activity', text: 'shell npm test' },
      { kind: 'activity', text: 'Done.' },
      { kind: 'finished' },
    ]);
    expect(cursor.lingerMs).not.toBeNull();
  });
  test('an error that exits 0', () => {
    const { report } = readLines(
      cursor,
      json({ type: 'result', subtype: 'error', is_error: true, result: 'It broke.' }),
    );
    expect(report).toMatchObject({ status: 'error', error: 'It broke.', refusal: null, resultMissing: false });
  });
  test('a failure without a result event', () => {
    const { report } = readLines(cursor, [...json(init, say('Looking.')), 'e> Error: Workspace Trust Required']);
    expect(report).toMatchObject({ status: 'error', error: 'Error: Workspace Trust Required', resultMissing: true });
  });
  test('waiting on the provider', () => {
    const { observations } = readLines(
      cursor,
      json(
        { type: 'retry', message: '[resource_exhausted] Error' },
        { type: 'retry', error: { message: 'RetriableError: [unavailable] PING timed out' } },
        { type: 'retry', message: 'something else' },
        { type: 'connection', subtype: 'reconnecting', attempt: 1 },
        { type: 'retry', subtype: 'starting', attempt: 1 },
        { type: 'connection', subtype: 'established' },
      ),
    );
    expect(observations.map((one) => one.kind === 'provider-wait' && one.refusal.code)).toEqual([
      'RATE_LIMITED',
      'PROVIDER_UNREACHABLE',
      'PROVIDER_ERROR',
      'PROVIDER_UNREACHABLE',
      'PROVIDER_UNREACHABLE',
    ]);
  });
  test('a retry of which no reason is known', () => {
    const { observations } = readLines(cursor, json({ type: 'retry', subtype: 'starting' }));
    expect(observations).toMatchObject([{ kind: 'provider-wait', refusal: { code: 'PROVIDER_ERROR', line: 'retry' } }]);
  });
  test('connected again is the end of waiting', () => {
    const { observations } = readLines(cursor, json({ type: 'connection', subtype: 'reconnected' }));
    expect(observations).toEqual([{ kind: 'activity', text: 'reconnected' }]);
  });
});

describe('agy', () => {
  const agy = adapter('antigravity');
  const facts = { workspace: '/run/attempt/workspace' };
  const init = {
    event: 'init',
    conversation_id: 'c1',
    init: { cwd: '/run/attempt/workspace', model: 'Gemini 4 Argon (High)' },
  };
  const delta = (text_delta: string) => ({ event: 'step_update', step_update: { state: 'RUNNING', text_delta } });
  const usage = { input_tokens: 9, output_tokens: 3, thinking_tokens: 1, cache_read_tokens: 2, total_tokens: 13 };
  const result = (given: object) => ({
    event: 'result',
    result: { status: 'SUCCESS', response: 'Done.', usage, ...given },
  });

  test('a success', () => {
    const { report, observations } = readLines(agy, json(init, delta('Wor'), delta('king'), result({})), facts);
    expect(report).toEqual({
      status: 'success',
      error: null,
      model: 'Gemini 4 Argon (High)',
      sessionId: 'c1',
      usage: { input_tokens: 9, output_tokens: 3, cache_read_tokens: 2, total_tokens: 13, cost_usd: null },
      finalText: 'Done.',
      refusal: null,
      resultMissing: false,
    });
    expect(observations.at(-1)).toEqual({ kind: 'finished' });
  });
  test('text deltas stand in for an empty response', () => {
    const { report } = readLines(agy, json(init, delta('Wor'), delta('king'), result({ response: '' })), facts);
    expect(report).toMatchObject({ status: 'success', finalText: 'Working' });
  });
  test.each([
    ['no response at all', [], { response: '' }],
    ['a denied action', [], { denied_actions: [{ tool: 'shell' }] }],
    ['its own timeout', ['e> print timeout after 870s'], {}],
    ['its own timeout, as 1.2 says it', ['e> [agy] print timeout after 870s with turn in progress'], {}],
    ['its own timeout, as older ones say it', ['e> Error: timed out waiting for response'], {}],
    ['an AGY_ERROR line', ['e> AGY_ERROR: something'], {}],
    ['an error line', ['e> \u001b[31merror: something'], {}],
    ['no output for want of permission', ['e> jetski: no output produced'], {}],
    ['CANCELED', [], { status: 'CANCELED' }],
    ['INTERRUPTED', [], { status: 'INTERRUPTED' }],
    ['a status that nobody knows', [], { status: 'FINE' }],
    ['no status', [], { status: null }],
  ] as const)('no success: %s', (_, lines, given) => {
    const { report } = readLines(agy, [...json(init), ...lines, ...json(result(given))], facts);
    expect(report).toMatchObject({ status: 'error', refusal: null });
    expect(report.error).not.toBe('');
  });
  test('no success: it works in another folder', () => {
    const elsewhere = { ...init, init: { ...init.init, cwd: '/home/u' } };
    expect(readLines(agy, json(elsewhere, result({})), facts).report).toMatchObject({
      status: 'error',
      error: 'agy works in /home/u and not in the workspace',
    });
    const mac = { ...init, init: { ...init.init, cwd: '/private/run/attempt/workspace/' } };
    expect(readLines(agy, json(mac, result({})), facts).report.status).toBe('success');
  });
  test('an error line on stdout or inside another line is nothing', () => {
    const { report } = readLines(agy, ['error: no', 'e> an error: no', ...json(init, result({}))], facts);
    expect(report.status).toBe('success');
  });
  test('no result at all', () => {
    expect(readLines(agy, json(init, delta('x')), facts).report).toMatchObject({ status: null, resultMissing: true });
  });
  test.each(['', 'e> '])('a login that nobody will make is the end, on either stream (%j)', (stream) => {
    const { observations, report } = readLines(agy, [`${stream}Waiting for authentication (timeout 60s)...`]);
    expect(observations).toMatchObject([
      { kind: 'provider-wait', refusal: { code: 'AUTH_REQUIRED' } },
      { kind: 'finished' },
    ]);
    expect(report.refusal).toMatchObject({ code: 'AUTH_REQUIRED', source: stream === '' ? 'stdout' : 'stderr' });
  });
  test('the same words of a tool, once it works, end nothing', () => {
    const { observations } = readLines(agy, [...json(init), 'e> Waiting for authentication (timeout 60s)...']);
    expect(observations).toMatchObject([{ kind: 'provider-wait' }]);
  });
});

describe('claude', () => {
  const claude = adapter('claude');
  test('is_error counts, whatever the subtype says', () => {
    const { report } = readLines(claude, json({ type: 'result', subtype: 'success', is_error: true, result: 'No.' }));
    expect(report).toMatchObject({ status: 'error', error: 'No.', resultMissing: false });
  });
  test.each(['error_max_turns', 'error_during_execution'])('%s is an error', (subtype) => {
    const { report } = readLines(claude, json({ type: 'result', subtype, is_error: false }));
    expect(report).toMatchObject({ status: 'error', error: subtype, refusal: null });
  });
  test('an end without a result, as SIGTERM during a tool call makes it', () => {
    const call = { type: 'tool_use', name: 'Bash', input: { command: 'sleep 600' } };
    const { report, observations } = readLines(
      claude,
      json({ type: 'assistant', message: { model: 'opus', content: [{ type: 'text', text: 'Waiting.' }, call] } }),
    );
    expect(report).toMatchObject({ status: null, finalText: 'Waiting.', resultMissing: true });
    expect(observations).toEqual([{ kind: 'activity', text: 'Bash sleep 600' }]);
  });
  test('lines after the result change nothing', () => {
    const result = { type: 'result', subtype: 'success', is_error: false, result: 'Done.', total_cost_usd: 0.5 };
    const { report } = readLines(
      claude,
      json(result, { type: 'system', subtype: 'hook' }, { type: 'prompt_suggestion' }),
    );
    expect(report).toMatchObject({ status: 'success', finalText: 'Done.', usage: { cost_usd: 0.5 } });
  });
  test('a sub-agent’s words and the CLI’s own are not the last message', () => {
    const say = (text: string, model: string, parent: string | null) => ({
      type: 'assistant',
      parent_tool_use_id: parent,
      message: { model, content: [{ type: 'text', text }] },
    });
    const { report } = readLines(
      claude,
      json(say('Mine.', 'opus', null), say('Of a helper.', 'haiku', 't1'), say('API Error', '<synthetic>', null)),
    );
    expect(report).toMatchObject({ finalText: 'Mine.', model: null });
  });
  test.each([
    [{ error: 'authentication_failed', error_status: 401 }, 'AUTH_REJECTED'],
    [{ error: 'rate_limit', error_status: 429 }, 'RATE_LIMITED'],
    [{ error: 'server_error', error_status: 500 }, 'PROVIDER_ERROR'],
    [{ error: 'overloaded', error_status: 529 }, 'OVERLOADED'],
    [{ error: 'unknown', error_status: null }, 'PROVIDER_UNREACHABLE'],
    [{ error: 'unknown', error_status: 429 }, 'RATE_LIMITED'],
    [{}, 'PROVIDER_UNREACHABLE'],
  ])('api_retry %j', (given, code) => {
    const { observations, report } = readLines(
      claude,
      json({ type: 'system', subtype: 'api_retry', attempt: 2, ...given }),
    );
    expect(observations).toMatchObject([{ kind: 'provider-wait', refusal: { code, source: 'event' } }]);
    expect(report.refusal).toBeNull();
  });
});

test('events are read from stdout alone', () => {
  const result = json({ type: 'result', subtype: 'success', is_error: false, result: 'Done.' })[0] ?? '';
  expect(readLines(adapter('claude'), [`e> ${result}`]).report).toMatchObject({ status: null, resultMissing: true });
});

test('names that a worker gives are bounded', () => {
  const init = { type: 'system', subtype: 'init', model: 'm'.repeat(500_000), session_id: 's '.repeat(500_000) };
  const { model, sessionId } = readLines(adapter('claude'), json(init)).report;
  expect(model?.length).toBeLessThanOrEqual(200);
  expect(sessionId?.length).toBeLessThanOrEqual(200);
});

describe('the retries of pi’s SDKs', () => {
  const codes = (lines: readonly string[]) =>
    readLines(adapter('pi'), lines).observations.map((one) =>
      one.kind === 'provider-wait' ? `${one.refusal.code} by ${one.refusal.source}` : one.kind,
    );
  const post = '[log_1aa72c] post http://localhost/v1/chat/completions';
  test.each([
    [`${post} failed with status 429 in 59ms - retrying, 2 attempts remaining`, 'RATE_LIMITED'],
    [`${post} failed with status 503 in 5ms - retrying, 1 attempts remaining`, 'PROVIDER_ERROR'],
    [`${post} failed with status 409 in 5ms - retrying, 1 attempts remaining`, 'PROVIDER_ERROR'],
    [
      '[log_0f, retryOf: log_1a, request-id: "r"] post https://x/y failed with status 529 in 5ms - retrying, 1 attempts remaining',
      'OVERLOADED',
    ],
    ['[log_f50dc1] connection failed - retrying, 2 attempts remaining', 'PROVIDER_UNREACHABLE'],
    ['[log_f50dc1] connection timed out - retrying, 2 attempts remaining', 'PROVIDER_UNREACHABLE'],
  ])('what its SDK retries by itself is waiting on the provider: %s', (line, code) => {
    expect(codes([`e> ${line}`])).toEqual([`${code} by stderr`]);
    // The agent's own words are on the other stream.
    expect(codes([line])).toEqual([]);
  });
  test.each([
    `${post} succeeded with status 200 in 38ms`,
    `${post} failed with status 401 in 3ms - error; not retryable`,
    `${post} failed with status 429 in 3ms - error; no more retries left`,
    `said: ${post} failed with status 429 in 59ms - retrying, 2 attempts remaining`,
  ])('nothing else of its log is: %s', (line) => {
    const { observations, report } = readLines(adapter('pi'), [`e> ${line}`]);
    expect(observations).toEqual([]);
    expect(report.refusal).toBeNull();
  });
});

describe('codex', () => {
  const codex = adapter('codex');
  test('usage of several turns is added up', () => {
    const turn = { type: 'turn.completed', usage: { input_tokens: 10, cached_input_tokens: 4, output_tokens: 2 } };
    expect(readLines(codex, json(turn, turn)).report.usage).toEqual({
      input_tokens: 20,
      output_tokens: 4,
      cache_read_tokens: 8,
      total_tokens: 24,
      cost_usd: null,
    });
  });
  test('reconnecting is waiting, with the reason it gives', () => {
    const { observations, report } = readLines(
      codex,
      json(
        { type: 'error', message: 'Reconnecting... 2/5 (unexpected status 401 Unauthorized: x)' },
        { type: 'error', message: 'Reconnecting... waiting for network (Connection failed: error sending request)' },
        { type: 'error', message: 'Reconnecting... 3/5 (for a reason nobody knows)' },
      ),
    );
    expect(observations.map((one) => one.kind === 'provider-wait' && one.refusal.code)).toEqual([
      'AUTH_REJECTED',
      'PROVIDER_UNREACHABLE',
      'PROVIDER_UNREACHABLE',
    ]);
    expect(report).toMatchObject({ status: null, error: null, refusal: null, resultMissing: true });
  });
});

describe('opencode', () => {
  const opencode = adapter('opencode');
  const text = (words: string) => ({ type: 'text', sessionID: 's1', part: { text: words } });
  const finish = (reason: string) => ({
    type: 'step_finish',
    part: { reason, cost: 0.25, tokens: { input: 10, output: 2, reasoning: 1, cache: { read: 3, write: 4 } } },
  });
  test('the last message is that of the last step that said something; steps are added up', () => {
    const start = { type: 'step_start' };
    const { report } = readLines(
      opencode,
      json(
        start,
        text('First.'),
        finish('tool-calls'),
        start,
        text('Last '),
        text('words.'),
        finish('tool-calls'),
        start,
        finish('stop'),
      ),
    );
    expect(report).toMatchObject({
      status: 'success',
      sessionId: 's1',
      finalText: 'Last words.',
      resultMissing: false,
    });
    expect(report.usage).toEqual({
      input_tokens: 30,
      output_tokens: 6,
      cache_read_tokens: 9,
      total_tokens: 60,
      cost_usd: 0.75,
    });
  });
  const logged = (words: string, small = false, level = 'ERROR') =>
    `e> timestamp=2026-01-01T00:00:00.000Z level=${level} run=r1 message="stream error" providerID=p modelID=m small=${small} agent=build error.error="${words}"`;
  const codes = (lines: readonly string[]) =>
    readLines(opencode, lines).observations.map((one) =>
      one.kind === 'provider-wait' ? `${one.refusal.code} by ${one.refusal.source}` : one.kind,
    );
  test('a failed request that its log tells is waiting on the provider, until something comes of it', () => {
    expect(codes([logged('AI_APICallError: Rate limit reached.')])).toEqual(['RATE_LIMITED by stderr']);
    expect(codes([logged('AI_APICallError: The socket connection was closed unexpectedly.')])).toEqual([
      'PROVIDER_UNREACHABLE by stderr',
    ]);
    expect(codes([logged('AI_APICallError: Nobody knows.')])).toEqual(['PROVIDER_ERROR by stderr']);
    const [start = '', words = ''] = json({ type: 'step_start' }, text('On with it.'));
    expect(codes([logged('AI_APICallError: x'), start, words, start])).toEqual([
      'PROVIDER_ERROR by stderr',
      'activity',
      'activity',
    ]);
    // What was waited for and came is no refusal.
    expect(readLines(opencode, [logged('x'), ...json(text('Done.'), finish('stop'))]).report.refusal).toBeNull();
  });
  test('nothing else on stderr is', () => {
    const line = logged('AI_APICallError: Rate limit reached.');
    const others = [
      line.slice(3),
      ` ${line.slice(3)}`,
      `e> it printed ${line.slice(3)}`,
      logged('x', true),
      logged('x', false, 'INFO'),
    ];
    expect(codes(others)).toEqual([]);
    expect(codes([`e> ${' small=false '.repeat(60_000)}`, `${line}${' small=false '.repeat(60_000)}`])).toHaveLength(1);
  });
  test('an empty step, as a page of HTML makes it, is waiting on the provider', () => {
    const empty = { type: 'step_finish', part: { reason: 'unknown', tokens: { input: 0, output: 0 } } };
    expect(codes(json({ type: 'step_start' }, empty, { type: 'step_start' }, empty))).toEqual([
      'activity',
      'PROVIDER_ERROR by event',
      'PROVIDER_ERROR by event',
    ]);
    const some = { type: 'step_finish', part: { reason: 'unknown', tokens: { input: 5, output: 5 } } };
    expect(codes(json(some))).toEqual([]);
  });
  test('a run that stops between steps is no success', () => {
    expect(readLines(opencode, json(text('x'), finish('tool-calls'))).report).toMatchObject({ status: null });
    expect(readLines(opencode, []).report).toMatchObject({ status: null, resultMissing: true });
  });
});

describe('pi', () => {
  const pi = adapter('pi');
  test('nothing at all, as after a context overflow, is a missing result', () => {
    const { report } = readLines(
      pi,
      json({ type: 'session', id: 's1' }, { type: 'agent_start' }, { type: 'agent_end' }),
    );
    expect(report).toMatchObject({ sessionId: 's1', status: null, resultMissing: true });
  });
  test('an aborted message is no success, and nothing its provider did', () => {
    const end = {
      type: 'message_end',
      message: { role: 'assistant', stopReason: 'aborted', errorMessage: 'terminated' },
    };
    expect(readLines(pi, json(end)).report).toMatchObject({ status: 'error', error: 'terminated', refusal: null });
  });
  test('an aborted agent is no success', () => {
    const end = { type: 'message_end', message: { role: 'assistant', stopReason: 'toolUse', content: [] } };
    expect(readLines(pi, json(end, { type: 'agent_settled', aborted: true })).report.status).toBe('error');
  });
});

describe('kimi', () => {
  const kimi = adapter('kimi');
  test('an error of its own that is no refusal is a reported error', () => {
    const { report } = readLines(kimi, ['e> error: failed to run prompt: Hook stopped the turn', 'e> See log: x']);
    expect(report).toMatchObject({ status: 'error', refusal: null, resultMissing: true });
  });
  test('the same words on stdout are nobody’s error', () => {
    expect(readLines(kimi, ['error: failed to run prompt: Hook stopped the turn']).report.status).toBeNull();
  });
  test('a tool call is shown by its name and what tells most', () => {
    const call = { function: { name: 'Shell', arguments: '{"command":"npm test"}' } };
    const { observations } = readLines(kimi, json({ role: 'assistant', content: '', tool_calls: [call, {}] }));
    expect(observations).toEqual([
      { kind: 'activity', text: 'Shell npm test' },
      { kind: 'activity', text: 'tool' },
    ]);
  });
});
