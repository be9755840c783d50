/** Repositories, receipt places and state roots that no run may use, and streams that it can do without. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliOptions, World } from '../run/world.ts';
import { configFile, isRoot, listing, type Row, refusals, type Wrong } from './refusals.ts';

/** Moves the world to another folder, made by `make`. */
const elsewhere = (world: World, make: (path: string) => void): Wrong => {
  const path = join(world.folder, 'elsewhere');
  make(path);
  return { options: { cwd: path } };
};

const REPOSITORIES: readonly Row[] = [
  {
    title: 'no repository',
    exit: 3,
    code: 'NOT_A_REPOSITORY',
    says: ['elsewhere', '--repo'],
    make: (world) => elsewhere(world, (path) => mkdirSync(path)),
  },
  {
    title: 'a bare repository',
    exit: 3,
    code: 'BARE_REPOSITORY',
    says: ['elsewhere', 'bare'],
    make: (world) => elsewhere(world, (path) => world.git('clone', '-q', '--bare', '.', path)),
  },
  {
    title: 'a repository without a commit',
    exit: 3,
    code: 'UNBORN_HEAD',
    says: ['elsewhere', 'refs/heads/main'],
    make: (world) =>
      elsewhere(world, (path) => {
        world.git('init', '-q', '-b', 'main', path);
        copyFileSync(configFile(world), join(path, 'AGENT-EXECUTION.md'));
      }),
  },
  {
    title: 'a git directory',
    exit: 3,
    code: 'NO_WORKTREE',
    says: ['.git', '--repo'],
    make: (world) => ({ options: { cwd: join(world.repo, '.git') } }),
  },
  {
    title: 'a folder that is not there',
    exit: 3,
    code: 'REPOSITORY_MISSING',
    says: ['/nonexistent'],
    make: () => ({ args: ['--repo', '/nonexistent'] }),
  },
  {
    title: 'a file as the repository',
    exit: 3,
    code: 'REPOSITORY_MISSING',
    says: ['a.txt', 'not a folder'],
    make: () => ({ args: ['--repo', 'src/a.txt'] }),
  },
  {
    title: 'no git',
    exit: 3,
    code: 'GIT_MISSING',
    says: ['git is not on PATH', 'Install'],
    make: () => ({ options: { env: { PATH: '/nonexistent' } } }),
  },
  {
    title: 'a repository of somebody else',
    exit: 3,
    code: 'DUBIOUS_OWNERSHIP',
    says: ['safe.directory'],
    needsRoot: true,
    make: (world) => {
      execFileSync('chown', ['-R', '65534', world.repo]);
      return {};
    },
  },
  {
    title: 'a HEAD that is damaged',
    exit: 3,
    code: null,
    says: ['repo'],
    make: (world) => {
      writeFileSync(join(world.repo, '.git/refs/heads/main'), `${'ab'.repeat(20)}\n`);
      return {};
    },
  },
  ...(
    [
      ['nowhere', 'BASE_UNKNOWN'],
      ['--all', 'BASE_INVALID'],
      ['-n', 'BASE_INVALID'],
      ['', 'BASE_INVALID'],
      ['HEAD:src/a.txt', 'BASE_INVALID'],
      ['HEAD^{tree}', 'BASE_INVALID'],
      ['HEAD~9', 'BASE_UNKNOWN'],
      ['a\nb', 'BASE_INVALID'],
      ['ab'.repeat(20), 'BASE_UNKNOWN'],
    ] as const
  ).map(
    ([rev, code]): Row => ({
      title: `the base ${JSON.stringify(rev)}`,
      exit: 3,
      code,
      says: ['--base'],
      make: () => ({ args: [`--base=${rev}`] }),
    }),
  ),
  {
    title: 'a current folder that is gone',
    exit: 2,
    code: null,
    says: ['current folder', 'another one'],
    make: () => ({ options: { prelude: 'mkdir ../gone; cd ../gone; rmdir ../gone' } }),
  },
];

