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

/** Node's own; with fewer it ends before its first line of JavaScript, in a way of its own. */
const NODE_NEEDS = 18;

describe.skipIf(process.platform !== 'linux' || !hasBash)('few descriptors', () => {
  test('an answer in one line, no success without records, no work lost, nothing left running', async () => {
    const limits = [8, 16, 18, 24, 28, 31, 36, 40, 41, 42, 44, 48, 64];
    const all = await sweep(
      CLOSED,
      limits.map((descriptors) => `${descriptors} "$@"; :`),
    );
    expectHonest(all);
    for (const { code, said, limit, wrote } of all) {
      if (Number.parseInt(limit, 10) < NODE_NEEDS) {
        expect(wrote, limit).toBe(false);
        continue;
      }
      expect([0, 3], `${limit}: ${said}`).toContain(code);
      expect(said, limit).not.toMatch(/Unhandled|internal error/);
      if (code === 3) expect(said, limit).toMatch(/RESOURCES_EXHAUSTED.*ulimit -n/);
    }
    expect(new Set(all.map(({ code }) => code))).toContain(3);
    expect(all.find(({ limit }) => limit.startsWith('64'))?.code).toBe(0);
  });

  /**
   * Takes all descriptors but a few from agent-exec's own process once a folder with this name is in the run's directory,
   * and gives them back after a while.
   */
  const THIEF = `
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs';
const { STATE, TRIGGER, FREE } = process.env;
const seen = () => existsSync(STATE) && readdirSync(STATE).some((run) => existsSync(STATE + '/' + run + '/' + TRIGGER));
const timer = setInterval(() => {
  if (!seen()) return;
  clearInterval(timer);
  const taken = [];
  try { for (;;) taken.push(openSync('/dev/null', 'r')); } catch {}
  for (let i = 0; i < Number(FREE); i++) closeSync(taken.pop());
  setTimeout(() => taken.forEach((descriptor) => closeSync(descriptor)), 700).unref();
}, 1).unref();
`;
  // The run's own files, an attempt's folder, its workspace: each a little later than the one before.
  test.each(['ignore-rules', 'attempts/01-one', 'attempts/01-one/repo', 'attempts/01-one/prompt.md'])(
    'that come to an end when %s is there',
    async (trigger) => {
      for (const free of [0, 3, 5, 7, 9, 12]) {
        const world = new World();
        world.configure({ one: { script: WORK } });
        const thief = world.script('thief.mjs', THIEF);
        const args = ['run', '--role', 'repair', '--json', '--unit', world.packet(), '--state-dir', world.state];
        const env = { NODE_OPTIONS: `--import=${thief}`, STATE: world.state, TRIGGER: trigger, FREE: String(free) };
        const done = await world.cli(args, { env, prelude: 'ulimit -n 160' });
        const said = `${free} left: exit ${done.code} ${done.stdout}${done.stderr}`;
        // This machine's trouble makes no candidate unavailable (5, 4) and is no bug (1).
        expect([0, 3, 6, 7], said).toContain(done.code);
        const ours = world.git('for-each-ref', '--format=%(refname)', 'refs/agent-exec').split('\n').filter(Boolean);
        const inCommit = ours.some((ref) => world.git('show', `${ref}:src/a.txt`) === 'a\nmore');
        if (done.code === 0) expect(inCommit, said).toBe(true);
        else expect(said).toMatch(/EMFILE|too many open files|descriptor/i);
        if (existsSync(join(world.folder, 'wrote')) && !inCommit) {
          const kept = readdirSync(world.state)
            .map((run) => join(world.state, run, 'attempts/01-one/repo/src/a.txt'))
            .some((path) => existsSync(path) && readFileSync(path, 'utf8') === 'a\nmore\n');
          expect(kept, said).toBe(true);
        }
        expect(world.leftovers(), said).toEqual([]);
      }
    },
  );
});

describe.skipIf(process.platform !== 'linux')('small files', () => {
  test('no success without records, no work lost, and the answer says so', async () => {
    const all = await sweep(
      '',
      [0, 2, 4, 8, 9, 10, 11, 12, 64].map((blocks) => `ulimit -f ${blocks}`),
    );
    expectHonest(all);
    expect(all.find(({ limit }) => limit === 'ulimit -f 64')?.code).toBe(0);
    for (const { code, said, limit } of all) {
      expect([0, 3, 6, 7], `${limit}: ${said}`).toContain(code);
      if (code !== 0) expect(said, limit).toMatch(/EFBIG|[Ff]ile too large|signal/);
    }
    expect(new Set(all.map(({ code }) => code))).toContain(6);
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
