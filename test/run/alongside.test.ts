/** What goes on beside a run in the same repository: the host's own work, and other runs. */
import { existsSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { World } from './world.ts';

/** Says that it is ready, and goes on when it is told to. */
const WAITING = `cat >/dev/null; echo more >> src/a.txt; : > @D@/ready
while [ ! -e @D@/go ]; do sleep 0.05; done`;

/** Calls `act` once the worker is ready, then lets it go on. */
function meanwhile(world: World, act: () => void): void {
  const watcher = watch(world.folder, () => {
    if (!existsSync(join(world.folder, 'ready'))) return;
    watcher.close();
    act();
    writeFileSync(join(world.folder, 'go'), '');
  });
}

describe('the host works in its checkout while a worker runs', () => {
  const hostWork = (world: World): void => {
    world.write('docs/d.txt', 'changed by the host\n');
    world.commit('by the host');
    world.write('src/a.txt', 'not committed\n');
    world.git('branch', 'new-branch');
  };

  test('under guard the worker could not have done it: a finding, and a success from the old base', async () => {
    const world = new World();
    const base = world.configure({ one: { script: WAITING } }, ['isolation: guard']);
    const done = await world.run({}, { onStart: () => meanwhile(world, () => hostWork(world)) });
    expect(done.code, done.stderr).toBe(0);
    const [attempt] = done.receipt.attempts;
    expect(attempt?.findings.map(({ code }) => code)).toEqual(['CANONICAL_MOVED_BY_HOST']);
    const moved = new Set(attempt?.canonical.differences.map(({ what }) => what));
    expect([...moved].sort()).toEqual(['head', 'index', 'ref', 'worktree']);
    expect(attempt?.cleanup).toMatchObject({ exact: true, canonical_unchanged: false, retained_path: null });
    expect(world.git('rev-parse', `${attempt?.transport?.ref}^`)).toBe(base);
    // The host's work is as the host left it.
    expect(world.git('status', '--porcelain')).toBe(' M src/a.txt');
    expect(world.git('log', '-1', '--format=%s')).toBe('by the host');
  });

  test('under none nobody can tell: failed-unknown, and the work is kept', async () => {
    const world = new World();
    world.configure({ one: { script: WAITING } }, ['isolation: none']);
    const done = await world.run({}, { onStart: () => meanwhile(world, () => hostWork(world)) });
    expect(done.code).toBe(6);
    const [attempt] = done.receipt.attempts;
    expect(attempt).toMatchObject({ state: 'failed-unknown', code: 'CANONICAL_CHANGED', transport: null });
    expect(world.git('show', `${attempt?.quarantine?.ref}:src/a.txt`)).toBe('a\nmore');
    expect(world.git('log', '-1', '--format=%s')).toBe('by the host');
  });
});

test.each(['guard', 'none'])('three runs at once under %s: each its own ref, receipt and lines', async (level) => {
  const world = new World();
  const base = world.configure({ one: { script: 'cat >/dev/null; pwd > src/where.txt; mkdir build; pwd > build/x' } }, [
    `isolation: ${level}`,
  ]);
  const before = world.canonical();
  const all = await Promise.all([1, 2, 3].map((n) => world.run({ unit_id: `unit-${n}` })));
  expect(all.map(({ code }) => code)).toEqual([0, 0, 0]);
  const places = all.map(({ receipt }) => {
    const [attempt] = receipt.attempts;
    expect(attempt?.findings).toEqual([]);
    expect(world.git('rev-parse', `${attempt?.transport?.commit}^`)).toBe(base);
    return world.git('show', `${attempt?.transport?.ref}:src/where.txt`);
  });
  expect(new Set(places).size).toBe(3);
  expect(world.git('for-each-ref', 'refs/agent-exec', 'refs/agent-exec-quarantine').split('\n')).toHaveLength(6);
  const lines = world.telemetry();
  expect(
    lines
      .filter(({ event }) => event === 'run')
      .map(({ unit_id }) => unit_id)
      .sort(),
  ).toEqual(['unit-1', 'unit-2', 'unit-3']);
  expect(lines).toHaveLength(6);
  expect(world.canonical()).toEqual(before);
});
