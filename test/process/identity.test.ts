import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { identityOf, isAlive, selfIdentity } from '../../src/process/identity.ts';

test('this process is alive; one of its pid from another time or boot is not', () => {
  const self = selfIdentity();
  expect(isAlive(self)).toBe(true);
  expect(isAlive({ ...self, started: self.started + 1 })).toBe(false);
  expect(isAlive({ ...self, bootId: 'another' })).toBe(false);
});

test('a process that ended is dead, and a zombie is too', async () => {
  const child = spawn('sh', ['-c', 'sleep 0.01 & echo $!; exec sleep 3600'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [line] = await once(child.stdout, 'data');
  const zombie = Number(String(line));
  const parent = identityOf(child.pid ?? 0);
  expect(parent === null ? null : isAlive(parent)).toBe(true);
  const identity = identityOf(zombie);
  // sleep does not wait for its child: once that ends it stays a zombie.
  if (identity !== null) await expect.poll(() => isAlive(identity)).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(parent === null ? null : isAlive(parent)).toBe(false);
});

test('there is no identity of nobody', () => {
  expect(identityOf(2 ** 22 + 1)).toBeNull();
});
