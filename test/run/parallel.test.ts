/** Runs beside each other in one repository, in processes of their own. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { receipt as receiptSchema } from '../../src/model/receipt.ts';
import { World } from './world.ts';

const RUNS = Number(process.env.PARALLEL_RUNS ?? 12);

test(`${RUNS} at once: every receipt right, every line whole, nothing left`, {
  timeout: 30_000 + RUNS * 4000,
}, async () => {
  const world = new World();
  world.configure(
    {
      fails: { script: 'echo half >> src/a.txt; exit 3' },
      works: { script: 'cat > src/prompt.txt; echo more >> src/a.txt' },
    },
    ['max_parallel: 64'],
  );
  const before = world.canonical();
  const done = await Promise.all(
    Array.from({ length: RUNS }, (_, i) => world.run({ unit_id: `unit-${i}`, goal: `do number ${i} of many` })),
  );
  expect(done.map(({ code }) => code)).toEqual(done.map(() => 0));
  const ids = done.map(({ receipt }) => receipt.run_id);
  expect(new Set(ids).size).toBe(RUNS);
  for (const [i, { receipt }] of done.entries()) {
    expect(receipt.unit.unit_id).toBe(`unit-${i}`);
    const [failed, worked] = receipt.attempts;
    expect([failed?.code, worked?.code]).toEqual(['EXIT_NONZERO', 'OK']);
    expect(world.git('show', `${worked?.transport?.commit}:src/prompt.txt`)).toContain(`do number ${i} of many`);
    expect(world.git('show', `${failed?.quarantine?.commit}:src/a.txt`)).toBe('a\nhalf');
  }
  const events = world.telemetry();
  expect(
    events
      .filter(({ event }) => event === 'run')
      .map(({ run_id }) => run_id)
      .sort(),
  ).toEqual([...ids].sort());
  expect(events.filter(({ event }) => event === 'attempt')).toHaveLength(2 * RUNS);
  expect(world.canonical()).toEqual(before);
  expect(world.leftovers()).toEqual([]);
  execFileSync('git', ['-C', world.repo, 'fsck', '--full', '--strict', '--no-dangling'], { stdio: 'pipe' });
  // Nobody holds a place any more.
  expect(readdirSync(join(world.repo, '.git/agent-exec/slots'))).toEqual([]);
});

test('no more than max_parallel at a time; who waits says so', async () => {
  const world = new World();
  const script = 'echo "in $$" >> @D@/doors; sleep 0.3; echo "out $$" >> @D@/doors; echo $$ >> src/a.txt';
  world.configure({ one: { script } }, ['max_parallel: 2']);
  const done = await Promise.all(Array.from({ length: 5 }, () => world.run()));
  expect(done.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  let inside = 0;
  let most = 0;
  for (const line of readFileSync(join(world.folder, 'doors'), 'utf8').trimEnd().split('\n')) {
    inside += line.startsWith('in') ? 1 : -1;
    most = Math.max(most, inside);
  }
  expect([most, inside]).toEqual([2, 0]);
  const waited = done.filter(({ stderr }) => stderr.includes('waiting: 2 other runs of this repository are under way'));
  expect(waited.length).toBeGreaterThanOrEqual(1);
});

/** Starts a run whose worker waits, and gives its end and the way to kill it. */
function busyRun(world: World): { ready: Promise<void>; kill: () => void; end: Promise<unknown> } {
  let kill = (): void => {};
  const ready = new Promise<void>((resolve) => {
    const watcher = watch(world.folder, () => {
      if (!existsSync(join(world.folder, 'ready'))) return;
      watcher.close();
      resolve();
    });
  });
  const args = ['run', '--role', 'repair', '--quiet', '--unit', world.packet(), '--state-dir', world.state];
  const end = world.cli(args, {
    onStart: (child) => {
      kill = () => child.kill('SIGKILL');
    },
  });
  return { ready, kill: () => kill(), end };
}

const WAITS = ': > @D@/ready; while ! test -e @D@/go; do sleep 0.02; done; echo x >> src/a.txt';

test('a killed run makes room at once', async () => {
  const world = new World();
  world.configure({ one: { script: WAITS } });
  const busy = busyRun(world);
  await busy.ready;
  const next = world.run();
  busy.kill();
  writeFileSync(join(world.folder, 'go'), '');
  expect((await next).code).toBe(0);
  await busy.end;
});

test('a run that waits for its turn can be stopped', async () => {
  const world = new World();
  world.configure({ one: { script: WAITS } });
  const busy = busyRun(world);
  await busy.ready;
  const stopped = await world.run(
    {},
    {
      onStart: (child) => {
        child.stderr?.on('data', (chunk) => {
          if (String(chunk).includes('waiting: another run')) child.kill('SIGTERM');
        });
      },
    },
  );
  expect(stopped.code).toBe(143);
  expect(stopped.receipt).toMatchObject({ outcome: 'cancelled', attempts: [] });
  writeFileSync(join(world.folder, 'go'), '');
  await busy.end;
});

test('a run inside a run of the same repository is refused, and does not wait for it', async () => {
  const world = new World();
  const inner = join(world.folder, 'inner.json');
  world.configure(
    {
      one: {
        script: `${process.execPath} ${new URL('../../dist/agent-exec.mjs', import.meta.url).pathname} run --role repair --unit @D@/unit.json --state-dir @D@/inner-state --receipt ${inner} >/dev/null 2>&1; echo x >> src/a.txt`,
      },
    },
    ['isolation: none'],
  );
  mkdirs(world);
  const done = await world.run();
  expect(done.code).toBe(0);
  expect(receiptSchema.parse(JSON.parse(readFileSync(inner, 'utf8')))).toMatchObject({
    outcome: 'exhausted',
    attempts: [{ code: 'RECURSION_DETECTED' }],
  });
});

const mkdirs = (world: World): void => writeFileSync(join(world.folder, 'unit.json'), readFileSync(world.packet()));
