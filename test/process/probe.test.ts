import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Adapter, AdapterProbe, Candidate } from '../../src/model/adapter.ts';
import { err, ok } from '../../src/model/result.ts';
import { missingFlags, probeAll, probeCandidate, probeRecord } from '../../src/process/probe.ts';
import { openProbeCache } from '../../src/process/probe-cache.ts';
import type { ProbeSurroundings } from '../../src/process/probe-commands.ts';

let root: string;
let around: ProbeSurroundings;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ax-probe-'));
  mkdirSync(join(root, 'bin'));
  mkdirSync(join(root, 'scratch'));
  around = surroundings();
});

const surroundings = (more: Partial<ProbeSurroundings> = {}): ProbeSurroundings => ({
  hostEnv: { ...process.env, PATH: `${root}/bin:${process.env.PATH}` },
  scratchParent: join(root, 'scratch'),
  cache: openProbeCache(null, Date.now),
  timeoutMs: 10_000,
  ...more,
});

/** Puts a shell script named `tool` on PATH; `$LOG` in it is a file that the test reads. */
function tool(body: string, name = 'tool'): string {
  const path = join(root, 'bin', name);
  writeFileSync(path, `#!/bin/sh\nLOG=${root}/log\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}
const logged = (): string[] =>
  existsSync(join(root, 'log')) ? readFileSync(join(root, 'log'), 'utf8').trimEnd().split('\n') : [];

const PROBE: AdapterProbe = {
  version: { args: ['--version'] },
  readVersion({ stdout, stderr, code }) {
    const version = /^tool (\d+\.\d+)$/m.exec(`${stdout}\n${stderr}`)?.[1];
    if (code !== 0 || version === undefined)
      return err({ code: 'INCOMPATIBLE', message: `Not tool: ${stderr.trim()}` });
    return version.startsWith('0.') ? err({ code: 'INCOMPATIBLE', message: 'Too old.' }) : ok(version);
  },
  help: [{ args: ['--help'] }, { args: ['run', '--help'] }],
  requiredFlags: ['--print', '--model'],
};
function candidate(probe: Partial<AdapterProbe> = {}, more: Partial<Candidate> = {}): Candidate {
  const adapter: Adapter = {
    name: 'tool',
    programs: ['tool'],
    probe: { ...PROBE, ...probe },
    credentials: { subscription: [], metered: [], settings: [] },
    environment: { TOOL_QUIET: '1' },
    stateFolders: [],
    loginFiles: [],
    invoke: () => err({ code: 'SPAWN_FAILED', message: 'never started here' }),
    reader: () => {
      throw new Error('never read here');
    },
    lingerMs: null,
    models: null,
  };
  const profile = 'one';
  return {
    attemptId: '01-one',
    profile,
    adapter,
    executable: null,
    model: 'auto',
    effort: null,
    enabled: true,
    cost: 'local',
    ...more,
  };
}

const GOOD = `echo "$*" >> $LOG
case "$*" in
  --version) echo 'tool 2.1' ;;
  --help) echo 'usage: tool [--print]' ;;
  'run --help') echo '  -m, --model=NAME' >&2 ;;
