/** The repository is renamed while a worker is in it, as a host does by `mv`: no success at a place that is not there. */
import { cpSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { midway } from './midway.ts';
import { World } from './world.ts';

const SCRIPT = 'cat >/dev/null; echo more >> src/a.txt; touch @D@/ready; until [ -e @D@/go ]; do sleep 0.02; done';

describe.skipIf(process.platform !== 'linux').each(['guard', 'none'])('under %s', (level) => {
  test.concurrent.each(['.', '.git'])('%s moved away: failed-unknown, the work in its workspace', async (what) => {
    const world = new World();
    world.configure({ one: { script: SCRIPT }, two: { script: 'touch @D@/second' } }, [`isolation: ${level}`]);
    const from = join(world.repo, what);
    const to = join(world.folder, 'moved');
    const done = await world.run(
      {},
      midway(world, () => renameSync(from, to)),
    );
    const [attempt] = done.receipt.attempts;
    expect(done.code).toBe(6);
    expect(done.receipt).toMatchObject({ outcome: 'blocked', attempts: [{ state: 'failed-unknown' }] });
    expect(readFileSync(join(attempt?.cleanup.retained_path ?? '', 'src/a.txt'), 'utf8')).toBe('a\nmore\n');
    expect(existsSync(join(world.folder, 'second'))).toBe(false);
    expect(world.leftovers()).toEqual([]);
    // Nothing is made where the repository was, but the folder of the telemetry at most.
    expect(existsSync(join(world.folder, 'repo/.git/objects'))).toBe(false);
    expect(existsSync(join(world.folder, 'repo/.git/refs'))).toBe(false);

    // A host that moves it back goes on as ever.
    if (existsSync(from)) renameSync(from, join(world.folder, 'in-the-way'));
    renameSync(to, from);
    expect((await world.run()).code).toBe(0);
  });
});

test.skipIf(process.platform !== 'linux')(
  'replaced by an equal copy under none: the commit is in what is there',
  async () => {
    const world = new World();
    world.configure({ one: { script: SCRIPT } }, ['isolation: none']);
    const old = join(world.folder, 'old');
    const done = await world.run(
      {},
      midway(world, () => {
        renameSync(world.repo, old);
        cpSync(old, world.repo, { recursive: true, preserveTimestamps: true });
      }),
    );
    if (done.code === 0) expect(world.git('show', `${done.summary.transport?.ref}:src/a.txt`)).toBe('a\nmore');
    else expect(done.receipt).toMatchObject({ outcome: 'blocked', exit_code: 6 });
  },
);
