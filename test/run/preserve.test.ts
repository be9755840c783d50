/**
 * No work is lost: whatever a worker left is in a commit under refs/agent-exec-quarantine, or in a workspace that is
 * still there and named. Checked in the canonical repository with git, from a fresh process.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AttemptRecord } from '../../src/model/receipt.ts';
import { type Finished, World } from './world.ts';

const MIB = 1024 * 1024;

const only = (done: Finished): AttemptRecord => {
  const [attempt] = done.receipt.attempts;
  if (attempt === undefined || done.receipt.attempts.length !== 1) throw new Error('not one attempt');
  return attempt;
};

/** The commit of an attempt's quarantine, after a check that it is what the receipt says. */
function quarantineOf(world: World, done: Finished, attempt: AttemptRecord): string {
  const { quarantine } = attempt;
  if (quarantine === null) throw new Error(`no quarantine: ${JSON.stringify(attempt, null, 1)}`);
  expect(quarantine.ref).toBe(`refs/agent-exec-quarantine/${done.receipt.run_id}/${attempt.attempt_id}`);
  expect(world.git('rev-parse', quarantine.ref, `${quarantine.ref}^{tree}`, `${quarantine.ref}^1`).split('\n')).toEqual(
    [quarantine.commit, quarantine.tree, done.receipt.repository.base],
  );
  expect(done.summary.quarantine).toContain(quarantine.ref);
  expect(world.people(quarantine.commit)).toBe('agent-exec agent-exec@localhost / agent-exec agent-exec@localhost');
  return quarantine.commit;
}

const differing = (world: World, base: string, commit: string): string[] =>
  world.git('diff', '--name-status', '--no-renames', base, commit).split('\n');

describe('ignored files', () => {
  test('inside the scope all of them, elsewhere up to 32 MiB; what is over is named with its size', async () => {
    const world = new World();
    const base = world.configure({
      one: {
        script: `cat >/dev/null
truncate -s 33M src/kept-though-large.log
mkdir -p build/deep node_modules
echo small > build/deep/small
truncate -s 20M build/first.bin
truncate -s 30M build/second.bin
exit 3`,
      },
    });
    const done = await world.run();
    const attempt = only(done);
    expect(attempt.code).toBe('EXIT_NONZERO');
    expect(attempt.ignored).toEqual({
      count: 4,
      bytes: 83 * MIB + 6,
      paths: ['build/deep/small', 'build/first.bin', 'build/second.bin', 'src/kept-though-large.log'],
    });
    const commit = quarantineOf(world, done, attempt);
    expect(differing(world, base, commit)).toEqual([
      'A\tbuild/deep/small',
      'A\tbuild/first.bin',
      'A\tsrc/kept-though-large.log',
    ]);
    expect(world.git('cat-file', '-s', `${commit}:src/kept-though-large.log`)).toBe(`${33 * MIB}`);
    const left = attempt.findings.find(({ code }) => code === 'IGNORED_NOT_KEPT');
    expect(left?.paths).toEqual(['build/second.bin']);
    expect(left?.message).toContain(`${30 * MIB} bytes`);
  });

  test('a success has them in a quarantine beside its transport, which holds none', async () => {
    const world = new World();
    const base = world.configure({
      one: {
        script: 'cat >/dev/null; echo more >> src/a.txt; mkdir build; echo cache > build/cache; echo l > src/x.log',
      },
    });
    const done = await world.run();
    const attempt = only(done);
    expect(attempt.state).toBe('success');
    expect(differing(world, base, attempt.transport?.commit ?? '')).toEqual(['M\tsrc/a.txt']);
    const commit = quarantineOf(world, done, attempt);
    expect(differing(world, base, commit)).toEqual(['A\tbuild/cache', 'M\tsrc/a.txt', 'A\tsrc/x.log']);
    expect(attempt.change_count).toBe(1);
  });

  test("are told by base's rules, not by those that the worker wrote", async () => {
    const world = new World();
    const base = world.configure({
      one: {
        script: `cat >/dev/null
echo '*' >> src/.gitignore; echo hidden > src/hidden.txt; echo hidden > docs/hidden.txt
echo '*' >> "$(git rev-parse --git-path info/exclude)"; exit 3`,
      },
    });
    const done = await world.run();
    const attempt = only(done);
    expect(attempt.state).toBe('scope-expansion');
    expect(attempt.ignored.count).toBe(0);
    expect(differing(world, base, quarantineOf(world, done, attempt))).toEqual([
      'A\tdocs/hidden.txt',
      'A\tsrc/.gitignore',
      'A\tsrc/hidden.txt',
    ]);
  });
});

