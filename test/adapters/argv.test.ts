/** The arguments of every built-in adapter, exactly: what a worker is allowed and told hangs on each of them. */
import { describe, expect, test } from 'vitest';
import { MAX_ARGUMENT_BYTES } from '../../src/adapters/argv.ts';
import { customAdapter } from '../../src/adapters/custom.ts';
import { builtInAdapter, builtInAdapters } from '../../src/adapters/registry.ts';
import type { Adapter, Invocation, InvocationRequest, Unavailable } from '../../src/model/adapter.ts';
import { request } from './request.ts';

const adapter = (name: string): Adapter => {
  const found = builtInAdapter(name);
  if (found === null) throw new Error(`no adapter ${name}`);
  return found;
};
function invoked(name: string, given: Partial<InvocationRequest> = {}): Invocation {
  const result = adapter(name).invoke(request(given));
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}
function refused(name: string, given: Partial<InvocationRequest>): Unavailable {
  const result = adapter(name).invoke(request(given));
  if (result.ok) throw new Error(`${name} was invoked: ${result.value.args.join(' ')}`);
  return result.error;
}
const stdinText = ({ stdin }: Invocation): string | null =>
  stdin.kind === 'null' ? null : new TextDecoder().decode(stdin.bytes);

const W = '/run/attempt/workspace';
const PROMPT = 'This is one bounded unit of work.';

const CLAUDE = ['-p', '--dangerously-skip-permissions', '--output-format', 'stream-json', '--verbose'];
const CODEX = [
  ...['exec', '--json', '--skip-git-repo-check', '-s', 'workspace-write', '-c', 'approval_policy="never"'],
  ...['-c', 'sandbox_workspace_write.exclude_slash_tmp=true', '-c', 'analytics.enabled=false'],
];
const CODEX_END = ['-C', W, '-o', '/run/attempt/result.txt', '-'];
const AGY = [
  '--output-format',
  'stream-json',
  '--print-timeout',
  '870s',
  '--dangerously-skip-permissions',
  '--disable-slash-commands',
  '--add-dir',
  W,
];
const CURSOR = [
  ...['-p', '--output-format', 'stream-json', '--force', '--trust', '--approve-mcps', '--sandbox', 'enabled'],
  ...['--workspace', W],
];

type Row = readonly [name: string, given: Partial<InvocationRequest>, args: readonly string[], stdin: string | null];
const ROWS: readonly Row[] = [
  ['claude', {}, [...CLAUDE, '--no-session-persistence'], PROMPT],
  [
    'claude',
    { model: 'opus', effort: 'high' },
    [...CLAUDE, '--model', 'opus', '--effort', 'high', '--no-session-persistence'],
    PROMPT,
  ],
  ['codex', {}, [...CODEX, '--color', 'never', ...CODEX_END], PROMPT],
  [
    'codex',
    { model: 'gpt-6', effort: 'high' },
    [...CODEX, '--color', 'never', '-m', 'gpt-6', '-c', 'model_reasoning_effort="high"', ...CODEX_END],
    PROMPT,
  ],
  [
    'opencode',
    { model: 'openrouter/deep/seek', effort: 'max' },
    ['run', '--auto', '--format', 'json', '-m', 'openrouter/deep/seek', '--variant', 'max', '--dir', W],
    PROMPT,
  ],
  ['pi', {}, ['-p', '--mode', 'json', '--no-session'], PROMPT],
  [
    'pi',
    { model: 'openrouter/anthropic/claude-5', effort: 'low' },
    [
      ...['-p', '--mode', 'json', '--no-session', '--provider', 'openrouter', '--model', 'anthropic/claude-5'],
      ...['--thinking', 'low'],
    ],
    PROMPT,
  ],
  ['pi', { model: 'sonnet' }, ['-p', '--mode', 'json', '--no-session', '--model', 'sonnet'], PROMPT],
  ['kimi', {}, ['--output-format', 'stream-json', '-p', PROMPT], null],
  ['kimi', { model: 'k3' }, ['--output-format', 'stream-json', '-m', 'k3', '-p', PROMPT], null],
  ['cursor', {}, CURSOR, PROMPT],
  ['cursor', { model: 'gpt-6-high' }, [...CURSOR, '--model', 'gpt-6-high'], PROMPT],
  ['antigravity', {}, [...AGY, `-p=${PROMPT}`], null],
  [
    'antigravity',
    { model: 'argon', effort: 'high' },
    ['--model', 'argon', '--effort', 'high', ...AGY, `-p=${PROMPT}`],
    null,
  ],
  [
    'antigravity',
    { model: 'gemini-4-argon-high', effort: 'high' },
    ['--model', 'gemini-4-argon-high', ...AGY, `-p=${PROMPT}`],
    null,
  ],
];

