/**
 * Places that cannot be written, from the start or from the middle of the worker's work on: no success, no further
 * candidate, the work in the workspace, and a run that comes later goes well.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NEEDS_ROOT, readOnlyMount, temporaryFolder } from '../store/temporary.ts';
import { midway } from './midway.ts';
import { World } from './world.ts';

const unmountTrial = readOnlyMount(temporaryFolder());
unmountTrial?.();
const skipped = unmountTrial === null;
const WHY = skipped ? ` (${NEEDS_ROOT})` : '';

const WORK = 'cat >/dev/null; echo more >> src/a.txt';
/** Works, says so, and goes on when it is told. */
const WAITING = `${WORK}; touch @D@/ready; until [ -e @D@/go ]; do sleep 0.02; done; echo out`;

function protect(path: string): () => void {
  const undo = readOnlyMount(path);
  if (undo === null) throw new Error(NEEDS_ROOT);
  return undo;
}

function configured(script: string, level: string): World {
  const world = new World();
  world.configure({ one: { script }, two: { script: 'touch @D@/second' } }, [`isolation: ${level}`]);
  return world;
}

/** The places of a repository without which no commit can be published. */
const PLACES = ['.', '.git', '.git/objects', '.git/refs'] as const;

describe.skipIf(skipped)(`what cannot be written${WHY}`, () => {
  test.concurrent.each(PLACES.flatMap((place) => (['start', 'midway'] as const).map((when) => ({ place, when }))))(
    '$place of the repository, from the $when on',
    async ({ place, when }) => {
      const level = when === 'start' ? 'guard' : 'none';
      const world = configured(when === 'start' ? WORK : WAITING, level);
      let undo: () => void = () => {};
      const close = (): void => {
        undo = protect(join(world.repo, place));
      };
      if (when === 'start') close();
      const before = world.canonical();
      const done = await world.run({}, when === 'start' ? {} : midway(world, close));
      expect(world.canonical()).toEqual(before);
      undo();
      const [attempt] = done.receipt.attempts;
      expect(done.code).toBe(6);
      expect(done.receipt).toMatchObject({ outcome: 'blocked', attempts: [{ state: 'failed-unknown' }] });
      expect(done.receipt.reason.message).toMatch(/Read-only file system|cannot lock ref/);
      expect(readFileSync(join(attempt?.cleanup.retained_path ?? '', 'src/a.txt'), 'utf8')).toBe('a\nmore\n');
      expect(existsSync(join(world.folder, 'second'))).toBe(false);
      expect(world.leftovers()).toEqual([]);
      writeFileSync(join(world.folder, 'go'), '');
      expect((await world.run()).code).toBe(0);
    },
  );

  test('a state root from the start: nothing is started', async () => {
    const world = configured('touch @D@/started', 'auto');
    mkdirSync(world.state, { mode: 0o700 });
    const undo = protect(world.state);
    const args = ['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state];
    const done = await world.cli(args);
    undo();
    expect(done).toMatchObject({ code: 3, stdout: '' });
    expect(done.stderr).toContain(`state root ${world.state} cannot be written (EROFS)`);
    expect(done.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(existsSync(join(world.folder, 'started'))).toBe(false);
  });

  test.concurrent.each(['guard', 'none'])('a state root midway, under %s', async (level) => {
    const world = configured(WAITING, level);
    let undo: () => void = () => {};
    const done = await world.run(
      {},
      midway(world, () => {
        undo = protect(world.state);
      }),
    );
    undo();
    const [attempt] = done.receipt.attempts;
    expect(done.code).toBe(6);
    expect(done.receipt).toMatchObject({ outcome: 'blocked', attempts: [{ state: 'failed-unknown' }] });
    expect(done.receipt.reason.message).toMatch(/EROFS|Read-only file system/);
    expect(done.receipt.reason.message).toContain(world.state);
    expect(readFileSync(join(attempt?.cleanup.retained_path ?? '', 'src/a.txt'), 'utf8')).toBe('a\nmore\n');
    expect(existsSync(join(world.folder, 'second'))).toBe(false);
    expect(world.leftovers()).toEqual([]);
    expect((await world.run()).code).toBe(0);
  });
});
