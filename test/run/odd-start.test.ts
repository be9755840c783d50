/** agent-exec started where little is as usual: from cron, without a HOME, in another locale, behind a /tmp that is a symlink. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readOnlyMount } from '../store/temporary.ts';
import { type CliOptions, TOOL, World } from './world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt; echo out';
const onLinux = process.platform === 'linux';

const shellWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A shell line that starts a run of the world's role with these further arguments. */
const commandOf = (world: World, ...args: readonly string[]): string =>
  [process.execPath, TOOL, 'run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state, ...args]
    .map(shellWord)
    .join(' ');

describe.skipIf(!onLinux)('the environment', () => {
  const rows: readonly (readonly [string, CliOptions])[] = [
    ['no HOME', { prelude: 'unset HOME' }],
    ['an empty HOME', { env: { HOME: '' } }],
    ['a HOME that is missing', { env: { HOME: '/nonexistent/home' } }],
    ['a relative HOME', { env: { HOME: 'src/home' } }],
    ['a HOME that is a file', { env: { HOME: '/etc/passwd' } }],
    ['a HOME with a newline and a colon', { env: { HOME: '/tmp/a\nb:c' } }],
    ['no PATH', { prelude: 'unset PATH' }],
    ['a PATH that starts in the current folder', { env: { PATH: `.:src:${process.env.PATH}` } }],
    ['what cron gives', { prelude: 'unset LANG; PATH=/usr/bin:/bin; SHELL=/bin/sh; export SHELL' }],
    ['nothing at all', { prelude: 'exec env -i "$@"' }],
    ['no terminal and a session of its own', { prelude: 'exec setsid -w "$@"' }],
    ['a PWD that lies', { env: { PWD: '/nonexistent', OLDPWD: '/' } }],
    ['a time zone that is none', { env: { TZ: 'Nowhere/Else', COLUMNS: '0', TERM: 'nonsense', FORCE_COLOR: '3' } }],
  ];
  test.concurrent.each(
    rows.flatMap(([title, options]) =>
      (title.includes('HOME') ? ['guard', 'strict'] : ['guard']).map((level) => ({ title, level, options })),
    ),
  )('$title, under $level', async ({ level, options }) => {
    const world = new World();
    world.configure({ one: { script: WORK } }, [`isolation: ${level}`]);
    // What lies in the current folder must not be taken for a program.
    world.script('repo/git', '#!/bin/sh\ntouch @D@/planted\n');
    const done = await world.run({}, options);
    expect(done.code, done.stderr).toBe(0);
    expect(world.git('show', `${done.summary.transport?.ref}:src/a.txt`)).toBe('a\nmore');
    expect(existsSync(join(world.folder, 'planted'))).toBe(false);
    expect(readdirSync(world.repo).sort()).toEqual(['.git', '.gitignore', 'AGENT-EXECUTION.md', 'docs', 'git', 'src']);
    expect(world.leftovers()).toEqual([]);
  });

  test('an empty PATH: git is missing, nothing is started', async () => {
    const world = new World();
    world.configure({ one: { script: 'touch @D@/started' } });
    const args = ['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state];
    const done = await world.cli(args, { env: { PATH: '' } });
    expect(done).toMatchObject({ code: 3, stdout: '' });
    expect(done.stderr).toBe('agent-exec: git is not on PATH. Install git and try again.\n');
    expect(existsSync(world.state)).toBe(false);
  });

  test.each(['guard', 'strict'])('a HOME that cannot be written, under %s', async (level) => {
    const world = new World();
    world.configure({ one: { script: WORK } }, [`isolation: ${level}`]);
    const undo = readOnlyMount(world.home);
    if (undo === null) chmodSync(world.home, 0o500);
    const done = await world.run();
    undo?.();
    chmodSync(world.home, 0o700);
    expect(done.code).toBe(0);
    expect(readdirSync(world.home)).toEqual([]);
  });

  test.concurrent.each([
    { LANG: 'C', LC_ALL: 'C' },
    { LANG: 'de_DE.ISO-8859-1' },
    { LANG: 'ja_JP.eucJP', LC_ALL: 'ja_JP.SJIS' },
    { LANG: 'de_DE.UTF-8', LANGUAGE: 'de', LC_MESSAGES: 'de_DE.UTF-8' },
    { LANG: '\u00e4', LC_ALL: '../../etc' },
  ])('the locale %o: names and text are what they are', async (env) => {
    const world = new World();
    world.configure({
      one: { script: `cat >/dev/null; echo x > 'src/gr\u00f6\u00dfe \u20ac.txt'; printf x > "$(printf 'src/\\377')"` },
    });
    const done = await world.run({ goal: 'Gr\u00f6\u00dfe \u20ac \u{1f600}' }, { env });
    expect(done.code, done.stderr).toBe(0);
    const names = Object.keys(world.tree(done.summary.transport?.commit ?? '')).filter((name) =>
      name.startsWith('src/'),
    );
    const bytes = Buffer.from('src/gr\u00f6\u00dfe \u20ac.txt').toString('latin1');
    expect(names.sort()).toEqual(['src/a.txt', bytes, 'src/\u00ff'].sort());
  });
});

test.skipIf(!onLinux)('`| head -c 1`: the run ends as it would, and its records are there', async () => {
  const world = new World();
  world.configure({ one: { script: WORK } });
  const line = `${commandOf(world, '--receipt', join(world.folder, 'receipt.json'))} 2>&1; echo $? > ${world.folder}/code`;
  const done = spawnSync('/bin/sh', ['-c', `{ ${line}; } | head -c 1`], {
    cwd: world.repo,
    env: { PATH: process.env.PATH, HOME: world.home },
  });
  expect(done.stdout).toHaveLength(1);
  expect(readFileSync(join(world.folder, 'code'), 'utf8')).toBe('0\n');
  expect(JSON.parse(readFileSync(join(world.folder, 'receipt.json'), 'utf8')).outcome).toBe('success');
});

/** bwrap's arguments for a root in which /tmp is a symlink, as on macOS; null where it cannot be made here. */
function linkedTmp(): string[] | null {
  const argv = readdirSync('/')
    .filter((name) => !['tmp', 'dev', 'proc', 'private'].includes(name))
    .flatMap((name) => ['--bind', `/${name}`, `/${name}`]);
  argv.push('--dev', '/dev', '--proc', '/proc', '--bind', '/tmp', '/private/tmp', '--symlink', 'private/tmp', '/tmp');
  return spawnSync('bwrap', [...argv, '--cap-add', 'ALL', 'true']).status === 0 ? [...argv, '--cap-add', 'ALL'] : null;
}

const argv = onLinux ? linkedTmp() : null;

describe.skipIf(!onLinux)('a /tmp that is a symlink', () => {
  test.skipIf(argv === null).each(['none', 'auto'])(
    'isolation %s: the default state root is the folder behind it',
    (level) => {
      if (argv === null) return;
      const world = new World();
      world.configure({ one: { script: `${WORK}; pwd -P > src/where` } }, [`isolation: ${level}`]);
      const done = spawnSync(
        'bwrap',
        [
          ...[...argv, '--chdir', world.repo, process.execPath, TOOL],
          ...['run', '--role', 'repair', '--json', '--unit', world.packet()],
        ],
        { env: { PATH: process.env.PATH, HOME: world.home, TMPDIR: '/tmp' }, encoding: 'utf8' },
      );
      expect(done.status, done.stderr).toBe(0);
      const { receipt, transport, run_id } = JSON.parse(done.stdout);
      const root = `/private/tmp/agent-exec-${process.getuid?.()}`;
      expect(receipt).toBe(`${root}/${run_id}/receipt.json`);
      expect(world.git('show', `${transport.ref}:src/where`)).toMatch(new RegExp(`^${root}/`));
      rmSync(dirname(receipt.replace('/private', '')), { recursive: true });
    },
  );

  test('TMPDIR behind a symlink, and a state root whose parent is one', async () => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    mkdirSync(join(world.folder, 'real'));
    symlinkSync('real', join(world.folder, 'link'));
    writeFileSync(join(world.folder, 'real/mine'), 'mine');
    const done = await world.run(
      {},
      { stateDir: join(world.folder, 'link/state'), env: { TMPDIR: join(world.folder, 'link') } },
    );
    expect(done.code, done.stderr).toBe(0);
    expect(readdirSync(join(world.folder, 'real')).sort()).toEqual(['mine', 'state']);
  });
});
