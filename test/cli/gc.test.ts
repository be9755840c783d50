/**
 * `gc`: whatever state a run is in, nothing of it goes that anybody still needs, unless the run was named; and what goes
 * is the run's directory and its own refs, nothing else. Checked on disk and with plain git.
 */
import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { gcCommand } from '../../src/cli/gc.ts';
import { type GcReport, gcReport } from '../../src/model/gc.ts';
import { selfIdentity } from '../../src/process/identity.ts';
import { createJournal } from '../../src/store/journal.ts';
import { type Finished, World } from '../run/world.ts';
import { NEEDS_ROOT, readOnlyMount } from '../store/temporary.ts';
import { collecting, parsed } from './collected.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt';
const OLD = ['--older-than', '0m'];

interface Collected {
  readonly code: number | null;
  readonly report: GcReport;
}

async function gc(world: World, ...args: string[]): Promise<Collected> {
  const said = await world.cli(['gc', '--json', '--state-dir', world.state, ...args]);
  if (said.stdout === '') throw new Error(`no answer: exit ${said.code} ${said.stderr}`);
  return { code: said.code, report: gcReport.parse(JSON.parse(said.stdout)) };
}

/** Names in the state root that are of runs. */
const inState = (world: World): string[] =>
  readdirSync(world.state).filter((name) => name !== 'probe-cache.json' && name !== 'gc.lock');
const ownRefs = (world: World): string[] =>
  world
    .git('for-each-ref', '--format=%(refname)', 'refs/agent-exec/', 'refs/agent-exec-quarantine/')
    .split('\n')
    .filter(Boolean);

/** Everything that a run has: its directory to the byte, its refs, the telemetry. */
const everything = (world: World): unknown => [
  world.canonical(world.state),
  ownRefs(world),
  readFileSync(join(world.repo, '.git/agent-exec/calls.jsonl'), 'utf8'),
];

async function ran(
  script: string,
  prepare: (world: World) => void = () => {},
): Promise<{ world: World; done: Finished }> {
  const world = new World();
  prepare(world);
  world.configure({ one: { script } }, ['fallback_to_host: never']);
  return { world, done: await world.run() };
}

/** Nothing is touched, by a dry run and by a real one, and the reason is this. */
async function expectKept(world: World, reason: string, runId: string): Promise<void> {
  const before = everything(world);
  for (const dry of [['--dry-run'], []]) {
    const { code, report } = await gc(world, ...OLD, ...dry);
    expect(report.entries.map(({ run_id, result, reason: why }) => [run_id, result, why])).toEqual([
      [runId, 'kept', reason],
    ]);
    expect(code).toBe(0);
  }
  expect(everything(world)).toEqual(before);
}

/** All of the run goes, and telemetry stays. */
async function expectRemoved(world: World, ...args: string[]): Promise<Collected> {
  const telemetry = world.telemetry().length;
  const collected = await gc(world, ...args);
  expect(collected.report.entries.map(({ result }) => result)).toEqual(['removed']);
  expect(collected.code).toBe(0);
  expect(inState(world)).toEqual([]);
  expect(ownRefs(world)).toEqual([]);
  expect(world.telemetry().length).toBe(telemetry);
  return collected;
}

/** Resolves when the world's folder has this file. */
const appears = (world: World, name: string): Promise<void> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (!existsSync(join(world.folder, name))) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(world.folder, look);
    look();
  });

/** A run whose worker has written and waits; `end` gets its agent-exec. */
async function midRun(during: (world: World, runId: string, child: ChildProcess) => Promise<void>): Promise<World> {
  const world = new World();
  world.configure({ one: { script: `${WORK}; touch @D@/ready; exec sleep 600` } });
  let began: ChildProcess | null = null;
  const done = world.cli(['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state], {
    onStart: (child) => {
      began = child;
    },
  });
  await appears(world, 'ready');
  const child = began as unknown as ChildProcess;
  try {
    const [runId = ''] = inState(world);
    await during(world, runId, child);
  } finally {
    child.kill('SIGKILL');
  }
  await done;
  return world;
}

