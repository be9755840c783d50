import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { identityOf, lifeOf, selfIdentity } from '../../src/process/identity.ts';

test('this process is alive; one of its pid from another time or boot is not', () => {
  const self = selfIdentity();
  expect(lifeOf(self)).toBe('alive');
  expect(lifeOf({ ...self, started: self.started + 1 })).toBe('gone');
  expect(lifeOf({ ...self, boot_id: 'another' })).toBe('gone');
});

test('of another container or host nothing is known, whatever its boot', () => {
  const self = selfIdentity();
  const [host = ''] = self.scope.split(' ');
  expect(lifeOf({ ...self, scope: `${host} pid:[1]` })).toBe('unknown');
  expect(lifeOf({ ...self, scope: 'elsewhere pid:[1]' })).toBe('unknown');
  expect(lifeOf({ ...self, scope: 'elsewhere pid:[1]', boot_id: 'another' })).toBe('unknown');
  // A container that was started again after the machine was: its namespace has another number, its host name has not.
  expect(lifeOf({ ...self, scope: `${host} pid:[1]`, boot_id: 'another' })).toBe('gone');
});

test('a process that ended is dead, and a zombie is too', async () => {
  const child = spawn('sh', ['-c', 'sleep 0.01 & echo $!; exec sleep 3600'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [line] = await once(child.stdout, 'data');
  const zombie = Number(String(line));
  const parent = identityOf(child.pid ?? 0);
  expect(parent === null ? null : lifeOf(parent)).toBe('alive');
  const identity = identityOf(zombie);
  // sleep does not wait for its child: once that ends it stays a zombie.
  if (identity !== null) await expect.poll(() => lifeOf(identity)).toBe('gone');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(parent === null ? null : lifeOf(parent)).toBe('gone');
});

test('there is no identity of nobody', () => {
  expect(identityOf(2 ** 22 + 1)).toBeNull();
});
