/** The host's own commands around a worker (SPEC 6.10): setup before it, verification of what it delivered. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AttemptRecord } from '../../src/model/receipt.ts';
import { type Finished, World } from './world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt';
const sh = (text: string): string[] => ['sh', '-c', text];
/** A setup list of one command, as the configuration writes it. */
const setup = (world: World, text: string): string[] => [
  'setup:',
  `  - [${world.script('setup', `#!/bin/sh\n${text}\n`)}]`,
];
const only = (done: Finished): AttemptRecord => {
  const [attempt] = done.receipt.attempts;
  if (attempt === undefined) throw new Error('no attempt');
  return attempt;
};
const delivered = (world: World, done: Finished): string[] =>
  world.git('diff', '--name-status', done.receipt.repository.base, only(done).transport?.commit ?? '').split('\n');

describe('setup', () => {
  /** Writes new, ignored and tracked files, as an install step does. */
  const INSTALL = 'echo made > src/made.txt; mkdir node_modules; echo dep > node_modules/dep; echo lock >> docs/d.txt';

  test("is the worker's baseline: what it wrote is no change of the worker's", async () => {
    const world = new World();
    const lines = setup(world, INSTALL);
    world.configure({ one: { script: `test -e node_modules/dep -a -e src/made.txt || exit 9; ${WORK}` } }, lines);
    const before = world.canonical();
    const done = await world.run();
    expect(done.code, JSON.stringify(only(done), null, 1)).toBe(0);
    expect(delivered(world, done)).toEqual(['M\tsrc/a.txt']);
    expect(only(done).setup).toEqual([
      { argv: [join(world.folder, 'setup')], code: 0, ok: true, duration_ms: expect.any(Number) },
    ]);
    expect(world.canonical()).toEqual(before);
  });

  test('what the worker then changes of it is its change, in scope or out of it', async () => {
    const world = new World();
    const lines = setup(world, INSTALL);
    world.configure({ one: { script: `${WORK}; echo worker >> src/made.txt` } }, lines);
    const inside = await world.run();
    expect(delivered(world, inside)).toEqual(['M\tsrc/a.txt', 'A\tsrc/made.txt']);
    expect(world.git('show', `${only(inside).transport?.ref}:src/made.txt`)).toBe('made\nworker');

    world.configure({ one: { script: `${WORK}; echo worker >> docs/d.txt` } }, lines);
    const outside = await world.run();
    expect(only(outside).code).toBe('PATH_OUT_OF_SCOPE');
    expect(only(outside).changes.find(({ path }) => path === 'docs/d.txt')?.in_scope).toBe(false);
  });

  test('a worker that only undoes it has changed something, and its commit is base again', async () => {
    const world = new World();
    const lines = setup(world, 'echo made > src/made.txt');
    world.configure({ one: { script: `${WORK}; rm src/made.txt` } }, lines);
    const done = await world.run();
    expect(done.code).toBe(0);
    expect(delivered(world, done)).toEqual(['M\tsrc/a.txt']);
  });

  test('runs in every worktree: for each attempt, and for the verification of each', async () => {
    const world = new World();
    const lines = setup(world, 'pwd >> @D@/places; echo made > node_modules-made');
    world.write('.gitignore', 'build/\n*.log\nnode_modules-made\n');
    world.configure({ one: { script: 'cat >/dev/null; exit 3' }, two: { script: WORK } }, lines);
    const done = await world.run({ verification: [['test', '-e', 'node_modules-made']] }, { args: ['--verify'] });
    expect(done.code).toBe(0);
    const places = readFileSync(join(world.folder, 'places'), 'utf8').trimEnd().split('\n');
    expect(places).toHaveLength(3);
    expect(new Set(places).size).toBe(3);
  });

  test('has no credentials of the worker, and no worker starts after it failed', async () => {
    const world = new World();
    const lines = setup(world, 'env > @D@/env; echo partial > src/partial.txt; exit 4');
    world.configure({ one: { script: `: > @D@/started; ${WORK}`, adapterLines: ['pass_env: [WORKER_TOKEN]'] } }, lines);
    const done = await world.run({}, { env: { WORKER_TOKEN: 'secret-of-the-worker' } });
    expect(readFileSync(join(world.folder, 'env'), 'utf8')).not.toContain('secret-of-the-worker');
    expect(existsSync(join(world.folder, 'started'))).toBe(false);
    expect(only(done)).toMatchObject({ code: 'SETUP_FAILED', process_started: false, transport: null });
    expect(only(done).setup[0]).toMatchObject({ code: 4, ok: false });
  });
});