describe('in every state of a run', () => {
  test('running: kept, even if it is named', async () => {
    await midRun(async (world, runId) => {
      for (const args of [OLD, [runId]]) {
        const { code, report } = await gc(world, ...args);
        expect(report.entries).toMatchObject([{ run_id: runId, result: 'kept', reason: 'running' }]);
        expect(code).toBe(args === OLD ? 0 : 6);
      }
      expect(existsSync(join(world.state, runId, 'attempts/01-one/repo/src/a.txt'))).toBe(true);
    });
  });

  test('killed: kept, even if it is named; recovered, its workspace keeps it until it is named', async () => {
    const world = await midRun(async (_world, _runId, child) => void child.kill('SIGKILL'));
    const [runId = ''] = inState(world);
    for (const args of [OLD, [runId]]) {
      const { code, report } = await gc(world, ...args);
      expect(report.entries).toMatchObject([{ result: 'kept', reason: 'unfinished' }]);
      expect(report.entries[0]?.message).toContain('agent-exec recover');
      expect(code).toBe(args === OLD ? 0 : 6);
    }
    expect((await world.cli(['recover', '--state-dir', world.state])).code).toBe(0);
    await expectKept(world, 'workspace', runId);
    const { report } = await expectRemoved(world, runId);
    expect(report.entries[0]?.refs).toMatchObject([{ contained_in: null }]);
  });

  test('blocked with a workspace: kept until it is named, and the workspace is told', async () => {
    const { world, done } = await ran(`${WORK}; echo d >> docs/d.txt`);
    const { run_id: runId, outcome, attempts } = done.receipt;
    expect(outcome).toBe('blocked');
    const workspace = attempts[0]?.cleanup.retained_path ?? '';
    await expectKept(world, 'workspace', runId);
    const { report } = await gc(world, ...OLD);
    expect(report.entries[0]?.folders).toContain(workspace);
    const words = await world.cli(['gc', ...OLD, '--state-dir', world.state]);
    expect(words.stdout).toContain(workspace);
    await expectRemoved(world, runId);
  });

  test('a success that nobody has taken: kept, and it can still be taken', async () => {
    const { world, done } = await ran(WORK);
    await expectKept(world, 'unmerged', done.receipt.run_id);
    expect((await world.cli(['apply', 'last', '--state-dir', world.state])).code).toBe(0);
    // Staged or committed anew it is another commit: only git's own word that it contains this one counts.
    await expectKept(world, 'unmerged', done.receipt.run_id);
  });

  const CONTAINED: Record<string, (world: World, commit: string) => void> = {
    'the branch of HEAD': (world, commit) => void world.git('merge', '-q', '--ff-only', commit),
    'another branch, below later work': (world, commit) => {
      world.git('checkout', '-q', '-b', 'side', commit);
      world.write('docs/later', 'later\n');
      world.commit('later');
      world.git('checkout', '-q', 'main');
    },
    'a remote-tracking branch': (world, commit) => void world.git('update-ref', 'refs/remotes/origin/main', commit),
    'an annotated tag': (world, commit) => void world.git('tag', '-a', '-m', 't', 'v1', commit),
    'a detached HEAD of another worktree': (world, commit) =>
      void world.git('worktree', 'add', '-q', '--detach', join(world.folder, 'other'), commit),
  };
  test.each(Object.entries(CONTAINED))('a success that is in %s: removed with its ref', async (_title, contain) => {
    const { world, done } = await ran(WORK);
    const commit = done.summary.transport?.commit ?? '';
    contain(world, commit);
    const canonical = world.canonical();
    const { report } = await expectRemoved(world, ...OLD);
    expect(report.entries[0]?.refs).toMatchObject([{ ref: done.summary.transport?.ref, commit }]);
    expect(world.git('show', `${commit}:src/a.txt`)).toBe('a\nmore');
    expect(world.canonical()).toEqual(canonical);
  });

  test('a success that only the stash or a ref of somebody has: kept', async () => {
    const { world, done } = await ran(WORK);
    world.git('update-ref', 'refs/stash', done.summary.transport?.commit ?? '');
    world.git('update-ref', 'refs/pull/1', done.summary.transport?.commit ?? '');
    await expectKept(world, 'unmerged', done.receipt.run_id);
  });

  test('a success with ignored files beside it: kept for those, though the change is merged', async () => {
    const { world, done } = await ran(`${WORK}; mkdir build; echo c > build/c`);
    world.git('merge', '-q', '--ff-only', done.summary.transport?.commit ?? '');
    const { report } = await gc(world, ...OLD);
    expect(report.entries).toMatchObject([{ result: 'kept', reason: 'unmerged' }]);
    expect(report.entries[0]?.refs.map(({ ref }) => ref)).toEqual(done.summary.quarantine);
    await expectRemoved(world, done.receipt.run_id);
  });

  test('cancelled: kept where it has left work, removed where it has not', async () => {
    const world = await midRun(async (_world, _runId, child) => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      await ended;
    });
    const [runId = ''] = inState(world);
    const receipt = JSON.parse(readFileSync(join(world.state, runId, 'receipt.json'), 'utf8'));
    expect(receipt.outcome).toBe('cancelled');
    await expectKept(world, 'unmerged', runId);
    world.git('update-ref', '-d', receipt.attempts[0].quarantine.ref);
    await expectRemoved(world, ...OLD);
  });

  test('exhausted with a quarantine: kept until it is named', async () => {
    const { world, done } = await ran(`${WORK}; exit 3`);
    expect(done.receipt.outcome).toBe('exhausted');
    await expectKept(world, 'unmerged', done.receipt.run_id);
    await expectRemoved(world, 'last');
  });

  test('exhausted without work, host fallback: removed', async () => {
    const { world, done } = await ran('exit 3');
    expect(done.receipt.outcome).toBe('exhausted');
    await expectRemoved(world, ...OLD);
    world.configure({ one: { executable: '/nonexistent/cli' } });
    expect((await world.run()).receipt.outcome).toBe('host-fallback-authorized');
    await expectRemoved(world, ...OLD);
  });

  test('evidence-failed: kept for its work, removed when a branch has it', async () => {
    const world = new World();
    mkdirSync(join(world.folder, 'out'));
    world.configure({ one: { script: `${WORK}; rm -r @D@/out` } });
    const args = ['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state];
    const done = await world.cli([...args, '--receipt', join(world.folder, 'out/r.json')]);
    expect(done.code).toBe(7);
    const [runId = ''] = inState(world);
    await expectKept(world, 'unmerged', runId);
    world.git('merge', '-q', '--ff-only', ownRefs(world)[0] ?? '');
    await expectRemoved(world, ...OLD);
  });

  test('neither plan nor receipt can be read: kept until it is named', async () => {
    const { world, done } = await ran(WORK);
    const { run_id: runId } = done.receipt;
    for (const name of ['plan.json', 'journal.jsonl', 'receipt.json'])
      writeFileSync(join(world.state, runId, name), 'x');
    await expectKept(world, 'unaccountable', runId);
    expect((await gc(world, runId)).code).toBe(0);
    expect(inState(world)).toEqual([]);
    // Nobody can say in which repository they are.
    expect(ownRefs(world)).toHaveLength(1);
  });
});