describe("the worker's own commits", () => {
  test('on branches, on none, stashed, tagged, reset away: all reachable from the quarantine', async () => {
    const world = new World();
    world.configure({
      one: {
        script: `cat >/dev/null
export GIT_AUTHOR_NAME=w GIT_AUTHOR_EMAIL=w@w GIT_COMMITTER_NAME=w GIT_COMMITTER_EMAIL=w@w
base=$(git rev-parse HEAD)
note() { echo "$1 $(git rev-parse "$2")" >> @D@/commits; }
make() { echo "$1" > "src/$1"; git add -A; git commit -q -m "$1"; note "$1" HEAD; }
git checkout -q -b side; make on-a-branch; git checkout -q --detach "$base"
make on-no-branch; make on-top-of-it; git checkout -q --detach "$base"
make reset-away; git reset -q --hard "$base"
make tagged; git tag -a -m t v1; git checkout -q --detach "$base"
make amended; echo more >> src/amended; git commit -qa --amend -m amended; note amended-later HEAD
git checkout -q --detach "$base"
echo staged > src/staged; git add -A; echo untracked > src/untracked; git stash -q -u; note stash refs/stash
echo left > src/left`,
      },
    });
    const before = world.canonical();
    const done = await world.run();
    const attempt = only(done);
    expect([attempt.state, attempt.code]).toEqual(['scope-expansion', 'WORKER_COMMITTED']);
    const commit = quarantineOf(world, done, attempt);
    expect(world.git('show', `${commit}:src/left`)).toBe('left');
    const made = readFileSync(join(world.folder, 'commits'), 'utf8').trimEnd().split('\n');
    expect(made).toHaveLength(8);
    const reachable = new Set(world.git('rev-list', commit).split('\n'));
    expect(made.filter((line) => !reachable.has(line.split(' ')[1] ?? ''))).toEqual([]);
    const oid = (name: string): string => made.find((line) => line.startsWith(`${name} `))?.split(' ')[1] ?? '';
    expect(world.git('show', `${oid('on-a-branch')}:src/on-a-branch`)).toBe('on-a-branch');
    expect(world.git('show', `${oid('stash')}:src/staged`)).toBe('staged');
    expect(world.git('show', `${oid('stash')}^3:src/untracked`)).toBe('untracked');
    // Whole, also without the private repository; and no ref of the host's has come or gone.
    expect(world.git('fsck', '--strict', '--no-dangling')).toBe('');
    expect(world.canonical()).toEqual(before);
  });

  test('also in a worktree and a branch that a hostile gc and prune went over', async () => {
    const world = new World();
    world.configure({
      one: {
        script: `cat >/dev/null
git -c user.name=w -c user.email=w@w commit -q --allow-empty -m kept; git rev-parse HEAD > @D@/commit
git gc -q --prune=now --aggressive; git pack-refs --all; git repack -adq; rm -rf "$(git rev-parse --git-common-dir)/objects/info/commit-graph"`,
      },
    });
    const done = await world.run();
    const commit = quarantineOf(world, done, only(done));
    expect(world.git('rev-list', commit).split('\n')).toContain(
      readFileSync(join(world.folder, 'commit'), 'utf8').trim(),
    );
  });
});