describe('verification', () => {
  test('runs in order without a shell, in a fresh worktree at the transport commit, and is recorded', async () => {
    const world = new World();
    world.configure({ one: { script: `${WORK}; echo new > src/new.txt` } });
    const commands = [
      ['test', '-e', 'src/new.txt'],
      ['grep', '-qx', 'more', 'src/a.txt'],
      sh(
        'test "$(git rev-parse HEAD)" != "" && git status --porcelain > @D@/status; git rev-parse HEAD > @D@/head'.replaceAll(
          '@D@',
          world.folder,
        ),
      ),
      sh('printf %s "$1" > "$0"; exit 0').concat(join(world.folder, 'argument'), '$(touch canary); * "'),
    ];
    const done = await world.run({ verification: commands }, { args: ['--verify'] });
    expect(done.code, JSON.stringify(only(done), null, 1)).toBe(0);
    expect(only(done).verification).toEqual(
      commands.map((argv) => ({ argv, code: 0, ok: true, duration_ms: expect.any(Number) })),
    );
    expect(readFileSync(join(world.folder, 'head'), 'utf8').trim()).toBe(only(done).transport?.commit);
    expect(readFileSync(join(world.folder, 'status'), 'utf8')).toBe('');
    expect(readFileSync(join(world.folder, 'argument'), 'utf8')).toBe('$(touch canary); * "');
  });

  test('does not see what the worker left beside its commit', async () => {
    const world = new World();
    world.configure({
      one: {
        script: `${WORK}; mkdir build; echo pass > build/cache; echo pass > "$TMPDIR/leftover"; echo pass > src/x.log`,
      },
    });
    const leftovers = sh('test ! -e build/cache && test ! -e src/x.log && ! grep -rqs pass "$TMPDIR"');
    const done = await world.run({ verification: [leftovers] }, { args: ['--verify'] });
    expect(only(done)).toMatchObject({ state: 'success', verification: [{ ok: true }] });
    expect(only(done).ignored.count).toBe(2);
  });

  test('the first failure ends it; the commit is demoted and nothing of its worktree stays', async () => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const before = world.canonical();
    const done = await world.run(
      {
        verification: [['true'], sh('echo out; echo x > left-behind; exit 7'), ['touch', join(world.folder, 'third')]],
      },
      { args: ['--verify'] },
    );
    expect(done.code).toBe(4);
    const attempt = only(done);
    expect(attempt).toMatchObject({ state: 'failed-clean', code: 'VERIFICATION_FAILED', transport: null });
    expect(attempt.verification.map(({ code, ok }) => [code, ok])).toEqual([
      [0, true],
      [7, false],
    ]);
    expect(existsSync(join(world.folder, 'third'))).toBe(false);
    expect(world.git('show', `${attempt.quarantine?.ref}:src/a.txt`)).toBe('a\nmore');
    expect(world.git('for-each-ref', 'refs/agent-exec')).toBe('');
    expect(attempt.cleanup).toMatchObject({ exact: true, retained_path: null });
    expect(world.stateOf(done.receipt.run_id).filter((path) => path.includes('left-behind'))).toEqual([]);
    expect(world.canonical()).toEqual(before);
  });

  test.concurrent.each<[string, string[]]>([
    ['is not there', ['/nonexistent/check']],
    ['is killed', sh('kill -KILL $$')],
    ['never ends', sh('(sleep 300; : @MARK@) & sleep 300')],
  ])('a command that %s is a failure, with no process left', async (_, command) => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const argv = command.map((word) => word.replace('@MARK@', world.mark));
    const done = await world.run({ verification: [argv], timeout_seconds: 2 }, { args: ['--verify'] });
    expect(only(done)).toMatchObject({ code: 'VERIFICATION_FAILED', verification: [{ code: null, ok: false }] });
    expect(world.leftovers()).toEqual([]);
  });

  test('is not run unless asked for, and is where the policy says host', async () => {
    const world = new World();
    const canary = join(world.folder, 'verified');
    world.configure({ one: { script: WORK } });
    const without = await world.run({ verification: [['touch', canary]] });
    expect([without.code, existsSync(canary), only(without).verification]).toEqual([0, false, []]);
    world.configure({ one: { script: WORK } }, ['verify: host']);
    const withPolicy = await world.run({ verification: [['touch', canary]] });
    expect([withPolicy.code, existsSync(canary), only(withPolicy).verification.length]).toEqual([0, true, 1]);
  });

  test('under guard it cannot write into the canonical repository either', async () => {
    const world = new World();
    world.configure({ one: { script: WORK } }, ['isolation: guard']);
    const before = world.canonical();
    const done = await world.run(
      { verification: [sh(`echo x >> '${world.repo}/docs/d.txt'`)] },
      { args: ['--verify'] },
    );
    expect(only(done).code).toBe('VERIFICATION_FAILED');
    expect(world.canonical()).toEqual(before);
  });
});
