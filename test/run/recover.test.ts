/** `recover`: whose run it finishes, whose it leaves alone, and what it makes of what is left on disk. */
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Receipt } from '../../src/model/receipt.ts';
import { type Recovery, recovery } from '../../src/model/recovery.ts';
import { crashingTool } from '../crash/crashing-tool.ts';
import { expectRecovered, photograph, receiptsOf, witnessed } from '../crash/laws.ts';
import { World } from './world.ts';

let tool = '';
beforeAll(async () => {
  tool = await crashingTool();
});

const WRITES = `
w() { printf '%s' "$2" > "$1"; printf '%s %s\\n' "$1" "$2" >> @D@/witness; }
w src/a.txt first; w src/new.txt second; w build.log third
: > @D@/ready; while ! test -e @D@/go; do sleep 0.02; done`;

/** The controller notes that the worker runs while the worker does, perhaps later than the worker is ready. */
const workerNoted = (world: World): Promise<void> =>
  expect
    .poll(() => readFileSync(journalOf(world, runsOf(world)[0] ?? ''), 'utf8'), { timeout: 20_000 })
    .toContain('worker-started');

/** A run that is killed while its worker has written and waits. */
async function killedMidway(
  world: World,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const died = await world.cli(
    ['run', '--role', 'repair', '--quiet', '--unit', world.packet(), '--state-dir', world.state, ...args],
    {
      env,
      onStart: (child) => {
        const watcher = watch(world.folder, async () => {
          if (!existsSync(join(world.folder, 'ready'))) return;
          watcher.close();
          await workerNoted(world).finally(() => child.kill('SIGKILL'));
        });
      },
    },
  );
  expect(died.code).toBeNull();
  return runsOf(world)[0] ?? '';
}

const runsOf = (world: World): string[] => readdirSync(world.state).filter((name) => /^\d/.test(name));

async function recover(world: World, ...args: readonly string[]) {
  const done = await world.cli(['recover', '--json', '--state-dir', world.state, ...args]);
  if (done.stdout === '') return { ...done, runs: [] as Recovery['runs'] };
  return { ...done, runs: recovery.parse(JSON.parse(done.stdout)).runs };
}

const journalOf = (world: World, runId: string): string => join(world.state, runId, 'journal.jsonl');
const edit = (path: string, change: (text: string) => string): void =>
  writeFileSync(path, change(readFileSync(path, 'utf8')));

function sample(isolation = 'none'): World {
  const world = new World();
  world.configure({ one: { script: WRITES }, two: { script: 'exit 0' } }, [`isolation: ${isolation}`]);
  return world;
}
const attemptOf = (receipt: Receipt | null | undefined) => receipt?.attempts[0];

