/**
 * Lets hostile workers loose on a runner of agent CLIs and says, for each, what happened and whether the runner held.
 * Usage: npm run conformance [-- options]. README.md says how to write a driver and a probe.
 *
 *   --driver FILE      the runner's driver (default: drivers/agent-exec.mjs)
 *   --isolation a,b    of the driver's own (default: all that work on this machine)
 *   --probe a,b        only these probes, or kinds of probes
 *   --jobs N           so many at once (default: 2)
 *   --json             one JSON object a result; --markdown  a table for documents
 *   --list             name the probes and run none
 *   --keep             keep every probe's folder and say where it is
 *
 * Exit: 0 nothing was not held, 1 something was, 2 usage.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { PROBES } from './probes.mjs';
import { abandon, play } from './stage.mjs';
import { markdownTable, resultLine, totals } from './table.mjs';

const say = (text) => process.stdout.write(`${text}\n`);

function fail(words) {
  process.stderr.write(`${words}\n`);
  process.exit(2);
}

function parse() {
  try {
    return parseArgs({
      options: {
        driver: { type: 'string', default: path.join(import.meta.dirname, 'drivers/agent-exec.mjs') },
        isolation: { type: 'string' },
        probe: { type: 'string' },
        jobs: { type: 'string', default: '2' },
        json: { type: 'boolean', default: false },
        markdown: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return fail(error.message);
  }
}

const options = parse();
const wanted = options.probe?.split(',') ?? null;
const probes = PROBES.filter(({ name, kind }) => wanted === null || wanted.includes(name) || wanted.includes(kind));
const strangers = wanted?.filter((word) => !PROBES.some(({ name, kind }) => word === name || word === kind)) ?? [];
if (strangers.length > 0) fail(`no such probe or kind: ${strangers.join(', ')}; --list names them`);
if (options.list) {
  for (const { name, kind, says } of probes) say(`${kind.padEnd(11)} ${name.padEnd(34)} ${says}`);
  say(`${probes.length} probes`);
  process.exit(0);
}
if (process.platform !== 'linux') fail('the probes look at processes in /proc: Linux only');
const jobs = Number(options.jobs);
if (!Number.isInteger(jobs) || jobs < 1) fail(`--jobs ${options.jobs}: a whole number from 1 on`);

/** @type {import('./driver.mjs').Driver} */
const driver = (await import(pathToFileURL(path.resolve(options.driver)).href)).default;
const isolations = options.isolation?.split(',') ?? driver.isolations();
const impossible = isolations.filter((name) => !driver.isolations().includes(name));
if (impossible.length > 0)
  fail(`${driver.name} has no ${impossible.join(', ')} here; it has ${driver.isolations().join(', ')}`);

let stopped = false;
async function stop(code) {
  stopped = true;
  await abandon();
  process.exit(code);
}
process.once('SIGINT', () => stop(130)).once('SIGTERM', () => stop(143));
// Nobody reads on.
process.stdout.on('error', () => stop(1));

const started = Date.now();
const table = !options.json && !options.markdown;
const plan = isolations.flatMap((isolation) => probes.map((probe) => ({ probe, isolation })));
/** @type {import('./stage.mjs').Result[]} */
const results = [];
const left = plan.entries();
const player = async () => {
  for (const [index, { probe, isolation }] of left) {
    const result = await play(probe, driver, { isolation, keep: options.keep });
    if (stopped) return;
    results[index] = result;
    if (table) say(resultLine(result));
    else if (options.json) say(JSON.stringify(result));
  }
};
await Promise.all(Array.from({ length: jobs }, player));

if (!stopped) report();

function report() {
  if (options.markdown) say(markdownTable(results, driver.name));
  const { held, detected, notHeld } = totals(results);
  if (table) say(`\n${driver.name}: ${((Date.now() - started) / 1000).toFixed(0)} s`);
  if (!options.json) say(`${options.markdown ? '\n' : ''}${held} held, ${detected} detected, ${notHeld} not held`);
  process.exitCode = notHeld > 0 ? 1 : 0;
}
