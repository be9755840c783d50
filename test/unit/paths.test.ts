import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allowedPathProblems } from '../../src/unit/allowed-paths.ts';
import { isExecutedPath } from '../../src/unit/executed-paths.ts';
import { isDotGit } from '../../src/unit/git-names.ts';
import { nearest } from '../../src/unit/nearest.ts';
import { quoted } from '../../src/unit/quoted.ts';
import { isSecretPath } from '../../src/unit/secret-paths.ts';

const codesOf = (entry: string) => allowedPathProblems(entry).map(({ code }) => code);

describe('allowed paths', () => {
  test.each([
    'src/parser.ts',
    'src/',
    'src',
    '*',
    '**',
    '**/*.ts',
    'src/**',
    'app/[slug]/page.tsx',
    'a b/c',
    '-x',
    'a?',
    '...',
    'a..b',
    '.gitignore',
    '.github/workflows/ci.yml',
    '.gitattributes',
    'AGENT-EXECUTION.md',
    '.env.example',
    'README',
    'grüße/日本.txt',
    'git',
    'git~2',
    '.gitx',
    'x.git',
    '{a,b}',
    '!a',
    '#a',
    '~',
    'a:b',
    '"',
    '.github/',
    '.husky/',
  ])('%s is legal', (entry) => {
    expect(codesOf(entry)).toEqual([]);
  });

  test.each([
    ['', ['PATH_EMPTY']],
    ['/', ['PATH_ABSOLUTE']],
    ['/etc/passwd', ['PATH_ABSOLUTE']],
    ['C:/x', ['PATH_ABSOLUTE']],
    ['c:\\x', ['PATH_ABSOLUTE', 'PATH_BACKSLASH']],
    ['a//b', ['PATH_EMPTY_SEGMENT']],
    ['a//', ['PATH_EMPTY_SEGMENT']],
    ['.', ['PATH_DOT_SEGMENT']],
    ['./a', ['PATH_DOT_SEGMENT']],
    ['a/..', ['PATH_DOT_SEGMENT']],
    ['a/../b', ['PATH_DOT_SEGMENT']],
    ['a/./', ['PATH_DOT_SEGMENT']],
    ['.git', ['PATH_GIT']],
    ['.git/', ['PATH_GIT']],
    ['a/.GIT/config', ['PATH_GIT']],
    ['git~1/x', ['PATH_GIT']],
    ['.git . ./x', ['PATH_GIT']],
    ['.git::$INDEX_ALLOCATION/x', ['PATH_GIT']],
    ['.g\u200cit/x', ['PATH_GIT']],
    ['\ufeff.git', ['PATH_GIT']],
    ['.git.\u200c', ['PATH_GIT']],
    ['a\\b', ['PATH_BACKSLASH']],
    ['a\nb', ['PATH_CONTROL_CHARACTER']],
    ['a\u0085b', ['PATH_CONTROL_CHARACTER']],
    ['a\u007f', ['PATH_CONTROL_CHARACTER']],
    ['.env', ['PATH_SECRET']],
    ['.env*', ['PATH_SECRET']],
    ['**/*.pem', ['PATH_SECRET']],
    ['.ssh/**', ['PATH_SECRET']],
    ['config/id_rsa*', ['PATH_SECRET']],
    ['.[e]nv', ['PATH_SECRET']],
    ['a/*.pe[mM]', ['PATH_SECRET']],
    ['.env.', ['PATH_SECRET']],
    ['.npmrc::$DATA', ['PATH_SECRET']],
    ['[.]git/config', ['PATH_GIT']],
    ['a'.repeat(5000), ['PATH_TOO_LONG']],
    ['../.git/\\', ['PATH_DOT_SEGMENT', 'PATH_GIT', 'PATH_BACKSLASH']],
  ])('%j breaks %j', (entry, codes) => {
    expect(codesOf(entry)).toEqual(codes);
  });

  test('a message never carries a raw control or hidden character, and stays short', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (entry) => {
        for (const { message } of allowedPathProblems(entry)) {
          expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
          expect(message.length).toBeLessThan(1000);
        }
      }),
    );
    expect(quoted('x'.repeat(1000)).length).toBe(83);
    expect(quoted('\u202e\u001b')).toBe('"\\u{202e}\\u{1b}"');
  });
});

test('every disguise of .git that git itself refuses is recognised, and its look-alikes are not', () => {
  const ignored = fc.constantFrom('', '\u200c', '\u200f', '\u202a', '\u206a', '\u206f', '\ufeff');
  const letters = fc.constantFrom(['g', 'i', 't'], ['G', 'i', 'T'], ['G', 'I', 'T']);
  fc.assert(
    fc.property(
      ignored,
      ignored,
      ignored,
      letters,
      fc.constantFrom('', '.', ' ', '. .', ':', '. :x', '::$DATA'),
      (a, b, c, [g, i, t], tail) => {
        expect(isDotGit(`${a}.${b}${g}${c}${i}${t}${tail}`)).toBe(true);
        expect(isDotGit(`${g}${i}${t}~1${tail}`)).toBe(true);
        expect(isDotGit(`.${g}${i}${t}x${tail}`)).toBe(false);
      },
    ),
  );
});