describe('a run whose agent-exec was killed', () => {
  test('is told of by the next run, in words, and finished by recover in words too', async () => {
    const world = sample();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    const next = await world.cli(['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state]);
    expect(next.stderr).toContain(`(${id}). Finish with: agent-exec recover`);
    expect(receiptsOf(world).map(({ runId }) => runId)).not.toContain(id);
    const words = await world.cli(['recover', '--state-dir', world.state]);
    expect(words.code).toBe(0);
    expect(words.stdout).toContain(`${id} recovered\n  blocked  CONTROLLER_LOST: 01-one: agent-exec died`);
    expect(words.stdout).toContain(`refs/agent-exec-quarantine/${id}/01-one`);
    expect(words.stdout).toContain(`next     agent-exec show ${id}`);
    expect((await world.cli(['recover', '--state-dir', world.state])).stdout).toBe(
      'nothing to recover: every run is finished or under way\n',
    );
  });

  test('its receipt says what is known, and what is not', async () => {
    const world = sample('guard');
    const before = world.canonical();
    const extra = join(world.folder, 'extra.json');
    await killedMidway(world, ['--receipt', extra]);
    const receipt = await expectRecovered(world, before);
    expect(JSON.parse(readFileSync(extra, 'utf8'))).toEqual(receipt);
    expect(receipt).toMatchObject({
      outcome: 'blocked',
      exit_code: 6,
      reason: { code: 'CONTROLLER_LOST' },
      findings: [{ code: 'RECOVERED' }],
      candidates: ['one', 'two'],
    });
    const attempt = attemptOf(receipt);
    expect(attempt).toMatchObject({
      state: 'failed-unknown',
      code: 'CONTROLLER_LOST',
      process_started: true,
      isolation: { level: 'guard', mechanism: 'bwrap' },
      termination: { kind: 'signaled', signal: 'SIGKILL' },
      processes: { survivors: 0 },
      canonical: { unchanged: false, differences: [{ what: 'unreadable' }] },
      transport: null,
      cleanup: { exact: false, workspace_removed: false, processes_gone: true },
    });
    expect(attempt?.changes.map(({ path, status }) => [path, status])).toEqual([
      ['src/a.txt', 'M'],
      ['src/new.txt', 'A'],
    ]);
    expect(attempt?.ignored.paths).toEqual(['build.log']);
    expect(readFileSync(join(attempt?.cleanup.retained_path ?? '', 'src/new.txt'), 'utf8')).toBe('second');
    expect(attempt?.findings.map(({ code }) => code)).not.toContain('CANONICAL_CHANGED');
  });

  test('commits that the worker made are kept', async () => {
    const world = new World();
    const commit = 'git -c user.name=w -c user.email=w@w commit -q';
    const script = `echo x > src/y; git add -A; ${commit} -m one; git reset -q --hard HEAD~1; ${WRITES}`;
    world.configure({ one: { script } });
    const before = world.canonical();
    await killedMidway(world);
    const receipt = await expectRecovered(world, before);
    const kept = attemptOf(receipt)?.quarantine?.commit ?? '';
    expect(world.git('log', '--format=%s', kept).split('\n')).toContain('one');
  });

  test('in the midst of tidying up: what is already removed is in the commit', async () => {
    const script = 'echo more >> src/a.txt; echo new > src/new.txt; exit 3';
    const places = join(new World().folder, 'places');
    const start = (world: World, env: Readonly<Record<string, string>>) => {
      world.configure({ one: { script } });
      const args = ['run', '--role', 'repair', '--quiet', '--unit', world.packet(), '--state-dir', world.state];
      return world.cli(args, { tool, env });
    };
    await start(new World(), { AX_CRASH_LOG: places });
    const lines = readFileSync(places, 'utf8').split('\n');
    const at = lines.findIndex((line) => line.includes('"step":"cleanup","phase":"before"')) + 1;
    const world = new World();
    expect((await start(world, { AX_CRASH: `${at}:after` })).code).toBeNull();
    const workspace = join(world.state, runsOf(world)[0] ?? '', 'attempts', '01-one', 'repo');
    rmSync(join(workspace, 'src', 'new.txt'));
    const before = world.canonical();
    const attempt = attemptOf(await expectRecovered(world, before));
    expect(world.git('show', `${attempt?.quarantine?.commit}:src/new.txt`)).toBe('new');
    expect(attempt?.changes.map(({ path, status }) => [path, status])).toEqual([
      ['src/a.txt', 'M'],
      ['src/new.txt', 'A'],
    ]);
  });

  test.each([
    ['"step":"preserve","phase":"after"', 0],
    ['"step":"cleanup","phase":"before"', 6],
  ])('the ref that the journal tells of is gone, at %s: never that nothing was written', async (step, code) => {
    const places = join(new World().folder, 'places');
    const start = (world: World, env: Readonly<Record<string, string>>) => {
      world.configure({ one: { script: 'echo new > src/new.txt; exit 3' } });
      const args = ['run', '--role', 'repair', '--quiet', '--unit', world.packet(), '--state-dir', world.state];
      return world.cli(args, { tool, env });
    };
    await start(new World(), { AX_CRASH_LOG: places });
    const at = readFileSync(places, 'utf8')
      .split('\n')
      .findIndex((line) => line.includes(step));
    const world = new World();
    expect((await start(world, { AX_CRASH: `${at + 1}:after` })).code).toBeNull();
    const id = runsOf(world)[0] ?? '';
    const ref = `refs/agent-exec-quarantine/${id}/01-one`;
    world.git('update-ref', '-d', ref);
    const done = await recover(world, id);
    expect(done.code).toBe(code);
    expect(done.runs[0]?.quarantine).toEqual(code === 0 ? [ref] : []);
    if (code === 0) expect(world.git('show', `${ref}:src/new.txt`)).toBe('new');
    else expect(done.runs[0]?.reason?.message).toContain(`${ref} (`);
    expect(readFileSync(join(done.runs[0]?.retained[0] ?? '', 'src/new.txt'), 'utf8')).toBe('new\n');
  });

  test('what setup commands wrote is kept too, and said to be counted with the rest', async () => {
    const world = new World();
    const setup = world.script('setup', '#!/bin/sh\necho installed > src/setup.txt\n');
    world.configure({ one: { script: WRITES } }, ['setup:', `  - [${setup}]`]);
    const before = world.canonical();
    await killedMidway(world);
    const attempt = attemptOf(await expectRecovered(world, before));
    expect(attempt?.findings.map(({ code }) => code)).toContain('SETUP_INCLUDED');
    expect(world.git('show', `${attempt?.quarantine?.commit}:src/setup.txt`)).toBe('installed');
  });

  test.each(['before the worker', 'with a success in its hands'])('%s', async (moment) => {
    const world = new World();
    world.configure({ one: { script: 'echo more >> src/a.txt' } });
    const before = world.canonical();
    const args = ['run', '--role', 'repair', '--quiet', '--unit', world.packet(), '--state-dir', world.state];
    const places = join(world.folder, 'places');
    const whole = new World();
    whole.configure({ one: { script: 'echo more >> src/a.txt' } });
    await whole.cli(['run', '--role', 'repair', '--unit', whole.packet(), '--state-dir', whole.state], {
      tool,
      env: { AX_CRASH_LOG: places },
    });
    const wanted =
      moment === 'before the worker' ? '"step":"worker","phase":"before"' : '"step":"attempt","phase":"after"';
    const at =
      readFileSync(places, 'utf8')
        .split('\n')
        .findIndex((line) => line.includes(wanted)) + 1;
    const died = await world.cli(args, { tool, env: { AX_CRASH: `${at}:after` } });
    expect(died.code).toBeNull();
    const receipt = await expectRecovered(world, before);
    if (moment === 'before the worker') {
      expect(attemptOf(receipt)).toMatchObject({
        code: 'CONTROLLER_LOST',
        termination: { kind: 'not-started', error: 'CONTROLLER_LOST' },
        quarantine: null,
        change_count: 0,
      });
    } else {
      expect(receipt).toMatchObject({ outcome: 'success', exit_code: 0, findings: [{ code: 'RECOVERED' }] });
      expect(world.git('show', `${attemptOf(receipt)?.transport?.commit}:src/a.txt`)).toBe('a\nmore');
    }
  });
});

describe('what is left alone', () => {
  test('a run that is under way, by name and without', async () => {
    const world = sample();
    let told: Awaited<ReturnType<typeof recover>> | null = null;
    let all: Awaited<ReturnType<typeof recover>> | null = null;
    let untouched = false;
    const done = await world.run(
      {},
      {
        onStart: () => {
          const watcher = watch(world.folder, async (_, name) => {
            if (name !== 'ready') return;
            watcher.close();
            try {
              await workerNoted(world);
              const seen = photograph(world.state);
              all = await recover(world);
              told = await recover(world, 'last');
              untouched = JSON.stringify(photograph(world.state)) === JSON.stringify(seen);
            } finally {
              writeFileSync(join(world.folder, 'go'), '');
            }
          });
        },
      },
    );
    expect(untouched).toBe(true);
    expect(done.code).toBe(0);
    expect(all).toMatchObject({ code: 0, runs: [] });
    expect(told).toMatchObject({ code: 0, runs: [{ result: 'running', outcome: null }] });
  });

  test('a run of another container, until somebody vouches for its end', async () => {
    const world = sample();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    edit(journalOf(world, id), (text) => text.replaceAll(/"scope":"[^"]*"/g, '"scope":"elsewhere pid:[1]"'));
    const alone = await recover(world);
    expect(alone).toMatchObject({ code: 6, runs: [{ result: 'controller-unknown' }] });
    expect(alone.runs[0]?.message).toContain(`agent-exec recover ${id} --assume-gone`);
    expect(receiptsOf(world)).toEqual([]);
    expect(await recover(world, id, '--assume-gone')).toMatchObject({ code: 0, runs: [{ result: 'recovered' }] });
  });

  test('last and a beginning mean a run of the enclosing repository, as everywhere', async () => {
    const [world, other] = [sample(), sample()];
    for (const one of [world, other]) writeFileSync(join(one.folder, 'go'), '');
    for (const one of [world, world, other]) {
      const args = ['run', '--role', 'repair', '--quiet', '--unit', one.packet(), '--state-dir', world.state];
      expect((await one.cli(args)).code).toBe(0);
    }
    expect((await recover(world, 'last')).runs[0]?.run_id).toBe(runsOf(world)[1]);
    const several = await recover(world, '20');
    expect(several).toMatchObject({ code: 2, stdout: '' });
    expect(several.stderr).toContain(runsOf(world)[0]);
  });

  test('a finished run, a directory that is no run, and none at all', async () => {
    const world = sample();
    writeFileSync(join(world.folder, 'go'), '');
    await world.run();
    mkdirSync(join(world.state, 'not-a-run'));
    mkdirSync(join(world.state, '20200101t000000000z-abcdef'));
    const seen = photograph(world.state);
    expect(await recover(world, runsOf(world)[1] ?? '')).toMatchObject({
      code: 0,
      runs: [{ result: 'already-finished' }],
    });
    expect(await recover(world, '20200101')).toMatchObject({ code: 6, runs: [{ result: 'unaccountable' }] });
    expect(await recover(world)).toMatchObject({ code: 0, runs: [] });
    expect(await recover(world, 'nonsense')).toMatchObject({ code: 3, stdout: '' });
    expect(photograph(world.state)).toEqual(seen);
    rmSync(world.state, { recursive: true });
    expect(await recover(world)).toMatchObject({ code: 0, runs: [] });
    expect(await recover(world, 'last')).toMatchObject({ code: 3 });
    expect(existsSync(world.state)).toBe(false);
  });
});

describe('a world that went on', () => {
  test('two at once: one after the other, one receipt', async () => {
    const world = sample();
    const before = world.canonical();
    const id = await killedMidway(world);
    const answers = await Promise.all(Array.from({ length: 4 }, () => recover(world, id)));
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const results = answers.map(({ runs }) => runs[0]?.result).sort();
    expect(results.filter((result) => result === 'recovered')).toHaveLength(1);
    expect(new Set(results)).toEqual(new Set(['already-finished', 'recovered']));
    await expectRecovered(world, before);
  });

  test('the machine was started again: nothing of it is looked for', async () => {
    const world = sample();
    const before = world.canonical();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    // The pids are alive (this very process), only of another boot.
    const other = `"pid":${process.pid},"started":1,"boot_id":"00000000-0000-0000-0000-000000000000"`;
    edit(journalOf(world, id), (text) => text.replaceAll(/"pid":\d+,"started":\d+,"boot_id":"[^"]*"/g, other));
    expect(attemptOf(await expectRecovered(world, before))?.processes.killed).toBe(0);
  });

  test.each([
    ['its journal', ['journal.jsonl']],
    ['its plan', ['plan.json']],
    ['its groundwork', ['host.git', 'ignore-rules']],
    ['the prompt and the logs', ['attempts/01-one/prompt.md', 'attempts/01-one/logs']],
  ])('somebody tidied %s away', async (_, gone) => {
    const world = sample();
    const before = world.canonical();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    for (const path of gone) rmSync(join(world.state, id, path), { recursive: true });
    const receipt = await expectRecovered(world, before);
    expect(receipt?.reason.code).toBe('CONTROLLER_LOST');
    expect(attemptOf(receipt)?.change_count).toBe(2);
  });

  test('the workspace is gone: the receipt says so, and a person must look', async () => {
    const world = sample();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    rmSync(join(world.state, id, 'attempts', '01-one', 'repo'), { recursive: true });
    expect(await recover(world)).toMatchObject({
      code: 6,
      runs: [
        { result: 'recovered', outcome: 'blocked', reason: { code: 'CONTROLLER_LOST' }, quarantine: [], retained: [] },
      ],
    });
    expect(attemptOf(receiptsOf(world)[0]?.receipt)?.message).toContain('is not there any more');
  });

  test('the private repository is gone: files are kept all the same', async () => {
    const world = sample();
    const before = world.canonical();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    rmSync(join(world.state, id, 'attempts', '01-one', 'private.git'), { recursive: true });
    await expectRecovered(world, before);
    expect(witnessed(world)).toHaveLength(3);
  });

  test('the repository has moved: recover says where it was, and takes its new place', async () => {
    const world = sample();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    const moved = join(world.folder, 'moved');
    renameSync(world.repo, moved);
    const old = world.repo;
    world.repo = moved;
    const at = await recover(world, id, '--repo', moved);
    expect(at).toMatchObject({ code: 0, runs: [{ result: 'recovered', quarantine: [expect.stringContaining(id)] }] });
    expect(world.git('show', `refs/agent-exec-quarantine/${id}/01-one:src/new.txt`)).toBe('second');
    expect(existsSync(old)).toBe(false);
  });

  test('the repository is not there: nothing is finished, and it can be when it is back', async () => {
    const world = sample();
    const before = world.canonical();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    const away = join(world.folder, 'away');
    renameSync(world.repo, away);
    for (const args of [[], [id]]) {
      const done = await world.cli(['recover', '--json', '--state-dir', world.state, ...args], { cwd: world.folder });
      expect(done.code).toBe(6);
      const [run] = recovery.parse(JSON.parse(done.stdout)).runs;
      expect(run).toMatchObject({ run_id: id, result: 'not-kept', receipt: null });
      expect(run?.message).toContain(`agent-exec recover ${id} --repo PATH`);
    }
    expect(world.leftovers()).toEqual([]);
    renameSync(away, world.repo);
    await expectRecovered(world, before);
  });

  test('a journal that names another folder is not believed', async () => {
    const world = sample();
    const before = world.canonical();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    const workspace = join(world.state, id, 'attempts', '01-one', 'repo');
    edit(journalOf(world, id), (text) => text.replaceAll(`"path":"${workspace}"`, `"path":"${world.repo}"`));
    expect(readFileSync(journalOf(world, id), 'utf8')).toContain(`"path":"${world.repo}"`);
    const attempt = attemptOf(await expectRecovered(world, before));
    expect(attempt?.cleanup.retained_path).toBe(workspace);
  });

  describe('somebody stands in its way', () => {
    const obstacles: Record<string, (world: World, id: string) => () => void> = {
      'a lock on its ref': (world, id) => {
        const lock = join(world.repo, '.git/refs/agent-exec-quarantine', id, '01-one.lock');
        mkdirSync(join(lock, '..'), { recursive: true });
        writeFileSync(lock, '');
        return () => rmSync(lock);
      },
      'a commit that is not its work': (world, id) => {
        const ref = `refs/agent-exec-quarantine/${id}/01-one`;
        world.git('update-ref', ref, world.git('commit-tree', '-p', 'HEAD', '-m', 'z', 'HEAD^{tree}'));
        return () => world.git('update-ref', '-d', ref);
      },
      'a commit without a parent': (world, id) => {
        const ref = `refs/agent-exec-quarantine/${id}/01-one`;
        world.git('update-ref', ref, 'HEAD');
        return () => world.git('update-ref', '-d', ref);
      },
      'a folder in the place of its receipt': (world, id) => {
        const receipt = join(world.state, id, 'receipt.json');
        mkdirSync(receipt);
        return () => rmSync(receipt, { recursive: true });
      },
      'a pipe in the place of its journal': (world, id) => {
        const journal = journalOf(world, id);
        renameSync(journal, `${journal}.away`);
        execFileSync('mkfifo', [journal]);
        return () => renameSync(`${journal}.away`, journal);
      },
    };
    test.each(Object.entries(obstacles))('%s: it says so, and goes on when it is gone', async (_, stand) => {
      const world = sample();
      const before = world.canonical();
      const id = await killedMidway(world);
      writeFileSync(join(world.folder, 'go'), '');
      const goAway = stand(world, id);
      for (let i = 0; i < 2; i++) {
        const told = await recover(world, id);
        expect([told.code, told.stderr]).toEqual([6, '']);
        expect(['not-kept', 'state-unwritable']).toContain(told.runs[0]?.result);
      }
      goAway();
      await expectRecovered(world, before);
    });
  });

  test('the repository is gone for good: the work stays in its workspace, and the receipt is written', async () => {
    const world = sample();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    rmSync(world.repo, { recursive: true });
    const args = ['recover', id, '--without-commit', '--json', '--state-dir', world.state];
    const done = await world.cli(args, { cwd: world.folder });
    expect(done.code).toBe(6);
    const [run] = recovery.parse(JSON.parse(done.stdout)).runs;
    expect(run).toMatchObject({ result: 'recovered', quarantine: [] });
    expect(readFileSync(join(run?.retained[0] ?? '', 'src/new.txt'), 'utf8')).toBe('second');
    expect(existsSync(join(world.state, id, 'receipt.json'))).toBe(true);
  });

  test.skipIf(process.getuid?.() === 0)('a state root that cannot be written: nothing is changed', async () => {
    const world = sample();
    const id = await killedMidway(world);
    writeFileSync(join(world.folder, 'go'), '');
    chmodSync(join(world.state, id), 0o500);
    expect(await recover(world, id)).toMatchObject({ code: 6, runs: [{ result: 'state-unwritable' }] });
    chmodSync(join(world.state, id), 0o700);
    expect(await recover(world, id)).toMatchObject({ code: 0 });
  });
});

describe('processes', () => {
  const DAEMON = `
( setsid env -i /bin/sh -c 'echo $$ > @D@/daemon; sleep 120; : @MARK@' >/dev/null 2>&1 & )
while ! test -s @D@/daemon; do sleep 0.02; done
${WRITES}`;

  test.each([
    { name: 'bwrap', missing: [] },
    { name: 'unshare that ends with its parent', missing: ['bwrap'] },
    { name: 'unshare that does not', missing: ['bwrap', 'setpriv'] },
    { name: 'nothing but an inherited mark', missing: ['bwrap', 'unshare'] },
  ])('a daemon with a wiped environment, held by $name, is gone; a look-alike lives', async ({ missing }) => {
    const world = new World();
    world.configure({ one: { script: DAEMON } });
    const before = world.canonical();
    const env = missing.length === 0 ? {} : { PATH: world.pathWithout(...missing) };
    await killedMidway(world, [], env);
    expect(existsSync(join(world.folder, 'daemon'))).toBe(true);
    // What looks like the worker and carries nothing of the attempt.
    const alike = spawn('sleep', ['120'], { cwd: world.repo, stdio: 'ignore' });
    try {
      await expectRecovered(world, before);
      expect([alike.exitCode, alike.signalCode]).toEqual([null, null]);
    } finally {
      alike.kill('SIGKILL');
    }
  });
});
