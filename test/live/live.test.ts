/**
 * `probe --live` with the user's own accounts: every enabled profile of this repository's AGENT-EXECUTION.md. It spends
 * quota, so it runs only by its own name and with its own word: `RUN_REAL_AGENT_EXEC=1 npm run test:live`.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { probeCommand } from '../../src/cli/probe.ts';
import { parsePolicy } from '../../src/config/policy.ts';
import { collecting, type Said } from '../cli/collected.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const FILE = 'AGENT-EXECUTION.md';
/** The script's name too: the variable may stand in somebody's shell when they run all the tests. */
const WANTED = process.env.RUN_REAL_AGENT_EXEC === '1' && process.env.npm_lifecycle_event === 'test:live';
/** A profile's own limit is 300 s at most; what is around it is quick. */
const LIMIT_MS = 400_000;

async function ask(profile: string, stateDir: string): Promise<Said> {
  const onNote = (text: string): void => {
    process.stderr.write(text);
  };
  const { io, said } = collecting({ cwd: ROOT, env: process.env, onNote });
  const args = ['--live', profile, '--json', '--state-dir', stateDir];
  await probeCommand(io).exitOverride().parseAsync(args, { from: 'user' });
  return said;
}

if (!WANTED) {
  test.skip('spends quota of your accounts: RUN_REAL_AGENT_EXEC=1 npm run test:live', () => {});
} else {
  const parsed = parsePolicy({ file: FILE, bytes: readFileSync(join(ROOT, FILE)) });
  const profiles = parsed.ok ? Object.entries(parsed.value.policy.profiles) : [];
  const enabled = profiles.filter(([, { enabled: on }]) => on).map(([name]) => name);
  const passed: string[] = [];
  const failed: string[] = [];
  const stateDir = mkdtempSync(join(tmpdir(), 'ax-live-'));
  afterAll(() => {
    // What failed stays, to be looked at: its folder is in the failure's message.
    if (failed.length === 0) rmSync(stateDir, { recursive: true, force: true });
  });

  describe('live', () => {
    test.for(enabled)('%s', { timeout: LIMIT_MS }, async (name, { skip }) => {
      const { out, note } = await ask(name, stateDir);
      const [answer] = JSON.parse(out).profiles;
      // Never a pass: a skip, with the reason.
      if (answer?.result === 'unavailable')
        skip(`${name} is unavailable. ${answer.code}: ${answer.message} ${answer.cure ?? ''}`);
      if (answer?.result === 'pass') passed.push(name);
      else failed.push(name);
      const { code, message, kept = [] } = answer ?? { message: note };
      expect(answer?.result, `${code}: ${message} (kept: ${kept.join(', ')})`).toBe('pass');
    });

    test('at least one profile passed, or nothing was proven', () => {
      expect(passed, `none of ${enabled.join(', ')}`).not.toEqual([]);
    });
  });
}
