/** What `logs` prints: the right log, fit for a terminal, of any size, while it grows; or its bytes, never to a terminal. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { logsCommand } from '../../src/cli/logs.ts';
import { TOOL, World } from '../run/world.ts';
import { collecting, parsed } from './collected.ts';
import { killed, photographOf, underWay, WAIT } from './looked-at.ts';

const logs = (world: World, ...args: readonly string[]) =>
  world.cli(['logs', ...args, '--state-dir', world.state], { env: { ANTHROPIC_API_KEY: SECRET } });

const SECRET = 'correct horse battery';

/** A run of two attempts, with setup and verification. */
async function twoAttempts(): Promise<{ world: World; runId: string }> {
  const world = new World();
  world.configure(
    {
      a: { script: 'cat >/dev/null; echo trying; echo no >&2; exit 3' },
      b: { script: 'cat >/dev/null; echo done; echo more >> src/a.txt' },
      c: { script: 'true' },
    },
    ['setup:', '  - [echo, prepared]'],
  );
  const { receipt } = await world.run(
    { verification: [['sh', '-c', 'echo checked; echo all >&2']] },
    { args: ['--verify'] },
  );
  return { world, runId: receipt.run_id };
}

test('the last attempt, another one, one stream, or a command', async () => {
  const { world, runId } = await twoAttempts();
  const before = photographOf(world.state);
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await logs(world, ...args);
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  };
  expect(await said('last')).toBe('==> 02-b stdout, 5 bytes <==\ndone\n\n==> 02-b stderr, empty <==\n');
  expect(await said(runId, '--attempt', '01-a')).toBe(
    '==> 01-a stdout, 7 bytes <==\ntrying\n\n==> 01-a stderr, 3 bytes <==\nno\n',
  );
  for (const attempt of ['01', 'a']) {
    expect(await said(runId.slice(0, 12), '--attempt', attempt, '--stream', 'stderr')).toBe('no\n');
  }
  expect(await said('last', '--command', 'setup-1', '--stream', 'stdout')).toBe('prepared\n');
  expect(await said('last', '--command', 'verification-1')).toBe(
    '==> 02-b verification-1 stdout, 8 bytes <==\nchecked\n\n==> 02-b verification-1 stderr, 4 bytes <==\nall\n',
  );
  // Of a run that has ended there is nothing to wait for.
  expect(await said('last', '--stream', 'stdout', '--follow')).toBe('done\n');
  expect(photographOf(world.state)).toEqual(before);
});

test('what is not there: which logs there are, or why there is none', async () => {
  const { world, runId } = await twoAttempts();
  const refused = async (code: number, words: string, ...args: string[]) => {
    const done = await logs(world, ...args);
    expect(done).toMatchObject({ code, stdout: '' });
    expect(done.stderr).toContain(words);
  };
  await refused(
    3,
    'has no log of verification-7. It has those of setup-1 (--command setup-1), the worker,',
    'last',
    '--command',
    'verification-7',
  );
  await refused(3, `run ${runId} has no attempt "03-c". It has 01-a, 02-b.`, 'last', '--attempt', '03-c');
  await refused(2, '"0" fits 01-a, 02-b', 'last', '--attempt', '0');
  await refused(3, 'no run "nonsense"', 'nonsense');
  await world.run();
  await refused(2, 'begins 2 runs', '20');
  await refused(2, 'whole number', 'last', '--tail', '-1');
  await refused(2, 'Allowed choices', 'last', '--stream', 'both');
  rmSync(join(world.state, runId, 'attempts'), { recursive: true });
  await refused(3, 'they are gone', runId);
  world.configure({ gone: { executable: 'not-there' } });
  await world.run();
  await refused(3, 'no process was started (EXECUTABLE_MISSING', 'last', '--attempt', 'gone');
  const empty = new World();
  const none = await logs(empty, 'last');
  expect(none.stderr).toContain('does not exist: no run has been made there');
  expect([none.code, existsSync(empty.state)]).toEqual([3, false]);
});

test('where the worker was never started, the setup that failed', async () => {
  const world = new World();
  world.configure({ a: { script: 'true' } }, ['setup:', '  - [sh, -c, "echo broken >&2; exit 9"]']);
  await world.run();
  const { code, stdout } = await logs(world, 'last');
  expect(code).toBe(0);
  expect(stdout).toContain('==> 01-a setup-1 stderr, 7 bytes <==\nbroken\n');
});