esac`;

describe('a program that fits', () => {
  test('is available, with its version and path; help is joined over commands and streams', async () => {
    const path = tool(GOOD);
    const answer = await probeCandidate(candidate(), around);
    expect(probeRecord(answer)).toEqual({
      available: true,
      code: null,
      message: null,
      executable: path,
      version: '2.1',
    });
    expect(logged()).toEqual(['--version', '--help', 'run --help']);
    expect(readdirSync(join(root, 'scratch'))).toEqual([]);
  });

  test('may print its version on stderr, in colour, and its help with an exit code', async () => {
    tool(`case "$1" in
      --version) echo 'tool 3.0' >&2 ;;
      *) printf '\\033[1m--print\\033[0m \\033[1m--model\\033[0m\\n' >&2; exit 2 ;;
    esac`);
    expect(await probeCandidate(candidate(), around)).toMatchObject({ unavailable: null, version: '3.0' });
  });

  test('sees a scratch HOME, its own folder, a closed stdin, and no credential', async () => {
    tool(
      `env > $LOG; pwd >> $LOG; cat >> $LOG; echo END >> $LOG; ${GOOD.replace('echo "$*" >> $LOG', '')}; [ "$1" = --version ] || echo --print --model`,
    );
    const secret = 'sk-secret-value';
    const hostEnv = {
      ...around.hostEnv,
      ANTHROPIC_API_KEY: secret,
      GIT_DIR: '/x/.git',
      NODE_OPTIONS: '--require=/x',
      LD_PRELOAD: '/x.so',
      HOME: '/home/somebody',
      XDG_CONFIG_HOME: '/home/somebody/.config',
      LC_ALL: 'C.UTF-8',
    };
    expect(await probeCandidate(candidate(), surroundings({ hostEnv }))).toMatchObject({ unavailable: null });
    const seen = logged();
    expect(seen.join('\n')).not.toMatch(/sk-secret|GIT_DIR|NODE_OPTIONS|LD_PRELOAD|somebody/);
    expect(seen).toEqual(expect.arrayContaining(['TERM=dumb', 'NO_COLOR=1', 'CI=1', 'TOOL_QUIET=1', 'LC_ALL=C.UTF-8']));
    const scratch = join(root, 'scratch', 'probe-');
    expect(seen.find((line) => line.startsWith('HOME='))).toContain(scratch);
    expect(seen.find((line) => line.startsWith('TMPDIR='))).toContain(scratch);
    expect(seen.at(-2)).toContain(scratch);
    expect(seen.at(-1)).toBe('END');
  });

  test('keeps the real HOME where it is a shim of a version manager, or runs under one, and nothing is remembered of it', async () => {
    const home = join(root, 'somebody');
    mkdirSync(join(home, 'shims'), { recursive: true });
    const real = tool(GOOD);
    const shim = `#!/bin/sh\n[ "$HOME" = ${home} ] || exit 1\n`;
    writeFileSync(join(home, 'shims/tool'), `${shim}exec ${real} "$@"\n`, { mode: 0o755 });
    writeFileSync(join(home, 'shims/node'), `${shim}shift; exec ${real} "$@"\n`, { mode: 0o755 });
    writeFileSync(join(root, 'bin/script'), '#!/usr/bin/env node\n', { mode: 0o755 });
    const where = surroundings({
      hostEnv: { ...around.hostEnv, HOME: home, PATH: `${home}/shims:${around.hostEnv.PATH}` },
    });
    for (const name of ['tool', 'script']) {
      const one = candidate({}, { executable: name });
      expect(await probeCandidate(one, where)).toMatchObject({ unavailable: null, version: '2.1' });
    }
    expect(logged()).toHaveLength(6);
    await probeCandidate(candidate(), where);
    expect(logged()).toHaveLength(9);
  });

  test('is not asked for a version or a help that nobody needs', async () => {
    tool(GOOD);
    const answer = await probeCandidate(candidate({ version: null, requiredFlags: [] }), around);
    expect(answer).toMatchObject({ unavailable: null, version: null });
    expect(logged()).toEqual([]);
    expect(await probeCandidate(candidate({ version: null }), around)).toMatchObject({
      unavailable: null,
      version: null,
    });
    expect(logged()).toEqual(['--help', 'run --help']);
  });
});

