/**
 * `agy` through the built tool, as reports tell it: a stand-in that is as strict plays what the real program is said to do
 * (docs/adapters.md). What is proven here is the adapter against the reports, not against the program.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { given, type Played, play, rows, type Setting, type Step } from './standin.ts';
import { World } from './world.ts';

const onLinux = process.platform === 'linux';

const agy = (setting: Setting, world?: World): Promise<Played> => play('agy', setting, world);
const result = (given: object): Step => [
  'out',
  { event: 'result', result: { status: 'SUCCESS', response: 'Done.', ...given } },
];
const delta = (text_delta: string): Step => [
  'out',
  { event: 'step_update', step_update: { state: 'RUNNING', text_delta } },
];
const WORK: Step = ['write', 'src/a.txt', 'more\n'];
const LIMIT =
  'RESOURCE_EXHAUSTED (code 429): Individual quota reached. Please upgrade your subscription. Resets in 2h39m52s.';
const LOGIN = [
  'Authentication required. Please visit the URL to log in:',
  '  https://accounts.google.com/o/oauth2/auth?client_id=x',
  '',
  'Waiting for authentication (timeout 60s)...',
];
const SENT = (attempt: Played['attempt'], { world, done }: Played): Buffer =>
  readFileSync(join(world.state, done.receipt.run_id, 'attempts', attempt.attempt_id, 'prompt.md'));

/** Starts that carried a prompt, which is what would reach a provider. */
const asked = (world: World) => given(world, '.gemini').filter(({ kind }) => kind === 'prompt');

