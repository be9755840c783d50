/** What `run` prints without running, the plan and the line of a packet that it refuses, shows no credential in them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { World } from '../run/world.ts';

const SECRET = 'correct-horse-battery-42';
const TOKEN = `ghp_${'a1B2'.repeat(9)}`;

function configured(): World {
  const world = new World();
  world.configure({ one: { script: 'exit 0', adapterLines: ['pass_env: [OWN_TOKEN]'] } });
  return world;
}

test.each([[[]], [['--json']]])("--dry-run, with credentials in the unit's goal (%j)", async (args) => {
  const world = configured();
  const packet = world.packet({ goal: `Log in with ${SECRET} or ${TOKEN}.` });
  const env = { OWN_TOKEN: SECRET };
  const done = await world.cli(['run', '--role', 'repair', '--unit', packet, '--dry-run', ...args], { env });
  expect(done.stdout).toContain('Log in with [redacted] or [redacted].');
  for (const secret of [SECRET, TOKEN]) expect(done.stdout + done.stderr).not.toContain(secret);
});

test('a refused packet', async () => {
  const world = configured();
  const packet = join(world.folder, 'packet.json');
  writeFileSync(packet, `{"api_key": "${TOKEN}", "auth": "sk-of-the-host-1"}`);
  const env = { ANTHROPIC_API_KEY: 'sk-of-the-host-1' };
  const { code, stdout, stderr } = await world.cli(['run', '--role', 'repair', '--unit', packet, '--json'], { env });
  expect(code).toBe(3);
  expect(stderr).toContain('"api_key": "[redacted]", "auth": "[redacted]"');
  expect(stdout + stderr).not.toMatch(/ghp_|sk-of/);
});

test("a credential of the host's that no candidate takes, in what a worker says", async () => {
  const world = new World();
  world.configure({ one: { script: `cat >/dev/null; echo x >> src/a.txt; echo "It uses ${SECRET}."` } });
  const receipt = join(world.folder, 'receipt.json');
  const args = ['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state, '--receipt', receipt];
  const done = await world.cli([...args, '--json'], { env: { ANTHROPIC_API_KEY: SECRET } });
  const written = readFileSync(receipt, 'utf8');
  expect([done.code, written]).toEqual([0, expect.stringContaining('It uses [redacted].')]);
  expect(written + done.stdout + done.stderr).not.toContain(SECRET);
});
