/** What is taken for a credential, what is not, and that other findings do not show it. */
import { describe, expect, test } from 'vitest';
import { looksLikeToken, namesCredential } from '../../src/config/credentials.ts';
import { edit, findingsOf } from './sample.ts';

test.each([
  'api_key',
  'apiKey',
  'API-KEY',
  'token',
  'github_token',
  'auth_token',
  'client_secret',
  'password',
  'db.passwd',
  'access_key',
  'privateKey',
  'credentials',
  'authorization',
])('%s names a credential', (key) => expect(namesCredential(key)).toBe(true));
test.each([
  'max_tokens',
  'token_limit',
  'tokens',
  'model',
  'keyboard',
  'author',
  'secretary',
  'raw_output_bytes',
  'pass_env',
  'required_help',
])('%s does not', (key) => expect(namesCredential(key)).toBe(false));

test.each([
  'sk-ant-api03-abcdefghijklmnop',
  'sk-proj-abcdefghijklmnop1234',
  'ghp_abcdefghijklmnopqrstuvwxyz',
  'github_pat_abcdefghijklmnopqrst',
  'glpat-abcdefghijklmnopqrst',
  'xoxb-1234567890-abc',
  'AKIAABCDEFGHIJKLMNOP',
  `AIza${'a'.repeat(35)}`,
  'eyJhbGciOiJI.eyJzdWIiOiIx.abc',
  '-----BEGIN OPENSSH PRIVATE KEY-----',
  'https://user:pass@example.org',
  'Authorization: Bearer abcdefghijkl',
  'ANTHROPIC_API_KEY=x1y2',
  '--token=abc',
])('%s looks like one', (text) => expect(looksLikeToken(text)).toBe(true));

test.each([
  'anthropic/claude-sonnet-4-5-20250929',
  'gpt-5.3-codex-max',
  'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123def456',
  'openrouter/z-ai/glm-4.6:exacto',
  'sonnet[1m]',
  '/nix/store/0123456789abcdfghijklmnpqrsvwxyz-cursor-agent-1.0/bin/cursor-agent',
  '/opt/homebrew/bin/cursor-agent',
  'https://example.org/docs',
  '--token-file=/run/x',
  'ANTHROPIC_API_KEY',
  '--api-key',
  'approval_policy="never"',
])('%s does not', (text) => expect(looksLikeToken(text)).toBe(false));

describe('false alarms', () => {
  test.each([
    [
      'a Nix store path',
      'executable: /opt/own/bin/own',
      'executable: /nix/store/0123456789abcdfghijklmnpqrsvwxyz-own/bin/own',
    ],
    ['a dated slug', 'model: big-1', 'model: anthropic/claude-sonnet-4-5-20250929'],
    ['the name of a variable', '[OWN_HOME]', '[OWN_HOME, OWN_API_KEY]'],
    ['a flag without a value', 'required_help: [--yes]', 'required_help: [--yes, --api-key]'],
    ['a flag for a file', '[run, --quiet]', '[run, --api-key-file, /run/key]'],
    ['a role', '  repair: [', '  secrets: [cursor]\n  repair: ['],
    ['prose in a comment', '# the version', '# the token is read from the environment'],
  ])('%s', (_what, from, to) => {
    expect(findingsOf(edit(from, to))).toEqual([]);
  });
});

describe('other findings do not show it', () => {
  test.each([
    ['on the same line', '    cost: metered', '    password: [hunter2hunter2, {x}]\n    cost: metered'],
    ['below the key', '    cost: metered', '    password: |\n      hunter2hunter2\n    cost: metered'],
    ['continued', '    cost: metered', '    password: "a\n      hunter2hunter2"\n    cost: metered'],
    ['under a mapping', '    cost: metered', '    credentials:\n      user: hunter2hunter2\n    cost: metered'],
    [
      'in a private key',
      '    cost: metered',
      '    # -----BEGIN PRIVATE KEY-----\n    hunter2hunter2\n    # -----END PRIVATE KEY-----\n    cost: metered',
    ],
    ['escaped key', '    cost: metered', '    "pass\\u0077ord": hunter2hunter2\n    cost: metered'],
    [
      'repeated elsewhere',
      '  repair: [cursor, mine]',
      '  repair: [cursor, mine, hunter2hunter2]\n  x: [cursor]\n  password: hunter2hunter2',
    ],
    ['after a flag', '[run, --quiet]', '[run, --password, hunter2hunter2, "a;b"]'],
    ['too short to be looked for', '    cost: metered', '    password: 02020\n    cost: metered'],
    ['in a number', '    cost: metered', '    pin_token: 20202020\n    cost: x'],
  ])('%s', (_what, from, to) => {
    const found = findingsOf(edit(from, to));
    expect(found.filter(({ code }) => code.startsWith('CREDENTIAL_')).length).toBeGreaterThan(0);
    expect(JSON.stringify(found)).not.toMatch(/hunter2|2020/);
  });

  test('words after the info string', () => {
    const found = findingsOf(edit('```agent-execution', '```agent-execution ghp_abcdefghijklmnopqrstuvwxyz'));
    expect(found.map(({ code }) => code)).toEqual(['FENCE_EXTRA_WORDS']);
    expect(JSON.stringify(found)).not.toContain('ghp_');
  });
});
