/**
 * Drives the real agent CLIs through `agent-exec run` against the scripted provider and compares every ending with the
 * table. Usage: npm run test:real [-- options]
 *
 *   (none)             the main job with claude and codex, in a clone of this repository, and for every other CLI of
 *                      versions.json one success and two refusals
 *   --all              every CLI of versions.json in every scenario
 *   --cli a,b          only these; --scenario x,y  only these rows (both imply --all)
 *   --isolation a,b    guard (default), none
 *   --clone PATH       the repository to clone; --small  a small one made on the spot (default but for the main job)
 *   --tool PATH        another agent-exec than dist/agent-exec.mjs
 *   --newest           the newest CLIs instead of the pinned ones
 *   --uid N            run agent-exec as this user (needs root)
 *   --capture DIR      keep each CLI's scrubbed streams as fixtures
 *   --budget S         seconds for everything; what does not fit counts as failed
 *   --keep             keep the folders of all cases, not only of failed ones
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { coreCases, expectedOf, TABLE, tableCases } from './cases.mjs';
import { complaints } from './checks.mjs';
import { installCli, WANTED } from './clis.mjs';
import { startProvider } from './provider.mjs';
import { scrub } from './scrub.mjs';
import { play } from './stage.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { values: options } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    cli: { type: 'string' },
    scenario: { type: 'string' },
    isolation: { type: 'string', default: 'guard' },
    clone: { type: 'string' },
    tool: { type: 'string', default: path.join(ROOT, 'dist/agent-exec.mjs') },
    small: { type: 'boolean', default: false },
    newest: { type: 'boolean', default: false },
    uid: { type: 'string' },
    capture: { type: 'string' },
    budget: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
const say = (text) => process.stdout.write(`${text}\n`);
const listed = (text, all) => (text === undefined ? all : text.split(','));
const wholeTable = options.all || options.cli !== undefined || options.scenario !== undefined;
const uid = options.uid === undefined ? null : Number(options.uid);

function fail(words) {
  process.stderr.write(`${words}\n`);
  process.exit(2);
}

if (!existsSync(options.tool)) fail(`${options.tool} is missing: npm run build`);
const tests = wholeTable
  ? tableCases(listed(options.cli, Object.keys(WANTED)), listed(options.scenario, Object.keys(TABLE)))
  : coreCases(Object.keys(WANTED));
const unknown = [
  ...listed(options.cli, []).filter((name) => WANTED[name] === undefined),
  ...listed(options.scenario, []).filter((name) => TABLE[name] === undefined),
];
if (unknown.length > 0) fail(`unknown: ${unknown}; CLIs: ${Object.keys(WANTED)}; scenarios: ${Object.keys(TABLE)}`);

/** @type {Record<string, import('./clis.mjs').Cli>} */
const clis = {};
/** @type {Record<string, string>} */
const skippedClis = {};
const counts = { passed: 0, failed: 0, skipped: 0 };
for (const name of new Set(tests.flatMap((test) => test.casts.map(({ cli }) => cli)))) {
  const installation = await installCli(name, { newest: options.newest });
  if (installation.kind === 'ready') {
    clis[name] = installation.cli;
    say(`${name.padEnd(11)} ${installation.cli.version}`);
  } else if (installation.kind === 'skipped') {
    skippedClis[name] = installation.reason;
    say(`${name.padEnd(11)} the registry cannot be reached: ${installation.reason}`);
  } else fail(`${name} cannot be installed: ${installation.reason}`);
}

process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));

const startedAt = Date.now();
const budgetMs = Number(options.budget ?? (wholeTable ? 5400 : 900)) * 1000;
const logFolder = mkdtempSync(path.join(tmpdir(), 'agent-exec-provider-'));
const logFile = path.join(logFolder, 'requests.jsonl');
const provider = await startProvider({ logFile, lifetimeMs: budgetMs + 10 * 60_000 });
const sourceOf = (test) => (options.small ? null : (options.clone ?? (test.inClone === true ? ROOT : null)));
try {
  for (const isolation of options.isolation.split(',')) {
    for (const [index, test] of tests.entries()) await one(test, isolation, `${isolation}-${index}`);
  }
} finally {
  await provider.close();
}
if (provider.outside().length > 0) say(`asked for beyond loopback, and refused: ${provider.outside().join(' ')}`);
if (counts.failed > 0) say(`what the provider was asked: ${logFile}`);
else rmSync(logFolder, { recursive: true });
say(`${seconds(startedAt)} s`);
say(`${counts.passed} passed, ${counts.failed} failed${counts.skipped === 0 ? '' : `, ${counts.skipped} skipped`}`);
process.exitCode = counts.failed > 0 ? 1 : 0;

function seconds(since) {
  return ((Date.now() - since) / 1000).toFixed(1);
}

async function one(test, isolation, tag) {
  const line = `${isolation.padEnd(6)} ${test.name.padEnd(34)}`;
  if (test.casts.some(({ cli }) => skippedClis[cli] !== undefined)) {
    counts.skipped += 1;
    return say(`skip  ${line} not installed`);
  }
  if (Date.now() - startedAt > budgetMs) {
    counts.failed += 1;
    return say(`FAIL  ${line} not run: the time budget is used up`);
  }
  const played = await play(test, { tool: options.tool, clis, provider, isolation, source: sourceOf(test), uid, tag });
  const bareRoot = isolation === 'none' && uid === null && process.getuid?.() === 0;
  const wrong = complaints(
    test,
    expectedOf(test, (cli) => clis[cli].adapter, bareRoot),
    played,
    clis,
  );
  const got = played.receipt?.attempts.map((attempt) => `${attempt.state} ${attempt.code}`).join(', ') ?? '-';
  say(
    `${wrong.length === 0 ? 'ok  ' : 'FAIL'}  ${line} ${got}  exit ${played.exit}  ${(played.durationMs / 1000).toFixed(1)} s`,
  );
  counts[wrong.length === 0 ? 'passed' : 'failed'] += 1;
  for (const words of wrong) say(`        ${words}`);
  if (options.capture !== undefined && test.casts.length === 1) capture(options.capture, test, played);
  if (wrong.length > 0 || options.keep) say(`        kept: ${played.folder}`);
  else rmSync(played.folder, { recursive: true, force: true });
}

/** Keeps what the worker printed, without places and identities. */
function capture(folder, test, played) {
  mkdirSync(folder, { recursive: true });
  const [attempt] = played.receipt?.attempts ?? [];
  const [{ cli }] = test.casts;
  // The logs lie beside the attempt's worktree.
  const own = path.resolve(attempt?.logs[0]?.path ?? '/nowhere/logs/log', '../..');
  const places = [
    [path.join(own, 'repo'), '/workspace'],
    [path.join(own, 'tmp'), '/attempt/tmp'],
    [clis[cli].folder.replace(/\/node_modules\/\.bin$/, ''), '/opt/cli'],
    [realpathSync(clis[cli].folder).replace(/\/node_modules\/\.bin$/, ''), '/opt/cli'],
    [played.home, '/home/worker'],
    [played.repo, '/repository'],
    [played.folder, '/attempt'],
  ];
  for (const log of attempt?.logs ?? []) {
    const text = scrub(readFileSync(log.path, 'utf8'), places);
    const suffix = log.stream === 'stdout' ? 'jsonl' : 'stderr.txt';
    if (text !== '') writeFileSync(path.join(folder, `${test.name.replace(' ', '-')}.${suffix}`), text);
  }
}
