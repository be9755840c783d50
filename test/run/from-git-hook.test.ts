/** agent-exec started from a git hook, with all that git sets for it: its index, its lock, its quarantine of a push. */
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { TOOL, World } from './world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt; echo out';

const shellWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A shell line that starts a run of the world's role with these further arguments. */
const commandOf = (world: World, ...args: readonly string[]): string =>
  [process.execPath, TOOL, 'run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state, ...args]
    .map(shellWord)
    .join(' ');

/** A hook that notes the exit code of a run, and the GIT_ variables that it was given. */
function hook(world: World, path: string, run: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const text = `#!/bin/sh\nenv | grep ^GIT_ | cut -d= -f1 | sort > @D@/given\n${run} >@D@/hook.out 2>@D@/hook.err\necho $? > @D@/code\n`;
  world.script('hook', text);
  symlinkSync(join(world.folder, 'hook'), path);
}
const read = (world: World, name: string): string => readFileSync(join(world.folder, name), 'utf8');

test.each(['pre-commit', 'post-commit'])('in %s, with its index and its lock', async (name) => {
  const world = new World();
  const base = world.configure({ one: { script: WORK } });
  hook(world, join(world.repo, '.git/hooks', name), commandOf(world, '--receipt', join(world.folder, 'receipt.json')));
  world.write('docs/d.txt', 'changed\n');
  world.git('commit', '-q', '-a', '-m', 'by the host');
  expect(read(world, 'given')).toContain('GIT_INDEX_FILE');
  expect(read(world, 'code'), read(world, 'hook.err')).toBe('0\n');
  const receipt = JSON.parse(read(world, 'receipt.json'));
  expect(world.git('show', `${receipt.attempts[0].transport.ref}:src/a.txt`)).toBe('a\nmore');
  // The host's own commit holds what the host put there and nothing of the worker's.
  expect(world.git('diff', '--name-only', base, 'HEAD')).toBe('docs/d.txt');
  expect(world.git('status', '--porcelain')).toBe('');
  expect(receipt.repository.base).toBe(name === 'pre-commit' ? base : world.git('rev-parse', 'HEAD'));
});

test.each(['pre-receive', 'update', 'post-receive'])(
  'in %s of another repository, amid a push that is not accepted yet',
  async (name) => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const other = join(world.folder, 'other.git');
    world.git('clone', '-q', '--bare', '.', other);
    const args = ['--repo', world.repo, '--receipt', join(world.folder, 'receipt.json')];
    hook(world, join(other, 'hooks', name), commandOf(world, ...args));
    world.git('commit', '-q', '--allow-empty', '-m', 'pushed');
    world.git('push', '-q', other, 'main');
    expect(read(world, 'given')).toContain('GIT_DIR');
    if (name === 'pre-receive') expect(read(world, 'given')).toContain('GIT_QUARANTINE_PATH');
    expect(read(world, 'code'), read(world, 'hook.err')).toBe('0\n');
    const receipt = JSON.parse(read(world, 'receipt.json'));
    expect(world.git('show', `${receipt.attempts[0].transport.ref}:src/a.txt`)).toBe('a\nmore');
    expect(world.git('-C', other, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  },
);