describe('what is old enough', () => {
  test('14 days by default, since the end of the run; units are m, h, d, w', async () => {
    const { world, done } = await ran('exit 3');
    const end = new Date(done.receipt.ended_at).getTime();
    const days = 86_400_000;
    const at = async (ms: number, ...args: string[]): Promise<GcReport> => {
      const outside = collecting({ cwd: world.repo, env: { HOME: world.home, PATH: process.env.PATH } });
      const command = gcCommand(outside.io, () => new Date(end + ms));
      const said = await parsed(command, ['--dry-run', '--json', '--state-dir', world.state, ...args], outside);
      return gcReport.parse(JSON.parse(said.out));
    };
    const results = [
      await at(14 * days - 1),
      await at(14 * days),
      await at(30 * 60_000 - 1, '--older-than', '30m'),
      await at(30 * 60_000, '--older-than', '30m'),
      await at(2 * 7 * days - 1, '--older-than', '2w'),
      await at(2 * 7 * days, '--older-than', '2w'),
    ];
    expect(results.map(({ entries }) => entries[0]?.result)).toEqual([
      'kept',
      'removed',
      'kept',
      'removed',
      'kept',
      'removed',
    ]);
  });

  test.each(['30', 'd', '1y', '-1d', '1.5d', ''])('%j is no age', async (age) => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    expect((await world.cli(['gc', `--older-than=${age}`, '--state-dir', world.state])).code).toBe(2);
    expect((await world.cli(['gc', 'last', '--older-than', '1d', '--state-dir', world.state])).code).toBe(2);
  });
});

