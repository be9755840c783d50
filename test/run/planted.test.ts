/** What a worker leaves where the host's git would meet it, outside of its workspace: programs, configuration, links. */
import { copyFileSync, existsSync, linkSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { AttemptRecord } from '../../src/model/receipt.ts';
import { runInProcess } from './in-process.ts';
import { World } from './world.ts';

const WORKER = 'cat >/dev/null; echo more >> src/a.txt';
const PATH = process.env.PATH ?? '';
const REAL_GIT = PATH.split(':')
  .map((folder) => join(folder, 'git'))
  .find((file) => existsSync(file));

afterEach(() => {
  process.env.PATH = PATH;
});

/** The only attempt of a run with one worker. `meanwhile` is called once the worker has been started. */
async function attemptOf(world: World, level: string, script: string, meanwhile = () => {}): Promise<AttemptRecord> {
  world.configure({ one: { script: `${WORKER}; ${script}` } }, [`isolation: ${level}`]);
  const { running } = await runInProcess(world, (event) => {
    if (event.kind === 'phase' && event.phase === 'worker') meanwhile();
  });
  const done = await running;
  const [attempt] = done.ok ? done.value.receipt.attempts : [];
  if (attempt === undefined) throw new Error(JSON.stringify(done));
  return attempt;
}

const LEVELS = ['guard', 'none'] as const;

describe.skipIf(process.platform !== 'linux').each(LEVELS)('under %s', (level) => {
  test('a git that is put before the real one on PATH is not run', async () => {
    const world = new World();
    const bin = join(world.folder, 'bin');
    mkdirSync(bin);
    process.env.PATH = `${bin}:${PATH}`;
    const planted = world.script('planted', '#!/bin/sh\ntouch @D@/ran\n');
    const attempt = await attemptOf(world, level, `for p in git bwrap unshare sh; do cp ${planted} ${bin}/$p; done`);
    expect(attempt).toMatchObject({ state: 'success', code: 'OK' });
    expect(existsSync(join(bin, 'git'))).toBe(true);
    expect(existsSync(join(world.folder, 'ran'))).toBe(false);
  });

  test('the git itself, overwritten, is not run: nothing is known any more, and the work stays', async () => {
    const world = new World();
    const bin = join(world.folder, 'bin');
    mkdirSync(bin);
    copyFileSync(realpathSync(REAL_GIT ?? ''), join(bin, 'git'));
    process.env.PATH = `${bin}:${PATH}`;
    const planted = world.script('planted', '#!/bin/sh\ntouch @D@/ran\n');
    const attempt = await attemptOf(world, level, `cp ${planted} ${bin}/git`);
    expect(attempt).toMatchObject({ state: 'failed-unknown', code: 'CANONICAL_CHANGED', transport: null });
    expect(attempt.canonical.differences).toContainEqual(
      expect.objectContaining({ what: 'config', path: join(bin, 'git') }),
    );
    expect(readFileSync(join(attempt.cleanup.retained_path ?? '', 'src/a.txt'), 'utf8')).toBe('a\nmore\n');
    expect(existsSync(join(world.folder, 'ran'))).toBe(false);
  });

  test('a new ~/.gitconfig is no success', async () => {
    const world = new World();
    const attempt = await attemptOf(world, level, `git config --global core.fsmonitor @D@/run-me`);
    expect(attempt).toMatchObject({ state: 'failed-unknown', code: 'CANONICAL_CHANGED' });
    const differences = [expect.objectContaining({ what: 'config', path: join(world.home, '.gitconfig') })];
    expect(attempt.canonical.differences).toEqual(expect.arrayContaining(differences));
  });

  test('a file of the checkout that is written by another name of it is no success', async () => {
    const world = new World();
    linkSync(join(world.repo, 'docs/d.txt'), join(world.folder, 'twin'));
    const attempt = await attemptOf(world, level, 'echo pwned >> @D@/twin');
    expect(attempt).toMatchObject({ state: 'failed-unknown', code: 'CANONICAL_CHANGED' });
  });
});

describe.skipIf(process.platform !== 'linux')('what guard keeps as it is', () => {
  test('a ~/.gitconfig that exists, and the worker goes on', async () => {
    const world = new World();
    const file = join(world.home, '.gitconfig');
    writeFileSync(file, '[x]\n\ty = z\n');
    const attempt = await attemptOf(
      world,
      'guard',
      `git config --global x.y w; echo x >> ${file}; rm -f ${file}; true`,
    );
    expect(attempt).toMatchObject({ state: 'success', findings: [] });
    expect(readFileSync(file, 'utf8')).toBe('[x]\n\ty = z\n');
  });

  test('other worktrees and their .git files', async () => {
    const world = new World();
    world.commit();
    const other = join(world.folder, 'other');
    world.git('worktree', 'add', '-q', '-b', 'other', other);
    const link = readFileSync(join(other, '.git'), 'utf8');
    const attempt = await attemptOf(world, 'guard', `echo x >> ${other}/docs/d.txt; echo x > ${other}/.git; true`);
    expect(attempt).toMatchObject({ state: 'success', findings: [] });
    expect(readFileSync(join(other, 'docs/d.txt'), 'utf8')).toBe('d\n');
    expect(readFileSync(join(other, '.git'), 'utf8')).toBe(link);
  });

  test('the host may run gc meanwhile: a finding, and a success', async () => {
    const world = new World();
    world.write('loose', 'loose');
    world.git('hash-object', '-w', 'loose');
    world.git('gc', '-q');
    const attempt = await attemptOf(world, 'guard', 'true', () => world.git('gc', '-q', '--prune=now'));
    expect(attempt.state).toBe('success');
  });
});

test('under none, what is left in the canonical git directory or taken from it is no success', async () => {
  for (const script of ['touch @R@/.git/index.lock', 'rm -rf @R@/.git/objects/pack', 'echo x > @R@/new.log']) {
    const world = new World();
    world.commit();
    world.git('gc', '-q');
    expect(await attemptOf(world, 'none', script)).toMatchObject({ code: 'CANONICAL_CHANGED', transport: null });
  }
});