describe('what does not fit', () => {
  const unavailable = async (one: Candidate, code: string, message: RegExp, where = around) => {
    const answer = await probeCandidate(one, where);
    expect(answer.unavailable).toEqual({ code, message: expect.stringMatching(message) });
    expect(readdirSync(join(root, 'scratch'))).toEqual([]);
    return answer;
  };

  test('a profile that is switched off is not even looked up', () =>
    unavailable(candidate({}, { enabled: false }), 'DISABLED', /Profile one is switched off/));
  test('a program that is missing', () => unavailable(candidate(), 'EXECUTABLE_MISSING', /tool was not found/));
  test('an executable of the profile beats the names of the adapter', async () => {
    tool(GOOD);
    await unavailable(candidate({}, { executable: 'other' }), 'EXECUTABLE_MISSING', /other was not found/);
  });
  test('a file that a shell would have to run', async () => {
    writeFileSync(tool(''), 'echo tool 2.1\n');
    await unavailable(candidate(), 'EXECUTABLE_INVALID', /run by a shell/);
  });
  test('another product under the same name, whose help is then not asked', async () => {
    tool('echo "$*" >> $LOG; echo "agent smith 1.0"');
    await unavailable(candidate(), 'INCOMPATIBLE', /Not tool/);
    expect(logged()).toEqual(['--version']);
  });
  test('a version that is too old', async () => {
    tool(GOOD.replace('2.1', '0.9'));
    await unavailable(candidate(), 'INCOMPATIBLE', /Too old/);
  });
  test('a program that cannot start', async () => {
    tool('echo "SyntaxError: Unexpected token" >&2; exit 1');
    await unavailable(candidate(), 'INCOMPATIBLE', /SyntaxError/);
  });
  test('a help without a required flag, which is named', async () => {
    tool(GOOD.replace('--model=NAME', '--model-foo'));
    const answer = await unavailable(
      candidate(),
      'INCOMPATIBLE',
      /The help of .*tool 2\.1 does not show --model\. Update/,
    );
    expect(answer).toMatchObject({ executable: { path: join(root, 'bin/tool') }, version: '2.1' });
  });
  test('a program that the system refuses to start', async () => {
    const path = tool('');
    writeFileSync(path, Buffer.from('\x7fELF nothing else', 'latin1'));
    await unavailable(candidate(), 'INCOMPATIBLE', /Not tool/);
    await unavailable(candidate({ version: { args: ['a\0b'] } }), 'SPAWN_FAILED', /could not be started/);
  });

  const alive = (pid: number): boolean => {
    try {
      return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    } catch {
      return false;
    }
  };

  test('a program that hangs is ended with all its group, within the limit', async () => {
    tool('sleep 300 & echo $! >> $LOG; echo $$ >> $LOG; sleep 300');
    const started = performance.now();
    await unavailable(candidate(), 'INCOMPATIBLE', /did not end within 0\.5 s/, surroundings({ timeoutMs: 500 }));
    expect(performance.now() - started).toBeLessThan(5000);
    expect(logged()).toHaveLength(2);
    await expect.poll(() => logged().map(Number).filter(alive)).toEqual([]);
  });
  test('a program that ignores TERM and floods is ended at once', async () => {
    tool("trap '' TERM INT HUP; echo $$ >> $LOG; yes");
    await unavailable(candidate(), 'INCOMPATIBLE', /printed more than 256 KiB/);
    await expect.poll(() => logged().map(Number).filter(alive)).toEqual([]);
  });
  test('a child that is left behind is ended, and its pipe is not waited for', async () => {
    tool(
      `(trap '' HUP; sleep 300) & echo $! >> $LOG\n${GOOD.replace('echo "$*" >> $LOG', '')}; [ "$1" = --version ] || echo --print --model`,
    );
    const started = performance.now();
    expect(await probeCandidate(candidate(), around)).toMatchObject({ unavailable: null });
    expect(performance.now() - started).toBeLessThan(5000);
    await expect.poll(() => logged().map(Number).filter(alive)).toEqual([]);
  });
  test.runIf(existsSync('/usr/bin/setsid'))('nor the pipe of a child that left the group', async () => {
    // The program ends only when its child has left, or the child would still be of the group.
    const child = `setsid sh -c 'echo $$ >> ${root}/log; exec sleep 60' & while [ ! -s ${root}/log ]; do :; done`;
    tool(`[ "$1" != --version ] || { ${child}; }\n${GOOD.replace('echo "$*" >> $LOG', '')}`);
    const started = performance.now();
    expect(await probeCandidate(candidate(), around)).toMatchObject({ unavailable: null, version: '2.1' });
    expect(performance.now() - started).toBeLessThan(15_000);
    for (const pid of logged().map(Number)) if (alive(pid)) process.kill(pid, 'SIGKILL');
  });
  test('an abort ends what is under way and rejects', async () => {
    tool(`echo $$ >> $LOG; sleep 300`);
    const controller = new AbortController();
    const running = probeCandidate(candidate(), surroundings({ signal: controller.signal }));
    await expect.poll(logged).toHaveLength(1);
    controller.abort(new Error('stopped by hand'));
    await expect(running).rejects.toThrow('stopped by hand');
    await expect.poll(() => logged().map(Number).filter(alive)).toEqual([]);
    expect(readdirSync(join(root, 'scratch'))).toEqual([]);
  });
});

