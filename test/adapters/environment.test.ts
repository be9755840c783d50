/** What of the host's environment a worker gets: the allow-list, its own adapter's names, and nothing else. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { customAdapter } from '../../src/adapters/custom.ts';
import { baseEnvironment, workerEnvironment } from '../../src/adapters/environment.ts';
import { builtInAdapter, builtInAdapters } from '../../src/adapters/registry.ts';
import { statePaths } from '../../src/adapters/state-path.ts';
import type { Adapter } from '../../src/model/adapter.ts';
import type { Cost } from '../../src/model/config.ts';

const HOST = {
  PATH: '/bin',
  HOME: '/home/u',
  LANG: 'C.UTF-8',
  LC_TIME: 'C',
  XDG_RUNTIME_DIR: '/run/user/1',
  https_proxy: 'http://proxy:3128',
  NODE_EXTRA_CA_CERTS: '/ca.pem',
  TMPDIR: '/tmp',
  TERM: 'xterm-256color',
  NODE_OPTIONS: '--require ./evil.js',
  LD_PRELOAD: '/evil.so',
  GIT_DIR: '/repo/.git',
  GIT_SSH_COMMAND: 'ssh',
  SECRET: 'of another program',
  ANTHROPIC_API_KEY: 'sk-ant-key',
  CLAUDE_CODE_OAUTH_TOKEN: 'oauth-token',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  OPENAI_API_KEY: 'sk-openai',
};
const worker = (
  adapter: Pick<Adapter, 'credentials' | 'environment'>,
  cost: Cost,
  hostEnv: Record<string, string> = HOST,
) =>
  workerEnvironment({
    hostEnv,
    adapter,
    cost,
    invocationEnvironment: { IS_SANDBOX: '1' },
    chain: 'chain-value',
    attempt: 'attempt-value',
    tmpDir: '/run/attempt/tmp',
  });
const claude = builtInAdapter('claude') as Adapter;

test('the base is the allow-list and the marks of an unattended run', () => {
  expect(baseEnvironment({ ...HOST, USER: undefined, SHELL: '' })).toEqual({
    PATH: '/bin',
    HOME: '/home/u',
    LANG: 'C.UTF-8',
    LC_TIME: 'C',
    XDG_RUNTIME_DIR: '/run/user/1',
    https_proxy: 'http://proxy:3128',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    TMPDIR: '/tmp',
    TERM: 'dumb',
    NO_COLOR: '1',
    CI: '1',
  });
});

describe('a worker', () => {
  test('gets its login, its settings and no key that bills by use', () => {
    const { environment, credentials, withheld } = worker(claude, 'subscription');
    expect(environment).toEqual({
      ...baseEnvironment(HOST),
      CLAUDE_CODE_OAUTH_TOKEN: 'oauth-token',
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      IS_SANDBOX: '1',
      TMPDIR: '/run/attempt/tmp',
      AGENT_EXEC_CHAIN: 'chain-value',
      AGENT_EXEC_ATTEMPT: 'attempt-value',
    });
    expect(credentials).toEqual({ CLAUDE_CODE_OAUTH_TOKEN: 'oauth-token' });
    expect(withheld).toEqual(['ANTHROPIC_API_KEY']);
  });

  test('gets its keys where its cost is metered, and nobody else’s', () => {
    const { environment, credentials, withheld } = worker(claude, 'metered');
    expect(environment).toMatchObject({ ANTHROPIC_API_KEY: 'sk-ant-key' });
    expect(environment).not.toHaveProperty('OPENAI_API_KEY');
    expect(credentials).toEqual({ CLAUDE_CODE_OAUTH_TOKEN: 'oauth-token', ANTHROPIC_API_KEY: 'sk-ant-key' });
    expect(withheld).toEqual([]);
  });

  test('no adapter passes any of its keys below metered', () => {
    for (const adapter of builtInAdapters) {
      const hostEnv = Object.fromEntries(adapter.credentials.metered.map((name) => [name, 'a-key']));
      for (const cost of ['local', 'subscription'] as const) {
        const { environment, withheld } = worker(adapter, cost, hostEnv);
        expect(Object.values(environment)).not.toContain('a-key');
        expect(withheld).toEqual(adapter.credentials.metered);
      }
      expect(Object.keys(worker(adapter, 'metered', hostEnv).credentials)).toEqual(adapter.credentials.metered);
    }
  });

  test('an owner’s pass_env is passed and kept secret, but neither git’s variables nor what everybody gets', () => {
    const custom = customAdapter('own', {
      base_argv: ['-'],
      run_everything_argv: [],
      workspace_argv: [],
      model_argv: [],
      prompt_transport: 'stdin',
      output_format: 'text',
      pass_env: ['SECRET', 'GIT_DIR', 'HOME', 'TERM', 'AGENT_EXEC_CHAIN', 'MISSING'],
    });
    const { environment, credentials } = worker(custom, 'local');
    expect(credentials).toEqual({ SECRET: 'of another program' });
    expect(environment).toMatchObject({ SECRET: 'of another program', TERM: 'dumb', AGENT_EXEC_CHAIN: 'chain-value' });
    expect(environment).not.toHaveProperty('GIT_DIR');
  });

  test('an API key in pass_env is an API key: passed where its cost is authorised', () => {
    const custom = customAdapter('own', {
      base_argv: ['-'],
      run_everything_argv: [],
      workspace_argv: [],
      model_argv: [],
      prompt_transport: 'stdin',
      output_format: 'text',
      pass_env: ['SECRET', 'ANTHROPIC_API_KEY'],
    });
    const hostEnv = { SECRET: 'of another program', ANTHROPIC_API_KEY: 'sk' };
    expect(worker(custom, 'subscription', hostEnv)).toMatchObject({
      credentials: { SECRET: 'of another program' },
      withheld: ['ANTHROPIC_API_KEY'],
    });
    expect(worker(custom, 'subscription', hostEnv).environment).not.toHaveProperty('ANTHROPIC_API_KEY');
    expect(worker(custom, 'metered', hostEnv).credentials).toEqual(hostEnv);
  });

  test('law: no variable of git and none outside the lists ever passes', () => {
    const name = fc.oneof(
      fc.constantFrom(...Object.keys(HOST), 'GIT_CONFIG_GLOBAL', 'git_dir', '__proto__', 'constructor'),
      fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,12}$/),
    );
    fc.assert(
      fc.property(fc.dictionary(name, fc.string(), { noNullPrototype: true }), (hostEnv) => {
        const { environment } = worker(claude, 'metered', hostEnv);
        const known = new Set([
          ...Object.keys(baseEnvironment(hostEnv)),
          ...Object.values(claude.credentials).flat(),
          ...Object.keys(claude.environment),
          ...['IS_SANDBOX', 'TMPDIR', 'AGENT_EXEC_CHAIN', 'AGENT_EXEC_ATTEMPT'],
        ]);
        for (const passed of Object.keys(environment)) {
          expect(known).toContain(passed);
          expect(passed).not.toMatch(/^git_/i);
        }
      }),
    );
  });
});

test('state folders follow their variable, else HOME', () => {
  const paths = (builtInAdapter('opencode') as Adapter).loginFiles;
  expect(statePaths(paths, { HOME: '/home/u' })).toEqual(['/home/u/.local/share/opencode/auth.json']);
  expect(statePaths(paths, { HOME: '/home/u', XDG_DATA_HOME: '/data/' })).toEqual(['/data/opencode/auth.json']);
  expect(statePaths(claude.stateFolders, { HOME: '/home/u', CLAUDE_CONFIG_DIR: '/c' })).toEqual([
    '/c',
    '/home/u/.claude.json',
  ]);
  expect(statePaths(paths, {})).toEqual([]);
  expect(statePaths(paths, { XDG_DATA_HOME: 'relative' })).toEqual([]);
  const cursor = builtInAdapter('cursor') as Adapter;
  expect(statePaths(cursor.stateFolders, { HOME: '/h' })).toEqual(['/h/.cursor', '/h/.config/cursor']);
});