describe('leftovers', () => {
  const OLD_ID = '20200101t000000000z-0a0a0a';
  const FUTURE_ID = '29990101t000000000z-0a0a0b';

  test('of runs that never began, of live probes and of a gc that died go; those in use stay', async () => {
    const { world, done } = await ran('exit 3');
    const folder = (name: string): string => {
      mkdirSync(join(world.state, name, 'deep'), { recursive: true });
      writeFileSync(join(world.state, name, 'deep/file'), '');
      return join(world.state, name);
    };
    folder(`starting-${OLD_ID}`);
    folder(`starting-${FUTURE_ID}`);
    const alive = folder('starting-20200101t000000000z-0a0a0c');
    const journal = await createJournal(join(alive, 'journal.jsonl'), selfIdentity(), () => new Date());
    if (!journal.ok) throw new Error(journal.error.message);
    await journal.value.close();
    folder(`live-${OLD_ID}`);
    folder(`live-${FUTURE_ID}`);
    folder(`removing-${OLD_ID}`);
    folder(`removing-${OLD_ID}-removing-Ab12Cd`);
    // The temporary repository of a live probe whose run is here.
    folder(`live-${done.receipt.run_id}`);
    for (const name of ['mine', 'starting-mine', 'live-mine', 'removing-mine', `${OLD_ID}.tar`]) folder(name);

    const { report } = await gc(world, '--older-than', '1d');
    const results = report.entries.map(({ kind, run_id, result, reason }) => `${kind} ${run_id} ${reason ?? result}`);
    expect(results.sort()).toEqual(
      [
        `run ${done.receipt.run_id} young`,
        `starting ${OLD_ID} removed`,
        `starting ${FUTURE_ID} young`,
        'starting 20200101t000000000z-0a0a0c running',
        `live ${OLD_ID} removed`,
        `live ${FUTURE_ID} young`,
        `live ${done.receipt.run_id} its-run-stays`,
        `removing ${OLD_ID} removed`,
        `removing ${OLD_ID} removed`,
      ].sort(),
    );
    expect(inState(world).sort()).toEqual(
      [
        done.receipt.run_id,
        `starting-${FUTURE_ID}`,
        'starting-20200101t000000000z-0a0a0c',
        `live-${FUTURE_ID}`,
        `live-${done.receipt.run_id}`,
        ...['mine', 'starting-mine', 'live-mine', 'removing-mine', `${OLD_ID}.tar`],
      ].sort(),
    );
    await gc(world, ...OLD);
    expect(inState(world).filter((name) => name.includes(done.receipt.run_id))).toEqual([]);
  });

  test('a gc that died: the next one finishes, and nothing takes it for a run that never ended', async () => {
    const { world, done } = await ran(WORK);
    const { run_id: runId } = done.receipt;
    world.git('merge', '-q', '--ff-only', done.summary.transport?.commit ?? '');
    const copy = join(world.folder, 'copy');
    cpSync(join(world.state, runId), copy, { recursive: true });
    const nothingToRecover = async (): Promise<void> => {
      const said = await world.cli(['recover', '--state-dir', world.state]);
      expect(said.stdout).toMatch(/^nothing to recover/);
    };
    // After the refs.
    world.git('update-ref', '-d', done.summary.transport?.ref ?? '');
    await nothingToRecover();
    await expectRemoved(world, ...OLD);
    // In the midst of the directory, with a journal and without its receipt.
    cpSync(copy, join(world.state, `removing-${runId}`), { recursive: true });
    rmSync(join(world.state, `removing-${runId}`, 'receipt.json'));
    await nothingToRecover();
    expect((await world.cli(['show', runId, '--state-dir', world.state])).code).toBe(3);
    await expectRemoved(world);
  });

  test('SIGKILL in the midst of a removal: what is left says what it is, and the next one finishes', async () => {
    const { world, done } = await ran('exit 3');
    const { run_id: runId } = done.receipt;
    const many = join(world.state, runId, 'attempts/01-one/logs');
    for (let i = 0; i < 20_000; i++) writeFileSync(join(many, `f${i}`), '');
    await world.cli(['gc', ...OLD, '--state-dir', world.state], {
      onStart: (child) => {
        const watcher = watch(world.state, (_, name) => {
          if (name !== `removing-${runId}` && name !== runId) return;
          watcher.close();
          child.kill('SIGKILL');
        });
      },
    });
    expect(inState(world)).toEqual([`removing-${runId}`]);
    const said = await world.cli(['recover', '--state-dir', world.state]);
    expect(said.stdout).toMatch(/^nothing to recover/);
    await expectRemoved(world);
  });

  test('two at once: each run goes once, and both end well', async () => {
    const { world } = await ran('exit 3');
    await world.run();
    await world.run();
    const both = await Promise.all([gc(world, ...OLD), gc(world, ...OLD)]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(both.flatMap(({ report }) => report.entries).map(({ result }) => result)).toEqual([
      'removed',
      'removed',
      'removed',
    ]);
    expect(inState(world)).toEqual([]);
  });
});

describe('nothing outside', () => {
  test('links in a run are not followed, a link in the place of a run stays', async () => {
    const { world, done } = await ran('exit 3');
    const outside = join(world.folder, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'precious'), 'p');
    symlinkSync(outside, join(world.state, done.receipt.run_id, 'attempts/01-one/logs/link'));
    const { run_id: second } = (await world.run()).receipt;
    renameSync(join(world.state, second), join(world.folder, 'elsewhere'));
    symlinkSync(join(world.folder, 'elsewhere'), join(world.state, second));
    const { report } = await gc(world, ...OLD);
    expect(report.entries.map(({ result, reason }) => reason ?? result)).toEqual(['removed', 'not-a-folder']);
    expect(readdirSync(outside)).toEqual(['precious']);
    expect(existsSync(join(world.folder, 'elsewhere/receipt.json'))).toBe(true);
    expect((await gc(world, second)).code).toBe(6);
    expect(existsSync(join(world.folder, 'elsewhere/receipt.json'))).toBe(true);
  });

  test('a run with something mounted in it stays', async (context) => {
    const { world, done } = await ran('exit 3');
    const logs = join(world.state, done.receipt.run_id, 'attempts/01-one/logs');
    const unmount = readOnlyMount(logs);
    if (unmount === null) return context.skip(NEEDS_ROOT);
    try {
      const { code, report } = await gc(world, done.receipt.run_id);
      expect([code, report.entries[0]?.reason]).toEqual([6, 'not-removable']);
      expect(report.entries[0]?.message).toContain(logs);
      expect(existsSync(join(world.state, done.receipt.run_id, 'receipt.json'))).toBe(true);
    } finally {
      unmount();
    }
  });

  test('runs of another repository: refs are looked up there; --repo means one; one that is not there keeps its runs', async () => {
    const { world, done } = await ran(WORK);
    const other = new World();
    other.configure({ one: { script: WORK } });
    const second = await other.run({}, { stateDir: world.state });
    const results = async (...args: string[]): Promise<string[]> =>
      (await gc(world, ...OLD, '--dry-run', ...args)).report.entries.map(
        ({ run_id, result, reason }) => `${run_id === done.receipt.run_id ? 'own' : 'other'} ${reason ?? result}`,
      );
    expect(await results()).toEqual(['own unmerged', 'other unmerged']);
    other.git('merge', '-q', '--ff-only', second.summary.transport?.commit ?? '');
    expect(await results()).toEqual(['own unmerged', 'other removed']);
    expect(await results('--repo', world.repo)).toEqual(['own unmerged']);
    expect(await results('--repo', other.repo)).toEqual(['other removed']);
    other.git('reset', '-q', '--hard', 'HEAD~1');
    // Moved: only who says where it is now is told of its refs.
    renameSync(other.repo, join(other.folder, 'moved'));
    expect(await results('--repo', join(other.folder, 'moved'))).toEqual(['other unmerged']);
    expect(await results()).toEqual(['own unmerged', 'other repository-missing']);
    const { report } = await gc(world, done.receipt.run_id, second.receipt.run_id, '--dry-run');
    expect(report.entries[1]?.message).toContain('no ref was touched');
    const refs = execFileSync('git', ['-C', join(other.folder, 'moved'), 'for-each-ref', 'refs/agent-exec/'], {
      encoding: 'utf8',
    });
    expect(refs).toContain(second.receipt.run_id);
  });

  test('a repository that cannot be read keeps its runs', async () => {
    const { world, done } = await ran(WORK);
    writeFileSync(join(world.repo, '.git/config'), '[core\n');
    const said = await world.cli(['gc', '--json', ...OLD, '--state-dir', world.state], { cwd: world.folder });
    expect(JSON.parse(said.stdout).entries).toMatchObject([
      { run_id: done.receipt.run_id, result: 'kept', reason: 'repository-unreadable' },
    ]);
  });
});

describe('what it says', () => {
  test('a dry run the same words as the real one; no state root is nothing to do', async () => {
    const { world, done } = await ran(WORK);
    expect(done.code).toBe(0);
    world.configure({ one: { script: 'exit 3' } });
    await world.run();
    const said = async (...args: string[]): Promise<string[]> =>
      (await world.cli(['gc', ...OLD, '--state-dir', world.state, ...args])).stdout.trimEnd().split('\n');
    const dry = await said('--dry-run');
    const real = await said();
    expect(dry[0]).toBe('dry run, nothing is removed:');
    expect(dry.slice(1, -1)).toEqual(real);
    expect(real.at(-1)).toBe('1 removed, 1 kept');
    expect(real.join('\n')).toContain('agent-exec apply');
    const none = await world.cli(['gc', '--state-dir', join(world.folder, 'none')]);
    expect(none).toMatchObject({ code: 0, stdout: '0 removed, 0 kept\n' });
    expect(existsSync(join(world.folder, 'none'))).toBe(false);
    expect((await world.cli(['gc', 'nonesuch', '--state-dir', world.state])).code).toBe(3);
    expect(spawnSync('git', ['-C', world.repo, 'fsck'], { encoding: 'utf8' }).status).toBe(0);
  });
});
