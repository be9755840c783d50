/**
 * From candidate to candidate (SPEC 7): what goes on, what stops, and when the host may do the unit itself. A candidate
 * that must not be reached leaves a file if it is.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import canonicalize from 'canonicalize';
import { describe, expect, test } from 'vitest';
import type { Receipt } from '../../src/model/receipt.ts';
import { type Finished, type Profile, TOOL, World } from './world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt';
const never: Profile = { script: 'cat >/dev/null; echo reached > @D@/reached; echo never >> src/a.txt' };
const reached = (world: World): boolean => existsSync(join(world.folder, 'reached'));

/** A worker that speaks claude's stream and says that its provider answered with 429; first it does `before`. */
const refused = (before = ':'): Profile => ({
  format: 'claude',
  script: `cat >/dev/null; ${before}
echo '{"type":"system","subtype":"init","model":"m","session_id":"s"}'
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"rate limited"}'
exit 1`,
});

const verdicts = ({ receipt }: Finished): string[] =>
  receipt.attempts.map(({ attempt_id, state, code }) => `${attempt_id} ${state} ${code}`);

describe('what goes on', () => {
  test('failed-clean and unavailable: every try starts from base and each leaves its own quarantine', async () => {
    const world = new World();
    const base = world.configure({
      gone: { executable: '/nonexistent/worker' },
      half: {
        script:
          'cat >/dev/null; echo half >> src/a.txt; echo half > src/half.txt; rm docs/d.txt; git checkout -q docs; exit 3',
      },
      idle: { script: 'cat >/dev/null' },
      full: { script: `test ! -e src/half.txt || exit 9; ${WORK}` },
      extra: never,
    });
    const before = world.canonical();
    const done = await world.run();
    expect(verdicts(done)).toEqual([
      '01-gone unavailable EXECUTABLE_MISSING',
      '02-half failed-clean EXIT_NONZERO',
      '03-idle failed-clean EMPTY_DIFF',
      '04-full success OK',
    ]);
    expect(done.code).toBe(0);
    const [gone, half, idle, full] = done.receipt.attempts;
    expect(gone).toMatchObject({ process_started: false, changes: [], quarantine: null, argv: [] });
    const ref = `refs/agent-exec-quarantine/${done.receipt.run_id}/02-half`;
    expect(half?.quarantine).toMatchObject({ ref, parent: base });
    expect(world.git('diff', '--name-status', base, ref)).toBe('M\tsrc/a.txt\nA\tsrc/half.txt');
    expect(world.git('show', `${ref}:src/a.txt`)).toBe('a\nhalf');
    expect(idle).toMatchObject({ quarantine: null, transport: null });
    expect(world.git('diff', '--name-status', base, full?.transport?.commit ?? '')).toBe('M\tsrc/a.txt');
    expect(done.receipt.attempts.map(({ cleanup }) => cleanup.exact)).toEqual([true, true, true, true]);
    expect(
      world.git('for-each-ref', '--format=%(refname)', 'refs/agent-exec', 'refs/agent-exec-quarantine').split('\n'),
    ).toEqual([ref, `refs/agent-exec/${done.receipt.run_id}/04-full`]);
    expect(reached(world)).toBe(false);
    expect(world.canonical()).toEqual(before);
    expect(world.leftovers()).toEqual([]);
  });

  test('a commit that fails its verification goes to the quarantine, and the next candidate passes', async () => {
    const world = new World();
    world.configure({ wrong: { script: WORK }, right: { script: `${WORK}; echo right > src/right.txt` } });
    const done = await world.run({ verification: [['test', '-e', 'src/right.txt']] }, { args: ['--verify'] });
    expect(verdicts(done)).toEqual(['01-wrong failed-clean VERIFICATION_FAILED', '02-right success OK']);
    expect(done.receipt.attempts[0]?.logs.map(({ path }) => path.split('/').at(-1))).toEqual([
      'stdout.log',
      'stderr.log',
      'verification-1.stdout.log',
      'verification-1.stderr.log',
    ]);
    const [wrong] = done.receipt.attempts;
    expect(wrong?.transport).toBeNull();
    expect(world.git('show', `${wrong?.quarantine?.ref}:src/a.txt`)).toBe('a\nmore');
    expect(world.git('for-each-ref', '--format=%(refname)', 'refs/agent-exec')).toBe(
      `refs/agent-exec/${done.receipt.run_id}/02-right`,
    );
  });
});

