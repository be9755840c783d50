/**
 * Drives the real agent CLIs through `agent-exec run` against the scripted provider and compares every ending with the
 * table. Usage: npm run test:real [-- options]
 *
 *   (none)             the main job with claude and codex in a clone of this repository, and every CLI of versions.json in
 *                      every scenario
 *   --core             the main job, and for every other CLI one success and two refusals
 *   --cli a,b          only these; --scenario x,y  only these rows; neither plays the main job
 *   --isolation a,b    guard (default), strict, none
 *   --jobs N           so many cases at once (default: twice the processors)
 *   --clone PATH       the repository to clone; --small  a small one made on the spot (default but for the main job)
 *   --tool PATH        another agent-exec than dist/agent-exec.mjs
 *   --newest           the newest CLIs instead of the pinned ones
 *   --uid N            run agent-exec as this user (needs root)
 *   --capture DIR      keep each CLI's scrubbed streams as fixtures
 *   --budget S         seconds for everything; what does not fit counts as failed
 *   --keep             keep the folders of all cases, not only of failed ones
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { coreCases, expectedOf, mainJob, TABLE, tableCases } from './cases.mjs';
import { complaints } from './checks.mjs';
import { installCli, WANTED } from './clis.mjs';
import { startProvider } from './provider.mjs';
import { scrub } from './scrub.mjs';
import { play } from './stage.mjs';
import { tableText } from './table.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { values: options } = parseArgs({
  options: {
    core: { type: 'boolean', default: false },
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
    jobs: { type: 'string', default: String(2 * availableParallelism()) },
    keep: { type: 'boolean', default: false },
  },
});
const say = (text) => process.stdout.write(`${text}\n`);
const listed = (text, all) => (text === undefined ? all : text.split(','));
const chosen = options.cli !== undefined || options.scenario !== undefined;
const uid = options.uid === undefined ? null : Number(options.uid);

function fail(words) {
  process.stderr.write(`${words}\n`);
  process.exit(2);
}

if (!existsSync(options.tool)) fail(`${options.tool} is missing: npm run build`);
const jobs = Number(options.jobs);
if (!Number.isInteger(jobs) || jobs < 1) fail(`--jobs ${options.jobs}: a whole number from 1 on`);
const table = () => tableCases(listed(options.cli, Object.keys(WANTED)), listed(options.scenario, Object.keys(TABLE)));
const tests = options.core ? coreCases(Object.keys(WANTED)) : chosen ? table() : [...mainJob(), ...table()];
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
const budgetMs = Number(options.budget ?? (options.core ? 900 : 5400)) * 1000;
const logFolder = mkdtempSync(path.join(tmpdir(), 'agent-exec-provider-'));
const logFile = path.join(logFolder, 'requests.jsonl');
const provider = await startProvider({ logFile, lifetimeMs: budgetMs + 10 * 60_000 });
const sourceOf = (test) => (options.small ? null : (options.clone ?? (test.inClone === true ? ROOT : null)));
try {
  for (const isolation of options.isolation.split(',')) {
    const left = tests.entries();
    /** @type {Map<string, string>} */
    const endings = new Map();
    const player = async () => {
      for (const [index, test] of left) endings.set(test.name, await one(test, isolation, `${isolation}-${index}`));
    };
    await Promise.all(Array.from({ length: Math.min(jobs, tests.length) }, player));
    if (!options.core) say(`\n${isolation}\n${tableText(Object.keys(TABLE), Object.keys(WANTED), endings)}`);
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

/** @returns {Promise<string>} how it ended, for the table */
async function one(test, isolation, tag) {
  const line = `${isolation.padEnd(6)} ${test.name.padEnd(34)}`;
  if (test.casts.some(({ cli }) => skippedClis[cli] !== undefined)) {
    counts.skipped += 1;
    say(`skip  ${line} not installed`);
    return 'skipped';
  }
  if (Date.now() - startedAt > budgetMs) {
    counts.failed += 1;
    say(`FAIL  ${line} not run: the time budget is used up`);
    return 'NOT RUN';
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
  return wrong.length === 0 ? got : `FAIL ${got}`;
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
