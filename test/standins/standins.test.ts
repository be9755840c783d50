/** The stand-ins are as strict as the real programs are reported to be: what an adapter does wrong, they refuse. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'standins-')));
afterAll(() => rmSync(folder, { recursive: true }));
const script = (program: string): string => new URL(`./${program}.mjs`, import.meta.url).pathname;

function ask(program: string, args: readonly string[], cwd = folder) {
  const env = { PATH: process.env.PATH, HOME: join(folder, 'home') };
  const { status, stdout, stderr } = spawnSync(script(program), args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  return { code: status, stdout: stdout.toString(), stderr: stderr.toString() };
}

const AGY = ['--output-format', 'stream-json', '--dangerously-skip-permissions', '--add-dir', folder];
const CURSOR = ['-p', '--output-format', 'stream-json', '--force', '--trust', '--workspace', folder];

test.each<readonly [string, readonly string[], number, string]>([
  ['agy', ['--workspace', folder, ...AGY, '-p=x'], 2, 'flags provided but not defined: -workspace'],
  ['agy', [...AGY, '-p=x', '--model', 'gemini-4-argon-high'], 1, 'flags after the prompt'],
  ['agy', [...AGY, '-p', '--model', 'gemini-4-argon-high'], 1, 'unexpected argument'],
  ['agy', [...AGY, '--model'], 2, 'flag needs an argument'],
  ['agy', [...AGY, '--print-timeout', 'soon', '-p=x'], 2, 'bad duration'],
  ['agy', [...AGY, '--model', 'no-such', '-p=x'], 1, 'is not recognized as a known model'],
  ['agy', [...AGY, '--model', 'gemini-4-argon-high', '--effort', 'high', '-p=x'], 1, 'invalid model selection'],
  ['agy', [...AGY, '-p=/help'], 1, 'unknown command'],
  ['agy', ['models', '--output-format', 'json'], 2, 'flags provided but not defined: -output-format'],
  ['agy', AGY, 1, 'empty prompt'],
  ['agy', [...AGY, '--input-format', 'stream-json'], 1, ''],
  ['cursor-agent', ['--disable-slash-commands', ...CURSOR], 1, "unknown option '--disable-slash-commands'"],
  ['cursor-agent', [...CURSOR, '--sandbox', 'perhaps'], 1, 'is invalid'],
  ['cursor-agent', [...CURSOR, '--workspace', join(folder, 'none')], 1, 'no such workspace'],
  ['cursor-agent', [...CURSOR, '--model', 'gpt-99', 'x'], 1, 'Cannot use this model: gpt-99'],
  ['cursor-agent', CURSOR, 1, 'No prompt provided'],
  ['cursor-agent', [...CURSOR.filter((flag) => flag !== '--trust'), 'x'], 1, 'Workspace Trust Required'],
])('%s %j is refused', (program, args, code, words) => {
  const done = ask(program, args);
  expect(done).toMatchObject({ code, stderr: expect.stringContaining(words) });
  expect(done.stdout).not.toContain('"SUCCESS"');
  expect(done.stdout).not.toContain('"success"');
});

test('agy leaves a folder that begins with a dot, and one that it was not told of, in silence', () => {
  const dotted = join(folder, '.state/workspace');
  mkdirSync(dotted, { recursive: true });
  const told = ask('agy', [...AGY.slice(0, -1), dotted, '-p=x'], dotted);
  const untold = ask('agy', [...AGY.slice(0, -2), '-p=x']);
  for (const { code, stdout, stderr } of [told, untold]) {
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`"cwd":"${join(folder, 'home/.gemini/scratch')}"`);
  }
  expect(existsSync(join(dotted, 'src'))).toBe(false);
});

test.each([
  ['agy', AGY.filter((flag) => flag !== '--dangerously-skip-permissions'), '-p=x'],
  ['cursor-agent', CURSOR.filter((flag) => flag !== '--force'), 'x'],
])('%s does nothing where it may not', (program, args, prompt) => {
  const work = mkdtempSync(join(folder, 'work-'));
  const done = ask(program, [...args.map((arg) => (arg === folder ? work : arg)), prompt], work);
  expect(done.code).toBe(0);
  expect(existsSync(join(work, 'src'))).toBe(false);
});

test.each([
  ['agy', [...AGY, '-p=x'], '.gemini'],
  ['cursor-agent', [...CURSOR, 'x'], '.cursor'],
])('%s waits for the end of its stdin', async (program, args, state) => {
  const home = mkdtempSync(join(folder, 'home-'));
  const env = { PATH: process.env.PATH, HOME: home };
  const child = spawn(script(program), args, { cwd: folder, env, stdio: ['pipe', 'ignore', 'pipe'] });
  await once(child.stderr, 'data');
  expect(existsSync(join(home, state, 'stand-in.jsonl'))).toBe(false);
  child.stdin.end();
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(existsSync(join(home, state, 'stand-in.jsonl'))).toBe(true);
});