describe('secrets', () => {
  test.each([
    '.env',
    'a/.env',
    '.ENV',
    '.env.local',
    '.env.production',
    '.envs/../.env',
    'x.pem',
    'X.PEM',
    'certs/server.key',
    'id_rsa',
    'id_ed25519',
    'keys/id_ecdsa_sk',
    '.env.',
    '.ENV ',
    '.npmrc::$DATA',
    'a.pem. .',
    '.ssh /config',
    'id_rsa_github',
    'id_rsa.bak',
    '.npmrc',
    'a/.npmrc',
    '.netrc',
    '_netrc',
    '.pypirc',
    '.aws/credentials',
    'home/.aws/config',
    '.ssh/known_hosts',
    '.ssh',
    '.ssh/',
    '.gnupg/x',
    '.kube/config',
    '.docker/config.json',
    'a.p12',
    'a.pfx',
    'a.jks',
    'release.keystore',
    '.git-credentials',
    'credentials.json',
    '.cargo/credentials.toml',
    'public.pem',
    '.env.sample',
    'a/.env.template',
    '.env.production.example',
  ])('%s is one', (path) => {
    expect(isSecretPath(path)).toBe(true);
  });
  test.each([
    '.env.example',
    '.envrc',
    'env',
    'src/env.ts',
    'x.env.ts',
    'src/keyboard.key.ts',
    'pem.ts',
    'key',
    'src/key/index.ts',
    'id_rsa.pub',
    'id_rsa_github.pub',
    'id_rsa.ts',
    'id_card.png',
    'android/app/debug.keystore',
    '.kube/readme',
    'config.json',
    'docs/aws/x',
    '.awsx/y',
    'npmrc',
    'credentials.ts',
    'monkey.json',
  ])('%s is none', (path) => {
    expect(isSecretPath(path)).toBe(false);
  });
});

describe('executed paths', () => {
  test.each([
    'AGENT-EXECUTION.md',
    'agent-execution.md',
    '.gitattributes',
    'a/b/.gitattributes',
    '.GitAttributes',
    'gitatt~1',
    '.gitmodules',
    'GITMOD~2',
    '.gitattributes.',
    '.husky/pre-commit',
    'web/.husky/_/h',
    '.husky',
    '.githooks/x',
    '.github/workflows/ci.yml',
    '.GITHUB/Workflows/x',
    '.github/actions/a/action.yml',
    '.github/workflows',
    '.gitlab-ci.yml',
    '.circleci/config.yml',
    'Jenkinsfile',
    '.travis.yml',
    'azure-pipelines.yml',
    '.pre-commit-config.yaml',
    'lefthook.yml',
    '.gitlab/ci/x.yml',
    '.buildkite/pipeline.yml',
    '.lfsconfig',
  ])('%s is one', (path) => {
    expect(isExecutedPath(path)).toBe(true);
  });
  test.each([
    'docs/AGENT-EXECUTION.md',
    '.gitignore',
    'a/.gitmodules',
    '.github/CODEOWNERS',
    '.github/ISSUE_TEMPLATE/x.md',
    '.github',
    'templates/.github/workflows/ci.yml',
    'ci/Jenkinsfile',
    'husky/x',
    'gitattributes',
    'README.md',
    '.github/workflowsx/a',
  ])('%s is none', (path) => {
    expect(isExecutedPath(path)).toBe(false);
  });
});

test.each([
  ['gaol', 'goal'],
  ['allowedPaths', 'allowed_paths'],
  ['allowed-path', 'allowed_paths'],
  ['timeout', null],
  ['xy', null],
  ['', null],
  ['x'.repeat(100_000), null],
])('nearest to %j is %j', (word, expected) => {
  expect(nearest(word, ['goal', 'allowed_paths', 'timeout_seconds', 'network'])).toBe(expected);
});

test('git itself, told to protect NTFS and HFS+, refuses the same names', () => {
  const parts = [
    '.git',
    'git~1',
    'git',
    '.gi',
    't',
    '.',
    ' ',
    '~1',
    ':',
    '\u200c',
    '\u200b',
    '\u202e',
    '\u2060',
    '\ufeff',
    'x',
    'İ',
    'ı',
    'K',
    '\u00ad',
    '~2',
  ];
  const names = fc
    .sample(fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 4 }), { numRuns: 3000, seed: 7 })
    .flatMap((pieces) => [pieces.join(''), `.git${pieces.slice(1).join('')}`, pieces.join('').toUpperCase()])
    .filter((name) => name !== '.' && name !== '..');
  const folder = mkdtempSync(join(tmpdir(), 'ax-dotgit-'));
  const git = (args: string[], input?: string) =>
    spawnSync('git', ['-C', folder, '-c', 'core.protectNTFS=true', '-c', 'core.protectHFS=true', ...args], {
      input,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
  git(['init', '-q']);
  const blob = git(['hash-object', '-w', '--stdin'], '').stdout.trim();
  const unique = [...new Set(names)];
  git(['update-index', '-z', '--index-info'], unique.map((name) => `100644 ${blob}\t${name}/file\0`).join(''));
  const accepted = new Set(
    git(['ls-files', '-z'])
      .stdout.split('\0')
      .map((path) => path.replace(/\/file$/, '')),
  );
  expect(accepted.size).toBeGreaterThan(1000);
  const refused = unique.filter((name) => !accepted.has(name));
  expect(refused.length).toBeGreaterThan(100);
  expect(refused.filter((name) => !isDotGit(name))).toEqual([]);
  // We go further only where both systems' rules would have to apply to one name.
  expect(
    unique
      .filter((name) => isDotGit(name) && accepted.has(name))
      .filter((name) => !/[\u200c-\u200f\u202a-\u202e\ufeff]/.test(name)),
  ).toEqual([]);
});