test.each(ROWS)('%s %j', (name, given, args, stdin) => {
  const invocation = invoked(name, given);
  expect(invocation.args).toEqual(args);
  expect(stdinText(invocation)).toBe(stdin);
});

test('what is shown names neither the prompt, nor the workspace, nor a private file', () => {
  for (const { name } of builtInAdapters) {
    const model = name === 'opencode' ? 'a/b' : null;
    for (const prompt of ['Do it.', 'Do it. '.repeat(40_000)]) {
      const { args, shownArgs } = invoked(name, { model, prompt });
      expect(shownArgs).toHaveLength(args.length);
      expect(shownArgs.join(' ')).not.toMatch(/\/run\/attempt|Do it/);
    }
  }
  expect(invoked('kimi').shownArgs).toEqual(['--output-format', 'stream-json', '-p', '{prompt}']);
  expect(invoked('antigravity').shownArgs.at(-1)).toBe('-p={prompt}');
  expect(invoked('codex').shownArgs.slice(-5)).toEqual(['-C', '{workspace}', '-o', '{result}', '-']);
});

describe('prompts that are hard to carry', () => {
  const long = 'A long unit of work. '.repeat(10_000);

  test('a leading dash never becomes a flag', () => {
    const prompt = '--help me';
    for (const name of ['claude', 'codex', 'pi', 'cursor']) expect(stdinText(invoked(name, { prompt }))).toBe(prompt);
    expect(invoked('kimi', { prompt }).args.slice(-2)).toEqual(['-p', prompt]);
    expect(invoked('antigravity', { prompt }).args.at(-1)).toBe(`-p=${prompt}`);
  });

  test('200 KB go by stdin unchanged, or by a file', () => {
    for (const name of ['claude', 'codex', 'pi', 'cursor']) {
      expect(stdinText(invoked(name, { prompt: long }))).toBe(long);
    }
    const kimi = invoked('kimi', { prompt: long });
    expect(kimi.args.at(-1)).toContain('/run/attempt/prompt.md');
    expect(kimi.args.at(-1)?.length).toBeLessThan(500);

    const agy = invoked('antigravity', { prompt: long });
    expect(agy.args).toEqual([...AGY, '--input-format', 'stream-json']);
    expect(agy.stdin).toMatchObject({ kind: 'bytes', openUntilFinished: true });
    const line = stdinText(agy) ?? '';
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(JSON.parse(line)).toEqual({ event: 'user', message: { content: long } });
  });

  test('no single argument is ever over the limit of the system, whatever the length', () => {
    for (const { name } of builtInAdapters) {
      for (const length of [122_880, 122_881, 131_070, 131_071, 131_072, 300_000]) {
        for (const letter of ['x', 'é', '漢']) {
          const { args } = invoked(name, { model: 'a/b', prompt: letter.repeat(length) });
          for (const item of args) expect(Buffer.byteLength(item)).toBeLessThanOrEqual(MAX_ARGUMENT_BYTES);
        }
      }
    }
  });

  test('kimi: the last prompt that fits is the argument, the next byte makes it a file', () => {
    const fits = 'x'.repeat(MAX_ARGUMENT_BYTES);
    expect(invoked('kimi', { prompt: fits }).args.at(-1)).toBe(fits);
    expect(invoked('kimi', { prompt: `${fits}x` }).args.at(-1)).toContain('prompt.md');
  });

  test('a NUL cannot be an argument', () => {
    const prompt = 'before\u0000after';
    expect(invoked('kimi', { prompt }).args.at(-1)).toContain('prompt.md');
    expect(invoked('antigravity', { prompt }).args.at(-1)).toBe('stream-json');
  });
});

