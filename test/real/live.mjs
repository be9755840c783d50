/**
 * Drives the real agent CLIs through `agent-exec probe --live` against the scripted provider: one that does what it is
 * asked must pass, one whose provider refuses must be unavailable, and nothing may be left or touched. Usage:
 *
 *   node test/real/live.mjs [--cli claude,codex] [--tool dist/agent-exec.mjs] [--isolation guard] [--keep]
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installCli } from './clis.mjs';
import { KEY, POINTING } from './loopback.mjs';
import { startProvider } from './provider.mjs';
import { canonicalLook, git, makeRepository } from './repository.mjs';

const { values: options } = parseArgs({
  options: {
    cli: { type: 'string', default: 'claude,codex' },
    tool: { type: 'string', default: fileURLToPath(new URL('../../dist/agent-exec.mjs', import.meta.url)) },
    isolation: { type: 'string', default: 'guard' },
    keep: { type: 'boolean', default: false },
  },
});
const LIMIT_SECONDS = 120;
/** Scenario -> what the probe must say, and its exit code. */
const EXPECTED = {
  live: { result: 'pass', code: null, exit: 0 },
  'text-only': { result: 'failed', code: 'EMPTY_DIFF', exit: 6 },
  401: { result: 'unavailable', code: 'AUTH_REJECTED', exit: 4 },
};
const say = (text) => process.stdout.write(`${text}\n`);
const counts = { passed: 0, failed: 0, skipped: 0 };

if (!existsSync(options.tool)) {
  process.stderr.write(`${options.tool} is missing: npm run build\n`);
  process.exit(2);
}
const provider = await startProvider();
try {
  for (const name of options.cli.split(',')) {
    const installation = await installCli(name);
    for (const scenario of Object.keys(EXPECTED)) {
      const line = `${name.padEnd(11)} ${scenario.padEnd(10)}`;
      if (installation.kind === 'skipped') {
        counts.skipped += 1;
        say(`skip  ${line} the registry cannot be reached: ${installation.reason}`);
      } else if (installation.kind === 'failed') {
        counts.failed += 1;
        say(`FAIL  ${line} cannot be installed: ${installation.reason}`);
      } else await one(installation.cli, scenario, line);
    }
  }
} finally {
  await provider.close();
}
say(`${counts.passed} passed, ${counts.failed} failed${counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`}`);
process.exitCode = counts.failed > 0 ? 1 : 0;

async function one(cli, scenario, line) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'agent-exec-live-')));
  const at = (name) => path.join(folder, name);
  for (const name of ['home', 'tmp']) mkdirSync(at(name), { mode: 0o700 });
  makeRepository(at('repo'), null);
  writeFileSync(at('repo/AGENT-EXECUTION.md'), policy(cli));
  git(at('repo'), 'add', '-A');
  git(at('repo'), 'commit', '-q', '-m', 'base');
  const before = JSON.stringify(canonicalLook(at('repo')));
  const receipts = at('receipts');
  const args = ['probe', '--live', cli.name, '--json', '--receipts', receipts, '--state-dir', at('state')];
  const ended = await run([options.tool, ...args], at('repo'), environment(cli, scenario, at));
  const answer = parse(ended.stdout)?.profiles[0];
  const expected = EXPECTED[scenario];
  const wrong = [];
  const must = (holds, words) => {
    if (!holds) wrong.push(words);
  };
  must(ended.exit === expected.exit, `exit ${ended.exit} instead of ${expected.exit}`);
  must(answer?.result === expected.result, `${answer?.result} instead of ${expected.result}`);
  must(answer?.code === expected.code, `${answer?.code} instead of ${expected.code}: ${answer?.message}`);
  must(existsSync(path.join(receipts, `${cli.name}.json`)), 'no receipt was kept');
  must(JSON.stringify(canonicalLook(at('repo'))) === before, 'the checkout changed');
  must(!existsSync(at('repo/.git/agent-exec')), 'telemetry went into the checkout');
  must(provider.requests(tagOf(cli, scenario)) > 0, 'the provider was never asked');
  const state = existsSync(at('state')) ? readdirSync(at('state')).filter((name) => name !== 'probe-cache.json') : [];
  must(state.length === (expected.result === 'failed' ? 2 : 0), `state: ${state.join(', ') || 'nothing'}`);
  must(readdirSync(at('tmp')).length === 0, `left in TMPDIR: ${readdirSync(at('tmp')).join(', ')}`);
  const good = wrong.length === 0;
  counts[good ? 'passed' : 'failed'] += 1;
  const told = `${answer?.result} ${answer?.code ?? ''}`.trim();
  const seconds = ((answer?.duration_ms ?? 0) / 1000).toFixed(1);
  say(`${good ? 'ok  ' : 'FAIL'}  ${line} ${told}  ${answer?.version}  ${answer?.model.reported ?? '-'}  ${seconds} s`);
  for (const words of wrong) say(`        ${words}`);
  if (!good) say(`        ${ended.stderr.trim().slice(-600)}`);
  if (!good || options.keep) say(`        kept: ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
}

function tagOf(cli, scenario) {
  return `probe-${cli.name}-${scenario}`;
}

function policy({ name, adapter }) {
  const { model, cost } = POINTING[adapter];
  return `\`\`\`agent-execution
schema: agent-execution/v1
execution:
  fresh_process_per_unit: true
  permission: run-everything
  fallback_to_host: all-unavailable
  max_parallel: 1
  timeout_seconds: ${LIMIT_SECONDS}
  isolation: ${options.isolation}
  provider_wait_seconds: 8
  summary_bytes: 4096
  raw_output_bytes: 10485760
roles:
  implementation: [${name}]
profiles:
  ${name}:
    adapter: ${adapter}
    model: ${model}
    cost: ${cost}
custom_adapters: {}
\`\`\`
`;
}

function environment(cli, scenario, at) {
  const target = { base: provider.base(scenario, tagOf(cli, scenario)), key: KEY };
  const pointing = POINTING[cli.adapter];
  for (const [file, text] of Object.entries(pointing.files(target))) {
    mkdirSync(path.dirname(path.join(at('home'), file)), { recursive: true });
    writeFileSync(path.join(at('home'), file), text);
  }
  const proxied = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
  return {
    PATH: `${cli.folder}:${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: at('home'),
    USER: 'worker',
    LANG: 'C.UTF-8',
    TMPDIR: at('tmp'),
    // Whatever is not loopback is refused.
    ...Object.fromEntries(proxied.map((name) => [name, provider.proxy])),
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
    ...pointing.env(target),
  };
}

/** @returns {Promise<{ exit: number | string, stdout: string, stderr: string }>} `exit` is a signal's name where it was ended */
function run(args, cwd, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    const abandoned = () => child.kill('SIGTERM');
    process.once('exit', abandoned);
    const stop = setTimeout(abandoned, (LIMIT_SECONDS + 60) * 1000);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      process.off('exit', abandoned);
      clearTimeout(stop);
      resolve({ exit: code ?? String(signal), stdout, stderr });
    });
  });
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    // The complaint of the caller says it.
    return null;
  }
}
