/**
 * `probe --live`: only the exact file through a whole, clean run is a pass; what is not available is never one; nothing of
 * the user's is touched, and nothing stays but what a failure left. Scripted workers stand in for the CLIs.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { probeCommand } from '../../src/cli/probe.ts';
import { liveText } from '../../src/cli/probe-live-answer.ts';
import { receipt as receiptSchema } from '../../src/model/receipt.ts';
import { receipt } from '../receipt/record-samples.ts';
import { type Profile, World } from '../run/world.ts';
import { collecting, type Said } from './collected.ts';
import { type Answered, claude, live, OBEY, profilesOf } from './live-world.ts';

const SECRET = 'tok-4f9c2a77d1e85b03';

/** One profile in a world of its own, answered as JSON. */
async function one(
  profile: Profile,
  { execution = [], env = {} }: { execution?: readonly string[]; env?: Record<string, string> } = {},
): Promise<{ world: World; said: Said; answer: Answered }> {
  const world = new World();
  world.configure({ one: profile }, execution);
  const said = await live(world, ['--json'], { env });
  const [answer] = profilesOf(said);
  if (answer === undefined) throw new Error(said.note);
  return { world, said, answer };
}

/** State that a run made; the cache of probes is the state root's own. */
const stateOf = (world: World): string[] =>
  existsSync(world.state) ? readdirSync(world.state).filter((name) => name !== 'probe-cache.json') : [];
function expectNothingLeft(world: World): void {
  expect(stateOf(world)).toEqual([]);
  expect(readdirSync(join(world.folder, 'tmp'))).toEqual([]);
  expect(world.leftovers()).toEqual([]);
}
/** Everything of the caller's repository, agent-exec's own places included. */
const callersOwn = (world: World) => ({
  files: world.canonical(),
  refs: world.git('for-each-ref'),
  objects: world.git('count-objects', '-v'),
  own: existsSync(join(world.repo, '.git/agent-exec')),
});

describe('a pass', () => {
  test.each(['guard', 'none'])('is the exact file, through a whole run under %s, and leaves nothing', async (level) => {
    const world = new World();
    world.configure({ one: { script: `${OBEY}; sh -c "sleep 300; : @MARK@" &` } }, [`isolation: ${level}`]);
    const before = callersOwn(world);
    const said = await live(world, ['--json']);
    expect(profilesOf(said)).toMatchObject([
      { profile: 'one', result: 'pass', available: true, code: null, state: 'success', isolation: level, kept: [] },
    ]);
    expect(said.code).toBe(0);
    expect(callersOwn(world)).toEqual(before);
    expect(before.own).toBe(false);
    expectNothingLeft(world);
  });

  test('shows the version and the model that answered', async () => {
    const world = new World();
    world.configure({ one: claude('claude-write-file', OBEY) });
    const { out, code } = await live(world);
    expect(out).toMatch(
      /^PROFILE {2}RESULT {2}VERSION +MODEL +SECONDS\none +pass +2\.1\.332 +claude-opus-4-8\S* +\d+\.\d\n$/,
    );
    expect(code).toBe(0);
  });

  test("is asked for another content each time, and a user's own ignore file does not hide it", async () => {
    const world = new World();
    mkdirSync(join(world.home, '.config/git'), { recursive: true });
    writeFileSync(join(world.home, '.config/git/ignore'), '*\n');
    world.configure({ one: { script: `tee -a ${world.folder}/asked | { ${OBEY}; }` } });
    for (const _ of [1, 2]) expect(await live(world)).toMatchObject({ code: 0 });
    const nonces = readFileSync(join(world.folder, 'asked'), 'utf8').match(/^live-probe [0-9a-f]{24}$/gm);
    expect(new Set(nonces).size).toBe(2);
  });

  test('needs no repository where a configuration is named', async () => {
    const world = new World();
    world.configure({ one: { script: OBEY } });
    const config = join(world.repo, 'AGENT-EXECUTION.md');
    expect(await live(world, ['--config', config], { cwd: world.folder })).toMatchObject({ code: 0 });
    expectNothingLeft(world);
  });

  test('may cost money only where the profile says so', async () => {
    const printKey = `echo "key:$ANTHROPIC_API_KEY" >> @D@/keys; ${OBEY}`;
    const world = new World();
    world.configure({
      plan: claude('claude-write-file', printKey),
      billed: claude('claude-write-file', printKey, ['cost: metered']),
    });
    const said = await live(world, [], { env: { ANTHROPIC_API_KEY: 'sk-made-up-key' } });
    expect(said.note).toMatch(
      /asks, one at a time: plan, billed\. Each request spends quota .* Billed by use: billed\./,
    );
    expect(readFileSync(join(world.folder, 'keys'), 'utf8')).toBe('key:\nkey:sk-made-up-key\n');
    expect(said.code).toBe(0);
  });
});