describe('claude as root', () => {
  test('is refused without a sandbox around it', () => {
    const { code, message } = refused('claude', { runningAsRoot: true, isolation: 'none' });
    expect(code).toBe('INCOMPATIBLE');
    expect(message).toMatch(/guard or strict/);
  });
  test.each(['guard', 'strict'] as const)('says so under %s', (isolation) => {
    expect(invoked('claude', { runningAsRoot: true, isolation }).environment).toMatchObject({ IS_SANDBOX: '1' });
  });
  test('no other user claims a sandbox', () => {
    expect(invoked('claude', { isolation: 'guard' }).environment).not.toHaveProperty('IS_SANDBOX');
    expect(invoked('claude', { isolation: 'none' }).environment).not.toHaveProperty('IS_SANDBOX');
  });
});

test('every start is told to stay as it is and to itself', () => {
  expect(Object.fromEntries(builtInAdapters.map(({ name, environment }) => [name, environment]))).toEqual({
    antigravity: { AGY_CLI_DISABLE_AUTO_UPDATE: '1' },
    claude: { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    codex: {},
    cursor: { NO_OPEN_BROWSER: '1' },
    kimi: { KIMI_CODE_NO_AUTO_UPDATE: '1', KIMI_DISABLE_TELEMETRY: '1' },
    opencode: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_PRINT_LOGS: '1',
      OPENCODE_LOG_LEVEL: 'ERROR',
    },
    pi: { PI_OFFLINE: '1', PI_TELEMETRY: '0', OPENAI_LOG: 'info', ANTHROPIC_LOG: 'info' },
  });
});

test('claude retries a bounded number of times, unless its user chose a number', () => {
  expect(invoked('claude').environment).toEqual({ CLAUDE_CODE_MAX_RETRIES: '6' });
  expect(adapter('claude').credentials.settings).toContain('CLAUDE_CODE_MAX_RETRIES');
  expect(invoked('claude', { environmentNames: ['CLAUDE_CODE_MAX_RETRIES'] }).environment).toEqual({});
});

describe('opencode never reaches the free hosted model', () => {
  const disabled = { OPENCODE_CONFIG_CONTENT: '{"disabled_providers":["opencode"]}' };
  const withConfig = (content: string): Partial<InvocationRequest> => ({
    environmentNames: ['OPENCODE_CONFIG_CONTENT'],
    environment: { OPENCODE_CONFIG_CONTENT: content },
  });

  test('without model and credentials it is not started', () => {
    expect(refused('opencode', {})).toMatchObject({ code: 'NO_CREDENTIALS' });
    expect(refused('opencode', {}).message).toMatch(/model: provider\/model/);
  });
  test('a login or a key lets it choose, with the free provider switched off', () => {
    const login = { existingLoginFiles: ['/home/u/.local/share/opencode/auth.json'] };
    expect(invoked('opencode', login).environment).toEqual(disabled);
    expect(invoked('opencode', { environmentNames: ['ANTHROPIC_API_KEY'] }).environment).toEqual(disabled);
    expect(invoked('opencode', login).args).toEqual(['run', '--auto', '--format', 'json', '--dir', W]);
  });
  test('a fixed model stands for itself', () => {
    expect(invoked('opencode', { model: 'anthropic/opus' }).environment).toEqual({});
  });
  test('an inline configuration counts where it names a provider or a model', () => {
    expect(invoked('opencode', withConfig('{"model":"scripted/m1"}')).environment).toEqual({});
    expect(invoked('opencode', withConfig('{\n"provider":{"scripted":{}}\n}')).environment).toEqual({
      OPENCODE_CONFIG_CONTENT: '{"provider":{"scripted":{}},"disabled_providers":["opencode"]}',
    });
  });
  test.each([
    ['{}', '{"disabled_providers":["opencode"]}'],
    ['{"disabled_providers":["x"],"theme":"dark"}', '{"disabled_providers":["x","opencode"],"theme":"dark"}'],
    ['{"model":"opencode/free"}', '{"model":"opencode/free","disabled_providers":["opencode"]}'],
  ])('beside a login, which may be empty, the free provider is switched off in %s too', (content, passed) => {
    const login = { existingLoginFiles: ['/home/u/.local/share/opencode/auth.json'] };
    expect(invoked('opencode', { ...login, ...withConfig(content) }).environment).toEqual({
      OPENCODE_CONFIG_CONTENT: passed,
    });
    expect(refused('opencode', { ...login, ...withConfig('// not JSON') }).code).toBe('NO_CREDENTIALS');
  });
  test('an inline configuration that says nothing of both does not', () => {
    for (const content of ['{"theme":"dark"}', '{"model":"opencode/free"}', '{"provider":{}}', 'not json', '']) {
      expect(refused('opencode', withConfig(content)).code).toBe('NO_CREDENTIALS');
    }
  });
  test('nor through a custom adapter that speaks its events', () => {
    const own = customAdapter('own', {
      base_argv: ['run', '--auto', '--format', 'json'],
      run_everything_argv: [],
      workspace_argv: ['--dir', '{workspace}'],
      model_argv: ['-m', '{model}'],
      prompt_transport: 'stdin',
      output_format: 'opencode',
    });
    expect(own.loginFiles).toEqual(adapter('opencode').loginFiles);
    expect(own.invoke(request())).toMatchObject({ ok: false, error: { code: 'NO_CREDENTIALS' } });
    expect(own.invoke(request({ existingLoginFiles: ['/home/u/auth.json'] }))).toMatchObject({
      ok: true,
      value: { environment: disabled },
    });
    expect(own.invoke(request({ model: 'a/b' }))).toMatchObject({ ok: true, value: { environment: {} } });
  });
  test('a model without a provider is no model', () => {
    expect(refused('opencode', { model: 'opus' }).code).toBe('UNRESOLVED_MODEL_SLUG');
  });
});