describe('the cache', () => {
  const file = () => join(root, 'cache.json');
  const withFile = (now = Date.now) => surroundings({ cache: openProbeCache(file(), now) });

  test('asks once in a process and once on a machine, and the file is private', async () => {
    tool(GOOD);
    const here = withFile();
    await probeCandidate(candidate(), here);
    await probeCandidate(candidate(), here);
    expect(await probeCandidate(candidate(), withFile())).toMatchObject({ unavailable: null, version: '2.1' });
    expect(logged()).toHaveLength(3);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readdirSync(root).filter((name) => name.startsWith('cache'))).toEqual(['cache.json']);
  });

  test('profiles that share a program ask it once, also at the same time', async () => {
    tool(GOOD);
    const answers = await probeAll(
      Array.from({ length: 5 }, () => candidate()),
      around,
    );
    expect(answers.map(({ version }) => version)).toEqual(Array(5).fill('2.1'));
    expect(logged()).toHaveLength(3);
  });

  test('asks again when the program changes, or what it runs under, or what is asked', async () => {
    const path = tool(GOOD);
    await probeCandidate(candidate(), withFile());
    const { atime, mtime } = statSync(path);
    // The same size and time, as packages with fixed times have.
    tool(GOOD.replace('2.1', '2.2'));
    utimesSync(path, atime, mtime);
    expect(await probeCandidate(candidate(), withFile())).toMatchObject({ version: '2.2' });
    const asked = logged().length;
    symlinkSync('/bin/sh', join(root, 'sh'));
    writeFileSync(path, `#!${root}/sh\n${readFileSync(path, 'utf8').slice('#!/bin/sh\n'.length)}`);
    await probeCandidate(candidate(), withFile());
    expect(logged()).toHaveLength(asked + 3);
    await probeCandidate(
      candidate({ help: [{ args: ['--help', 'x'] }, { args: ['run', '--help'] }], requiredFlags: ['--model'] }),
      withFile(),
    );
    expect(logged()).toHaveLength(asked + 6);
  });

  test('holds what was seen, so that a stricter adapter judges it anew', async () => {
    tool(GOOD);
    await probeCandidate(candidate(), withFile());
    expect(
      await probeCandidate(candidate({ requiredFlags: ['--print', '--model', '--new'] }), withFile()),
    ).toMatchObject({
      unavailable: { code: 'INCOMPATIBLE' },
    });
  });

  test('remembers no failure: a repaired program is seen at once', async () => {
    const marker = join(root, 'ready');
    tool(`[ -e ${marker} ] || exit 1\n${GOOD}`);
    const here = withFile();
    expect((await probeCandidate(candidate(), here)).unavailable?.code).toBe('INCOMPATIBLE');
    writeFileSync(marker, '');
    expect((await probeCandidate(candidate(), here)).unavailable).toBeNull();
  });

  test('forgets after a day, and what comes from the future', async () => {
    tool(GOOD);
    const day = 24 * 60 * 60 * 1000;
    await probeCandidate(
      candidate(),
      withFile(() => 5 * day),
    );
    await probeCandidate(
      candidate(),
      withFile(() => 6 * day - 1),
    );
    expect(logged()).toHaveLength(3);
    await probeCandidate(
      candidate(),
      withFile(() => 6 * day),
    );
    expect(logged()).toHaveLength(6);
    await probeCandidate(
      candidate(),
      withFile(() => 3 * day),
    );
    expect(logged()).toHaveLength(9);
  });

  test.each([
    '',
    '{',
    'null',
    '{"schema":"agent-exec-probe-cache/v1"}',
    '{"schema":"agent-exec-probe-cache/v1","entries":{"__proto__":1}}',
    '\0\xff',
  ])('survives a file that holds %j', async (text) => {
    tool(GOOD);
    writeFileSync(file(), text);
    expect(await probeCandidate(candidate(), withFile())).toMatchObject({ unavailable: null });
    expect(JSON.parse(readFileSync(file(), 'utf8')).schema).toBe('agent-exec-probe-cache/v1');
  });

  test('survives a symlink, a directory, and a folder that is gone', async () => {
    tool(GOOD);
    // A cache that would be believed, were it not behind a link.
    const elsewhere = join(root, 'elsewhere');
    await probeCandidate(candidate(), surroundings({ cache: openProbeCache(elsewhere, Date.now) }));
    const content = readFileSync(elsewhere, 'utf8');
    symlinkSync(elsewhere, file());
    expect(await probeCandidate(candidate(), withFile())).toMatchObject({ unavailable: null });
    expect(logged()).toHaveLength(6);
    expect(readFileSync(elsewhere, 'utf8')).toBe(content);
    for (const path of [join(root, 'bin'), join(root, 'gone/cache.json')])
      expect(await probeCandidate(candidate(), surroundings({ cache: openProbeCache(path, Date.now) }))).toMatchObject({
        unavailable: null,
      });
  });

  test('keeps what several at once put into it', async () => {
    const cache = openProbeCache(file(), Date.now);
    await Promise.all(Array.from({ length: 20 }, (_, i) => cache.put(`k${i}`, [])));
    const read = openProbeCache(file(), Date.now);
    for (let i = 0; i < 20; i++) expect(await read.get(`k${i}`)).toEqual([]);
    expect(await read.get('toString')).toBeNull();
  });
});

