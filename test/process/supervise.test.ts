import { statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Observation } from '../../src/model/adapter.ts';
import type { Refusal } from '../../src/model/observation.ts';
import { type Attempt, attempt, expectNobodyLeft, fixture, MECHANISMS, PATH } from './attempt.ts';

const LIMITS = { timeoutMs: 30_000, idleTimeoutMs: null, providerWaitMs: 10_000, graceMs: 300, rawOutputBytes: 65_536 };
const refusal: Refusal = { code: 'RATE_LIMITED', retry_after_seconds: null, line: '429', source: 'event' };

/** Reads `wait`, `work` and `done` as an adapter would read its CLI's events. */
const scriptedReader = (_: string, block: Buffer): Observation[][] =>
  block
    .toString()
    .split('\n')
    .map((line) => {
      if (line === 'wait') return [{ kind: 'provider-wait', refusal }];
      if (line === 'work') return [{ kind: 'activity', text: 'work' }];
      return line === 'done' ? [{ kind: 'finished' }] : [];
    });

describe.each(MECHANISMS)('a worker under $name', ({ name, containment }) => {
  let one: Attempt;
  beforeEach(() => {
    one = attempt(containment);
  });
  afterEach(() => {
    expectNobodyLeft(one.marker);
    one.remove();
  });
  const inNamespace = containment.mechanism !== 'sweep';
  const clean = { containment: inNamespace ? 'pid-namespace' : 'session-sweep', survivors: 0 };

  test.each([0, 7])('exits with %i', async (code) => {
    const outcome = await one.run('exits-with', [String(code)]);
    expect(outcome.termination).toEqual({ kind: 'exited', code });
    expect(outcome.processes).toEqual({ ...clean, escaped: 0, killed: 0 });
    expect(outcome.startError).toBeNull();
    expect(outcome.logs.map((log) => log.bytes_seen)).toEqual([0, 0]);
    expect(statSync(one.logPath('stdout')).mode & 0o777).toBe(0o600);
  });

  test('dies of a fault', async () => {
    const outcome = await one.run('dies-of-fault', []);
    expect(outcome.termination).toEqual({ kind: 'signaled', signal: 'SIGSEGV' });
  });

  test.each(['TERM', 'KILL', 'ABRT', 'SEGV', 'HUP'])('kills itself with %s, in silence', async (signal) => {
    const outcome = await one.run('kills-itself', [signal]);
    expect(outcome.termination).toEqual({ kind: 'signaled', signal: `SIG${signal}` });
    expect(one.log('stdout') + one.log('stderr')).toBe('');
  });

  test('gets the environment that it was meant to get', async () => {
    await one.run('/usr/bin/env', [], { environment: { PATH, LANG: 'C.UTF-8' } });
    // bwrap tells the folder; a shell that stands before the worker must add nothing, `SHLVL` neither.
    const own = name === 'bwrap' ? ['PWD'] : [];
    const names = one.lines.map((line) => line.replace(/^stdout: ([^=]*)=.*/, '$1'));
    expect(names.sort()).toEqual(['AGENT_EXEC_ATTEMPT', 'LANG', 'PATH', ...own]);
  });

  test('ends as itself although it left orphans that ended before it', async () => {
    const script = 'i=0; while [ $i -lt 20 ]; do (sh -c "exit 3" &) ; i=$((i+1)); done; sleep 0.1; exit 5';
    const outcome = await one.run('/bin/sh', ['-c', script]);
    expect(outcome.termination).toEqual({ kind: 'exited', code: 5 });
    expect(outcome.processes).toMatchObject(clean);
  });

  test('is ended by the total timeout', async () => {
    const outcome = await one.run('waits', [], { limits: { ...LIMITS, timeoutMs: 1000, graceMs: 10_000 } });
    expect(outcome.termination).toMatchObject({ kind: 'stopped', by: 'total-timeout', signal: 'SIGTERM', code: null });
    expect(outcome.processes).toMatchObject(clean);
    expect(outcome.durationMs).toBeGreaterThanOrEqual(1000);
  });

  test('ignores TERM and is killed after the grace', async () => {
    const outcome = await cancelling(one, 'ignores-term', []);
    expect(outcome.termination).toEqual({ kind: 'stopped', by: 'cancel', signal: 'SIGINT', code: null });
    expect(outcome.processes).toMatchObject(clean);
  });

  test('names KILL where TERM was not enough', async () => {
    const outcome = await one.run('ignores-term', [], { limits: { ...LIMITS, timeoutMs: 400 } });
    expect(outcome.termination).toEqual({ kind: 'stopped', by: 'total-timeout', signal: 'SIGKILL', code: null });
  });

  test('leaves with 0 on TERM: stopped all the same', async () => {
    const outcome = await cancelling(one, 'leaves-on-term', [], { limits: { ...LIMITS, graceMs: 10_000 } });
    expect(outcome.termination).toEqual({ kind: 'stopped', by: 'cancel', signal: 'SIGINT', code: 0 });
  });

  test('stops itself and is ended before the grace is over, or killed', async () => {
    const outcome = await cancelling(one, 'stops-itself', [], { limits: { ...LIMITS, graceMs: 20_000 } });
    expect(outcome.termination).toMatchObject({ kind: 'stopped', by: 'cancel' });
    expect(outcome.processes).toMatchObject(clean);
    expect(outcome.durationMs).toBeLessThan(19_000);
  });

  test('is cancelled before it was started', async () => {
    const outcome = await one.run('waits', [], { stop: AbortSignal.abort('SIGHUP') });
    expect(outcome.termination).toMatchObject({ kind: 'stopped', by: 'cancel', signal: 'SIGHUP' });
    expect(outcome.processes).toMatchObject(clean);
  });

  test('leaves a grandchild that holds stdout', async () => {
    const outcome = await one.run('leaves-grandchild-on-stdout', []);
    expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(outcome.processes).toMatchObject(clean);
    expect(one.log('stdout')).toBe('ready\n');
    expect(outcome.durationMs).toBeLessThan(5000);
  });

  test('leaves a daemon with a wiped environment in the workspace', async () => {
    const outcome = await one.run('leaves-daemon', [one.workspace, one.marker]);
    expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(outcome.processes).toMatchObject(clean);
  });

  // Without a namespace or a mark nothing gives such a daemon away: it is the known limit of looking.
  test.skipIf(name === 'sweep without mark')('leaves a daemon with a wiped environment in /', async () => {
    const outcome = await one.run('leaves-daemon', ['/', one.marker]);
    expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(outcome.processes).toMatchObject(clean);
    if (!inNamespace) expect(outcome.processes).toMatchObject({ escaped: 1, killed: 1 });
  });

  test('leaves a chain that forks for ever', async () => {
    const outcome = await one.run('forks-for-ever', [one.marker]);
    expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(outcome.processes).toMatchObject(clean);
  });

  test('is a launcher that exits before the real agent', async () => {
    const outcome = await one.run('wraps-agent', [one.marker]);
    expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(outcome.processes).toMatchObject(clean);
  });

  test('floods: the log keeps both ends, everything is counted and hashed', async () => {
    const outcome = await one.run('floods', ['20000000'], { onOutput: null });
    expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(outcome.logs[0]).toMatchObject({ bytes_seen: 20_000_000 });
    expect(statSync(one.logPath('stdout')).size).toBeLessThanOrEqual(65_536);
  });

  test('writes without a newline', async () => {
    const outcome = await one.run('writes-one-line', ['5000000']);
    expect(outcome.logs[0]).toMatchObject({ bytes_seen: 5_000_000 });
    expect(one.lines).toHaveLength(1);
    expect(one.lines[0]).toHaveLength('stdout: '.length + 1024 * 1024);
  });

  test('reads stdin to its end', async () => {
    const outcome = await one.run('counts-stdin', [], {
      stdin: { kind: 'bytes', bytes: Buffer.alloc(3_000_000, 'y') },
    });
    expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(one.lines.map((line) => line.replace(/ +/g, ' '))).toEqual(['stdout: 3000000']);
  });

  test('finds an empty stdin where there is nothing to read', async () => {
    await one.run('counts-stdin', []);
    expect(one.lines.map((line) => line.replace(/ +/g, ' '))).toEqual(['stdout: 0']);
  });

  test('never reads 4 MiB of stdin', async () => {
    const outcome = await one.run('never-reads', [], { stdin: { kind: 'bytes', bytes: Buffer.alloc(4 << 20, 'y') } });
    expect(outcome.termination).toEqual({ kind: 'exited', code: 3 });
    expect(one.log('stderr')).toBe('bad flag\n');
  });

  test('closes its outputs and goes on', async () => {
    const outcome = await one.run('closes-stdout', []);
    expect(outcome.termination).toEqual({ kind: 'exited', code: 5 });
  });

  test('inherits no descriptor', async () => {
    await one.run('shows-descriptors', []);
    expect(one.lines.filter((line) => !line.endsWith(' /dev/null'))).toEqual([]);
  });

  describe('that is quiet', () => {
    test('is ended by the idle timeout', async () => {
      const limits = { ...LIMITS, idleTimeoutMs: 300 };
      const outcome = await one.run('says-lines', ['a', 'b', 'c'], { limits });
      expect(outcome.termination).toMatchObject({ kind: 'stopped', by: 'idle-timeout' });
      expect(outcome.durationMs).toBeGreaterThanOrEqual(400);
    });
    test('and waits for its provider is idle', async () => {
      const limits = { ...LIMITS, idleTimeoutMs: 300 };
      const said = ['work', ...Array<string>(40).fill('wait')];
      const heard: string[] = [];
      const onOutput = (stream: string, block: Buffer) => {
        heard.push(...block.toString().split('\n'));
        return scriptedReader(stream, block);
      };
      const outcome = await one.run('says-lines', said, { limits, onOutput });
      expect(outcome.termination).toMatchObject({ kind: 'stopped', by: 'idle-timeout' });
      expect(outcome.providerWait).toEqual(refusal);
      // Were its waiting work, it would have been stopped only after the last of them.
      expect(heard.length).toBeLessThan(said.length);
    });
    test('and waits for its provider too long', async () => {
      const limits = { ...LIMITS, providerWaitMs: 200 };
      const outcome = await one.run('says-lines', ['work', 'wait'], { limits, onOutput: scriptedReader });
      expect(outcome.termination).toMatchObject({ kind: 'stopped', by: 'provider-wait' });
      expect(outcome.providerWait).toEqual(refusal);
    });
    test('and waits for its provider and then works is not waiting', async () => {
      const limits = { ...LIMITS, providerWaitMs: 600, timeoutMs: 1500 };
      const outcome = await one.run('says-lines', ['wait', 'work'], { limits, onOutput: scriptedReader });
      expect(outcome.termination).toMatchObject({ kind: 'stopped', by: 'total-timeout' });
      expect(outcome.providerWait).toBeNull();
    });
    test('and lingers after its result', async () => {
      const outcome = await one.run('says-lines', ['done'], { lingerMs: 50, onOutput: scriptedReader });
      expect(outcome.termination).toMatchObject({ kind: 'stopped', by: 'finished' });
    });
  });

  describe('that cannot start', () => {
    test.each([
      ['is missing', '/nonexistent/agent', 'ENOENT'],
      ['is not executable', fixture('not-executable'), 'EACCES'],
      ['has an interpreter with a carriage return', fixture('crlf-interpreter'), 'ENOENT'],
    ])('%s', async (_, executable, error) => {
      const outcome = await one.run(executable, []);
      expect(outcome.termination).toEqual({ kind: 'not-started', error });
      expect(outcome.startError?.message).toContain(executable);
      expect(outcome.processes).toMatchObject({ escaped: 0, killed: 0, survivors: 0 });
    });
    test('has no folder to work in', async () => {
      const outcome = await one.run('waits', [], { cwd: '/nonexistent/folder' });
      expect(outcome.termination).toEqual({ kind: 'not-started', error: 'ENOENT' });
      expect(outcome.startError?.message).toContain('/nonexistent/folder');
    });
    test('has an argument that is too long', async () => {
      const outcome = await one.run('exits-with', ['x'.repeat(200_000)]);
      expect(outcome.termination).toEqual({ kind: 'not-started', error: 'E2BIG' });
    });
    test('has a NUL in an argument', async () => {
      const outcome = await one.run('exits-with', ['a\0b']);
      expect(outcome.termination).toEqual({ kind: 'not-started', error: 'ERR_INVALID_ARG_VALUE' });
    });
    test('has a log that exists', async () => {
      await one.run('exits-with', ['0']);
      const outcome = await one.run('exits-with', ['0']);
      expect(outcome.termination).toEqual({ kind: 'not-started', error: 'EEXIST' });
    });
  });

  test('exits 127 by itself: it did run', async () => {
    const outcome = await one.run('exits-with', ['127']);
    expect(outcome.termination).toEqual({ kind: 'exited', code: 127 });
  });

  test('is ended, and the bug shown, where a reader throws', async () => {
    const broken = () => {
      throw new Error('a reader that is not total');
    };
    await expect(one.run('waits', [], { onOutput: broken })).rejects.toThrow('a reader that is not total');
  });
});

/** Runs a fixture, cancels it with SIGINT once it said `ready`, and waits for the outcome. */
async function cancelling(one: Attempt, name: string, args: string[], changes = {}) {
  const host = new AbortController();
  const running = one.run(name, args, { stop: host.signal, ...changes });
  await one.said('ready');
  host.abort('SIGINT');
  return running;
}
