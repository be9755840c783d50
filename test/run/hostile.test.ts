/** What must hold where the surroundings are against it: nobody listens, the repository is broken, a file lies elsewhere. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { World } from './world.ts';

const WORKER = 'cat >/dev/null; echo more >> src/a.txt';

describe.skipIf(!existsSync('/dev/full'))('where nothing can be written', () => {
  test('a stderr that takes nothing ends the words, not the run', async () => {
    const world = new World();
    world.configure({ one: { script: WORKER } });
    const done = await world.run({}, { prelude: 'exec 2>/dev/full' });
    expect(done.code).toBe(0);
    expect(world.git('show', `${done.summary.transport?.commit}:src/a.txt`)).toBe('a\nmore');
  });

  test('an answer that cannot be written is told in one line and changes no exit code', async () => {
    const world = new World();
    world.configure({ one: { script: WORKER } });
    const receipt = join(world.folder, 'receipt.json');
    const args = ['run', '--role', 'repair', '--json', '--quiet', '--unit', world.packet(), '--receipt', receipt];
    const done = await world.cli([...args, '--state-dir', world.state], { prelude: 'exec 1>/dev/full' });
    expect(done.code).toBe(0);
    expect(done.stderr).toMatch(/^error: the answer could not be written: .*ENOSPC.*\n$/);
    expect(JSON.parse(readFileSync(receipt, 'utf8'))).toMatchObject({ outcome: 'success', exit_code: 0 });
  });
});

test('a broken index is told before anything starts', async () => {
  const world = new World();
  world.configure({ one: { script: 'touch @D@/started' } });
  writeFileSync(join(world.repo, '.git', 'index'), 'no index');
  const args = ['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state];
  const done = await world.cli(args);
  expect(done.code).toBe(3);
  expect(done.stderr).toContain('index file smaller than expected');
  expect(existsSync(join(world.folder, 'started'))).toBe(false);
  expect(existsSync(world.state)).toBe(false);
});

describe.skipIf(process.platform !== 'linux')('configuration that lies outside of the repository', () => {
  const planting = (level: string): { world: World; included: string } => {
    const world = new World();
    const included = join(world.folder, 'included');
    writeFileSync(included, '[core]\n\tabbrev = 8\n');
    world.git('config', 'include.path', included);
    const plant = `printf '[core]\\n\\tfsmonitor = @D@/run-me\\n' >> @D@/included`;
    world.configure({ one: { script: `${WORKER}; ${plant} || true` } }, [`isolation: ${level}`]);
    world.script('run-me', '#!/bin/sh\ntouch @D@/ran\n');
    return { world, included };
  };
  test('a worker cannot change an included file under guard', async () => {
    const { world, included } = planting('guard');
    const done = await world.run();
    expect(done.code).toBe(0);
    expect(readFileSync(included, 'utf8')).toBe('[core]\n\tabbrev = 8\n');
    expect(existsSync(join(world.folder, 'ran'))).toBe(false);
  });
  test('a worker that changes an included file under none has no success', async () => {
    const { world, included } = planting('none');
    const done = await world.run();
    expect(done.code).toBe(6);
    expect(done.receipt.reason.code).toBe('CANONICAL_CHANGED');
    const [attempt] = done.receipt.attempts;
    expect(attempt?.state).toBe('failed-unknown');
    expect(attempt?.canonical.differences).toContainEqual({ what: 'config', path: included, detail: 'changed' });
    expect(existsSync(join(world.folder, 'ran'))).toBe(false);
    expect(readFileSync(join(attempt?.cleanup.retained_path ?? '', 'src/a.txt'), 'utf8')).toBe('a\nmore\n');
  });
});

test('a TMPDIR that does not exist is no reason to fail', async () => {
  const world = new World();
  world.configure({ one: { script: 'cat >/dev/null; echo more >> src/a.txt' } });
  const done = await world.run({}, { env: { TMPDIR: '/nonexistent/tmp' } });
  expect(done.receipt.outcome).toBe('success');
});
