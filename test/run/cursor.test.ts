/**
 * `cursor-agent` through the built tool, as reports tell it: a stand-in that is as strict plays what the real program is
 * said to do (docs/adapters.md). What is proven here is the adapter against the reports, not against the program.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { given, play, rows, type Setting, type Step } from './standin.ts';
import { World } from './world.ts';

const onLinux = process.platform === 'linux';

const RESULT = { type: 'result', subtype: 'success', is_error: false, result: 'Done.', session_id: 's-1' };
const error = (result: string) => ({ ...RESULT, subtype: 'error', is_error: true, result });
const text = (words: string) => ({ type: 'assistant', message: { content: [{ type: 'text', text: words }] } });
const WORK: Step = ['write', 'src/a.txt', 'more\n'];
const DONE: Step = ['out', RESULT];
const refusedWith = (line: string): readonly Step[] => [
  ['err', line],
  ['exit', 1],
];

const cursor = (setting: Setting, world?: World) => play('cursor-agent', setting, world);

describe.skipIf(!onLinux)('cursor', () => {
  test('a success: what it was given, to the letter', async () => {
    const { attempt, world, done } = await cursor({
      lines: ['model: gpt-6-high'],
      env: { CURSOR_API_KEY: 'key-that-bills', CURSOR_AUTH_TOKEN: 'token', GEMINI_API_KEY: 'x', SECRET: 'y' },
    });
    expect(attempt).toMatchObject({
      code: 'OK',
      probe: { available: true, version: '2026.10.01-e373342' },
      model: { requested: 'gpt-6-high', resolved: 'gpt-6-high', reported: 'GPT-6 High' },
      reported: { status: 'success', error: null, session_id: 's-1' },
      usage: { input_tokens: 100, output_tokens: 20, cache_read_tokens: 50 },
    });
    const [start, ...more] = given(world, '.cursor');
    expect(more).toEqual([]);
    expect(start?.argv).toEqual([
      ...['-p', '--output-format', 'stream-json', '--force', '--trust', '--approve-mcps', '--sandbox', 'enabled'],
      ...['--workspace', start?.cwd, '--model', 'gpt-6-high'],
    ]);
    expect(start?.cwd.startsWith(`${world.state}/`)).toBe(true);
    expect(start?.stdin).toBe('pipe');
    expect(start?.env).toEqual(expect.arrayContaining(['NO_OPEN_BROWSER', 'CURSOR_AUTH_TOKEN', 'AGENT_EXEC_ATTEMPT']));
    for (const name of ['CURSOR_API_KEY', 'GEMINI_API_KEY', 'SECRET']) expect(start?.env).not.toContain(name);
    expect(JSON.stringify(done.receipt)).not.toContain('key-that-bills');
  });

  test('a metered profile gets the key, where the unit may spend', async () => {
    const env = { CURSOR_API_KEY: 'key-that-bills' };
    const setting = { lines: ['cost: metered'], env };
    const { attempt, world } = await cursor({ ...setting, unit: { external_cost: 'metered' } });
    expect(attempt.code).toBe('OK');
    expect(given(world, '.cursor')[0]?.env).toContain('CURSOR_API_KEY');
    const dear = await cursor(setting);
    expect(dear.attempt).toMatchObject({ state: 'unavailable', code: 'COST_NOT_AUTHORISED' });
    expect(given(dear.world, '.cursor')).toEqual([]);
  });

  test.each<readonly [string, string]>([
    ['200 KB', 'x'.repeat(200_000)],
    ['a help flag', '--help is what it must print'],
    ['an at sign', '@src/a.txt gets a line'],
    ['a prompt flag', '-p is a flag'],
    ['a slash', '/help me'],
  ])('a goal of %s arrives as a prompt on stdin', async (_, goal) => {
    const { attempt, world, done } = await cursor({ unit: { goal } });
    expect(attempt.code).toBe('OK');
    const [start] = given(world, '.cursor');
    const prompt = readFileSync(join(world.state, done.receipt.run_id, 'attempts/01-one/prompt.md'));
    expect(start?.prompt).toEqual({ bytes: prompt.length, sha256: createHash('sha256').update(prompt).digest('hex') });
    expect(prompt.toString()).toContain(goal);
    expect(start?.argv).not.toContain(goal);
  });

  test('the alias is found where the other name is not', async () => {
    const { attempt } = await cursor({ name: 'agent' });
    expect(attempt).toMatchObject({ code: 'OK', probe: { executable: expect.stringMatching(/\/agent$/) } });
  });

  const REFUSED = rows(
    [
      'no login',
      {
        scenario: {
          before: refusedWith("Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY."),
        },
      },
      'AUTH_REQUIRED',
      { refusal: { source: 'stderr' } },
    ],
    ['a model it does not know', { lines: ['model: gpt-99'] }, 'MODEL_UNAVAILABLE'],
    [
      'a model the plan does not have',
      { scenario: { before: refusedWith('ActionRequiredError: Named models unavailable on the free plan') } },
      'MODEL_UNAVAILABLE',
    ],
    [
      'a usage limit',
      { scenario: { before: refusedWith("ActionRequiredError: You've hit your usage limit.") } },
      'QUOTA_EXHAUSTED',
    ],
    [
      'a rate limit after its first events',
      {
        scenario: {
          play: [['out', text('Looking.')], ...refusedWith('Error: RetriableError: [resource_exhausted] Error')],
        },
      },
      'RATE_LIMITED',
    ],
    [
      'no connection',
      { scenario: { play: refusedWith('ConnectError: [unavailable] getaddrinfo ENOTFOUND api2.cursor.sh') } },
      'PROVIDER_UNREACHABLE',
    ],
    [
      'a failure of its provider without a reason',
      { scenario: { play: refusedWith('Error: ConnectError: [internal] Error') } },
      'PROVIDER_ERROR',
    ],
    [
      'a refusal in a result, with exit 0',
      { scenario: { play: [['out', error('[resource_exhausted] try again in 20s')]] } },
      'RATE_LIMITED',
      { refusal: { source: 'event', retry_after_seconds: 20 }, termination: { kind: 'exited', code: 0 } },
    ],
    [
      'retries without end',
      {
        scenario: {
          play: [
            ['out', { type: 'connection', subtype: 'reconnecting', attempt: 1 }],
            ['out', { type: 'retry', subtype: 'starting', attempt: 1 }],
            ['block'],
          ],
        },
        execution: ['provider_wait_seconds: 1'],
      },
      'PROVIDER_UNREACHABLE',
      { termination: { kind: 'stopped', by: 'provider-wait' } },
    ],
  );
  test.concurrent.each(REFUSED)('refused: $title', async ({ setting, code, more }) => {
    const { done, attempt } = await cursor(setting);
    expect(attempt).toMatchObject({
      ...{ state: 'unavailable', code, class: 'provider-refused', changes: [], quarantine: null },
      ...more,
    });
    expect(done.receipt).toMatchObject({ outcome: 'host-fallback-authorized', exit_code: 5 });
    expect(attempt.duration_ms).toBeLessThan(30_000);
  });

  const FAILED = rows(
    [
      'refused after a change',
      { scenario: { play: [WORK, ...refusedWith('Error: RetriableError: [resource_exhausted] Error')] } },
      'PROVIDER_REFUSED_MIDWAY',
      { refusal: { code: 'RATE_LIMITED' }, change_count: 1, quarantine: { ref: expect.any(String) } },
    ],
    [
      'an error in the result, with exit 0',
      { scenario: { play: [WORK, ['out', error('It broke.')]] } },
      'REPORTED_ERROR',
      { reported: { error: 'It broke.' }, quarantine: { ref: expect.any(String) } },
    ],
    ['no result, with exit 0', { scenario: { play: [WORK] } }, 'NO_RESULT'],
    ['a success without a change', { scenario: { play: [DONE] } }, 'EMPTY_DIFF'],
    [
      'a folder that it does not trust',
      { scenario: { before: refusedWith('Workspace Trust Required') } },
      'EXIT_NONZERO',
      { reported: { error: 'Workspace Trust Required' }, refusal: null },
    ],
    [
      'never an answer',
      { scenario: { play: [WORK, ['block']] }, unit: { timeout_seconds: 2 } },
      'TIMEOUT',
      { quarantine: { ref: expect.any(String) } },
    ],
  );
  test.concurrent.each(FAILED)('failed: $title', async ({ setting, code, more }) => {
    const { done, attempt } = await cursor(setting);
    expect(attempt).toMatchObject({ state: 'failed-clean', code, transport: null, ...more });
    expect(done.receipt).toMatchObject({ outcome: 'exhausted', exit_code: 4 });
  });

  const GOOD = rows(
    [
      'its connection came back',
      {
        scenario: {
          play: [
            ['out', { type: 'connection', subtype: 'reconnecting' }],
            ['out', { type: 'retry', message: '[resource_exhausted] Error' }],
            ['out', { type: 'connection', subtype: 'reconnected' }],
            WORK,
            DONE,
          ],
        },
      },
      'OK',
      { refusal: null, class: null },
    ],
    [
      'junk between its events',
      {
        scenario: {
          play: [
            ['out', 'Loading configuration…'],
            ['out', '{"type":"resu'],
            ['out', '[resource_exhausted] in a file it shows'],
            ['err', 'Warning: a new version is there'],
            WORK,
            ['out', '[1,2]'],
            DONE,
            ['out', '{"type":"future"}'],
          ],
        },
      },
      'OK',
    ],
    [
      'it leaves its worker-server behind',
      { scenario: { play: [['leave', 'worker-server'], WORK, DONE] } },
      'OK',
      { termination: { kind: 'exited', code: 0 } },
    ],
    [
      'it stays after its result',
      { scenario: { play: [['leave', 'worker-server'], WORK, DONE, ['block']] } },
      'OK',
      { termination: { kind: 'stopped', by: 'finished' } },
    ],
    [
      'it leaves its worker-server behind, without a namespace',
      { scenario: { play: [['leave', 'worker-server'], WORK, DONE, ['block']] }, execution: ['isolation: none'] },
      'OK',
    ],
  );
  test.concurrent.each(GOOD)('success: $title', async ({ setting, code, more }) => {
    const { attempt } = await cursor(setting);
    expect(attempt).toMatchObject({ state: 'success', code, processes: { survivors: 0 }, ...more });
  });

  describe('a write into the checkout, although its sandbox is on', () => {
    const setting = (world: World, level: string): Setting => ({
      scenario: { play: [WORK, ['write', join(world.repo, 'docs/d.txt'), 'stray\n'], DONE] },
      execution: [`isolation: ${level}`],
    });
    test('is found under none', async () => {
      const world = new World();
      const { attempt, done } = await cursor(setting(world, 'none'), world);
      expect(attempt).toMatchObject({ state: 'failed-unknown', code: 'CANONICAL_CHANGED', transport: null });
      expect(done.receipt).toMatchObject({ outcome: 'blocked', exit_code: 6 });
    });
    test('does not happen under guard', async () => {
      const world = new World();
      const { attempt, done } = await cursor(setting(world, 'guard'), world);
      expect(attempt).toMatchObject({ code: 'OK', change_count: 1, canonical: { unchanged: true } });
      const log = attempt.logs.find(({ stream }) => stream === 'stderr');
      expect(readFileSync(log?.path ?? '', 'utf8'), done.stderr).toContain('tool: EROFS');
    });
    test('nor any other outside its own folders under strict', async () => {
      const world = new World();
      // A login made it; what is not there cannot be opened for writing.
      mkdirSync(join(world.home, '.cursor'));
      const stray = join(world.home, 'stray.txt');
      const { attempt } = await cursor(
        { scenario: { play: [WORK, ['write', stray, 'x'], DONE] }, execution: ['isolation: strict'] },
        world,
      );
      expect(attempt.code).toBe('OK');
      expect(existsSync(stray)).toBe(false);
    });
  });

  test.concurrent.each<readonly [string, Setting, RegExp]>([
    [
      'another product called agent',
      { name: 'agent', scenario: { version: 'agent 0.4.2' } },
      /not Cursor's CLI.*agent 0\.4\.2.*Install Cursor's CLI/,
    ],
    ['an older kind of version', { scenario: { version: '0.48.7' } }, /not Cursor's CLI.*name its executable/],
    [
      'a help that does not know the sandbox',
      { scenario: { help: '--print --output-format --force --trust --workspace --model CURSOR_API_KEY' } },
      /does not show --sandbox\. Update the program/,
    ],
    [
      'a help of somebody else',
      { scenario: { help: '--print --output-format --force --trust --sandbox --workspace --model' } },
      /does not show CURSOR_API_KEY/,
    ],
  ])('incompatible: %s', async (_, setting, message) => {
    const { attempt, world } = await cursor(setting);
    expect(attempt).toMatchObject({ state: 'unavailable', code: 'INCOMPATIBLE', process_started: false });
    expect(attempt.message).toMatch(message);
    expect(given(world, '.cursor')).toEqual([]);
  });
});