describe('a failure', () => {
  const first = `$(grep -m1 '^live-probe ')`;
  test.each([
    [
      'another content',
      'cat >/dev/null; echo live-probe 000 > live-marker.txt',
      'CONTENT_DIFFERS',
      /begins with "live-probe 000/,
    ],
    [
      'no newline',
      `printf %s "${first}" > live-marker.txt`,
      'CONTENT_DIFFERS',
      /the newline at its end is missing \(35 bytes instead of 36\)/,
    ],
    ['CR LF', `printf '%s\\r\\n' "${first}" > live-marker.txt`, 'CONTENT_DIFFERS', /CR LF/],
    ['white space', `printf ' %s\\n' "${first}" > live-marker.txt`, 'CONTENT_DIFFERS', /white space/],
    ['a link', `ln -s README.md live-marker.txt`, 'CONTENT_DIFFERS', /is not a file/],
    ['a file beside it', `${OBEY}; echo x > extra.txt`, 'PATH_OUT_OF_SCOPE', /extra\.txt/],
    ['no change', 'cat >/dev/null', 'EMPTY_DIFF', /changed nothing/],
    ['an exit code', `${OBEY}; exit 3`, 'EXIT_NONZERO', /exited with 3/],
  ])('is %s', async (_, script, code, message) => {
    const { said, answer, world } = await one({ script });
    expect(answer).toMatchObject({ result: 'failed', available: false, code, message: expect.stringMatching(message) });
    expect(said.code).toBe(6);
    // Nothing of it is lost: the run's state, and the repository that holds its commits.
    expect(answer.kept.map((folder) => existsSync(folder))).toEqual([true, true]);
    expect(stateOf(world)).toHaveLength(2);
  });

  test('is told with what differs and where everything of it is', async () => {
    const world = new World();
    world.configure({ one: { script: 'cat >/dev/null; echo x > live-marker.txt' } });
    const { out } = await live(world);
    expect(out).toMatch(/^one +failed +- +- +\d+\.\d\n +CONTENT_DIFFERS: live-marker\.txt: other content \(2 bytes/m);
    const kept = [...out.matchAll(/^ +kept: (.*)$/gm)].map(([, folder = '']) => folder);
    expect(kept.map((folder) => folder.startsWith(`${world.state}/`) && existsSync(folder))).toEqual([true, true]);
  });

  test('is a change in the checkout that it was called from, where nothing kept the worker from it', async () => {
    const world = new World();
    world.configure({ one: { script: `${OBEY}; echo mine >> @R@/src/a.txt; git -C @R@ branch stray` } }, [
      'isolation: none',
    ]);
    const said = await live(world, ['--json']);
    expect(profilesOf(said)).toMatchObject([
      {
        result: 'failed',
        state: 'success',
        code: 'CANONICAL_CHANGED',
        message: expect.stringMatching(/src\/a\.txt|refs\/heads\/stray/),
      },
    ]);
    expect(said.code).toBe(6);
  });

  test('under guard the worker cannot write there at all', async () => {
    const world = new World();
    world.configure({ one: { script: `${OBEY}; echo mine >> @R@/src/a.txt; git -C @R@ branch stray; true` } }, [
      'isolation: guard',
    ]);
    const before = callersOwn(world);
    expect(await live(world)).toMatchObject({ code: 0 });
    expect(callersOwn(world)).toEqual(before);
  });

  test('is another model than the one that was asked for', async () => {
    const { said, answer } = await one(claude('claude-write-file', OBEY, ['model: claude-sonnet-9']));
    expect(answer).toMatchObject({ result: 'failed', code: 'MODEL_MISMATCH' });
    expect(said.code).toBe(6);
  });

  test('is a timeout, which can be set and is never over the limit of the policy', async () => {
    const world = new World();
    world.configure({ one: { script: 'exec sleep 300' } });
    const said = await live(world, ['--json', '--timeout', '1']);
    expect(profilesOf(said)).toMatchObject([{ result: 'failed', code: 'TIMEOUT' }]);
    for (const wrong of ['61', '0', '1.5', '-1', 'x', ''])
      expect(await live(world, [`--timeout=${wrong}`])).toMatchObject({ code: 2, out: '' });
  });
});

describe('unavailable', () => {
  test.each([
    ['claude-401', 'AUTH_REJECTED', /Log in anew/],
    ['claude-429-retry-after-3600', 'RATE_LIMITED', /Wait/],
    ['claude-quota', 'QUOTA_EXHAUSTED', /quota is renewed/],
    ['claude-no-credentials', 'AUTH_REQUIRED', /Log in with the CLI/],
  ])('%s is no pass and no failure', async (stream, code, cure) => {
    const { said, answer, world } = await one(claude(stream));
    expect(answer).toMatchObject({
      result: 'unavailable',
      available: false,
      code,
      message: expect.stringMatching(/\S/),
      cure: expect.stringMatching(cure),
      kept: [],
    });
    expect(said.code).toBe(4);
    expectNothingLeft(world);
  });

  test('missing, switched off: with code, reason and cure, and nobody is asked', async () => {
    const world = new World();
    world.configure({
      gone: { adapter: 'codex', executable: 'no-such-codex' },
      asleep: { script: `${OBEY}; echo x > @D@/started`, lines: ['enabled: false'] },
    });
    const said = await live(world, ['asleep', 'gone', 'asleep']);
    expect(said.out.split('\n')).toEqual([
      expect.stringMatching(/^PROFILE/),
      expect.stringMatching(/^asleep +unavailable +- +- /),
      expect.stringMatching(/^ +DISABLED: /),
      expect.stringMatching(/^gone +unavailable +- +- /),
      expect.stringMatching(/^ +EXECUTABLE_MISSING: no-such-codex .* Install/),
      '',
    ]);
    expect(said.code).toBe(4);
    expect(said.note).toMatch(/^probe --live asks, one at a time: gone\./);
    // Without names only what is enabled is asked.
    expect(profilesOf(await live(world, ['--json'])).map(({ profile }) => profile)).toEqual(['gone']);
    expect(existsSync(join(world.folder, 'started'))).toBe(false);
    expectNothingLeft(world);
  });

  test('a worker must not spend the quota of the host: not from its workspace, another repository, or none', async () => {
    const world = new World();
    const base = world.configure({ one: { script: `${OBEY}; echo x > @D@/started` } });
    const other = join(world.folder, 'other');
    execFileSync('git', ['clone', '-q', '--no-local', world.repo, other]);
    const config = join(world.repo, 'AGENT-EXECUTION.md');
    const chains = [`20261130t171500123z-4f9c2a@${base}`, `20261130t171500123z-4f9c2a@${'0'.repeat(40)}`, 'torn'];
    for (const chain of chains) {
      for (const [args, cwd] of [
        [[], world.repo],
        [['--repo', other], world.folder],
        [['--config', config], world.folder],
      ] as const) {
        const said = await live(world, [...args, '--json'], { cwd, env: { AGENT_EXEC_CHAIN: chain } });
        expect(JSON.parse(said.out)).toMatchObject({ profiles: [], errors: [{ code: 'RECURSION_DETECTED' }] });
        expect(said).toMatchObject({ code: 4, note: expect.not.stringMatching(/asks, one at a time/) });
      }
    }
    expect(existsSync(join(world.folder, 'started'))).toBe(false);
    expect(existsSync(world.state)).toBe(false);
    expect(await live(world, [], { env: { AGENT_EXEC_CHAIN: '' } })).toMatchObject({ code: 0 });
  });

  test('where only the named profiles are off, that is what is said', async () => {
    const world = new World();
    world.configure({ awake: { script: OBEY }, asleep: { script: OBEY, lines: ['enabled: false'] } });
    expect((await live(world, ['asleep'])).note).toMatch(/asks nobody: none of the named profiles is enabled\.\n/);
  });

  test.each([
    ['try again in 20s', /RATE_LIMITED: try again in 20s\. Wait, and ask again\.\n/],
    ['Slow down!', /RATE_LIMITED: Slow down! Wait, and ask again\.\n/],
    ['it said "no."', /RATE_LIMITED: it said "no\." Wait, and ask again\.\n/],
  ])('reason and cure are two sentences: %s', (message, shown) => {
    const verdict = { result: 'unavailable', code: 'RATE_LIMITED', message } as const;
    const answer = { verdict, receipt: receipt(), receiptPath: null, kept: [], movedByHost: [] };
    expect(liveText([{ profile: 'one', adapter: 'claude', answer }], [])).toMatch(shown);
  });
});

describe('several profiles', () => {
  test('are asked one after another, and one that fails does not end it', async () => {
    const world = new World();
    const turn = 'mkdir @D@/turn || exit 9';
    world.configure({
      bad: { script: `${turn}; cat >/dev/null; rmdir @D@/turn` },
      refused: claude('claude-401', `${turn}; cat >/dev/null; rmdir @D@/turn`),
      good: { script: `${turn}; ${OBEY}; rmdir @D@/turn` },
    });
    const said = await live(world, ['--json']);
    expect(profilesOf(said).map(({ profile, result, code }) => [profile, result, code])).toEqual([
      ['bad', 'failed', 'EMPTY_DIFF'],
      ['refused', 'unavailable', 'AUTH_REJECTED'],
      ['good', 'pass', null],
    ]);
    expect(JSON.parse(said.out)).toMatchObject({ schema: 'agent-exec-probe-live/v1', errors: [] });
    expect(said.code).toBe(6);
    expect(await live(world, ['good', 'refused'])).toMatchObject({ code: 4 });
  });

  test('--receipts keeps the receipt of each, and refuses to replace one before anybody is asked', async () => {
    const world = new World();
    world.configure({ good: { script: `echo x >> @D@/asked; ${OBEY}` }, bad: { script: 'cat >/dev/null' } });
    const folder = join(world.folder, 'kept');
    const said = await live(world, ['--json', '--receipts', folder]);
    expect(profilesOf(said).map(({ receipt }) => receipt)).toEqual([
      join(folder, 'good.json'),
      join(folder, 'bad.json'),
    ]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const [name, state] of [
      ['good', 'success'],
      ['bad', 'failed-clean'],
    ]) {
      const record = receiptSchema.parse(JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')));
      expect(record.attempts.map(({ profile, state: one }) => [profile, one])).toEqual([[name, state]]);
      expect(record.telemetry.path.startsWith(world.state)).toBe(true);
    }
    const again = await live(world, ['good', '--receipts', folder]);
    expect(again).toMatchObject({ code: 2, out: '', note: expect.stringMatching(/--receipts .*good\.json exists/) });
    expect(readFileSync(join(world.folder, 'asked'), 'utf8')).toBe('x\n');
  });

  test('--receipts inside the repository must be ignored by git', async () => {
    const world = new World();
    world.configure({ one: { script: `echo x >> @D@/asked; ${OBEY}` } });
    const refused = await live(world, ['--receipts', 'out']);
    expect(refused).toMatchObject({
      code: 2,
      note: expect.stringMatching(/would be a change of the repository.* ignore out\/ in/),
    });
    expect(existsSync(join(world.repo, 'out'))).toBe(false);
    expect(await live(world, ['--receipts', 'nowhere/out'])).toMatchObject({
      code: 2,
      note: expect.stringMatching(/the folder \S+\/nowhere does not exist\. Make it first\./),
    });
    expect(await live(world, ['--receipts', 'src/a.txt'])).toMatchObject({ code: 2 });
    expect(existsSync(join(world.folder, 'asked'))).toBe(false);
    expect(await live(world, ['--receipts', 'build'])).toMatchObject({ code: 0 });
    expect(readdirSync(join(world.repo, 'build'))).toEqual(['one.json']);
  });
});

describe('around it', () => {
  test('flags of --live mean nothing without it; unknown profiles and configurations are told as ever', async () => {
    const world = new World();
    world.configure({ one: { script: `echo x > @D@/started; ${OBEY}` } });
    const plain = async (...args: string[]): Promise<number | null> => {
      const { io, said } = collecting({
        cwd: world.repo,
        env: { PATH: process.env.PATH, AGENT_EXEC_STATE_DIR: world.state },
      });
      await probeCommand(io).exitOverride().parseAsync(args, { from: 'user' });
      return said.code;
    };
    expect(await plain('--receipts', 'build')).toBe(2);
    expect(await plain('--timeout', '5')).toBe(2);
    expect(await plain()).toBe(0);
    expect(await live(world, ['two'])).toMatchObject({ code: 2, note: expect.stringMatching(/no profile "two"/) });
    mkdirSync(join(world.folder, 'open'), { mode: 0o755 });
    const open = await live(world, ['--json', '--state-dir', join(world.folder, 'open')]);
    expect(JSON.parse(open.out)).toMatchObject({ profiles: [], errors: [{ code: 'STATE_ROOT_INVALID' }] });
    expect(open.code).toBe(3);
    expect(await live(world, [], { cwd: world.folder })).toMatchObject({ code: 3 });
    expect(existsSync(join(world.folder, 'started'))).toBe(false);
  });

  /** A repository without a commit, and a worker that tries to write into it and into its git directory. */
  function young(isolation: string): { world: World; repo: string; before: unknown } {
    const world = new World();
    const repo = join(world.folder, 'young');
    execFileSync('git', ['init', '-q', repo]);
    world.configure({ one: { script: `${OBEY}; for f in young young/.git; do echo x > @D@/$f/stray; done; true` } }, [
      `isolation: ${isolation}`,
    ]);
    writeFileSync(join(repo, 'AGENT-EXECUTION.md'), readFileSync(join(world.repo, 'AGENT-EXECUTION.md')));
    return { world, repo, before: world.canonical(repo) };
  }

  test.each(['guard', 'strict'])(
    'a repository without a commit is no obstacle, and is protected under %s',
    async (level) => {
      const { world, repo, before } = young(level);
      const said = await live(world, [], { cwd: repo });
      expect(said).toMatchObject({ code: 0, out: expect.stringMatching(/^note: .*no commit yet/m) });
      expect(world.canonical(repo)).toEqual(before);
      // What it ignores can be known without a commit.
      expect(await live(world, ['--receipts', 'out'], { cwd: repo })).toMatchObject({ code: 2 });
      writeFileSync(join(repo, '.gitignore'), 'out/\n');
      expect(await live(world, ['--receipts', 'out'], { cwd: repo })).toMatchObject({ code: 0 });
    },
  );

  test('under none a repository without a commit can be neither protected nor compared: no pass', async () => {
    const { world, repo } = young('none');
    const said = await live(world, ['--json'], { cwd: repo });
    expect(existsSync(join(repo, '.git/stray'))).toBe(true);
    expect(profilesOf(said)).toMatchObject([
      {
        result: 'failed',
        state: 'success',
        code: 'CANONICAL_UNPROVEN',
        message: expect.stringMatching(/nothing kept the worker .* could not be compared: make a first commit/),
      },
    ]);
    expect(said.code).toBe(6);
  });

  test('no token that a worker writes, and nothing that a terminal would obey, is shown', async () => {
    const script = `eval "$(grep '^printf ')"; printf '%s \\033]0;title\\007\\n' "$CLAUDE_CODE_OAUTH_TOKEN" | tee live-marker.txt >&2; echo x > "f-$CLAUDE_CODE_OAUTH_TOKEN"; rm "f-$CLAUDE_CODE_OAUTH_TOKEN"`;
    const world = new World();
    world.configure({
      one: claude('claude-write-file', script),
      two: claude('claude-write-file', `cat >/dev/null; echo x > "f-$CLAUDE_CODE_OAUTH_TOKEN"`),
    });
    for (const format of [[], ['--json']]) {
      const { out, note, code } = await live(world, format, { env: { CLAUDE_CODE_OAUTH_TOKEN: SECRET } });
      expect(code).toBe(6);
      expect(out).toMatch(/CONTENT_DIFFERS/);
      expect(out).toContain('[redacted]');
      expect(`${out}${note}`).not.toContain(SECRET);
      expect(`${out}${note}`).not.toMatch(/[^\n -~…·’–]/);
    }
  });

  test('no token in the name of a file that a worker puts into the checkout is shown either', async () => {
    const { said, answer } = await one(
      { script: `${OBEY}; echo x > "@R@/src/f-$OWN_TOKEN"`, adapterLines: ['pass_env: [OWN_TOKEN]'] },
      { execution: ['isolation: none'], env: { OWN_TOKEN: SECRET } },
    );
    expect(answer).toMatchObject({ code: 'CANONICAL_CHANGED', message: expect.stringContaining('src/f-[redacted]') });
    expect(`${said.out}${said.note}`).not.toContain(SECRET);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends the run in progress, cleans up, and what was learned is printed', async (signal, exit) => {
    const world = new World();
    world.configure({
      first: { script: OBEY },
      second: {
        script: `cat >/dev/null; echo half > live-marker.txt; sh -c "sleep 300; : @MARK@" & echo r > @D@/ready; exec sleep 300`,
      },
      third: { script: `echo x > @D@/third; ${OBEY}` },
    });
    const ready = new Promise<void>((resolve) => {
      const watcher = watch(world.folder, (_, name) => {
        if (name !== 'ready') return;
        watcher.close();
        resolve();
      });
    });
    const running = live(world, ['--json']);
    await ready;
    process.emit(signal, signal);
    const said = await running;
    expect(said.code).toBe(exit);
    expect(profilesOf(said).map(({ profile, result }) => [profile, result])).toEqual([
      ['first', 'pass'],
      ['second', 'cancelled'],
    ]);
    expect(JSON.parse(said.out).notes).toEqual(['Not asked: third.']);
    expect(existsSync(join(world.folder, 'third'))).toBe(false);
    expectNothingLeft(world);
    expect(process.listenerCount('SIGHUP')).toBe(0);
  });
});