const RECEIPTS: readonly Row[] = (
  [
    ['a file', 'taken', (path) => writeFileSync(path, 'mine'), 'exists'],
    ['a folder', 'folder', (path) => mkdirSync(path), 'exists'],
    ['a link', 'link', (path) => symlinkSync('home', path), 'exists (symlink)'],
    ['a link to nowhere', 'dangling', (path) => symlinkSync('nowhere', path), 'exists (symlink)'],
    ['a fifo', 'fifo', (path) => execFileSync('mkfifo', [path]), 'exists (special file)'],
    ['a folder that is missing', 'no/where', () => {}, 'does not exist'],
    ['a folder that is a file', 'file/receipt', (path) => writeFileSync(join(path, '..'), ''), 'is not a folder'],
    ['a place of the repository that is not ignored', 'repo/src/receipt.json', () => {}, '.gitignore'],
    ['a tracked file that was deleted', 'repo/src/a.txt', (path) => rmSync(path), '.gitignore'],
    ['the git directory', 'repo/.git/receipt.json', () => {}, 'git directory'],
    ['a future ref', 'repo/.git/refs/heads/receipt', () => {}, 'git directory'],
    ['a folder name', 'new/', () => {}, '--receipt'],
  ] as const satisfies readonly (readonly [string, string, (path: string) => void, string])[]
).map(
  ([title, place, make, word]): Row => ({
    title: `a receipt at ${title}`,
    exit: 2,
    code: null,
    says: ['--receipt', place.split('/').at(-1) || 'new', word],
    make: (world) => {
      const path = `${world.folder}/${place}`;
      make(path);
      return { args: ['--receipt', path] };
    },
  }),
);

const STATE_ROOTS: readonly Row[] = (
  [
    ['a link', 'root', (path) => symlinkSync('home', path), ['symlink']],
    ['open to the group', 'root', (path) => mkdirSync(path, { mode: 0o750 }), ['mode 0750', 'chmod 700']],
    ['open to all', 'root', (path) => mkdirSync(path, { mode: 0o755 }), ['mode 0755', 'chmod 700']],
    ['a file', 'root', (path) => writeFileSync(path, ''), ['not a folder']],
    ['below a folder with a dot', '.hidden/root', (path) => mkdirSync(join(path, '..')), ['.hidden']],
    ['a folder with a dot', '.root', () => {}, ['.root']],
    ['inside the repository', 'repo/state', () => {}, ['inside the repository']],
    ['inside the git directory', 'repo/.git/state', () => {}, ['.git']],
    ['below nothing', 'no/where', () => {}, ['parent', 'does not exist']],
  ] as const satisfies readonly (readonly [string, string, (path: string) => void, readonly string[]])[]
).flatMap(([title, place, make, says]): Row[] =>
  (['--state-dir', 'AGENT_EXEC_STATE_DIR'] as const).map((by) => ({
    title: `a state root that is ${title}, by ${by}`,
    exit: 3,
    code: 'STATE_ROOT_INVALID',
    says,
    make: (world) => {
      const path = `${world.folder}/${place}`;
      make(path);
      if (by === '--state-dir') return { args: [by, path] };
      return { options: { env: { [by]: path } } };
    },
  })),
);

refusals('repositories', REPOSITORIES);
refusals('receipt paths', RECEIPTS);
refusals('state roots', STATE_ROOTS);

test.skipIf(!isRoot)('a state root of somebody else', async () => {
  const world = new World();
  world.configure({ one: { script: 'exit 0' } });
  mkdirSync(world.state, { mode: 0o700 });
  execFileSync('chown', ['65534', world.state]);
  const before = listing(world.folder);
  const unit = ['--goal', 'x', '--allow', 'src/'];
  const done = await world.cli(['run', '--role', 'repair', ...unit, '--state-dir', world.state]);
  expect(done.code).toBe(3);
  expect(done.stderr).toContain('belongs to user 65534');
  expect(done.stdout).toBe('');
  expect(listing(world.folder)).toEqual(before);
});

describe('a run whose reader went away still runs', () => {
  test.each([
    ['the reader of stdout is gone', { onStart: (child) => child.stdout?.destroy() }],
    ['the readers of both are gone', { onStart: (child) => [child.stdout?.destroy(), child.stderr?.destroy()] }],
    ['stdout was never open', { prelude: 'exec >&-' }],
    ['nothing was ever open', { prelude: 'exec <&- >&- 2>&-' }],
  ] as const satisfies readonly (readonly [string, CliOptions])[])('%s', async (_, options) => {
    const world = new World();
    world.configure({ one: { script: 'cat >/dev/null; echo more >> src/a.txt' } });
    const path = join(world.folder, 'receipt.json');
    const done = await world.cli(
      ['run', '--role', 'repair', '--unit', world.packet(), '--receipt', path, '--state-dir', world.state],
      options,
    );
    expect(done.code, done.stderr).toBe(0);
    expect(JSON.parse(readFileSync(path, 'utf8')).outcome).toBe('success');
  });
});
