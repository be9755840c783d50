/** The controller as a process of its own: killed while a worker runs, run by a user without rights, flooded. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endLeftovers } from '../../src/process/leftovers.ts';
import { fixture, PATH, processesShowing } from './attempt.ts';
import { bundle, DRIVER } from './bundle.ts';

const TOOLS = { bwrap: 'guard', unshare: 'none', sweep: 'none' } as const;
const NOBODY = ['--reuid=65534', '--regid=65534', '--clear-groups'];
const asRoot = process.getuid?.() === 0;

let folder: string;
let marker: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-exec-test-'));
  chmodSync(folder, 0o777);
  mkdirSync(join(folder, 'workspace'));
  chmodSync(join(folder, 'workspace'), 0o777);
  marker = `mark-${randomBytes(8).toString('hex')}`;
  bundle(DRIVER, join(folder, 'driver.mjs'));
});
afterEach(async () => {
  await endLeftovers({ marker, workspace: join(folder, 'workspace'), leader: null });
  rmSync(folder, { recursive: true, force: true });
});

function start(
  request: Record<string, unknown>,
  options: { launcher?: string[]; stdio?: number[] } = {},
): ChildProcess {
  const file = join(folder, 'request.json');
  writeFileSync(
    file,
    JSON.stringify({
      wanted: 'guard',
      path: PATH,
      reads: true,
      cwd: join(folder, 'workspace'),
      environment: { PATH },
      limits: {
        timeoutMs: 60_000,
        idleTimeoutMs: null,
        providerWaitMs: 10_000,
        graceMs: 300,
        rawOutputBytes: 10_485_760,
      },
      logs: { stdout: join(folder, 'stdout.log'), stderr: join(folder, 'stderr.log') },
      marker,
      ...request,
    }),
  );
  const [program = '', ...args] = [...(options.launcher ?? []), process.execPath, join(folder, 'driver.mjs'), file];
  return spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit', ...(options.stdio ?? [])] });
}

async function answerOf(driver: ChildProcess) {
  let text = '';
  driver.stdout?.on('data', (chunk) => {
    text += chunk;
  });
  await once(driver, 'close');
  return JSON.parse(text.trim().split('\n').at(-1) ?? '');
}

describe('a controller that is killed', () => {
  const killed = async (wanted: string, path: string) => {
    const driver = start({ wanted, path, executable: fixture('ignores-term'), args: [] });
    await once(driver.stdout as NonNullable<typeof driver.stdout>, 'data');
    expect(processesShowing(marker).length).toBeGreaterThan(0);
    driver.kill('SIGKILL');
    await once(driver, 'exit');
  };
  test.each([TOOLS.bwrap, TOOLS.unshare])('takes its namespace with it (%s)', async (wanted) => {
    await killed(wanted, PATH);
    await expect.poll(() => processesShowing(marker), { timeout: 5000 }).toEqual([]);
  });
  test('leaves a swept worker to be found and ended later', async () => {
    await killed('none', '/nonexistent');
    expect(processesShowing(marker).length).toBeGreaterThan(0);
    const processes = await endLeftovers({ marker, workspace: join(folder, 'workspace'), leader: null });
    expect(processes).toMatchObject({ survivors: 0 });
    expect(processes.killed).toBeGreaterThan(0);
    expect(processesShowing(marker)).toEqual([]);
  });
});

describe.runIf(asRoot)('a user without rights', () => {
  const launcher = ['setpriv', ...NOBODY];
  test.each([
    ['guard', 'bwrap', PATH],
    ['none', 'unshare', PATH],
    ['none', 'sweep', '/nonexistent'],
  ])('%s by %s: a daemon is ended, and cancelled workers too', async (wanted, mechanism, path) => {
    const daemon = { wanted, path, executable: fixture('leaves-daemon'), args: [join(folder, 'workspace'), marker] };
    const answer = await answerOf(start(daemon, { launcher }));
    expect(answer.mechanism.mechanism).toBe(mechanism);
    expect(answer.outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(answer.outcome.processes.survivors).toBe(0);
    expect(processesShowing(marker)).toEqual([]);
  });
  test.each([
    ['guard', PATH],
    ['none', PATH],
    ['none', '/nonexistent'],
  ])('%s with PATH %s: a timeout ends a worker that ignores TERM', async (wanted, path) => {
    const limits = { timeoutMs: 400, idleTimeoutMs: null, providerWaitMs: 1000, graceMs: 200, rawOutputBytes: 4096 };
    const stubborn = { wanted, path, limits, executable: fixture('ignores-term'), args: [] };
    const answer = await answerOf(start(stubborn, { launcher }));
    expect(answer.outcome.termination).toEqual({ kind: 'stopped', by: 'total-timeout', signal: 'SIGKILL', code: null });
    expect(answer.outcome.processes.survivors).toBe(0);
    expect(processesShowing(marker)).toEqual([]);
  });
  test.each([
    ['guard', PATH],
    ['none', PATH],
    ['none', '/nonexistent'],
  ])('%s with PATH %s: a worker opens its streams again by name', async (wanted, path) => {
    const again = { wanted, path, executable: fixture('opens-streams-again'), args: [], input: 'hello\n' };
    const answer = await answerOf(start(again, { launcher }));
    expect(answer.outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(answer.outcome.logs.map((log: { bytes_seen: number }) => log.bytes_seen)).toEqual([8, 8]);
  });
  test('guard: a protected folder stays as it is', async () => {
    const guarded = join(folder, 'guarded');
    mkdirSync(guarded);
    chmodSync(guarded, 0o777);
    const script =
      'echo x > "$1/f" || unshare -Urm sh -c \'umount "$1" || mount -o remount,rw,bind "$1"; echo x > "$1/f"\' sh "$1"';
    const request = {
      executable: '/bin/sh',
      args: ['-c', script, 'sh', guarded],
      mounts: { readOnly: [guarded], writable: [] },
    };
    const answer = await answerOf(start(request, { launcher }));
    expect(answer.outcome.termination).toMatchObject({ kind: 'exited' });
    expect(answer.outcome.termination.code).not.toBe(0);
  });
});

test.each([
  ['guard', PATH],
  ['none', PATH],
  ['none', '/nonexistent'],
])('descriptors that the controller was started with do not reach the worker (%s, %s)', async (wanted, path) => {
  const secret = openSync(join(folder, 'secret'), 'w+');
  const stdio = Array<number>(40).fill(secret);
  const driver = start({ wanted, path, executable: fixture('shows-descriptors'), args: [] }, { stdio });
  await answerOf(driver);
  const { readFileSync } = await import('node:fs');
  const shown = readFileSync(join(folder, 'stdout.log'), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  expect(shown.filter((line) => !line.endsWith(' /dev/null'))).toEqual([]);
});

describe('a flood', () => {
  const bytes = Number(process.env.FLOOD_BYTES ?? 200_000_000);
  test.each([
    ['lines, read', 'floods', true],
    ['lines, unread', 'floods', false],
    ['one line, read', 'writes-one-line', true],
  ])('%s: constant memory, little time', async (what, name, reads) => {
    const answer = await answerOf(start({ executable: fixture(name), args: [String(bytes)], reads }));
    expect(answer.outcome.logs[0].bytes_seen).toBe(bytes);
    expect(answer.peakRss).toBeLessThan(150e6);
    const cpuPerGb = (answer.cpuSeconds * 1e9) / bytes;
    if (process.env.FLOOD_BYTES !== undefined) {
      process.stderr.write(
        `${what}: ${bytes} bytes, peak ${Math.round(answer.peakRss / 1e6)} MB, ${cpuPerGb.toFixed(2)} s CPU per GB, ${answer.lines} lines, ${answer.outcome.durationMs} ms\n`,
      );
    }
    expect(cpuPerGb).toBeLessThan(8);
  });
});