describe('what stops', () => {
  test.concurrent.each([
    {
      title: 'scope-expansion',
      script: 'cat >/dev/null; echo more >> src/a.txt; echo stray >> docs/d.txt',
      lines: [],
      code: 'PATH_OUT_OF_SCOPE',
    },
    {
      title: 'failed-unknown',
      script: 'cat >/dev/null; echo more >> src/a.txt; echo stray >> docs/d.txt; echo x >> @R@/docs/d.txt',
      lines: ['isolation: none'],
      code: 'CANONICAL_CHANGED',
    },
  ])('$title keeps the workspace and names it', async ({ title, script, lines, code }) => {
    const world = new World();
    const base = world.configure({ one: { script }, two: never }, lines);
    const done = await world.run();
    expect(done.code).toBe(6);
    expect(done.receipt).toMatchObject({ outcome: 'blocked', exit_code: 6, reason: { code }, host_fallback: null });
    expect(verdicts(done)).toEqual([`01-one ${title} ${code}`]);
    expect(reached(world)).toBe(false);
    const [attempt] = done.receipt.attempts;
    const kept = attempt?.cleanup.retained_path ?? '';
    expect(done.summary.retained).toEqual([kept]);
    expect(readFileSync(join(kept, 'src/a.txt'), 'utf8')).toBe('a\nmore\n');
    expect(readFileSync(join(kept, 'docs/d.txt'), 'utf8')).toBe('d\nstray\n');
    expect(attempt?.cleanup).toMatchObject({ workspace_removed: false, worktree_unregistered: false });
    // A person can look with git, and the same work is in a commit too.
    const quarantine = attempt?.quarantine?.commit ?? '';
    expect(world.git('-C', kept, 'status', '--porcelain')).toBe(' M docs/d.txt\n M src/a.txt');
    expect(world.git('diff', '--name-only', base, quarantine)).toBe('docs/d.txt\nsrc/a.txt');
    expect(attempt?.transport).toBeNull();
  });

  test('the text answer names what was kept', async () => {
    const world = new World();
    world.configure({ one: { script: 'cat >/dev/null; echo stray >> docs/d.txt' }, two: never });
    const done = await world.cli(['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state]);
    expect(done.code).toBe(6);
    const kept = [...done.stdout.matchAll(/^kept +(\S+)$/gm)].map(([, what]) => what ?? '');
    expect(kept).toHaveLength(2);
    expect(kept[0]).toMatch(/^refs\/agent-exec-quarantine\//);
    expect(readFileSync(join(kept[1] ?? '', 'docs/d.txt'), 'utf8')).toBe('d\nstray\n');
  });
});

describe('host fallback', () => {
  const UNAVAILABLE: Readonly<Record<string, Profile>> = {
    gone: { executable: '/nonexistent/worker' },
    idle: { script: WORK, lines: ['enabled: false'] },
    dear: { script: WORK, lines: ['cost: metered'] },
    busy: refused(),
  };
  const authorisations = (receipt: Receipt): number => JSON.stringify(receipt).split('"authorized":').length - 1;

  test('every candidate proven unavailable: exit 5 and exactly one authorisation', async () => {
    const world = new World();
    const base = world.configure(UNAVAILABLE);
    const before = world.canonical();
    const unit = { unit_id: 'fix-it', allowed_paths: ['src/', 'docs/*.txt'] };
    const done = await world.run(unit);
    expect(done.code).toBe(5);
    expect(verdicts(done)).toEqual([
      '01-gone unavailable EXECUTABLE_MISSING',
      '02-idle unavailable DISABLED',
      '03-dear unavailable COST_NOT_AUTHORISED',
      '04-busy unavailable RATE_LIMITED',
    ]);
    const { receipt } = done;
    expect(receipt).toMatchObject({ outcome: 'host-fallback-authorized', exit_code: 5 });
    const packet = {
      goal: 'Append one line to src/a.txt.',
      verification: [],
      constraints: [],
      network: 'allow',
      external_cost: 'subscription',
      timeout_seconds: 60,
      ...unit,
    };
    const digest = `sha256:${createHash('sha256')
      .update(canonicalize(packet) ?? '')
      .digest('hex')}`;
    expect(receipt.unit.digest).toBe(digest);
    expect(receipt.host_fallback).toEqual({
      authorized: true,
      unit_digest: digest,
      base,
      allowed_paths: ['src/', 'docs/*.txt'],
      issued_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      evidence: ['01-gone', '02-idle', '03-dear', '04-busy'],
    });
    const issued = Date.parse(receipt.host_fallback?.issued_at ?? '');
    expect(issued).toBeGreaterThanOrEqual(Date.parse(receipt.started_at));
    expect(issued).toBeLessThanOrEqual(Date.parse(receipt.ended_at));
    expect(authorisations(receipt)).toBe(1);
    expect(done.summary.host_fallback).toEqual(receipt.host_fallback);
    expect(receipt.attempts.every(({ cleanup }) => cleanup.exact)).toBe(true);
    expect(world.git('for-each-ref', 'refs/agent-exec', 'refs/agent-exec-quarantine')).toBe('');
    expect(world.canonical()).toEqual(before);
    expect(world.leftovers()).toEqual([]);
  });

  test.concurrent.each([
    { title: 'a candidate that ran and failed', last: { script: 'cat >/dev/null; exit 3' }, code: 'EXIT_NONZERO' },
    { title: 'a refusal after a change', last: refused('echo x >> src/a.txt'), code: 'PROVIDER_REFUSED_MIDWAY' },
    {
      title: 'a refusal after an ignored file',
      last: refused('mkdir build; echo x > build/x'),
      code: 'PROVIDER_REFUSED_MIDWAY',
    },
    {
      title: 'a refusal after a file was made in the scope',
      last: refused(': > src/empty'),
      code: 'PROVIDER_REFUSED_MIDWAY',
    },
  ] as const)('none after $title', async ({ last, code }) => {
    const world = new World();
    world.configure({ gone: { executable: '/nonexistent/worker' }, last });
    const done = await world.run();
    expect(verdicts(done).at(-1)).toBe(`02-last failed-clean ${code}`);
    expect(done.code).toBe(4);
    expect(done.receipt).toMatchObject({ outcome: 'exhausted', host_fallback: null });
    expect(authorisations(done.receipt)).toBe(0);
    expect(done.summary.host_fallback).toBeNull();
  });

  test('none after a refused candidate that committed, which blocks', async () => {
    const world = new World();
    world.configure({ last: refused('git -c user.name=w -c user.email=w@w commit -q --allow-empty -m w') });
    const done = await world.run();
    expect(verdicts(done)).toEqual(['01-last scope-expansion WORKER_COMMITTED']);
    expect(done.code).toBe(6);
    expect(authorisations(done.receipt)).toBe(0);
  });

  test('none where the policy says never', async () => {
    const world = new World();
    world.configure(UNAVAILABLE, ['fallback_to_host: never']);
    const done = await world.run();
    expect(done.code).toBe(4);
    expect(done.receipt.attempts.map(({ state }) => state)).toEqual(Array(4).fill('unavailable'));
    expect(done.receipt).toMatchObject({ outcome: 'exhausted', host_fallback: null });
    expect(authorisations(done.receipt)).toBe(0);
  });
});

describe('recursion', () => {
  const NESTED = `"${process.execPath}" "${TOOL}" run --role repair --goal again --allow src/ --json`;

  test.concurrent.each([
    { title: 'in the workspace', enter: ':' },
    { title: 'in a subfolder of it', enter: 'cd src' },
    { title: 'in a clone of it', enter: 'git clone -q . @D@/clone; cd @D@/clone' },
    { title: 'in the canonical repository', enter: 'cd @R@' },
    { title: 'with an emptied chain', enter: 'export AGENT_EXEC_CHAIN=' },
    { title: 'with a chain of its own making', enter: 'export AGENT_EXEC_CHAIN=x@0' },
    { title: 'from a shell that hands on nothing', enter: ':', by: 'env -i PATH="$PATH" HOME="$HOME"' },
    { title: 'two such shells deep', enter: ':', by: 'env -i PATH="$PATH" HOME="$HOME" sh -c \'"$@"; exit $?\' sh' },
    {
      title: 'two such shells deep, in the canonical repository',
      enter: 'cd @R@',
      by: 'env -i PATH="$PATH" HOME="$HOME" sh -c \'"$@"; exit $?\' sh',
    },
    { title: 'in a session of its own', enter: ':', by: 'env -i PATH="$PATH" HOME="$HOME" setsid -w' },
    { title: 'with nothing of it above but the first process', enter: ':', by: 'orphaned' },
  ])('a run that a worker starts $title is refused, and grants nothing', async ({ enter, by = '' }) => {
    const world = new World();
    world.configure({
      one: {
        script: `cat >/dev/null; echo more >> src/a.txt
# As a daemon is started: what lies between is gone before it begins.
orphaned() { mkfifo @D@/gone @D@/ended; (env -i PATH="$PATH" HOME="$HOME" sh -c 'cat @D@/gone; "$@"; echo $? > @D@/ended' sh "$@" &); : > @D@/gone; read -r code < @D@/ended; return "$code"; }
(${enter}; ${by} ${NESTED} --state-dir @D@/nested > @D@/answer 2> @D@/words; echo $? > @D@/code)`,
      },
      two: never,
    });
    const done = await world.run();
    expect(readFileSync(join(world.folder, 'code'), 'utf8'), readFileSync(join(world.folder, 'words'), 'utf8')).toBe(
      '4\n',
    );
    const answer = JSON.parse(readFileSync(join(world.folder, 'answer'), 'utf8'));
    expect(answer).toMatchObject({ outcome: 'exhausted', exit_code: 4, host_fallback: null, transport: null });
    expect(answer.attempts).toEqual([
      { attempt_id: '01-one', state: 'unavailable', code: 'RECURSION_DETECTED' },
      { attempt_id: '02-two', state: 'unavailable', code: 'RECURSION_DETECTED' },
    ]);
    expect(reached(world)).toBe(false);
    expect(verdicts(done)).toEqual(['01-one success OK']);
  });

  test('a run in another repository works', async () => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const inner = world.repo;
    const script = `cat >/dev/null; echo outer >> src/a.txt
(cd ${inner}; ${NESTED} --state-dir @D@/nested > @D@/answer; echo $? > @D@/code)`;
    world.repo = join(world.folder, 'outer');
    mkdirSync(world.repo);
    world.git('init', '-q');
    world.write('src/a.txt', 'a\n');
    world.configure({ outer: { script } });
    const done = await world.run();
    expect(readFileSync(join(world.folder, 'code'), 'utf8')).toBe('0\n');
    const answer = JSON.parse(readFileSync(join(world.folder, 'answer'), 'utf8'));
    expect(answer.attempts).toEqual([{ attempt_id: '01-one', state: 'success', code: 'OK' }]);
    expect(verdicts(done)).toEqual(['01-outer success OK']);
  });

  test.each([
    ['a chain that cannot be read', () => 'nonsense,,@'],
    ['a chain of another repository', () => `20261130t171500123z-4f9c2a@${'ab'.repeat(20)}`],
  ])('%s stops nothing', async (_, chain) => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const done = await world.run({}, { env: { AGENT_EXEC_CHAIN: chain() } });
    expect(verdicts(done)).toEqual(['01-one success OK']);
  });
});
