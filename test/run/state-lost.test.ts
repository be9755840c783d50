/** The disk of the run's state fills up: the run stops, nothing more is started, and the answer says why. */
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { StateLostError, stateLost } from '../../src/run/journalled.ts';
import { NEEDS_ROOT, smallDisk } from '../store/temporary.ts';
import { runInProcess } from './in-process.ts';
import { World } from './world.ts';

test('a full disk before the workspace: failed-unknown, and no further candidate', async (context) => {
  const disk = smallDisk(8 * 1024 * 1024);
  if (disk === null) return context.skip(NEEDS_ROOT);
  try {
    const world = new World();
    const script = 'touch @D@/started';
    world.configure({ one: { script }, two: { script } });
    const { running } = await runInProcess(
      world,
      (event) => {
        if (event.kind !== 'phase' || event.phase !== 'workspace') return;
        expect(() => {
          for (;;) appendFileSync(join(disk.path, 'filler'), Buffer.alloc(512));
        }).toThrow('ENOSPC');
      },
      { stateRoot: join(disk.path, 'state') },
    );
    const done = await running;
    if (!done.ok) throw new Error(done.error.problem.message);
    const { receipt } = done.value;
    expect(receipt).toMatchObject({ outcome: 'blocked', exit_code: 6, reason: { code: 'CLEANUP_INEXACT' } });
    expect(receipt.reason.message).toContain('ENOSPC');
    expect(receipt.attempts).toHaveLength(1);
    expect(existsSync(join(world.folder, 'started'))).toBe(false);
  } finally {
    disk.unmount();
  }
});

const systemError = (code: string): Error => Object.assign(new Error(`${code}: said so`), { code, syscall: 'write' });

test('only a disk that takes nothing more is lost state; anything else stays what it is', () => {
  const known = new StateLostError({ code: 'EACCES', message: 'journal' });
  expect(stateLost(known)).toBe(known);
  for (const code of ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO']) {
    expect(stateLost(systemError(code)).message).toBe(
      `the run's state could not be written (${code}): ${code}: said so`,
    );
  }
  for (const error of [systemError('EACCES'), new TypeError('a bug')]) expect(() => stateLost(error)).toThrow(error);
});
