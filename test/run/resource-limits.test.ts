/** Limits of the process: descriptors, file sizes, processes. Whatever is short, no success without records and no work lost. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isRoot, NEEDS_ROOT, NOBODY } from '../store/temporary.ts';
import { TOOL, World } from './world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt && touch @D@/wrote; echo out';

interface Limited {
  readonly limit: string;
  readonly code: number | null;
  readonly said: string;
  readonly outcome: string | null;
  readonly wrote: boolean;
  readonly kept: boolean;
  readonly recorded: boolean;
  readonly leftovers: readonly string[];
}

/** A run under a limit, then one without it in the same places, which must go well. */
async function limited(prelude: string, limit: string): Promise<Limited> {
  const world = new World();
  world.configure({ one: { script: WORK } });
  const receipt = join(world.folder, 'receipt.json');
  const args = ['run', '--role', 'repair', '--json', '--unit', world.packet(), '--state-dir', world.state];
  const done = await world.cli([...args, '--receipt', receipt], { prelude: `${prelude}${limit}` });
  const refs = world.git('for-each-ref', '--format=%(refname)').split('\n');
  const ours = refs.filter((ref) => ref.startsWith('refs/agent-exec'));
  const inCommit = ours.some((ref) => world.git('show', `${ref}:src/a.txt`) === 'a\nmore');
  const inWorkspace = (existsSync(world.state) ? readdirSync(world.state) : [])
    .map((run) => join(world.state, run, 'attempts/01-one/repo/src/a.txt'))
    .some((path) => existsSync(path) && readFileSync(path, 'utf8') === 'a\nmore\n');
  const outcome = existsSync(receipt) ? JSON.parse(readFileSync(receipt, 'utf8')).outcome : null;
  const log = join(world.repo, '.git/agent-exec/calls.jsonl');
  const leftovers = world.leftovers();
  const wrote = existsSync(join(world.folder, 'wrote'));
  expect((await world.cli(args)).code, `after ${limit}`).toBe(0);
  return {
    limit,
    code: done.code,
    said: done.stdout + done.stderr,
    outcome,
    wrote,
    kept: inCommit || inWorkspace,
    recorded: outcome === 'success' && inCommit && existsSync(log),
    leftovers,
  };
}

async function sweep(prelude: string, limits: readonly string[]): Promise<Limited[]> {
  const left = [...limits];
  const found: Limited[] = [];
  const next = async (): Promise<void> => {
    for (let limit = left.pop(); limit !== undefined; limit = left.pop()) found.push(await limited(prelude, limit));
  };
  await Promise.all([next(), next()]);
  return found;
}

function expectHonest(all: readonly Limited[]): void {
  for (const one of all) {
    const { limit, said } = one;
    if (one.code === 0) expect(one.recorded, `${limit}: ${said}`).toBe(true);
    else expect(one.outcome, `${limit}: ${said}`).not.toBe('success');
    if (one.wrote) expect(one.kept, `${limit}: ${said}`).toBe(true);
    expect(one.leftovers, limit).toEqual([]);
  }
}

/** Closes what the test's own surroundings left open: descriptors above the limit change what happens. */
const CLOSED =
  'exec bash -c \'for fd in $(ls /proc/self/fd); do [ "$fd" -gt 2 ] && eval "exec $fd>&-"; done; ulimit -n "$0" && exec "$@"\' ';
const hasBash = spawnSync('bash', ['-c', ':']).status === 0;

describe.skipIf(process.platform !== 'linux' || !hasBash)('few descriptors', () => {
  let all: Limited[] = [];

  test('no success without records, no work lost, nothing left running', async () => {
    all = await sweep(
      CLOSED,
      [18, 20, 24, 26, 28, 30, 32, 64].map((descriptors) => `${descriptors} "$@"; :`),
    );
    expectHonest(all);
    expect(all.find(({ limit }) => limit.startsWith('64'))?.code).toBe(0);
  });

  // A git that cannot be started for want of descriptors ends agent-exec with an unhandled 'error' event.
  test.fails('an answer in one line, never an internal error or a stack', () => {
    expect(all).not.toEqual([]);
    for (const { code, said, limit } of all) {
      expect(said, limit).not.toMatch(/Unhandled|internal error/);
      expect(code, limit).not.toBe(1);
    }
  });
});

describe.skipIf(process.platform !== 'linux')('small files', () => {
  test('no success without records, no work lost, and the answer says so', async () => {
    const all = await sweep(
      '',
      [0, 2, 4, 8, 9, 64].map((blocks) => `ulimit -f ${blocks}`),
    );
    expectHonest(all);
    expect(all.find(({ limit }) => limit === 'ulimit -f 64')?.code).toBe(0);
    for (const { code, said, limit } of all) {
      expect([0, 3, 6, 7], `${limit}: ${said}`).toContain(code);
      if (code !== 0) expect(said, limit).toMatch(/EFBIG|[Ff]ile too large|signal/);
    }
    expect(new Set(all.map(({ code }) => code))).toContain(7);
  });
});

test.skipIf(!isRoot)(`few processes: no success, nothing left running${isRoot ? '' : ` (${NEEDS_ROOT})`}`, async () => {
  const world = new World();
  world.configure({ one: { script: WORK } });
  const tool = join(world.folder, 'agent-exec.mjs');
  copyFileSync(TOOL, tool);
  chmodSync(world.folder, 0o755);
  execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, world.folder]);
  const codes: (number | null)[] = [];
  // Node itself has about ten threads, each of which counts.
  for (const processes of [12, 16, 20, 200]) {
    const done = spawnSync(
      'setpriv',
      [
        ...[`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'],
        ...['/bin/bash', '-c', `ulimit -u ${processes}; exec "$@"`, 'bash'],
        ...[process.execPath, tool, 'run', '--role', 'repair', '--json', '--unit', world.packet()],
        ...['--state-dir', join(world.folder, `state${processes}`)],
      ],
      { cwd: world.repo, env: { PATH: process.env.PATH, HOME: world.home }, encoding: 'utf8' },
    );
    codes.push(done.status);
    if (done.status === 0)
      expect(JSON.parse(done.stdout)).toMatchObject({ outcome: 'success', telemetry_logged: true });
    else expect(done.stdout + done.stderr, `${processes}`).not.toContain('"outcome":"success"');
    expect(world.leftovers()).toEqual([]);
  }
  expect(codes.at(-1)).toBe(0);
});
