/** What a worker finds as stdin, stdout and stderr, and what happens where they cannot be made. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makePipes } from '../../src/process/pipes.ts';
import { openStandardStreams } from '../../src/process/standard-streams.ts';
import {
  type Attempt,
  attempt,
  bwrap,
  expectNobodyLeft,
  MECHANISMS,
  PATH,
  processesShowing,
  scratch,
} from './attempt.ts';
import { bundle } from './bundle.ts';

const input = (written: string | Buffer) => ({ stdin: { kind: 'bytes', bytes: Buffer.from(written) } }) as const;
const descriptors = (): string[] => readdirSync('/proc/self/fd');

describe.each([...MECHANISMS, { name: 'strict bwrap', containment: { ...bwrap, level: 'strict' } as typeof bwrap }])(
  'a worker under $name',
  ({ containment }) => {
    let one: Attempt;
    beforeEach(() => {
      one = attempt(containment);
    });
    afterEach(() => {
      expectNobodyLeft(one.marker);
      one.remove();
    });

    test('opens its streams again by name', async () => {
      const outcome = await one.run('opens-streams-again', [], input('hello\n'));
      expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
      expect(one.log('stdout')).toBe('o\nhello\n');
      expect(one.log('stderr')).toBe('e\nhello\n');
    });
    test('opens its streams again where it has no input', async () => {
      await one.run('opens-streams-again', []);
      expect(one.log('stdout')).toBe('o\n');
      expect(one.log('stderr')).toBe('e\n');
    });
    test('reads an input larger than a pipe by name', async () => {
      await one.run('/bin/sh', ['-c', 'cat /dev/stdin | wc -c'], input(Buffer.alloc(3_000_000, 'y')));
      expect(one.log('stdout').trim()).toBe('3000000');
    });
    test('has blocking pipes', async () => {
      const script = 'stat -L -c %F /dev/fd/0 /dev/fd/1 /dev/fd/2; grep -h ^flags /proc/self/fdinfo/[012]';
      await one.run('/bin/sh', ['-c', script], input(''));
      const shown = one.log('stdout').trimEnd().split('\n');
      expect(shown.slice(0, 3)).toEqual(['fifo', 'fifo', 'fifo']);
      const nonBlocking = shown.slice(3).map((line) => Number.parseInt(line.split('\t')[1] ?? '', 8) & 0o4000);
      expect(nonBlocking).toEqual([0, 0, 0]);
    });
    test('has its input open until it has finished, where asked for', async () => {
      const outcome = await one.run('minds-end-of-input', [], {
        stdin: { kind: 'bytes', bytes: Buffer.from('hello\n'), openUntilFinished: true },
        onOutput: (_, block) => [block.toString().split('\n').includes('done') ? [{ kind: 'finished' }] : []],
      });
      expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
      expect(one.log('stdout')).toBe('got hello\ndone\n');
    });
    test('leaves, and its open input with it', async () => {
      const before = descriptors();
      const stdin = { kind: 'bytes', bytes: Buffer.from('hello\n'), openUntilFinished: true } as const;
      const outcome = await one.run('never-reads', [], { stdin });
      expect(outcome.termination).toEqual({ kind: 'exited', code: 3 });
      expect(descriptors()).toHaveLength(before.length);
    });
  },
);

describe('pipes', () => {
  let folder: string;
  beforeEach(() => {
    folder = scratch();
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const shell = (lines: string): string => {
    const path = join(folder, 'shell');
    writeFileSync(path, `#!/bin/sh\n${lines}\n`);
    chmodSync(path, 0o755);
    return path;
  };

  test('are as many as asked for, each another', async () => {
    const made = await makePipes(3);
    if (!made.ok) throw new Error(made.error.message);
    const links = made.value.map(({ readEnd }) => execFileSync('readlink', [`/proc/${process.pid}/fd/${readEnd}`]));
    expect(new Set(links.map(String)).size).toBe(3);
    for (const { readEnd, writeEnd } of made.value) for (const end of [readEnd, writeEnd]) closeSync(end);
  });
  test.each([
    ['is missing', null, 'ENOENT', 'ENOENT'],
    ['complains', 'echo "sh: 1: Cannot fork"; exit 2', 'PIPES_FAILED', 'sh: 1: Cannot fork'],
    ['says nothing', 'exit 0', 'PIPES_FAILED', 'the shell said nothing'],
    ['holds one pipe only', "exec 9<&0; : | { exec 3<&0; sh -c 'echo $PPID'; read -r rest <&9; }", 'ENOENT', '/fd/4'],
    ['never answers', 'exec sleep 3600', 'PIPES_FAILED', 'did not answer within 300 ms'],
  ])('are an error where the shell %s, and nothing is left open', async (_, lines, code, words) => {
    const before = descriptors();
    const made = await makePipes(
      3,
      lines === null ? join(folder, 'missing') : shell(lines),
      words.startsWith('did not') ? 300 : 60_000,
    );
    expect(made.ok ? null : made.error.code).toBe(code);
    expect(made.ok ? null : made.error.message).toContain(words);
    await expect.poll(descriptors).toHaveLength(before.length);
    expect(processesShowing(folder)).toEqual([]);
  });

  test('are not needed where a descriptor opened by name is the same one', async () => {
    const streams = await openStandardStreams(true, 'darwin');
    if (!streams.ok) throw new Error(streams.error.message);
    const child = spawn('/bin/cat', { stdio: [...streams.value.given] });
    const { stdin, stdout } = streams.value.started(child);
    stdin?.end('hello');
    expect(await text(stdout)).toBe('hello');
    await once(child, 'exit');
  });
});

/** Leaves ever more descriptors free, until a worker starts; prints each outcome. */
const STARVED = `
import { closeSync, mkdtempSync, openSync, readdirSync, readlinkSync } from 'node:fs';
import { supervise } from '../../src/process/supervise.ts';
const { containment, folder, PATH } = JSON.parse(process.argv[2]!);
// Sockets apart: Node loses its own where it finds no descriptor left in the midst of a spawn.
const held = () => readdirSync('/proc/self/fd').filter((name) => {
  try { return /^(pipe:|.*\\.log)/.test(readlinkSync('/proc/self/fd/' + name)); } catch { return false; }
}).length;
const outcomes = [];
for (let free = 0; outcomes.at(-1)?.started !== true && free < 100; free++) {
  const place = mkdtempSync(folder + '/attempt-');
  const before = held();
  const taken: number[] = [];
  try { for (;;) taken.push(openSync('/dev/null', 'r')); } catch {}
  for (const descriptor of taken.splice(taken.length - free)) closeSync(descriptor);
  const outcome = await supervise({
    executable: '/bin/cat', args: [], cwd: folder, environment: { PATH },
    stdin: { kind: 'bytes', bytes: Buffer.from('hello') },
    containment, mounts: { readOnly: [], writable: [] }, networkOff: false,
    limits: { timeoutMs: 30_000, idleTimeoutMs: null, providerWaitMs: 1000, graceMs: 100, rawOutputBytes: 65_536 },
    lingerMs: null, stop: null, onOutput: null, marker: 'starved-' + free,
    logs: { stdout: place + '/stdout.log', stderr: place + '/stderr.log' },
    onStarted: () => { for (const descriptor of taken.splice(0)) closeSync(descriptor); },
  });
  for (const descriptor of taken) closeSync(descriptor);
  // Closing is under way in the loop.
  await new Promise((resolve) => setImmediate(resolve));
  outcomes.push({
    started: outcome.termination.kind !== 'not-started',
    termination: outcome.termination,
    words: outcome.startError?.message,
    leaked: held() - before,
  });
}
console.log(JSON.stringify(outcomes));
`;

test('a controller without descriptors says so, at each step of a start, and loses none', () => {
  const folder = scratch();
  try {
    bundle(STARVED, join(folder, 'starved.mjs'));
    const told = JSON.stringify({ containment: bwrap, folder, PATH });
    const command = ['--nofile=512:512', process.execPath, join(folder, 'starved.mjs'), told];
    const outcomes = JSON.parse(execFileSync('prlimit', command, { encoding: 'utf8' }));
    const last = outcomes.pop();
    expect(last).toMatchObject({ termination: { kind: 'exited', code: 0 }, leaked: 0 });
    expect(outcomes.length).toBeGreaterThan(10);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        started: false,
        termination: { kind: 'not-started', error: 'EMFILE' },
        leaked: 0,
      });
    }
    const reached = outcomes.map((outcome: { words: string }) => /log files|pipes|spawn/.exec(outcome.words)?.[0]);
    expect([...new Set(reached)]).toEqual(['log files', 'pipes', 'spawn']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