describe.skipIf(!onLinux)('antigravity', () => {
  test('a success: what it was given, to the letter', async () => {
    const played = await agy({
      lines: ['model: claude-opus-6', 'effort: high'],
      env: {
        GEMINI_API_KEY: 'key-that-bills',
        DBUS_SESSION_BUS_ADDRESS: 'unix:path=/x',
        XDG_RUNTIME_DIR: '/run/x',
        SECRET: 'y',
      },
    });
    const { attempt, world, done } = played;
    expect(attempt).toMatchObject({
      code: 'OK',
      probe: { available: true, version: '1.5.15' },
      model: { requested: 'claude-opus-6', resolved: 'claude-opus-6', reported: 'Claude Opus 6' },
      reported: { status: 'success', error: null, session_id: 'c-1' },
      usage: { input_tokens: 100, output_tokens: 20, cache_read_tokens: 50, total_tokens: 125 },
    });
    const [start, ...more] = given(world, '.gemini');
    expect(more).toEqual([]);
    expect(start?.argv).toEqual([
      ...['--model', 'claude-opus-6', '--effort', 'high', '--output-format', 'stream-json', '--print-timeout', '30s'],
      ...['--dangerously-skip-permissions', '--disable-slash-commands', '--add-dir', start?.cwd],
      `-p=${SENT(attempt, played)}`,
    ]);
    expect(start?.cwd.startsWith(`${world.state}/`)).toBe(true);
    expect(start?.stdin).toBe('null');
    expect(start?.env).toEqual(
      expect.arrayContaining(['AGY_CLI_DISABLE_AUTO_UPDATE', 'DBUS_SESSION_BUS_ADDRESS', 'HOME', 'XDG_RUNTIME_DIR']),
    );
    for (const name of ['GEMINI_API_KEY', 'SECRET']) expect(start?.env).not.toContain(name);
    expect(JSON.stringify(done.receipt)).not.toContain('key-that-bills');
    expect(attempt.argv.at(-1)).toBe('-p={prompt}');
  });

  test('a metered profile gets the key, where the unit may spend', async () => {
    const setting = { lines: ['cost: metered'], env: { GEMINI_API_KEY: 'key-that-bills' } };
    const { attempt, world } = await agy({ ...setting, unit: { external_cost: 'metered' } });
    expect(attempt.code).toBe('OK');
    expect(given(world, '.gemini')[0]?.env).toContain('GEMINI_API_KEY');
    const dear = await agy(setting);
    expect(dear.attempt).toMatchObject({ state: 'unavailable', code: 'COST_NOT_AUTHORISED' });
    expect(given(dear.world, '.gemini')).toEqual([]);
  });

  test.each([
    ['a help flag', '--help is what it must print'],
    ['an at sign', '@src/a.txt gets a line'],
    ['a prompt flag', '-p is a flag'],
    ['a slash', '/help me'],
  ])('a goal of %s arrives as the last argument', async (_, goal) => {
    const played = await agy({ unit: { goal } });
    expect(played.attempt.code).toBe('OK');
    const [start] = asked(played.world);
    const prompt = SENT(played.attempt, played);
    expect(prompt.toString()).toContain(goal);
    expect(start?.argv.at(-1)).toBe(`-p=${prompt}`);
    expect(start?.argv.filter((word) => /^--?(p|print)(=|$)/.test(word))).toHaveLength(1);
  });

  test('a goal of 200 KB arrives as a line on stdin, which stays open until the result', async () => {
    const played = await agy({ unit: { goal: `-p ${'é'.repeat(100_000)}` } });
    expect(played.attempt).toMatchObject({ code: 'OK', termination: { kind: 'exited', code: 0 } });
    const [start] = asked(played.world);
    const prompt = SENT(played.attempt, played);
    expect(start?.prompt).toEqual({ bytes: prompt.length, sha256: createHash('sha256').update(prompt).digest('hex') });
    expect(start?.stdin).toBe('pipe');
    expect(start?.argv.slice(-2)).toEqual(['--input-format', 'stream-json']);
    expect(start?.argv.filter((word) => /^--?(p|print)(=|$)/.test(word))).toEqual([]);
  });

  describe('a model by family and effort', () => {
    const family = (name: string, effort = 'High') => ['model:', `  family: ${name}`, `  effort: ${effort}`];
    const TWICE = ['a-1', 'a-2'].map((id) => ({ id, label: 'Gemini 4 Argon (High)' }));

    test.concurrent.each(['json', 'tabs', 'bare'] as const)('is found in a list of the form %s', async (form) => {
      const { attempt, world } = await agy({ scenario: { models: { form } }, lines: family('Gemini 4 Argon') });
      expect(attempt).toMatchObject({
        code: 'OK',
        model: {
          requested: 'Gemini 4 Argon (High)',
          resolved: 'gemini-4-argon-high',
          reported: 'Gemini 4 Argon (High)',
        },
      });
      const starts = given(world, '.gemini');
      const lists = starts.filter(({ kind }) => kind === 'models').map(({ argv }) => argv);
      const asJson = ['--output-format', 'json', 'models'];
      expect(lists).toEqual(form === 'json' ? [asJson] : [asJson, ['models']]);
      // The slug carries its effort.
      expect(asked(world)[0]?.argv.slice(0, 3)).toEqual(['--model', 'gemini-4-argon-high', '--output-format']);
      expect(asked(world)[0]?.argv).not.toContain('--effort');
    });

    test.concurrent.each(
      rows(
        ['no model fits', { lines: family('Gemini 9') }, 'none fit family Gemini 9 with effort High'],
        ['the effort does not fit', { lines: family('Gemini 4 Argon', 'Medium') }, 'none fit'],
        ['a part of the family is not the family', { lines: family('Gemini 4') }, 'none fit'],
        ['several fit', { scenario: { models: { list: TWICE } }, lines: family('Gemini 4 Argon') }, 'a-1, a-2 fit'],
        ['there is no list', { scenario: { models: { form: 'none' } }, lines: family('Gemini 4 Argon') }, 'Log in'],
      ),
    )('starts nothing where $title', async ({ setting, code: words }) => {
      const { attempt, world } = await agy(setting);
      expect(attempt).toMatchObject({ state: 'unavailable', code: 'UNRESOLVED_MODEL_SLUG', process_started: false });
      expect(attempt.message).toContain(words);
      expect(given(world, '.gemini').length).toBeGreaterThan(0);
      expect(asked(world)).toEqual([]);
    });
  });

  test('an effort beside a slug that has another one starts nothing', async () => {
    const { attempt, world } = await agy({ lines: ['model: gemini-4-argon-low', 'effort: high'] });
    expect(attempt).toMatchObject({ state: 'unavailable', code: 'UNRESOLVED_MODEL_SLUG' });
    expect(given(world, '.gemini')).toEqual([]);
  });

  const REFUSED = rows(
    [
      'a limit in its result, with exit 0',
      { scenario: { play: [result({ status: 'ERROR', response: '', error: `API error (attempt 3): ${LIMIT}` })] } },
      'RATE_LIMITED',
      { refusal: { retry_after_seconds: 9592, source: 'event' }, termination: { kind: 'exited', code: 0 } },
    ],
    [
      'a limit on stderr alone',
      {
        scenario: {
          play: [
            ['err', `AGY_ERROR: {"error":"${LIMIT}"}`],
            ['exit', 3],
          ],
        },
      },
      'RATE_LIMITED',
      { refusal: { retry_after_seconds: 9592, source: 'stderr' } },
    ],
    [
      'a limit that its own timeout ends',
      {
        scenario: {
          play: [
            ['err', '[agy] print timeout after 23s with turn in progress; returning partial output'],
            result({ status: 'ERROR', response: '', error: LIMIT }),
          ],
        },
      },
      'RATE_LIMITED',
    ],
    [
      'no credits',
      {
        scenario: {
          play: [result({ status: 'ERROR', error: { message: 'AI credits balance is too low' } }), ['exit', 3]],
        },
      },
      'QUOTA_EXHAUSTED',
    ],
    [
      'no capacity',
      {
        scenario: {
          play: [
            ['err', 'error: No capacity available for model gemini-4-argon-high'],
            ['exit', 3],
          ],
        },
      },
      'OVERLOADED',
    ],
    [
      'a service that is not there',
      {
        scenario: {
          play: [
            result({ status: 'ERROR', error: 'UNAVAILABLE (code 503): The service is currently unavailable.' }),
            ['exit', 3],
          ],
        },
      },
      'PROVIDER_ERROR',
    ],
    [
      'a login that it waits for on stderr',
      { scenario: { before: [...LOGIN.map((line): Step => ['err', line]), ['block']] } },
      'AUTH_REQUIRED',
      { termination: { kind: 'stopped', by: 'finished' }, refusal: { source: 'stderr' } },
    ],
    [
      'a login that it waits for on stdout',
      { scenario: { before: [...LOGIN.map((line): Step => ['out', line]), ['block']] } },
      'AUTH_REQUIRED',
      { termination: { kind: 'stopped', by: 'finished' }, refusal: { source: 'stdout' } },
    ],
    [
      'a login of which it only says that it waits',
      { scenario: { before: [['err', 'Waiting for authentication...'], ['block']] } },
      'AUTH_REQUIRED',
    ],
    [
      'a login for which it stops waiting',
      {
        scenario: {
          before: [
            ['err', 'Error: authentication timed out.'],
            ['exit', 1],
          ],
        },
      },
      'AUTH_REQUIRED',
    ],
    ['a model it does not know', { lines: ['model: gemini-9-nova-low'] }, 'MODEL_UNAVAILABLE'],
  );
  test.concurrent.each(REFUSED)('refused: $title', async ({ setting, code, more }) => {
    const { done, attempt } = await agy(setting);
    expect(attempt).toMatchObject({
      ...{ state: 'unavailable', code, class: 'provider-refused', changes: [], quarantine: null },
      ...more,
    });
    expect(done.receipt).toMatchObject({ outcome: 'host-fallback-authorized', exit_code: 5 });
    // Nowhere near its 60 seconds, nor the 30 of its own limit, however busy the machine.
    expect(attempt.duration_ms).toBeLessThan(25_000);
  });

  const KEPT = { quarantine: { ref: expect.any(String) }, change_count: 1 };
  const FAILED = rows(
    [
      'refused after a change',
      { scenario: { play: [delta('Working'), WORK, result({ status: 'ERROR', error: LIMIT }), ['exit', 3]] } },
      'PROVIDER_REFUSED_MIDWAY',
      { ...KEPT, class: 'provider-refused', refusal: { code: 'RATE_LIMITED', retry_after_seconds: 9592 } },
    ],
    [
      'its own timeout, which it calls a success',
      { scenario: { secondMs: 50, play: [delta('Working'), WORK, ['block']] } },
      'REPORTED_ERROR',
      {
        ...KEPT,
        termination: { kind: 'exited', code: 0 },
        reported: { status: 'error', error: expect.stringContaining('print timeout after 30s') },
      },
    ],
    [
      'a denied action',
      { scenario: { play: [WORK, result({ denied_actions: [{ tool: 'shell' }] })] } },
      'REPORTED_ERROR',
      { ...KEPT, reported: { error: 'agy was denied an action' } },
    ],
    [
      'no output for want of permission',
      {
        scenario: {
          play: [
            WORK,
            ['err', 'jetski: no output produced — a tool required the "command" permission'],
            result({ response: '' }),
          ],
        },
      },
      'REPORTED_ERROR',
      { ...KEPT, reported: { error: expect.stringContaining('jetski: no output produced') } },
    ],
    [
      'a success without a word',
      { scenario: { play: [WORK, result({ response: '' })] } },
      'REPORTED_ERROR',
      { reported: { error: 'agy reported success without a response' } },
    ],
    [
      'an error of its own',
      {
        scenario: { play: [WORK, result({ status: 'ERROR', response: '', error: 'tool call failed: write_to_file' })] },
      },
      'REPORTED_ERROR',
      { refusal: null, reported: { error: 'tool call failed: write_to_file' } },
    ],
    ['CANCELED', { scenario: { play: [WORK, result({ status: 'CANCELED' })] } }, 'REPORTED_ERROR', KEPT],
    ['INTERRUPTED', { scenario: { play: [WORK, result({ status: 'INTERRUPTED' })] } }, 'REPORTED_ERROR', KEPT],
    [
      'an error line beside a success',
      { scenario: { play: [WORK, ['err', 'error: the stream broke'], result({})] } },
      'REPORTED_ERROR',
    ],
    ['no result, with exit 0', { scenario: { play: [delta('Working'), WORK, ['exit', 0]] } }, 'NO_RESULT', KEPT],
    ['a success without a change', { scenario: { play: [result({})] } }, 'EMPTY_DIFF'],
    ['an exit code alone', { scenario: { play: [WORK, ['exit', 2]] } }, 'EXIT_NONZERO', KEPT],
    [
      'another model than the one it was asked for, in silence',
      { scenario: { unknownModel: 'fallback' }, lines: ['model: gemini-9-nova-low'] },
      'MODEL_MISMATCH',
      { ...KEPT, model: { resolved: 'gemini-9-nova-low', reported: 'Gemini 4 Argon (High)' } },
    ],
  );
  test.concurrent.each(FAILED)('failed: $title', async ({ setting, code, more }) => {
    const { done, attempt } = await agy(setting);
    expect(attempt).toMatchObject({ state: 'failed-clean', code, transport: null, ...more });
    expect(done.receipt).toMatchObject({ outcome: 'exhausted', exit_code: 4 });
  });

  test('work in another folder than the workspace is no success', async () => {
    const world = new World();
    const elsewhere = join(world.home, 'scratch');
    const { attempt } = await agy({ scenario: { worksIn: elsewhere, play: [WORK, result({})] } }, world);
    expect(attempt).toMatchObject({
      code: 'REPORTED_ERROR',
      reported: { error: `agy works in ${elsewhere} and not in the workspace` },
      change_count: 0,
    });
    expect(existsSync(join(elsewhere, 'src/a.txt'))).toBe(true);
  });

  test('a repository whose name begins with a dot has a workspace whose name does not', async () => {
    const { attempt, world } = await agy({}, new World({ repoName: '.dotfiles' }));
    expect(attempt.code).toBe('OK');
    expect(asked(world)[0]?.cwd).not.toMatch(/\/\./);
  });

  const GOOD = rows(
    [
      'its words came in pieces',
      { scenario: { play: [delta('All '), WORK, delta('done.'), result({ response: '' })] } },
      'All done.',
    ],
    [
      'junk between its events',
      {
        scenario: {
          play: [
            ['out', 'Fetching…'],
            ['out', '{"event":"res'],
            ['out', LIMIT],
            ['err', 'a tool says: error: nothing'],
            ['err', 'Error: connect ECONNREFUSED 127.0.0.1:5432'],
            WORK,
            ['out', '[1,2]'],
            result({}),
            ['out', '{"event":"future"}'],
          ],
        },
      },
      'Done.',
      { refusal: null },
    ],
    [
      'a tool of its waits for a login',
      { scenario: { play: [delta('x'), ['err', 'Waiting for authentication...'], WORK, result({})] } },
      'Done.',
      { refusal: null, termination: { kind: 'exited', code: 0 } },
    ],
    [
      'it leaves a process behind and stays after its result',
      { scenario: { play: [['leave', 'server'], WORK, result({}), ['block']] } },
      'Done.',
      { termination: { kind: 'stopped', by: 'finished' } },
    ],
    ['a version with its name', { scenario: { version: 'agy v1.2.10' } }, 'Done.', { probe: { version: '1.2.10' } }],
    ['a version with a v', { scenario: { version: 'v1.5.15' } }, 'Done.', { probe: { version: '1.5.15' } }],
  );
  test.concurrent.each(GOOD)('success: $title', async ({ setting, code: summary, more }) => {
    const { attempt } = await agy(setting);
    expect(attempt).toMatchObject({
      ...{ state: 'success', code: 'OK', summary, processes: { survivors: 0 } },
      ...more,
    });
  });

  const HELP = '--print --output-format --print-timeout --dangerously-skip-permissions --model --add-dir';
  test.concurrent.each(
    rows(
      ['too old', { scenario: { version: '1.2.9' } }, '1.2.9 is too old. Update it to 1.2.10 or newer'],
      ['before its floor', { scenario: { version: '1.2.10-rc.1' } }, 'too old'],
      ['another product', { scenario: { version: 'agy, the assembler 3' } }, 'name its executable in the profile'],
      ...HELP.split(' ').map(
        (flag) =>
          [
            `a help without ${flag}`,
            {
              scenario: {
                help: HELP.split(' ')
                  .filter((one) => one !== flag)
                  .join(' '),
              },
            },
            `does not show ${flag}. Update the program`,
          ] as const,
      ),
    ),
  )('incompatible: $title', async ({ setting, code: words }) => {
    const { attempt, world } = await agy(setting);
    expect(attempt).toMatchObject({ state: 'unavailable', code: 'INCOMPATIBLE', process_started: false });
    expect(attempt.message).toContain(words);
    expect(given(world, '.gemini')).toEqual([]);
  });
});
