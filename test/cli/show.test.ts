/** What `show` tells: every kind of run in words, why, and what to do next; never words that were put into it later. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Receipt } from '../../src/model/receipt.ts';
import { renderReceipt, sealReceipt } from '../../src/receipt/receipt.ts';
import { World } from '../run/world.ts';
import { killed, photographOf, underWay, WAIT } from './looked-at.ts';

const WORKS = 'cat >/dev/null; echo yes >> src/a.txt';

const show = (world: World, ...args: readonly string[]) =>
  world.cli(['show', ...args], { env: { AGENT_EXEC_STATE_DIR: world.state } });

/** Its words, one line each, with single spaces. */
async function told(world: World, ...args: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await show(world, ...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').map((line) => line.trim().replaceAll(/ +/g, ' '));
}

describe('a finished run', () => {
  test('that succeeded: each attempt, what it changed, and how to take it over', async () => {
    const world = new World();
    world.configure(
      {
        a: { script: 'cat >/dev/null; echo no >> src/a.txt; exit 3' },
        b: { script: `${WORKS}; echo n > src/new.txt; mkdir build; echo i > build/x; echo All done.` },
      },
      ['setup:', '  - [echo, prepared]'],
    );
    const base = world.git('rev-parse', '--short=12', 'HEAD');
    const { receipt } = await world.run(
      { unit_id: 'fix-it', verification: [['sh', '-c', 'exit 0']] },
      { args: ['--verify'] },
    );
    const id = receipt.run_id;
    const before = photographOf(world.state);
    const lines = await told(world, 'last');
    expect(photographOf(world.state)).toEqual(before);
    expect(lines[0]).toBe(
      `run ${id}: success, the unit is done; the change waits in a commit, and your checkout was not touched`,
    );
    for (const line of [
      'why OK: 02-b: 2 paths changed, all in scope',
      'unit fix-it, in the role repair',
      'allowed src/',
      `base ${base} (HEAD, main)`,
      'candidates a, b',
      '01-a: failed-clean, it did not do the unit, and everything else is as it was',
      'why EXIT_NONZERO: the worker exited with 3',
      'ended exit code 3',
      "model none asked for: the CLI's own choice",
      'changes 1 path, all in allowed_paths',
      '02-b: success, it did the unit',
      `CLI b: ${join(world.folder, 'worker-b')}, version unknown`,
      'ended exit code 0',
      'changes 2 paths, all in allowed_paths',
      'modified src/a.txt',
      'added src/new.txt',
      'ignored 1 ignored file, 2 bytes: build/x',
      `transport ${receipt.attempts[1]?.transport?.commit.slice(0, 12)} refs/agent-exec/${id}/02-b`,
      `quarantine ${receipt.attempts[0]?.quarantine?.commit.slice(0, 12)} refs/agent-exec-quarantine/${id}/01-a`,
      'logs stdout 10 bytes, stderr empty',
      'setup-1: stdout 9 bytes, stderr empty',
      'last words All done. (self-reported)',
      `agent-exec diff ${id} # look at the change`,
      `agent-exec apply ${id} # put it into your worktree, without a commit`,
      `agent-exec apply ${id} --branch NAME # or make a branch of it`,
      `agent-exec diff ${id} --attempt 02-b --quarantine --stat # ignored files that it left, kept apart`,
    ]) {
      expect(lines).toContain(line);
    }
    expect(lines.filter((line) => /^setup echo prepared: ok, \d/.test(line))).toHaveLength(2);
    expect(lines.filter((line) => /^verified sh -c 'exit 0': ok, \d/.test(line))).toHaveLength(1);
    expect(lines.filter((line) => /^isolation \w+: .*; network open$/.test(line))).toHaveLength(2);
  });

  test('that was blocked: what was not allowed, first, and where the work is', async () => {
    const world = new World();
    world.configure({
      a: { script: 'cat >/dev/null; for i in 1 2 3 4 5 6 7 8 9; do echo > src/$i; echo > zdoc$i; done' },
    });
    const { receipt } = await world.run();
    const id = receipt.run_id;
    const lines = await told(world, id);
    const kept = receipt.attempts[0]?.cleanup.retained_path ?? '';
    expect(lines).toContain('changes 18 paths, 9 not in allowed_paths');
    expect(lines.filter((line) => line.endsWith('<- not in allowed_paths'))).toHaveLength(9);
    expect(lines).toContain('and 8 more');
    expect(lines).toContain(`workspace kept: ${kept}`);
    expect(lines.slice(lines.indexOf('what to do next') + 1)).toEqual([
      '01-a: if it had to touch those paths, add them to allowed_paths (--allow) and run again',
      `agent-exec diff ${id} --attempt 01-a --quarantine # look at what 01-a left`,
      `agent-exec apply ${id} --attempt 01-a --quarantine # take it over all the same`,
      `cd ${kept} # the workspace, as the worker left it`,
      `agent-exec logs ${id} --attempt 01-a # what 01-a printed`,
      '',
    ]);
    rmSync(kept, { recursive: true });
    const later = await told(world, id);
    expect(later).toContain(`workspace was kept, and is not there any more: ${kept}`);
    expect(later.filter((line) => line.startsWith('cd '))).toEqual([]);
  });

  test('of which no candidate could do anything: what to do about each, and that the host may', async () => {
    const world = new World();
    world.configure({ gone: { executable: 'not-there' }, idle: { script: 'true', lines: ['enabled: false'] } });
    const { receipt } = await world.run();
    const lines = await told(world, 'last');
    expect(lines[0]).toContain('host-fallback-authorized, no candidate can do it');
    expect(lines).toContain('01-gone: unavailable, it did no work');
    expect(lines.filter((line) => line.startsWith('isolation '))).toEqual([]);
    expect(lines.slice(lines.indexOf('what to do next') + 1)).toEqual([
      `do the unit yourself, from ${receipt.repository.base.slice(0, 12)}, within: src/`,
      '01-gone: install the CLI or name it in the profile; agent-exec probe tells what can run here',
      '02-idle: the profile is switched off: enabled: true in AGENT-EXECUTION.md brings it back',
      '',
    ]);
  });

  test('whose candidates all failed: the work of each, and the commands for another state root', async () => {
    const world = new World();
    world.configure({ a: { script: `${WORKS}; exit 1` }, b: { script: 'cat >/dev/null; echo b > src/b; kill -9 $$' } });
    const { receipt } = await world.run();
    const { stdout } = await world.cli(['show', 'last', '--state-dir', world.state]);
    expect(stdout).toContain('exhausted, every candidate was tried and none did the unit');
    for (const attempt of ['01-a', '02-b']) {
      expect(stdout).toContain(
        `agent-exec diff ${receipt.run_id} --attempt ${attempt} --quarantine --state-dir ${world.state}`,
      );
    }
    // The commands can be copied as they stand.
    const [, line = ''] = /^ {2}agent-exec (logs .*?) +#/m.exec(stdout) ?? [];
    const next = await world.cli(line.split(' '));
    expect([next.code, next.stderr]).toEqual([0, '']);
  });

  test('of another repository, or called from outside: where to go first', async () => {
    const world = new World();
    world.configure({ a: { script: WORKS } });
    const { receipt } = await world.run();
    const other = new World();
    other.commit();
    const at = (cwd: string, wanted: string) =>
      world.cli(['show', wanted], { cwd, env: { AGENT_EXEC_STATE_DIR: world.state } });
    const go = `cd ${world.repo} `;
    expect((await at(world.folder, 'last')).stdout).toContain(go);
    expect((await at(other.repo, receipt.run_id)).stdout).toContain(go);
    expect((await at(other.repo, receipt.run_id.slice(0, 20))).stdout).toContain(go);
    const none = await at(other.repo, 'last');
    expect(none.code).toBe(3);
    expect(none.stderr).toContain('agent-exec runs --all');
  });
});

describe('a run without a receipt', () => {
  test('that is under way: what it does, and how to watch it', async () => {
    const world = new World();
    const run = await underWay(world, `cat >/dev/null; ${WAIT}`);
    try {
      const before = photographOf(world.state);
      const lines = await told(world, 'last');
      expect(photographOf(world.state)).toEqual(before);
      expect(lines[0]).toBe(`run ${run.runId}: running, agent-exec (process ${run.child.pid}) is at work`);
      expect(lines).toContain('01-one: under way, waiting for the worker');
      expect(lines).toContain('unit test-unit, in the role repair');
      expect(lines).toContain(`agent-exec logs ${run.runId} --follow # watch it; Ctrl-C ends the watching only`);
      const json = await show(world, 'last', '--json');
      expect(json).toMatchObject({ code: 3, stdout: '' });
      expect(json.stderr).toContain('has no receipt yet (it is running)');
    } finally {
      await run.finish();
    }
  });

  test('whose agent-exec was killed: how to finish it', async () => {
    const world = new World();
    const id = await killed(world);
    const lines = await told(world, 'last');
    expect(lines[0]).toMatch(new RegExp(`^run ${id}: unfinished, agent-exec \\(process \\d+\\) died`));
    expect(lines).toContain('01-one: cut off while waiting for the worker');
    expect(lines).toContain(`agent-exec recover ${id} # finish it: nothing that it wrote is lost`);
    expect(lines.filter((line) => line.startsWith('cd '))).toHaveLength(1);
  });

  test('of which nothing is left ends with 3', async () => {
    const world = new World();
    const id = '20260101t000000000z-000001';
    mkdirSync(join(world.state, id), { recursive: true, mode: 0o700 });
    const done = await show(world, id);
    expect(done.code).toBe(3);
    expect(done.stdout).toContain('unaccountable, neither its plan nor a receipt can be read');
  });
});

describe('a receipt', () => {
  /** A world with a receipt of its own in a file, and ways to change it. */
  async function withReceipt() {
    const world = new World();
    world.configure({ a: { script: WORKS } });
    const { receipt } = await world.run();
    const path = join(world.state, receipt.run_id, 'receipt.json');
    const file = (name: string, text: string): string => {
      writeFileSync(join(world.folder, name), text);
      return join(world.folder, name);
    };
    return { world, receipt, path, file };
  }
  const resealed = ({ digest: _, ...receipt }: Receipt, over: Partial<Receipt>): string =>
    renderReceipt(sealReceipt({ ...receipt, ...over }));

  test('as JSON is byte for byte what was stored', async () => {
    const { world, path, file } = await withReceipt();
    expect((await show(world, 'last', '--json')).stdout).toBe(readFileSync(path, 'utf8'));
    const odd = file('odd', ` ${readFileSync(path, 'utf8')}\n\n`);
    expect((await show(world, odd, '--json')).stdout).toBe(readFileSync(odd, 'utf8'));
  });

  test('from a file: by a slash, by its ending, by being there', async () => {
    const { world, receipt, file } = await withReceipt();
    file('here', renderReceipt(receipt));
    file('there.json', renderReceipt(receipt));
    for (const wanted of ['./here', 'here', 'there.json', join(world.folder, 'here')]) {
      const done = await world.cli(['show', wanted], { cwd: world.folder });
      expect([done.code, done.stderr]).toEqual([0, '']);
      expect(done.stdout).toContain(`run ${receipt.run_id}: success`);
      // Nobody knows here whether the run is still in a state root.
      expect(done.stdout).toContain(`git show refs/agent-exec/${receipt.run_id}/01-a`);
      expect(done.stdout).not.toContain('agent-exec apply');
    }
  });

  test('that was changed after it was sealed: says so before anything else, and ends with 6', async () => {
    const { world, receipt, path, file } = await withReceipt();
    const changed = renderReceipt({ ...receipt, outcome: 'blocked' });
    writeFileSync(path, changed);
    for (const wanted of ['last', file('changed.json', changed)]) {
      const done = await show(world, wanted);
      expect(done.code).toBe(6);
      expect(done.stdout.split('\n')[0]).toContain('THIS RECEIPT WAS CHANGED AFTER IT WAS WRITTEN');
      expect(done.stderr).toContain('THIS RECEIPT WAS CHANGED');
      const json = await show(world, wanted, '--json');
      expect(json).toMatchObject({ code: 6, stdout: changed });
      expect(json.stderr).toContain('Do not trust');
    }
  });

  test('that cannot be read ends with 3, and what else is known is told', async () => {
    const { world, receipt, path, file } = await withReceipt();
    for (const [wanted, words] of [
      [file('torn.json', renderReceipt(receipt).slice(0, 900)), 'not JSON'],
      [file('other.json', '{"schema":"agent-exec-receipt/v2"}'), 'schema'],
      [file('binary.json', '\x1b[2J\xff'), 'not JSON'],
      [join(world.folder, 'missing.json'), 'there is no such file'],
      ['../', 'it is a folder'],
      ['/dev/zero', 'it is not a regular file'],
    ] as const) {
      const done = await show(world, wanted);
      expect(done).toMatchObject({ code: 3, stdout: '' });
      expect(done.stderr).toContain(words);
    }
    const named = await world.cli(['show', 'missing.json'], { cwd: world.folder });
    expect(named.stderr).toContain(`${join(world.folder, 'missing.json')} cannot be read: there is no such file`);
    writeFileSync(path, 'torn');
    const done = await show(world, receipt.run_id);
    expect(done.code).toBe(3);
    expect(done.stderr).toContain('is no receipt that can be read: not JSON');
    expect(done.stdout).toContain('01-a: success, it did the unit');
    expect(await show(world, receipt.run_id, '--json')).toMatchObject({ code: 3, stdout: '' });
  });

  test('with hostile words in every place does nothing to a terminal and forges no line', async () => {
    const { world, receipt, file } = await withReceipt();
    const evil = '\x1b[2J\x1b]0;owned\x07\r\n  forged\n\u202eline\u200b\x9b1m';
    const [attempt] = receipt.attempts;
    if (attempt === undefined) throw new Error('no attempt');
    const finding = { code: 'CODE', message: evil, paths: [evil, { bytes: '/w==', display: evil }] };
    const hostile = resealed(receipt, {
      outcome: 'blocked',
      reason: { code: 'CODE', message: evil },
      findings: [finding],
      unit: { ...receipt.unit, unit_id: evil, allowed_paths: [evil, evil] },
      telemetry: { path: evil, logged: false, error: evil },
      repository: { ...receipt.repository, head_ref: evil },
      attempts: [
        {
          ...attempt,
          message: evil,
          findings: [finding],
          probe: { ...attempt.probe, executable: evil, version: evil, message: evil },
          model: { requested: evil, resolved: `${evil}2`, reported: evil },
          termination: { kind: 'signaled', signal: evil },
          refusal: { code: 'RATE_LIMITED', retry_after_seconds: 60, line: evil, source: 'event' },
          reported: { status: 'error', error: evil, session_id: evil },
          worker_result: { [evil]: evil, STATUS: [evil, evil], deep: { [evil]: [1, evil] } },
          setup: [{ argv: [evil, evil], code: 1, ok: false, duration_ms: 1 }],
          changes: [{ ...(attempt.changes[0] as (typeof attempt.changes)[0]), path: evil, in_scope: false }],
          ignored: { count: 9, bytes: 9, paths: [evil] },
          canonical: { unchanged: false, differences: [{ what: evil, path: evil, detail: evil }] },
          cleanup: { ...attempt.cleanup, exact: false, retained_path: evil },
          logs: [{ ...(attempt.logs[0] as (typeof attempt.logs)[0]), path: `${evil}.stdout.log` }],
          summary: evil,
        },
      ],
    });
    const { code, stdout } = await show(world, file('hostile.json', hostile));
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u200b]/);
    expect(stdout).toContain(
      'modified \\x1b[2J\\x1b]0;owned\\x07\\x0d\\n  forged\\n\\u202eline\\u200b\\x9b1m   <- not in allowed_paths',
    );
    expect(stdout.match(/owned/g)?.length).toBeGreaterThan(20);
    expect(stdout.split('\n').filter((line) => /^\s*(forged|line|\\u202eline)/.test(line))).toEqual([]);
  });

  test('of a worker that is blocked, of a refusal, of a model: in words', async () => {
    const { world, receipt, file } = await withReceipt();
    const [attempt] = receipt.attempts;
    if (attempt === undefined) throw new Error('no attempt');
    const text = resealed(receipt, {
      outcome: 'blocked',
      attempts: [
        {
          ...attempt,
          state: 'failed-clean',
          code: 'WORKER_BLOCKED',
          model: { requested: 'gpt (high)', resolved: 'gpt-5-high', reported: 'gpt-5' },
          termination: { kind: 'stopped', by: 'idle-timeout', signal: 'SIGTERM', code: 143 },
          processes: { containment: 'session-sweep', escaped: 2, killed: 1, survivors: 1 },
          refusal: { code: 'RATE_LIMITED', retry_after_seconds: 200, line: 'slow down', source: 'stderr' },
          usage: { input_tokens: 1200, output_tokens: 30, cache_read_tokens: null, total_tokens: 1230, cost_usd: 0.02 },
          worker_result: { STATUS: 'BLOCKED', CHANGES: ['one', 'two'] },
        },
      ],
    });
    const lines = await told(world, file('blocked.json', text));
    for (const line of [
      'model asked for gpt (high), resolved to gpt-5-high, reported gpt-5 (self-reported)',
      'ended stopped, because it said nothing for too long (SIGTERM, exit code 143)',
      'processes searched for until none was found; 2 had left its process group; 1 had to be ended; 1 MAY STILL BE THERE',
      'refusal the provider refused: RATE_LIMITED, try again in 3 min 20 s. It said (stderr): slow down',
      'usage 1200 tokens in, 30 out, 1230 in all, 0.02 USD (self-reported)',
      'result what the worker says of its work (self-reported):',
      'STATUS: BLOCKED',
      'CHANGES: one; two',
      '01-a: the worker says that it cannot go on: answer what it says above, then run again',
    ]) {
      expect(lines).toContain(line);
    }
  });
});

test('which run: exact, by its beginning, or none', async () => {
  const world = new World();
  const missing = await show(world, 'last');
  expect(missing.code).toBe(3);
  expect(missing.stderr).toContain('does not exist: no run has been made there');
  expect(existsSync(world.state)).toBe(false);
  world.configure({ a: { script: WORKS } });
  const first = (await world.run()).receipt.run_id;
  const second = (await world.run()).receipt.run_id;
  expect((await told(world, 'last'))[0]).toContain(second);
  expect((await told(world, first))[0]).toContain(first);
  expect((await told(world, first.slice(0, -1)))[0]).toContain(first);
  const both = await show(world, first.slice(0, 4));
  expect(both).toMatchObject({ code: 2, stdout: '' });
  expect(both.stderr).toContain(`begins 2 runs: ${first}, ${second}. Give more of the id.`);
  const none = await show(world, 'nonsense');
  expect(none).toMatchObject({ code: 3, stdout: '' });
  expect(none.stderr).toContain('agent-exec runs lists them');
  expect((await show(world)).code).toBe(2);
  expect((await show(world, '')).code).toBe(3);
});
