/**
 * What the stand-ins for CLIs that no registry has are made of. A scenario stands beside the program as it was called,
 * in `<program>.json`, because a worker's environment is an allow-list and a probe's HOME an empty folder. What the
 * program was given goes to `stand-in.jsonl` in its state folder, one object a line.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, fstatSync, mkdirSync, readFileSync, writeSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The path it was called by: a link in a test's own folder. */
const program = process.argv[1];
/** `{ version, help, models, unknownModel, worksIn, secondMs, before, play }`, each optional. */
export const scenario = existsSync(`${program}.json`) ? JSON.parse(readFileSync(`${program}.json`, 'utf8')) : {};

export const out = (what) => writeSync(1, `${typeof what === 'string' ? what : JSON.stringify(what)}\n`);
export const say = (line) => writeSync(2, `${line}\n`);

/** Ends with a complaint, as a refused command line does. */
export function refuse(code, ...lines) {
  for (const line of lines) say(line);
  process.exit(code);
}

export const forEver = () =>
  new Promise(() => {
    setInterval(() => {}, 1_000_000);
  });

export const digest = (text) => ({
  bytes: Buffer.byteLength(text),
  sha256: createHash('sha256').update(text).digest('hex'),
});

/** Keeps what the program was given. Names of variables only. */
export function record(stateFolder, entry) {
  mkdirSync(stateFolder, { recursive: true });
  const given = { argv: process.argv.slice(2), cwd: process.cwd(), env: Object.keys(process.env).sort() };
  appendFileSync(join(stateFolder, 'stand-in.jsonl'), `${JSON.stringify({ ...given, ...entry })}\n`);
}

/**
 * Reads a command line as strictly as the CLI does. `values` and `switches` are names with their dashes; a value also
 * follows a `=`. `unknown` gets the flag and must not return; `stops` ends at the first word that is no flag, as Go's
 * flags do.
 */
export function readFlags(args, { values, switches, unknown, stops }) {
  const flags = {};
  let at = 0;
  const words = [];
  for (; at < args.length; at++) {
    const [, name, value] = /^(-[^=]*)(?:=(.*))?$/s.exec(args[at]) ?? [];
    if (name === undefined) {
      if (stops) break;
      words.push(args[at]);
    } else if (switches.includes(name) && value === undefined) flags[name] = true;
    else if (!values.includes(name)) unknown(name);
    else {
      flags[name] = value ?? args[++at];
      if (flags[name] === undefined) refuse(2, `flag needs an argument: ${name}`);
    }
  }
  return { flags, rest: stops ? args.slice(at) : words };
}

/** `null` for /dev/null, else `pipe`. */
export const stdinKind = () => (fstatSync(0).isCharacterDevice() ? 'null' : 'pipe');

/** All of stdin. Never settles while somebody holds the other end; a pipe is told of, for a test to know that it waits. */
export async function stdinToItsEnd() {
  if (stdinKind() === 'pipe') say('reading stdin');
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** A process in a session of its own, with no pipe to its parent, that stays. */
function leaveBehind(name) {
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', program, name], {
    detached: true,
    stdio: 'ignore',
    env: {},
  }).unref();
}

/** Appends to a file of `folder`, or to an absolute one; a refused write is told on stderr and does not end the program. */
function write(folder, path, text) {
  const file = resolve(folder, path);
  try {
    mkdirSync(dirname(file), { recursive: true });
    appendFileSync(file, text);
  } catch (error) {
    say(`tool: ${error.code} ${file}`);
  }
}

/** Plays a scenario's steps in order. */
export async function play(steps, folder) {
  for (const [what, ...rest] of steps) {
    if (what === 'out') out(rest[0]);
    else if (what === 'err') say(rest[0]);
    else if (what === 'write') write(folder, rest[0], rest[1]);
    else if (what === 'leave') leaveBehind(rest[0]);
    else if (what === 'run') spawnSync('/bin/sh', ['-c', rest[0]], { cwd: folder, stdio: 'ignore' });
    else if (what === 'signal') process.kill(process.pid, rest[0]);
    else if (what === 'block') await forEver();
    else if (what === 'exit') process.exit(rest[0]);
    else throw new Error(`no such step: ${what}`);
  }
}