describe('a worker that was stopped', () => {
  test.concurrent.each([
    { code: 'TIMEOUT', unit: { timeout_seconds: 2 }, lines: [] },
    { code: 'IDLE_TIMEOUT', unit: {}, lines: ['idle_timeout_seconds: 2'] },
  ])('$code: what it had done is in the quarantine', async ({ code, unit, lines }) => {
    const world = new World();
    const base = world.configure(
      { one: { script: 'cat >/dev/null; echo half >> src/a.txt; echo new > src/new.txt; exec sleep 300' } },
      lines,
    );
    const done = await world.run(unit);
    const attempt = only(done);
    expect([attempt.state, attempt.code]).toEqual(['failed-clean', code]);
    expect(differing(world, base, quarantineOf(world, done, attempt))).toEqual(['M\tsrc/a.txt', 'A\tsrc/new.txt']);
    expect(attempt.cleanup).toMatchObject({ exact: true, retained_path: null });
  });

  test('in the middle of a write, over and over', async () => {
    const world = new World();
    const base = world.configure({
      one: { script: 'cat >/dev/null; while :; do echo line >> src/a.txt; cp src/a.txt src/copy.txt; done' },
    });
    const done = await world.run({ timeout_seconds: 1 });
    const attempt = only(done);
    expect(attempt.code).toBe('TIMEOUT');
    const commit = quarantineOf(world, done, attempt);
    expect(differing(world, base, commit)).toEqual(['M\tsrc/a.txt', 'A\tsrc/copy.txt']);
    expect(world.git('show', `${commit}:src/a.txt`)).toMatch(/^a\n(?:line\n)*line$/);
  });

  test('by a signal: its ignored files and commits are kept as well', async () => {
    const world = new World();
    const base = world.configure({
      one: {
        script: 'cat >/dev/null; echo half >> src/a.txt; mkdir build; echo x > build/x; : > @D@/ready; exec sleep 300',
      },
    });
    const done = await world.run(
      {},
      {
        onStart: (child) => {
          const watcher = watch(world.folder, () => {
            if (!existsSync(join(world.folder, 'ready'))) return;
            watcher.close();
            child.kill('SIGTERM');
          });
        },
      },
    );
    const attempt = only(done);
    expect(attempt.state).toBe('cancelled');
    expect(differing(world, base, quarantineOf(world, done, attempt))).toEqual(['A\tbuild/x', 'M\tsrc/a.txt']);
  });
});

describe('what no commit can hold', () => {
  test('a nested repository and ignored files over the limit stay in a workspace that is named', async () => {
    const world = new World();
    const base = world.configure({
      one: {
        script: `cat >/dev/null
git init -q src/inner; echo f > src/inner/f
git -C src/inner -c user.name=w -c user.email=w@w commit -q --allow-empty -m inner
mkdir build; truncate -s 33M build/huge; echo stray >> docs/d.txt`,
      },
    });
    const done = await world.run();
    const attempt = only(done);
    expect(attempt.state).toBe('scope-expansion');
    const kept = attempt.cleanup.retained_path ?? '';
    expect(done.summary.retained).toEqual([kept]);
    expect(statSync(join(kept, 'build/huge')).size).toBe(33 * MIB);
    expect(world.git('-C', join(kept, 'src/inner'), 'log', '--format=%s')).toBe('inner');
    expect(differing(world, base, quarantineOf(world, done, attempt))).toEqual(['M\tdocs/d.txt', 'A\tsrc/inner/f']);
    const codes = new Set(attempt.findings.map(({ code }) => code));
    expect([...codes]).toEqual(expect.arrayContaining(['NESTED_REPOSITORY', 'IGNORED_NOT_KEPT', 'KEPT_IN_WORKSPACE']));
  });

  test('a file over the transport limit: nothing of the rest is lost', async () => {
    const world = new World();
    world.configure({ one: { script: 'cat >/dev/null; echo more >> src/a.txt; truncate -s 101M src/huge.bin' } });
    const done = await world.run();
    const attempt = only(done);
    expect([attempt.state, attempt.code]).toEqual(['failed-unknown', 'INVENTORY_FAILED']);
    const kept = attempt.cleanup.retained_path ?? '';
    expect(statSync(join(kept, 'src/huge.bin')).size).toBe(101 * MIB);
    expect(world.git('show', `${quarantineOf(world, done, attempt)}:src/a.txt`)).toBe('a\nmore');
  });

  test('a worker that removes everything, its .git file too', async () => {
    const world = new World();
    const base = world.configure({ one: { script: 'cat >/dev/null; rm -rf ./* ./.git ./.gitignore' } });
    const files = Object.keys(world.tree(base)).sort();
    const before = world.canonical();
    const done = await world.run({ allowed_paths: ['src/', 'docs/', '.gitignore', 'AGENT-EXECUTION.md'] });
    const attempt = only(done);
    expect([attempt.state, attempt.code]).toEqual(['scope-expansion', 'GIT_TAMPERED']);
    expect(differing(world, base, quarantineOf(world, done, attempt))).toEqual(files.map((path) => `D\t${path}`));
    expect(readdirSync(attempt.cleanup.retained_path ?? '')).toEqual([]);
    expect(world.canonical()).toEqual(before);
  });
});

