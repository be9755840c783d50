/** CANCELLED: the host stops a run; its work is kept, its processes are gone, and nothing goes on. */
import { existsSync, watch } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { World } from './world.ts';

/** Resolves when the worker has said that it is ready. */
function ready(world: World): Promise<void> {
  const file = join(world.folder, 'ready');
  return new Promise((resolve) => {
    const watcher = watch(world.folder, () => {
      if (!existsSync(file)) return;
      watcher.close();
      resolve();
    });
    if (existsSync(file)) {
      watcher.close();
      resolve();
    }
  });
}

describe.skipIf(process.platform === 'win32').each(['guard', 'none'])('cancel under %s', (level) => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends with %i and keeps the work', async (signal, exit) => {
    const world = new World();
    world.configure(
      {
        one: {
          script:
            'cat >/dev/null; echo half >> src/a.txt; sh -c "sleep 300; : @MARK@" & echo r > @D@/ready; exec sleep 300',
        },
        two: { script: 'echo never > @D@/second' },
      },
      [`isolation: ${level}`],
    );
    const before = world.canonical();
    const done = await world.run({}, { onStart: (child) => void ready(world).then(() => child.kill(signal)) });
    expect(done.code).toBe(exit);
    expect(done.receipt).toMatchObject({ outcome: 'cancelled', exit_code: exit, reason: { code: 'CANCELLED' } });
    expect(done.receipt.attempts).toHaveLength(1);
    const [attempt] = done.receipt.attempts;
    expect(attempt).toMatchObject({
      state: 'cancelled',
      code: 'CANCELLED',
      termination: { kind: 'stopped', by: 'cancel' },
    });
    expect(world.git('show', `${attempt?.quarantine?.commit}:src/a.txt`)).toBe('a\nhalf');
    expect(attempt?.cleanup).toMatchObject({ exact: true, retained_path: null });
    expect(existsSync(join(world.folder, 'second'))).toBe(false);
    expect(world.canonical()).toEqual(before);
    expect(world.leftovers()).toEqual([]);
  });

  test('a signal during verification takes the success back and keeps its commit', async () => {
    const world = new World();
    world.configure({ one: { script: 'cat >/dev/null; echo more >> src/a.txt' } }, [`isolation: ${level}`]);
    const check = world.script('check', '#!/bin/sh\necho r > @D@/ready; exec sleep 300\n');
    const done = await world.run(
      { verification: [[check]] },
      { args: ['--verify'], onStart: (child) => void ready(world).then(() => child.kill('SIGTERM')) },
    );
    expect(done.code).toBe(143);
    const [attempt] = done.receipt.attempts;
    // The worker itself had ended well; who was stopped is the verification.
    expect(attempt).toMatchObject({ state: 'cancelled', transport: null, termination: { kind: 'exited', code: 0 } });
    expect(attempt?.verification).toMatchObject([{ ok: false, code: null }]);
    expect(world.git('show', `${attempt?.quarantine?.ref}:src/a.txt`)).toBe('a\nmore');
    expect(world.git('for-each-ref', 'refs/agent-exec')).toBe('');
  });
});
