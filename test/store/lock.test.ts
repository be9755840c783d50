import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lutimesSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { identityOf, lifeOf, selfIdentity } from '../../src/process/identity.ts';
import { acquireLock, type Lock } from '../../src/store/lock.ts';
import { bundled, firstLine, outputOf, start } from './child.ts';
import { temporaryFolder } from './temporary.ts';

const held = async (path: string, waitMs = 5000): Promise<Lock> => {
  const lock = await acquireLock(path, { waitMs });
  if (!lock.ok) throw new Error(lock.error.message);
  return lock.value;
};
const HOLDER = bundled(`
  import { acquireLock } from './lock.ts';
  const lock = await acquireLock(process.argv[2]);
  console.log(lock.ok ? 'held' : lock.error.code);
  process.stdin.resume();`);

test('one holder at a time; whoever waits gets it when it is released', async () => {
  const path = join(temporaryFolder(), 'lock');
  const first = await held(path);
  expect(await acquireLock(path, { waitMs: 50 })).toMatchObject({
    ok: false,
    error: { code: 'ELOCKED', message: expect.stringContaining(String(process.pid)) },
  });
  const waiting = held(path);
  await first.release();
  await (await waiting).release();
  expect(readdirSync(join(path, '..'))).toEqual([]);
});

test('a release takes only what is its own', async () => {
  const path = join(temporaryFolder(), 'lock');
  const first = await held(path);
  await first.release();
  const second = await held(path);
  await first.release();
  expect(await acquireLock(path, { waitMs: 20 })).toMatchObject({ error: { code: 'ELOCKED' } });
  await second.release();
});

test('a killed holder is followed by the next one at once', async () => {
  const path = join(temporaryFolder(), 'lock');
  const child = start(HOLDER, [path]);
  expect(await firstLine(child)).toBe('held');
  expect(await acquireLock(path, { waitMs: 50 })).toMatchObject({ error: { code: 'ELOCKED' } });
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  const lock = await held(path);
  await lock.release();
  expect(readdirSync(join(path, '..'))).toEqual([]);
});

