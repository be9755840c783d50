/** Is it the program we mean, does it start, is it new enough, and does its help show the flags: judged on real output. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { builtInAdapter, builtInAdapters } from '../../src/adapters/registry.ts';
import { isOlder } from '../../src/adapters/version.ts';
import type { Adapter, ProbeOutput } from '../../src/model/adapter.ts';
import { BUILT_IN_ADAPTERS } from '../../src/model/config.ts';
import { missingFlags } from '../../src/process/probe.ts';
import { request } from './request.ts';

const adapter = (name: string): Adapter => builtInAdapter(name) as Adapter;
const said = (stdout: string, stderr = '', code: number | null = 0): ProbeOutput => ({ stdout, stderr, code });
const help = (file: string): string => readFileSync(new URL(`./fixtures/help/${file}.txt`, import.meta.url), 'utf8');

test.each([
  ['claude', said('2.1.197 (Claude Code)\n'), '2.1.197'],
  ['claude', said('2.1.332 (Claude Code)\n'), '2.1.332'],
  [
    'codex',
    said('codex-cli 0.171.0\n', 'WARNING: proceeding, even though we could not create PATH aliases\n'),
    '0.171.0',
  ],
  ['opencode', said('1.18.33\n'), '1.18.33'],
  ['pi', said('', '0.74.2\n'), '0.74.2'],
  ['pi', said('1.6.0\n'), '1.6.0'],
  ['kimi', said('2.1.0\n'), '2.1.0'],
  ['cursor', said('2026.10.01-e373342\n'), '2026.10.01-e373342'],
  ['antigravity', said('1.5.15\n'), '1.5.15'],
  ['antigravity', said('agy v1.2.10\r\n'), '1.2.10'],
] as const)('%s: %j is version %s', (name, output, version) => {
  expect(adapter(name).probe.readVersion(output)).toEqual({ ok: true, value: version });
});

const SYNTAX_ERROR = `file:///opt/kimi-code/dist/main.mjs:20
import zlib, { createZstdDecompress, gzip } from "node:zlib";
               ^^^^^^^^^^^^^^^^^^^^
SyntaxError: The requested module 'node:zlib' does not provide an export named 'createZstdDecompress'
    at ModuleJob._instantiate (node:internal/modules/esm/module_job:180:21)
`;

test.each([
  ['claude', said('claude 1.0 of another maker\n'), /not Claude Code.*Install @anthropic-ai\/claude-code/],
  ['claude', said('I am not 2.1.197 (Claude Code) at all\n'), /not Claude Code/],
  ['claude', said('', 'Segmentation fault\n', null), /did not end by itself/],
  ['codex', said('0.171.0\n'), /not Codex CLI/],
  ['kimi', said('', SYNTAX_ERROR, 1), /cannot start on this Node: SyntaxError: .*createZstdDecompress.*newer Node/],
  ['codex', said('', 'codex requires Node.js >= 22\n', 1), /cannot start on this Node: .*requires Node.*newer Node/],
  ['pi', said('', 'file:///x.js:1\n\nTypeError: Promise.withResolvers is not a function\n', 1), /newer Node/],
  ['claude', said('', "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'\n", 1), /install it again/],
  ['kimi', said('kimi, version 1.38.0\n'), /not Kimi Code.*Python kimi-cli/],
  ['cursor', said('0.4.2\n'), /not Cursor's CLI/],
  ['cursor', said('2026.10.01-XYZ\n'), /not Cursor's CLI/],
  ['antigravity', said('1.2.9\n'), /1\.2\.9 is too old.*1\.2\.10/],
  ['antigravity', said('v1.2.10-rc.1\n'), /too old/],
  ['opencode', said('', 'error: something\n', 1), /exited with 1/],
  ['pi', said('', '', 0), /not pi/],
] as const)('%s: %j is not it', (name, output, message) => {
  const read = adapter(name).probe.readVersion(output);
  expect(read).toMatchObject({ ok: false, error: { code: 'INCOMPATIBLE' } });
  expect(!read.ok && read.error.message).toMatch(message);
});

test('a hostile version output is quoted, bounded and on one line', () => {
  for (const { probe } of builtInAdapters) {
    const read = probe.readVersion(said(`\u001b]0;x\u0007${'\n'.repeat(9)}${'evil '.repeat(50_000)}`));
    if (read.ok) throw new Error('read as a version');
    expect(read.error.message.length).toBeLessThan(1500);
    expect(read.error.message).not.toMatch(/[\u0000-\u001f]/);
  }
});

test.each([
  ['claude', 'claude-2.1.197'],
  ['codex', 'codex-0.171.0'],
  ['opencode', 'opencode-1.18.33'],
  ['pi', 'pi-0.74.2'],
  ['pi', 'pi-1.6.0'],
  ['kimi', 'kimi-2.1.0'],
] as const)('%s: the help of %s shows every required flag', (name, file) => {
  const { requiredFlags } = adapter(name).probe;
  expect(requiredFlags.length).toBeGreaterThan(0);
  expect(missingFlags(help(file), requiredFlags)).toEqual([]);
});

test.each([
  ['claude', ['--print', '--dangerously-skip-permissions', '--output-format', '--model', '--no-session-persistence']],
  ['codex', ['--json', '--skip-git-repo-check', '--sandbox', '--model', '--cd', '--output-last-message', '--color']],
  ['opencode', ['--auto', '--format', '--model', '--dir']],
  ['pi', ['--print', '--mode', '--no-session', '--provider', '--model']],
  ['kimi', ['--prompt', '--output-format', '--model']],
  [
    'cursor',
    ['--print', '--output-format', '--force', '--trust', '--sandbox', '--workspace', '--model', 'CURSOR_API_KEY'],
  ],
  [
    'antigravity',
    ['--print', '--output-format', '--print-timeout', '--dangerously-skip-permissions', '--model', '--add-dir'],
  ],
] as const)('%s is not run where its help lacks one of %j', (name, flags) => {
  expect(missingFlags('', adapter(name).probe.requiredFlags).sort()).toEqual([...flags].sort());
});

test.each([
  ['claude', 'claude-2.1.197'],
  ['codex', 'codex-0.171.0'],
  ['opencode', 'opencode-1.18.33'],
  ['pi', 'pi-0.74.2'],
  ['pi', 'pi-1.6.0'],
  ['kimi', 'kimi-2.1.0'],
] as const)('%s: the help of %s shows every long flag that a run uses', (name, file) => {
  const made = adapter(name).invoke(request({ model: 'some/model', ...(name === 'kimi' ? {} : { effort: 'high' }) }));
  if (!made.ok) throw new Error(made.error.message);
  const used = made.value.args.filter((item) => /^--[a-z][a-z-]+$/.test(item));
  expect(missingFlags(help(file), used)).toEqual([]);
});

test('no program’s help passes for another’s', () => {
  const files = { claude: 'claude-2.1.197', codex: 'codex-0.171.0', opencode: 'opencode-1.18.33', kimi: 'kimi-2.1.0' };
  for (const [name, own] of Object.entries(files)) {
    for (const other of Object.values(files)) {
      if (other !== own) expect(missingFlags(help(other), adapter(name).probe.requiredFlags)).not.toEqual([]);
    }
  }
});

test('the registry holds exactly the built-in names, each under its own', () => {
  expect(builtInAdapters.map(({ name }) => name)).toEqual([...BUILT_IN_ADAPTERS]);
  for (const name of BUILT_IN_ADAPTERS) expect(builtInAdapter(name)?.name).toBe(name);
  for (const name of ['', 'gemini', 'constructor', '__proto__', 'toString']) expect(builtInAdapter(name)).toBeNull();
});

test.each([
  ['1.2.9', true],
  ['1.2.10', false],
  ['1.2.11', false],
  ['1.10.0', false],
  ['2.0.0', false],
  ['0.99.99', true],
  ['1.2', true],
  ['1.2.10-beta', true],
  ['1.2.11-beta', false],
])('%s older than 1.2.10: %s', (version, older) => {
  expect(isOlder(version, [1, 2, 10])).toBe(older);
});