test('at most four programs run at once, and answers keep their order', async () => {
  const count = `n=$(ls ${join('$ROOT', 'on')} | wc -l); echo $n >> $LOG`;
  const candidates = Array.from({ length: 9 }, (_, i) => {
    tool(`ROOT=${root}; touch $ROOT/on/$$; ${count}; sleep 0.2; rm $ROOT/on/$$; echo "tool 1.${i}"`, `t${i}`);
    return candidate({ requiredFlags: [] }, { executable: `t${i}` });
  });
  mkdirSync(join(root, 'on'));
  const answers = await probeAll(candidates, around);
  expect(answers.map(({ version }) => version)).toEqual(candidates.map((_, i) => `1.${i}`));
  expect(Math.max(...logged().map(Number))).toBeLessThanOrEqual(4);
  expect(Math.max(...logged().map(Number))).toBeGreaterThan(1);
});

describe('flags in a help text', () => {
  test.each([
    ['--model', true],
    ['--model <x>', true],
    ['--model=NAME', true],
    ['[--model]', true],
    ['-m,--model', true],
    ['--no-model', false],
    ['--model-foo', false],
    ['--models', false],
    ['--model_x', false],
    ['--model-foo and --model', true],
    ['x--model', false],
    ['', false],
  ])('%s', (help, shown) => {
    expect(missingFlags(help, ['--model'])).toEqual(shown ? [] : ['--model']);
  });
  test('a name of a variable counts as a word too', () => {
    expect(missingFlags('set CURSOR_API_KEY.', ['CURSOR_API_KEY'])).toEqual([]);
    expect(missingFlags('set MY_CURSOR_API_KEYS', ['CURSOR_API_KEY'])).toEqual(['CURSOR_API_KEY']);
  });
  test('any text is read', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (help) => missingFlags(`${help} --a `, ['--a']).length === 0));
  });
});