describe('a hostile log', () => {
  async function hostile(): Promise<{ world: World; bytes: Buffer }> {
    const world = new World();
    const bytes = Buffer.from(
      `\x1b[2J\x1b]0;owned\x07\rforged\r\n\u202eback\n${SECRET}\ntoken sk-ant-abcdefghij0123456789 \xff\nend`,
      'latin1',
    );
    writeFileSync(join(world.folder, 'output'), bytes);
    world.configure({ a: { script: 'cat >/dev/null; cat @D@/output; echo more >> src/a.txt' } });
    await world.run();
    return { world, bytes };
  }

  test('moves no cursor and gives no secret away', async () => {
    const { world } = await hostile();
    const { stdout } = await logs(world, 'last', '--stream', 'stdout');
    expect(stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    expect(stdout).toContain('\\x1b[2J\\x1b]0;owned\\x07\\x0dforged\n');
    expect(stdout).toContain('[redacted]\ntoken [redacted] ');
    expect(stdout).not.toContain(SECRET);
    expect(stdout).not.toContain('sk-ant');
  });

  test('raw is the bytes, to a pipe', async () => {
    const { world, bytes } = await hostile();
    const child = spawn(
      process.execPath,
      [TOOL, 'logs', 'last', '--raw', '--stream', 'stdout', '--state-dir', world.state],
      {
        cwd: world.repo,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const got: Buffer[] = [];
    for await (const piece of child.stdout) got.push(piece as Buffer);
    expect(Buffer.concat(got).equals(bytes)).toBe(true);
  });

  test('raw to a terminal is refused, and why', async () => {
    const { world } = await hostile();
    const outside = collecting({ cwd: world.repo, terminal: true });
    const wrote: unknown[] = [];
    const output = { write: async (bytes: unknown) => wrote.push(bytes) > 0 };
    const command = logsCommand(outside.io, output);
    const said = await parsed(command, ['last', '--raw', '--state-dir', world.state], outside);
    expect(said.code).toBe(2);
    expect(said.note).toContain('--raw | less -R');
    expect(wrote).toEqual([]);
  });

  test('a link, a folder or a pipe in the place of a log is neither followed nor waited for', async () => {
    const { world } = await hostile();
    const [run = ''] =
      (await world.cli(['runs', '--json', '--state-dir', world.state])).stdout.match(/\d{8}t\w+-\w+/) ?? [];
    const path = join(world.state, run, 'attempts', '01-a', 'logs', 'stdout.log');
    for (const put of [
      () => symlinkSync('/etc/passwd', path),
      () => mkdirSync(path),
      () => execFileSync('mkfifo', [path]),
    ]) {
      rmSync(path, { recursive: true });
      put();
      const done = await logs(world, 'last', '--stream', 'stdout');
      expect(done).toMatchObject({ code: 3, stdout: '' });
      expect(done.stderr).toContain('cannot be read');
    }
  });
});

describe('the end of a log', () => {
  test('is so many lines, wherever the last one ends', async () => {
    const { world, path } = await withLog();
    const long = 'y'.repeat(200_000);
    for (const [text, lines, expected] of [
      ['one\ntwo\nthree\n', 2, 'two\nthree\n'],
      ['one\ntwo\nthree', 2, 'two\nthree'],
      ['one\ntwo\n', 9, 'one\ntwo\n'],
      ['one\n\n\n', 2, '\n\n'],
      ['one\n', 0, ''],
      ['\n', 1, '\n'],
      ['', 3, ''],
      [`${long}\n${long}\nz\n`, 2, `${long}\nz\n`],
    ] as const) {
      writeFileSync(path, text);
      const done = await logs(world, 'last', '--stream', 'stdout', '--tail', String(lines));
      expect(done.stdout).toBe(expected);
    }
  });

  test('gives no secret away that began before it', async () => {
    const { world, path } = await withLog();
    const key = 'MIIEvQIBADANBgkqhkiG9w0\n'.repeat(9);
    writeFileSync(path, `-----BEGIN PRIVATE KEY-----\n${key}-----END PRIVATE KEY-----\nafter\n`);
    const { stdout } = await logs(world, 'last', '--stream', 'stdout', '--tail', '4');
    expect(stdout).toBe('[redacted]\nafter\n');
  });
});

/** A finished run, and the path of its worker's log. */
async function withLog(): Promise<{ world: World; path: string }> {
  const world = new World();
  world.configure({ a: { script: 'cat >/dev/null; echo more >> src/a.txt' } });
  const { receipt } = await world.run();
  return { world, path: join(world.state, receipt.run_id, 'attempts', '01-a', 'logs', 'stdout.log') };
}

test.each([
  ['lines', 'a line of words, as any other\n'],
  ['one line', 'a line of words, as any other '],
])('a log of 128 MiB of %s takes no more memory than a small one', async (_, words) => {
  const { world, path } = await withLog();
  const block = words.repeat(35_000);
  const blocks = Math.floor(2 ** 27 / block.length);
  for (let i = 0; i < blocks; i++) writeFileSync(path, block, { flag: 'a' });
  const tool = join(world.folder, 'measured.mjs');
  writeFileSync(
    tool,
    `process.on('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS)));\nawait import(${JSON.stringify(TOOL)});\n`,
  );
  const child = spawn(process.execPath, [tool, 'logs', 'last', '--stream', 'stdout', '--state-dir', world.state], {
    cwd: world.repo,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let bytes = 0;
  let peak = '';
  child.stdout.on('data', (piece: Buffer) => {
    bytes += piece.length;
  });
  child.stderr.on('data', (piece: Buffer) => {
    peak += piece;
  });
  await new Promise((resolve) => child.on('close', resolve));
  expect(bytes).toBe(blocks * block.length);
  expect(Number(peak)).toBeLessThan(220 * 1024);
  truncateSync(path, 0);
});

test('a reader that goes away ends it without a word', async () => {
  const { world, path } = await withLog();
  writeFileSync(path, 'line\n'.repeat(100_000));
  // To read on to the end of it would take longer than the limit of processor time below.
  truncateSync(path, 2 ** 30);
  const shell = spawn(
    '/bin/sh',
    [
      '-c',
      'ulimit -t 5; { "$@"; echo "exit $?" >&2; } | head -n 1',
      'sh',
      process.execPath,
      TOOL,
      'logs',
      'last',
      '--stream',
      'stdout',
      '--state-dir',
      world.state,
    ],
    { cwd: world.repo, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const said = { stdout: '', stderr: '' };
  shell.stdout.on('data', (piece) => {
    said.stdout += piece;
  });
  shell.stderr.on('data', (piece) => {
    said.stderr += piece;
  });
  await new Promise((resolve) => shell.on('close', resolve));
  expect(said).toEqual({ stdout: 'line\n', stderr: 'exit 0\n' });
});

const followers: ChildProcess[] = [];
/** A failed test must not leave one that follows for ever. */
afterEach(() => {
  for (const child of followers.splice(0)) child.kill('SIGKILL');
});

/** `logs --follow` as a process; `until` resolves when its output has that. */
function following(world: World, ...args: string[]) {
  const child: ChildProcess = spawn(
    process.execPath,
    [TOOL, 'logs', 'last', '--follow', ...args, '--state-dir', world.state],
    {
      cwd: world.repo,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  followers.push(child);
  const said = { stdout: '', stderr: '' };
  const listeners: (() => void)[] = [];
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (piece) => {
      said[stream] += piece;
      for (const listener of listeners) listener();
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const until = (words: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (`${said.stdout}${said.stderr}`.includes(words)) resolve();
      };
      listeners.push(look);
      look();
      void ended.then(() => reject(new Error(`ended without ${words}: ${JSON.stringify(said)}`)));
    });
  return { child, said, until, ended };
}

describe('following a run', () => {
  test('prints what comes until the run ends', async () => {
    const world = new World();
    const run = await underWay(world, `cat >/dev/null; echo one; ${WAIT}; echo two >&2; echo three; printf four`);
    const follow = following(world);
    await follow.until('one');
    expect(follow.said.stdout).toBe('==> 01-one stdout <==\none\n');
    await run.finish();
    expect(await follow.ended).toBe(0);
    expect(follow.said.stderr).toBe('');
    expect(
      follow.said.stdout.replace('\n==> 01-one stderr <==\ntwo\n', '').replaceAll('\n\n==> 01-one stdout <==\n', '\n'),
    ).toBe('==> 01-one stdout <==\none\nthree\nfour');
  });

  test('ends by Ctrl-C with 130, and the run goes on', async () => {
    const world = new World();
    const run = await underWay(world, `cat >/dev/null; echo one; ${WAIT}; echo more >> src/a.txt`);
    const follow = following(world, '--stream', 'stdout');
    await follow.until('one');
    follow.child.kill('SIGINT');
    expect(await follow.ended).toBe(130);
    await run.finish();
    expect((await world.cli(['runs', '--state-dir', world.state])).stdout).toContain('success');
  });

  test('ends when agent-exec is gone', async () => {
    const world = new World();
    const run = await underWay(world, `cat >/dev/null; echo one; ${WAIT}`);
    const follow = following(world);
    await follow.until('one');
    run.child.kill('SIGKILL');
    expect(await follow.ended).toBe(0);
  });

  test('starts with the last lines that were asked for', async () => {
    const world = new World();
    const run = await underWay(world, `cat >/dev/null; echo one; echo two; ${WAIT}; echo three`);
    const follow = following(world, '--stream', 'stdout', '--tail', '1');
    await follow.until('two');
    await run.finish();
    await follow.ended;
    expect(follow.said.stdout).toBe('==> 01-one stdout <==\ntwo\nthree\n');
  });

  test('goes on with the next attempt', async () => {
    const world = new World();
    const next = 'cat >/dev/null; echo second; until [ -e @D@/further ]; do sleep 0.02; done; echo more >> src/a.txt';
    const run = await underWay(world, `cat >/dev/null; echo one; ${WAIT}; exit 1`, { next });
    const follow = following(world, '--stream', 'stdout');
    const only = following(world, '--stream', 'stdout', '--attempt', '01-one');
    await Promise.all([follow.until('one'), only.until('one')]);
    const finished = run.finish();
    // The second attempt waits until the following of the first has ended.
    expect(await only.ended).toBe(0);
    writeFileSync(join(world.folder, 'further'), '');
    await finished;
    expect(await follow.ended).toBe(0);
    expect(follow.said.stdout).toBe('==> 01-one stdout <==\none\n\n==> 02-two stdout <==\nsecond\n');
    expect(only.said.stdout).toBe('one\n');
  });

  test('of a log that is longer than its room says what comes late, and then shows it', async () => {
    const world = new World();
    const run = await underWay(
      world,
      `cat >/dev/null; i=0; while [ $i -lt 900 ]; do echo "line $i"; i=$((i+1)); done; ${WAIT}`,
      { execution: ['raw_output_bytes: 4096'] },
    );
    const follow = following(world, '--stream', 'stdout');
    await follow.until('is long: its newest output is shown when the command ends');
    const now = await logs(world, 'last', '--stream', 'stdout');
    expect(now.stdout).toMatch(/line 0\n[\s\S]*\[agent-exec: this is only the first part\. .* are not shown yet: /);
    expect(now.stderr).toContain('the run is under way');
    expect(now.stderr).toContain('--follow');
    expect(now.stdout).not.toContain('line 899');
    const raw = await logs(world, 'last', '--stream', 'stdout', '--raw');
    expect(raw.stdout).not.toContain('agent-exec');
    expect(raw.stderr).toContain('this is only the first part');
    await run.finish();
    await follow.ended;
    expect(follow.said.stdout).toContain('bytes of output are not kept here]\n');
    expect(follow.said.stdout).toContain('line 899\n');
    expect(follow.said.stdout).not.toContain('this is only the first part');
  });
});

test('of a run whose agent-exec died, what of a long log is elsewhere', async () => {
  const world = new World();
  world.configure({ a: { script: 'true' } });
  const runId = await killed(world, `cat >/dev/null; yes | head -n 900000; ${WAIT}`);
  const tail = join(world.state, runId, 'attempts', '01-one', 'logs', 'stdout.log.tail');
  const { stdout } = await logs(world, 'last', '--stream', 'stdout', '--tail', '1');
  expect(readFileSync(tail).length).toBeGreaterThan(0);
  expect(stdout).toContain(`agent-exec died before it could put them here. They are in ${tail}`);
});