test('2,000 new files, once failed and once delivered', async () => {
  const world = new World();
  const make = 'cat >/dev/null; mkdir src/many; i=0; while [ $i -lt 2000 ]; do echo $i > src/many/$i; i=$((i+1)); done';
  const base = world.configure({ one: { script: `${make}; exit 3` }, two: { script: make } });
  const done = await world.run();
  expect(done.code).toBe(0);
  const [failed, delivered] = done.receipt.attempts;
  if (failed === undefined) throw new Error('no attempt');
  for (const commit of [quarantineOf(world, done, failed), delivered?.transport?.commit ?? '']) {
    const added = Object.keys(world.tree(commit)).filter((path) => path.startsWith('src/many/'));
    expect(added).toHaveLength(2000);
    expect(world.git('show', `${commit}:src/many/1999`)).toBe('1999');
    expect(differing(world, base, commit)).toHaveLength(2000);
  }
  expect(failed.change_count).toBe(2000);
  expect(delivered?.change_count).toBe(2000);
  expect(done.summary).toMatchObject({ change_count: 2000, truncated: true });
  expect(Buffer.byteLength(done.stdout)).toBeLessThanOrEqual(4096);
  expect(done.summary.changed_paths.length).toBeGreaterThan(10);
});

test('what is published is on the disk before the workspace goes: objects and refs are flushed', async () => {
  const world = new World();
  world.configure({ one: { script: 'echo more >> src/a.txt' } });
  // The real git, told to say how often it flushed.
  const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const trace = join(world.folder, 'trace');
  const folder = join(world.folder, 'traced');
  mkdirSync(folder);
  writeFileSync(join(folder, 'git'), `#!/bin/sh\nGIT_TRACE2_EVENT=${trace} exec ${real} "$@"\n`, { mode: 0o755 });
  const done = await world.run({}, { env: { PATH: `${folder}:${process.env.PATH}` } });
  expect(done.code).toBe(0);
  const events = readFileSync(trace, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const flushes = (command: string): number => {
    const sids = events.filter(({ event, argv }) => event === 'start' && argv.includes(command)).map(({ sid }) => sid);
    expect(sids.length).toBeGreaterThan(0);
    return events
      .filter(({ sid, category, key }) => sids.includes(sid) && category === 'fsync' && /hardware-flush$/.test(key))
      .reduce((sum, { value }) => sum + Number(value), 0);
  };
  expect(flushes('unpack-objects')).toBeGreaterThan(0);
  expect(flushes('update-ref')).toBeGreaterThan(0);
});
