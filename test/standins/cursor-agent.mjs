#!/usr/bin/env node
/**
 * A stand-in for `cursor-agent`, as strict as the real one is reported to be: unknown options refused, a prompt only at
 * the end of stdin, nothing done in a folder that is not trusted, errors on stderr without a result event. It asks
 * nobody anything. See standin.mjs for scenarios.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { digest, out, play, readFlags, record, refuse, scenario, stdinKind, stdinToItsEnd } from './standin.mjs';

const VALUES = ['--output-format', '--sandbox', '--workspace', '--model'];
const SWITCHES = ['--print', '-p', '--force', '-f', '--trust', '--approve-mcps', '--version', '--help'];
const MODELS = ['auto', 'composer-3', 'gpt-6-high'];
const home = process.env.CURSOR_CONFIG_DIR ?? join(process.env.HOME, '.cursor');

const { flags, rest } = readFlags(process.argv.slice(2), {
  values: VALUES,
  switches: SWITCHES,
  unknown: (name) => refuse(1, `error: unknown option '${name}'`),
  stops: false,
});

if (flags['--version']) out(scenario.version ?? '2026.10.01-e373342');
else if (flags['--help']) {
  out(
    scenario.help ??
      `Usage: agent [options]\n${[...VALUES, ...SWITCHES].join('\n')}\n  --api-key <key> (or CURSOR_API_KEY)`,
  );
} else await answer();

function checkFlags() {
  if (!flags['--print'] && !flags['-p']) refuse(1, 'Error: not a terminal');
  if (flags['--output-format'] !== 'stream-json') refuse(1, 'Error: this stand-in speaks stream-json');
  if (!['enabled', 'disabled', undefined].includes(flags['--sandbox']))
    refuse(1, "error: option '--sandbox' is invalid");
  const workspace = flags['--workspace'] ?? process.cwd();
  if (!statSync(workspace, { throwIfNoEntry: false })?.isDirectory())
    refuse(1, `Error: no such workspace: ${workspace}`);
  const model = flags['--model'] ?? 'auto';
  if (!MODELS.includes(model)) refuse(1, `Cannot use this model: ${model}. Available models: ${MODELS.join(', ')}`);
  return { workspace, model };
}

async function answer() {
  const { workspace, model } = checkFlags();
  const stdin = stdinKind();
  const prompt = [...rest, await stdinToItsEnd()].join('');
  record(home, { kind: 'prompt', stdin, prompt: digest(prompt) });
  if (prompt.trim() === '') refuse(1, 'Error: No prompt provided for print mode');
  if (!flags['--trust']) refuse(1, 'Workspace Trust Required', 'Pass --trust, --yolo, or -f.');
  await play(scenario.before ?? [], workspace);
  const label = model === 'gpt-6-high' ? 'GPT-6 High' : model;
  out({ type: 'system', subtype: 'init', model: label, session_id: 's-1', cwd: workspace, permissionMode: 'default' });
  out({ type: 'user', message: { role: 'user', content: [{ type: 'text', text: prompt.slice(0, 100) }] } });
  // Without --force a change is only proposed.
  const work = flags['--force'] ? [['write', 'src/a.txt', 'more\n']] : [];
  await play(scenario.play ?? [...work, ['out', result()]], workspace);
  process.exit(0);
}

function result() {
  const usage = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 50, cacheWriteTokens: 5 };
  return { type: 'result', subtype: 'success', is_error: false, result: 'Done.', session_id: 's-1', usage };
}
