/**
 * What `run` prints without running: the plan of `--dry-run`, and the lines of a packet that it refuses. Nothing is started
 * or made, and no credential that the packet or the environment holds is shown.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { World } from '../run/world.ts';

const SECRET = 'correct-horse-battery-42';
const TOKEN = `ghp_${'a1B2'.repeat(9)}`;

function world(): World {
  const made = new World();
  made.configure({
    one: { script: 'touch @D@/started', lines: ['model: some-model'], adapterLines: ['pass_env: [OWN_TOKEN]'] },
    two: { adapter: 'claude', lines: ['enabled: false'] },
  });
  return made;
}
const dryRun = (made: World, over: Readonly<Record<string, unknown>>, ...args: string[]) =>
  made.cli(['run', '--role', 'repair', '--unit', made.packet(over), '--dry-run', '--state-dir', made.state, ...args], {
    env: { OWN_TOKEN: SECRET, ANTHROPIC_API_KEY: 'sk-ant-not-to-be-passed' },
  });

describe('--dry-run', () => {
  test('as JSON: candidates, argv with placeholders, names of variables, the prompt', async () => {
    const made = world();
    const { code, stdout, stderr } = await dryRun(made, {}, '--json');
    expect(code, stderr).toBe(0);
    const plan = JSON.parse(stdout);
    expect(plan).toMatchObject({ schema: 'agent-exec-dry-run/v1', role: 'repair', unit_id: 'test-unit' });
    expect(plan.base).toBe(made.git('rev-parse', 'HEAD'));
    const [one, two] = plan.candidates;
    expect(one).toMatchObject({ attempt_id: '01-one', enabled: true, problem: null, model: 'some-model' });
    expect(one.argv).toEqual([join(made.folder, 'worker-one'), 'some-model']);
    expect(one.environment_names).toEqual(
      expect.arrayContaining(['AGENT_EXEC_ATTEMPT', 'AGENT_EXEC_CHAIN', 'HOME', 'OWN_TOKEN', 'PATH', 'TMPDIR']),
    );
    expect(two).toMatchObject({ attempt_id: '02-two', enabled: false, withheld_names: ['ANTHROPIC_API_KEY'] });
    expect(plan.prompt).toContain('Append one line to src/a.txt.');
  });

  test('starts nothing and makes nothing', async () => {
    const made = world();
    const before = made.canonical();
    const { code, stdout } = await dryRun(made, {});
    expect(code).toBe(0);
    expect(stdout).toContain('02-two  (claude, subscription, switched off)');
    expect(made.canonical()).toEqual(before);
    expect(['started', 'state'].filter((name) => existsSync(join(made.folder, name)))).toEqual([]);
    expect(existsSync(join(made.repo, '.git/agent-exec'))).toBe(false);
  });

  test.each([[[]], [['--json']]])('shows no credential that stands in the packet (%j)', async (args) => {
    const { stdout, stderr } = await dryRun(world(), { goal: `Log in with ${SECRET} or ${TOKEN}.` }, ...args);
    expect(stdout).toContain('Log in with [redacted] or [redacted].');
    for (const secret of [SECRET, TOKEN]) expect(stdout + stderr).not.toContain(secret);
  });
});

test('a refused packet: its line is shown without the credential in it', async () => {
  const made = world();
  const packet = join(made.folder, 'packet.json');
  writeFileSync(packet, `{"api_key": "${TOKEN}", "auth": "sk-of-the-host-1"}`);
  const env = { ANTHROPIC_API_KEY: 'sk-of-the-host-1' };
  const { code, stdout, stderr } = await made.cli(['run', '--role', 'repair', '--unit', packet, '--json'], { env });
  expect(code).toBe(3);
  expect(stderr).toContain('"api_key": "[redacted]", "auth": "[redacted]"');
  expect(stdout + stderr).not.toMatch(/ghp_|sk-of/);
});