test('agy: a path part that begins with a dot is refused, for agy would work elsewhere', () => {
  expect(refused('antigravity', { workspace: '/home/u/.state/workspace' }).code).toBe('INCOMPATIBLE');
  expect(invoked('antigravity', { workspace: '/home/u/a.state/workspace' }).args).toContain(
    '/home/u/a.state/workspace',
  );
});

test('agy: its own limit is half a minute before the attempt’s, and never under half a minute', () => {
  const limit = (timeoutSeconds: number): string | undefined =>
    invoked('antigravity', { timeoutSeconds }).args.find((item) => /^\d+s$/.test(item));
  expect(limit(1800)).toBe('1770s');
  expect(limit(60)).toBe('30s');
  expect(limit(61)).toBe('31s');
  expect(limit(20)).toBe('30s');
  expect(limit(1)).toBe('30s');
});

test('agy: a slug that fixes another effort than the profile is not passed', () => {
  expect(refused('antigravity', { model: 'argon-low', effort: 'high' }).code).toBe('UNRESOLVED_MODEL_SLUG');
});

test.each(['cursor', 'kimi'])('%s has no flag for an effort and does not drop one', (name) => {
  expect(refused(name, { effort: 'high' })).toMatchObject({ code: 'INCOMPATIBLE' });
});

test('a model or an effort cannot become a flag, two words or a piece of TOML', () => {
  for (const { name } of builtInAdapters) {
    for (const model of ['--yolo', '-m', 'a b', 'a\nb', '', 'x'.repeat(300)]) {
      expect(refused(name, { model }).code).toBe('UNRESOLVED_MODEL_SLUG');
    }
    expect(refused(name, { model: 'a/b', effort: 'high" -c x="' }).code).toBe('UNRESOLVED_MODEL_SLUG');
  }
  // A plan that is only shown has no slug for a family yet.
  expect(invoked('antigravity', { model: '{model}' }).args.slice(0, 2)).toEqual(['--model', '{model}']);
  expect(invoked('claude', { model: 'claude-opus-4-8[1m]' }).args).toContain('claude-opus-4-8[1m]');
  expect(invoked('pi', { model: 'openai/gpt-4o:high' }).args).toContain('gpt-4o:high');
});
