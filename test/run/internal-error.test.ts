/** A bug in the middle of a run (SPEC 7): its stack is in the run's directory, and the one line that is told names the file. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { main } from '../../src/cli/program.ts';
import { runInProcess } from './in-process.ts';
import { World } from './world.ts';

const SECRET = 'correct-horse-battery-42';

test('the stack is kept, without secrets, and the error names it', async () => {
  const world = new World();
  world.configure({ one: { script: 'exit 0' } });
  const { runId, running } = await runInProcess(
    world,
    ({ kind }) => {
      if (kind === 'attempt-started') throw new TypeError(`no such thing: ${SECRET}`);
    },
    { secrets: [SECRET] },
  );
  const file = join(world.state, runId, 'internal-error.txt');
  await expect(running).rejects.toThrow(`no such thing: [redacted] (stack: ${file})`);
  const stack = readFileSync(file, 'utf8');
  expect(stack).toMatch(/^TypeError: no such thing: \[redacted\]\n {4}at /);
  expect(readdirSync(join(world.state, runId))).toContain('journal.jsonl');
});

test('one line on stderr, whatever the message holds, and exit 1', async () => {
  const said: string[] = [];
  const codes: number[] = [];
  await main(['validate'], {
    env: {},
    cwd: () => {
      throw new Error('first\n  second \u001b[31m');
    },
    out: async () => {},
    note: (text) => void said.push(text),
    stdin: async () => null,
    stdoutIsTerminal: false,
    stderrIsTerminal: false,
    exit: (code) => void codes.push(code),
  });
  expect(said).toEqual(['agent-exec: internal error: first | second \\x1b[31m\n']);
  expect(codes).toEqual([1]);
});
