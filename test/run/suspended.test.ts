/** agent-exec stands still for longer than any of the worker's limits, as under Ctrl-Z: what happened meanwhile counts. */
import { existsSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Finished, World } from './world.ts';

const STOPPED_MS = 3500;
const READY = 'cat >/dev/null; echo more >> src/a.txt; touch @D@/ready';

/** Runs the worker with agent-exec stopped from when the worker is ready, for {@link STOPPED_MS}. */
async function suspendedRun(
  script: string,
  level: string,
  seconds: { total: number; idle?: number },
): Promise<Finished & { world: World }> {
  const world = new World();
  const idle = seconds.idle === undefined ? [] : [`idle_timeout_seconds: ${seconds.idle}`];
  world.configure({ one: { script } }, [`isolation: ${level}`, ...idle]);
  const done = await world.run(
    { timeout_seconds: seconds.total },
    {
      onStart: (child) => {
        const watcher = watch(world.folder, async (_, name) => {
          if (name !== 'ready') return;
          watcher.close();
          child.kill('SIGSTOP');
          writeFileSync(join(world.folder, 'go'), '');
          await pause(STOPPED_MS);
          child.kill('SIGCONT');
        });
      },
    },
  );
  expect(world.leftovers()).toEqual([]);
  return { ...done, world };
}

describe.skipIf(process.platform !== 'linux').each(['guard', 'none'])('stopped and continued under %s', (level) => {
  test.concurrent('a worker that was still at it has timed out, and its work is kept', async () => {
    const { receipt, world } = await suspendedRun(`${READY}; exec sleep 300`, level, { total: 2 });
    const [attempt] = receipt.attempts;
    expect(attempt).toMatchObject({
      state: 'failed-clean',
      code: 'TIMEOUT',
      termination: { kind: 'stopped', by: 'total-timeout' },
      cleanup: { exact: true },
    });
    expect(world.git('show', `${attempt?.quarantine?.commit}:src/a.txt`)).toBe('a\nmore');
  });

  test.concurrent('a silent worker was idle, and its work is kept', async () => {
    const { receipt, world } = await suspendedRun(`${READY}; exec sleep 300`, level, { total: 60, idle: 2 });
    expect(receipt.attempts[0]).toMatchObject({ state: 'failed-clean', code: 'IDLE_TIMEOUT' });
    expect(world.git('show', `${receipt.attempts[0]?.quarantine?.commit}:src/a.txt`)).toBe('a\nmore');
    expect(existsSync(join(world.folder, 'ready'))).toBe(true);
  });
});

// The timers fire before what happened meanwhile is read: taken at once, they would call these late, and idle.
test.skipIf(process.platform !== 'linux')(
  'stopped and continued: ended well or talked meanwhile, it has succeeded',
  async () => {
    const ending = `${READY}; until [ -e @D@/go ]; do sleep 0.02; done; exit 0`;
    const talking = `${READY}; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; echo line; done`;
    const runs = ['guard', 'none'].flatMap((level) => [
      suspendedRun(ending, level, { total: 2 }),
      suspendedRun(talking, level, { total: 60, idle: 2 }),
    ]);
    for (const { receipt } of await Promise.all(runs)) {
      expect(receipt).toMatchObject({ outcome: 'success', attempts: [{ termination: { kind: 'exited', code: 0 } }] });
    }
  },
);
