/** `run --dry-run`: says what a run would do, in words and as data, and does nothing. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { World } from '../run/world.ts';

const SECRET = 'a-value-that-nobody-may-see';
const HOST = {
  WORKER_TOKEN: SECRET,
  ANTHROPIC_API_KEY: `${SECRET}-too`,
  UNRELATED: 'not for workers',
  GIT_DIR: '/nonexistent',
};

/** Three kinds of candidates; each leaves a file when anything of it is started. */
function planned(): { world: World; args: string[] } {
  const world = new World();
  world.write('agents/repair.md', '---\ntitle: hidden frontmatter\n---\n# Mend what is broken\n');
  const script = ': > @D@/started; cat >/dev/null; echo more >> src/a.txt';
  world.configure(
    {
      own: { script, baseArgv: ['--batch'], adapterLines: ['pass_env: [WORKER_TOKEN]', 'required_help: [--batch]'] },
      argued: { script, transport: 'argument', lines: ['model: fast-1'] },
      claude: { script, adapter: 'claude', lines: ['enabled: false'] },
    },
    ['setup:', '  - [npm, ci]'],
    ['instructions: agents/repair.md'],
  );
  const unit = world.packet({
    goal: 'Mend it, please.',
    constraints: ['Keep it small.'],
    verification: [['npm', 'test']],
  });
  return { world, args: ['run', '--role', 'repair', '--unit', unit, '--dry-run', '--state-dir', world.state] };
}

function expectNothingDone(world: World, before: unknown, filesBefore: readonly string[]): void {
  expect(world.canonical()).toEqual(before);
  expect(readdirSync(world.folder)).toEqual(filesBefore);
  expect(existsSync(join(world.repo, '.git/agent-exec'))).toBe(false);
  expect(world.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
}

describe('--dry-run', () => {
  test('--json gives candidates, argv, names of variables and the prompt, and starts nothing', async () => {
    const { world, args } = planned();
    const before = world.canonical();
    const files = readdirSync(world.folder);
    const done = await world.cli([...args, '--json', '--receipt', join(world.folder, 'r.json')], { env: HOST });
    expect(done.code, done.stderr).toBe(0);
    expectNothingDone(world, before, files);
    expect(done.stdout).not.toContain(SECRET);
    const plan = JSON.parse(done.stdout);
    expect(plan).toMatchObject({
      schema: 'agent-exec-dry-run/v1',
      role: 'repair',
      unit_id: 'test-unit',
      base: world.git('rev-parse', 'HEAD'),
      setup: [['npm', 'ci']],
      verify: false,
      allowed_paths: ['src/'],
    });
    const shared = [
      'AGENT_EXEC_ATTEMPT',
      'AGENT_EXEC_CHAIN',
      'CI',
      'HOME',
      'LANG',
      'NO_COLOR',
      'PATH',
      'TERM',
      'TMPDIR',
    ];
    const [own, argued, claude] = plan.candidates;
    expect(own).toMatchObject({
      attempt_id: '01-own',
      argv: [join(world.folder, 'worker-own'), '--batch'],
      environment_names: [...shared, 'WORKER_TOKEN'],
      problem: null,
    });
    expect(argued).toMatchObject({
      attempt_id: '02-argued',
      argv: [join(world.folder, 'worker-argued'), 'fast-1', '{prompt}'],
      environment_names: shared,
      model: 'fast-1',
    });
    expect(claude).toMatchObject({ attempt_id: '03-claude', enabled: false, withheld_names: ['ANTHROPIC_API_KEY'] });
    for (const words of ['# Mend what is broken', 'Mend it, please.', 'Keep it small.', 'src/', '["npm","test"]']) {
      expect(plan.prompt).toContain(words);
    }
    expect(plan.prompt).not.toContain('hidden frontmatter');
  });

  test('text says the same to people', async () => {
    const { world, args } = planned();
    const before = world.canonical();
    const files = readdirSync(world.folder);
    const done = await world.cli([...args, '--verify'], { env: HOST });
    expect(done.code).toBe(0);
    expectNothingDone(world, before, files);
    for (const words of [
      'test-unit as repair',
      'npm ci',
      'npm test',
      '01-own',
      '02-argued',
      '03-claude',
      'switched off',
      'worker-argued fast-1 {prompt}',
      'WORKER_TOKEN',
      'ANTHROPIC_API_KEY',
      'Mend it, please.',
      '# Mend what is broken',
    ]) {
      expect(done.stdout).toContain(words);
    }
    expect(done.stdout).not.toContain(SECRET);
    expect(done.stdout).not.toContain('UNRELATED');
  });

  test('what it says is what a run then does', async () => {
    const world = new World();
    world.configure({
      one: {
        script: 'env > @D@/env; cat > @D@/prompt; echo "$#" "$@" > @D@/argv; echo more >> src/a.txt',
        baseArgv: ['-x', "'a b'"],
      },
    });
    const unit = world.packet();
    const env = { LC_TIME: 'C', UNRELATED: 'no', GIT_AUTHOR_NAME: 'no' };
    const said = await world.cli(['run', '--role', 'repair', '--unit', unit, '--dry-run', '--json'], { env });
    const plan = JSON.parse(said.stdout);
    const done = await world.run({}, { unit, env });
    expect(done.code).toBe(0);
    expect(readFileSync(join(world.folder, 'prompt'), 'utf8')).toBe(plan.prompt);
    expect(readFileSync(join(world.folder, 'argv'), 'utf8')).toBe('2 -x a b\n');
    const [attempt] = done.receipt.attempts;
    expect(attempt?.argv).toEqual(plan.candidates[0].argv);
    expect(attempt?.environment_names).toEqual(plan.candidates[0].environment_names);
    expect(done.receipt.plan_digest).toBe(plan.plan_digest);
    // What the worker saw; a shell adds some of its own.
    const seen = readFileSync(join(world.folder, 'env'), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('=')[0]);
    const shell = new Set(['PWD', 'OLDPWD', 'SHLVL', '_']);
    expect(seen.filter((name) => !shell.has(name ?? '')).sort()).toEqual(attempt?.environment_names);
  });
});
