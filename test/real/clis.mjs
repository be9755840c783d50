/**
 * Installs the real agent CLIs at the versions of versions.json into a cache outside the repository. An entry of the
 * cache is complete or absent: it is made beside its place and renamed into it. A registry that cannot be reached is a
 * skip, anything else that goes wrong is a failure.
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const INSTALL_LIMIT_MS = 5 * 60_000;
const UNREACHABLE =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|\bE5\d\d\b|\bE40[137]\b|\bE429\b|UNABLE_TO_(?:GET|VERIFY)|SELF_SIGNED_CERT/;

/**
 * @typedef {{ package: string, version: string, program: string, adapter?: string, node?: string, afterInstall?: string }} Wanted
 *   `node`: the Node version it needs beside it; `afterInstall`: its own script that puts the native program in place
 * @typedef {{ name: string, adapter: string, version: string, folder: string, program: string }} Cli
 *   `folder`: to be put first on PATH
 * @typedef {{ kind: 'ready', cli: Cli } | { kind: 'skipped', reason: string } | { kind: 'failed', reason: string }} Installation
 */

/** @type {Readonly<Record<string, Wanted>>} */
export const WANTED = JSON.parse(readFileSync(new URL('versions.json', import.meta.url), 'utf8'));

const cacheFolder = () => process.env.AGENT_EXEC_REAL_CACHE ?? path.join(tmpdir(), 'agent-exec-real-clis');

/**
 * @param {string} name a key of versions.json
 * @param {{ newest?: boolean }} [options] `newest`: what the registry calls latest instead of the pinned version
 * @returns {Promise<Installation>}
 */
export async function installCli(name, { newest = false } = {}) {
  const wanted = WANTED[name];
  if (wanted === undefined) return { kind: 'failed', reason: `versions.json has no ${name}` };
  let version = wanted.version;
  if (newest) {
    const answer = await npm(['view', wanted.package, 'version'], tmpdir());
    if (!answer.ok) return refused(answer.words);
    version = answer.words.trim();
  }
  const folder = path.join(
    cacheFolder(),
    `${name}-${version}${wanted.node === undefined ? '' : `-node${wanted.node}`}`,
  );
  if (!existsSync(folder)) {
    const problem = await install(wanted, version, folder);
    if (problem !== null) return problem;
  }
  const bin = path.join(folder, 'node_modules', '.bin');
  const program = path.join(bin, wanted.program);
  if (!existsSync(program)) return { kind: 'failed', reason: `${wanted.package}@${version} has no ${wanted.program}` };
  return { kind: 'ready', cli: { name, adapter: wanted.adapter ?? name, version, folder: bin, program } };
}

/** @returns {Promise<Installation | null>} null when the folder is in its place */
async function install(wanted, version, folder) {
  mkdirSync(path.dirname(folder), { recursive: true });
  const staging = mkdtempSync(path.join(path.dirname(folder), 'staging-'));
  try {
    writeFileSync(path.join(staging, 'package.json'), '{"private":true}\n');
    const packages = [`${wanted.package}@${version}`];
    if (wanted.node !== undefined) packages.push(`node-${process.platform}-${process.arch}@${wanted.node}`);
    // Scripts are off: npm clients differ in whether they run them, and only one of them is wanted, by name.
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
    const answer = await npm([...args, ...packages], staging);
    if (!answer.ok) return refused(answer.words);
    if (wanted.afterInstall !== undefined) {
      const home = path.join(staging, 'node_modules', ...wanted.package.split('/'));
      if (existsSync(path.join(home, wanted.afterInstall))) {
        const after = await run(process.execPath, [wanted.afterInstall], home);
        if (!after.ok) return { kind: 'failed', reason: `${wanted.afterInstall}: ${after.words}` };
      }
    }
    chmodSync(staging, 0o755);
    try {
      renameSync(staging, folder);
    } catch (error) {
      // Another run was faster; its folder is as complete as this one.
      if (!existsSync(folder)) throw error;
    }
    return null;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** @returns {Installation} */
function refused(words) {
  const lines = words.split('\n').map((line) => line.replace(/^npm error\s*/, '').trim());
  const reason = lines
    .filter((line) => line !== '')
    .slice(0, 4)
    .join(' | ')
    .slice(0, 400);
  return UNREACHABLE.test(words) ? { kind: 'skipped', reason } : { kind: 'failed', reason };
}

const npm = (args, cwd) => run('npm', args, cwd);

/** @returns {Promise<{ ok: boolean, words: string }>} stdout where it went well, else everything it said */
function run(program, args, cwd) {
  return new Promise((resolve) => {
    execFile(
      program,
      args,
      { cwd, timeout: INSTALL_LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: 2 ** 24 },
      (error, stdout, stderr) => {
        if (error === null) resolve({ ok: true, words: stdout });
        else resolve({ ok: false, words: error.killed ? 'ETIMEDOUT: npm did not end' : `${error.message}\n${stderr}` });
      },
    );
  });
}
