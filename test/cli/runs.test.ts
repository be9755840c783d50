/** What `runs` lists: every run there is, whatever its state, and nothing that is none. Looking changes nothing. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type RunList, runList } from '../../src/model/runs.ts';
import { renderReceipt, sealReceipt } from '../../src/receipt/receipt.ts';
import { World } from '../run/world.ts';
import { killed, photographOf, underWay, WAIT } from './looked-at.ts';

const FAILS = 'cat >/dev/null; echo no >> src/a.txt; exit 3';
const WORKS = 'cat >/dev/null; echo yes >> src/a.txt';
const STRAYS = 'cat >/dev/null; echo x >> docs/d.txt';

const listing = (world: World, args: readonly string[] = [], cwd = world.repo) =>
  world.cli(['runs', '--state-dir', world.state, ...args], { cwd });

async function listed(world: World, args: readonly string[] = [], cwd = world.repo): Promise<RunList> {
  const { code, stdout, stderr } = await listing(world, ['--json', ...args], cwd);
  expect([code, stderr]).toEqual([0, '']);
  return runList.parse(JSON.parse(stdout));
}

test('runs of every kind, newest first, with what each kept', async () => {
  const world = new World();
  world.configure({ a: { script: FAILS }, b: { script: WORKS } });
  const success = (await world.run({ unit_id: 'first' })).receipt;
  world.configure({ a: { script: STRAYS } });
  const blocked = (await world.run()).receipt;
  world.configure({ a: { executable: 'not-there' }, b: { executable: 'not-there-either' } });
  const fallback = (await world.run()).receipt;
  const dead = await killed(world);
  rmSync(join(world.folder, 'ready'));
  const running = await underWay(world, `cat >/dev/null; ${WAIT}`);
  try {
    const before = photographOf(world.state);
    const { code, stdout, stderr } = await listing(world);
    const list = await listed(world);
    expect(photographOf(world.state)).toEqual(before);
    expect([code, stderr]).toEqual([0, '']);
    expect(
      stdout
        .replaceAll(/ +/g, ' ')
        .replaceAll(/ \d+s /g, ' AGE ')
        .split('\n'),
    ).toEqual([
      'RUN AGE ROLE UNIT OUTCOME KEPT ATTEMPTS',
      `${running.runId} AGE repair test-unit running workspace 01-one at work (worker)`,
      `${dead} AGE repair test-unit unfinished workspace 01-one cut off (worker)`,
      ` its agent-exec died; finish it: agent-exec recover ${dead} --state-dir ${world.state}`,
      `${fallback.run_id} AGE repair test-unit host-fallback-authorized - 01-a 02-b unavailable`,
      `${blocked.run_id} AGE repair test-unit blocked quarantine+workspace 01-a scope-expansion`,
      `${success.run_id} AGE repair first success transport+quarantine 01-a failed-clean, 02-b success`,
      '',
    ]);
    expect(list).toMatchObject({ state_root: world.state, repository: world.repo, truncated: false });
    expect(list.runs.map(({ run_id, phase }) => [run_id, phase])).toEqual([
      [running.runId, 'running'],
      [dead, 'unfinished'],
      [fallback.run_id, 'finished'],
      [blocked.run_id, 'finished'],
      [success.run_id, 'finished'],
    ]);
    expect(list.runs[4]).toMatchObject({
      outcome: 'success',
      reason: success.reason,
      transport: { ref: success.attempts[1]?.transport?.ref, commit: success.attempts[1]?.transport?.commit },
      quarantine: [{ ref: success.attempts[0]?.quarantine?.ref }],
      retained: [],
      receipt: join(world.state, success.run_id, 'receipt.json'),
      problem: null,
    });
    expect(list.runs[3]?.retained).toEqual([blocked.attempts[0]?.cleanup.retained_path]);
    expect(list.runs[1]).toMatchObject({ outcome: null, receipt: null, attempts: [{ state: null, step: 'worker' }] });
  } finally {
    await running.finish();
  }
});

test('of the enclosing repository, of a named one, of every one, and outside of any all', async () => {
  const world = new World();
  const other = new World();
  for (const one of [world, other]) one.configure({ a: { script: WORKS } });
  const mine = (await world.run()).receipt.run_id;
  const theirs = (await other.run({}, { stateDir: world.state })).receipt.run_id;
  const ids = async (args: readonly string[], cwd?: string) =>
    (await listed(world, args, cwd)).runs.map(({ run_id }) => run_id);
  expect(await ids([])).toEqual([mine]);
  expect(await ids([], join(world.repo, 'src'))).toEqual([mine]);
  expect(await ids(['--repo', other.repo])).toEqual([theirs]);
  expect(await ids(['--all'])).toEqual([theirs, mine]);
  expect(await ids([], world.folder)).toEqual([theirs, mine]);
  world.git('worktree', 'add', '-q', '--detach', join(world.folder, 'linked'));
  expect(await ids([], join(world.folder, 'linked'))).toEqual([mine]);
  const empty = new World();
  empty.commit();
  const none = await listing(world, [], empty.repo);
  expect([none.code, none.stdout]).toEqual([
    0,
    `no runs of ${empty.repo} in ${world.state}; agent-exec runs --all --state-dir ${world.state} lists those of every repository\n`,
  ]);
});

test('no more than asked for, and it says so', async () => {
  const world = new World();
  world.configure({ a: { script: WORKS } });
  for (let i = 0; i < 3; i++) await world.run();
  const { stdout } = await listing(world, ['--limit', '2']);
  expect(stdout.split('\n')).toHaveLength(5);
  expect(stdout).toContain('older runs are not shown: agent-exec runs --limit 10');
  const list = await listed(world, ['--limit', '2']);
  expect([list.runs.length, list.truncated]).toEqual([2, true]);
  expect(await listed(world, ['--limit', '3'])).toMatchObject({ truncated: false });
});

describe('where there is nothing to list', () => {
  test('says so and makes nothing', async () => {
    const world = new World();
    world.commit();
    const done = await listing(world);
    expect([done.code, done.stdout, done.stderr]).toEqual([0, `no runs of ${world.repo}\n`, '']);
    expect(await listed(world)).toMatchObject({ state_root: null, runs: [] });
    expect(existsSync(world.state)).toBe(false);
  });

  test.each([
    [['--limit', '0'], 2, 'at least 1'],
    [['--limit', 'x'], 2, 'at least 1'],
    [['--all', '--repo', '.'], 2, 'cannot be used with'],
    [['more'], 2, 'too many arguments'],
    [['--repo', '/'], 3, 'not inside a git repository'],
  ])('%j ends with %i', async (args, code, words) => {
    const world = new World();
    const done = await listing(world, args);
    expect(done).toMatchObject({ code, stdout: '' });
    expect(done.stderr).toContain(words);
  });

  test('a state root that is not to be trusted is refused', async () => {
    const world = new World();
    mkdirSync(join(world.folder, 'real'), { mode: 0o700 });
    symlinkSync(join(world.folder, 'real'), world.state);
    const done = await listing(world);
    expect(done).toMatchObject({ code: 3, stdout: '' });
    expect(done.stderr).toContain('is a symlink');
  });
});

test('what cannot be read is listed, with the reason, and nothing that it holds reaches the terminal', async () => {
  const world = new World();
  world.configure({ a: { script: WORKS } });
  const { receipt } = await world.run();
  const place = (id: string, ...names: string[]) => join(world.state, id, ...names);
  const empty = '20260101t000000000z-000001';
  const file = '20260101t000000000z-000002';
  const garbage = '20260101t000000000z-000003';
  const hostile = '20260101t000000000z-000004';
  const starting = 'starting-20260101t000000000z-000005';
  const noDate = '99999999t999999999z-000006';
  for (const id of [empty, garbage, hostile, starting, noDate]) mkdirSync(place(id), { mode: 0o700 });
  writeFileSync(place(file), 'not a folder');
  writeFileSync(place(garbage, 'receipt.json'), '\x1b[2J{');
  writeFileSync(place(garbage, 'journal.jsonl'), '{"torn');
  const { digest: _, ...unsealed } = receipt;
  const unit = { ...unsealed.unit, unit_id: '\x1b]0;owned\x07\nforged \u202eline' };
  writeFileSync(place(hostile, 'receipt.json'), renderReceipt(sealReceipt({ ...unsealed, run_id: hostile, unit })));
  writeFileSync(place(receipt.run_id, 'plan.json'), 'gone');
  const done = await listing(world);
  expect([done.code, done.stderr]).toEqual([0, '']);
  expect(done.stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f\u202e]/);
  expect(done.stdout).not.toContain(starting);
  expect(done.stdout.split('\n').filter((line) => line.startsWith('forged'))).toEqual([]);
  const { runs } = await listed(world);
  expect(runs.map(({ run_id, phase }) => [run_id, phase])).toEqual([
    [noDate, 'unaccountable'],
    [receipt.run_id, 'finished'],
    [hostile, 'finished'],
    [garbage, 'unaccountable'],
    [file, 'unaccountable'],
    [empty, 'unaccountable'],
  ]);
  expect(runs[3]?.problem).toContain('its receipt cannot be used: not JSON');
  expect(readFileSync(place(file), 'utf8')).toBe('not a folder');
});

test('help has an example and what the exit codes mean', async () => {
  const { code, stdout } = await new World().cli(['runs', '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('$ agent-exec runs');
  expect(stdout).toContain('Exit codes: 0');
});