describe('whose lock is given up', () => {
  const lockOf = async (change: (me: ReturnType<typeof selfIdentity>) => unknown): Promise<string> => {
    const path = join(temporaryFolder(), 'lock');
    symlinkSync(`0123456789ab ${JSON.stringify(change(selfIdentity()))}`, path);
    return path;
  };
  const outcome = async (path: string): Promise<string> => {
    const lock = await acquireLock(path, { waitMs: 100 });
    return lock.ok ? 'taken' : lock.error.code;
  };

  test('a living process keeps it', async () => {
    expect(await outcome(await lockOf((me) => me))).toBe('ELOCKED');
  });
  test('a pid that another process has by now', async () => {
    expect(await outcome(await lockOf((me) => ({ ...me, started: 1 })))).toBe('taken');
  });
  test('a pid that nobody has', async () => {
    expect(await outcome(await lockOf((me) => ({ ...me, pid: 2 ** 22 + 1 })))).toBe('taken');
  });
  test('a process from before the last boot', async () => {
    expect(await outcome(await lockOf((me) => ({ ...me, boot_id: 'other' })))).toBe('taken');
  });
  test('a process of another container keeps it while it is fresh, however dead it looks from here', async () => {
    const path = await lockOf((me) => ({ ...me, scope: 'elsewhere', pid: 2 ** 22 + 1 }));
    expect(await outcome(path)).toBe('ELOCKED');
    const old = Date.now() / 1000 - 120;
    lutimesSync(path, old, old);
    expect(await outcome(path)).toBe('taken');
  });
  test('what is no lock of ours: a link by age, a file never', async () => {
    const path = await lockOf(() => 'nonsense');
    expect(await outcome(path)).toBe('ELOCKED');
    const file = join(temporaryFolder(), 'lock');
    writeFileSync(file, 'mine');
    expect(await outcome(file)).toBe('EINVAL');
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
  test('a breaker that died while breaking is itself followed', async () => {
    const me = selfIdentity();
    const dead = JSON.stringify({ ...me, started: 1 });
    const path = join(temporaryFolder(), 'lock');
    symlinkSync(`0123456789ab ${dead}`, path);
    symlinkSync(`ba9876543210 ${dead}`, `${path}.break-0123456789ab`);
    expect(await outcome(path)).toBe('taken');
  });
  test('while a living process has the right to break a dead lock, nobody else does', async () => {
    const me = selfIdentity();
    const path = join(temporaryFolder(), 'lock');
    symlinkSync(`0123456789ab ${JSON.stringify({ ...me, started: 1 })}`, path);
    symlinkSync(`ba9876543210 ${JSON.stringify(me)}`, `${path}.break-0123456789ab`);
    expect(await outcome(path)).toBe('ELOCKED');
    expect(readlinkSync(path)).toMatch(/^0123456789ab /);
  });
  test('a process is alive until it has ended, also before anyone has reaped it', async () => {
    const stateOf = (pid: number): string => {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0] ?? '';
    };
    // The shell turns into `cat`, which never reaps the child that it inherits; once it echoes, it is `cat`.
    const parent = spawn('bash', ['-c', 'sleep 600 & echo $!; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
    parent.stdin.write('cat\n');
    let said = '';
    while (!said.includes('cat\n')) said += String((await once(parent.stdout, 'data'))[0]);
    const pid = Number(said.split('\n')[0]);
    const identity = identityOf(pid) ?? { ...selfIdentity(), started: 0 };
    expect(lifeOf(identity)).toBe('alive');
    process.kill(pid, 'SIGKILL');
    while (stateOf(pid) !== 'Z') await new Promise((resolve) => setImmediate(resolve));
    expect(lifeOf(identity)).toBe('gone');
    parent.stdin.end();
  });
});

test('a crowd that finds a dead holder: one at a time, every one once', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'lock');
  const script = bundled(`
    import { appendFileSync, existsSync, symlinkSync, writeFileSync, unlinkSync } from 'node:fs';
    import { acquireLock } from './lock.ts';
    import { selfIdentity } from '../process/identity.ts';
    const [, , path, marker, log] = process.argv;
    const dead = JSON.stringify({ ...selfIdentity(), started: 1 });
    console.log('ready');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    for (let i = 0; i < 60; i++) {
      const lock = await acquireLock(path, { waitMs: 60_000 });
      if (!lock.ok) throw new Error(lock.error.message);
      // Two at once would find each other's marker.
      writeFileSync(marker, '', { flag: 'wx' });
      appendFileSync(log, process.pid + '\\n');
      unlinkSync(marker);
      await lock.value.release();
      // And now and then a holder dies.
      if (i % 3 === 0) try { symlinkSync(Math.random().toString(16).slice(2, 14).padEnd(12, '0') + ' ' + dead, path); } catch {}
    }
    process.exit(0);`);
  const children = Array.from({ length: 6 }, () => start(script, [path, join(folder, 'marker'), join(folder, 'log')]));
  const ready = children.map((child) => firstLineKeepingOutput(child));
  await Promise.all(ready);
  const ends = children.map((child) => outputOf(child));
  for (const child of children) child.stdin?.write('go\n');
  await Promise.all(ends);
  const lines = readFileSync(join(folder, 'log'), 'utf8').trim().split('\n');
  expect(lines).toHaveLength(360);
  for (const child of children) expect(lines.filter((line) => line === String(child.pid))).toHaveLength(60);
});

/** Waits for the first output without consuming the stream's end. */
function firstLineKeepingOutput(child: ReturnType<typeof start>): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    child.once('error', reject);
  });
}

test('without a descriptor to look with nobody is taken for dead', async () => {
  const script = bundled(`
    import { openSync } from 'node:fs';
    import { lifeOf, selfIdentity } from '../process/identity.ts';
    const self = selfIdentity();
    const before = lifeOf(self);
    try { for (;;) openSync('/dev/null', 'r'); } catch {}
    const without = lifeOf(self);
    process.exit(before === 'alive' && without === 'unknown' ? 0 : 1);`);
  expect(await outputOf(start(script, [], { shellPrefix: 'ulimit -n 64;' }))).toBe('');
});
