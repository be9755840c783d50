/**
 * How this suite itself asks git: with an environment made from nothing and everything off that a repository could plant,
 * so that a look at what a worker left behind never runs a program of the worker's.
 */
import { spawnSync } from 'node:child_process';

const OFF = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.sparseCheckout': 'false',
  'gc.auto': '0',
  'commit.gpgsign': 'false',
  'protocol.file.allow': 'always',
};
const PERSON = { NAME: 'world', EMAIL: 'world@example.invalid', DATE: '1700000000 +0000' };

const environment = Object.fromEntries([
  ['PATH', process.env.PATH],
  ['LC_ALL', 'C.UTF-8'],
  ['HOME', '/nonexistent'],
  ['GIT_CONFIG_GLOBAL', '/dev/null'],
  ['GIT_CONFIG_NOSYSTEM', '1'],
  ['GIT_ATTR_NOSYSTEM', '1'],
  ['GIT_NO_REPLACE_OBJECTS', '1'],
  ['GIT_OPTIONAL_LOCKS', '0'],
  ['GIT_CONFIG_COUNT', String(Object.keys(OFF).length)],
  ...Object.entries(OFF).flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]),
  ...['AUTHOR', 'COMMITTER'].flatMap((role) =>
    Object.entries(PERSON).map(([name, value]) => [`GIT_${role}_${name}`, value]),
  ),
]);

/**
 * @param {string} repo
 * @param {string[]} args
 * @param {string | Buffer} [input]
 * @returns {{ code: number | null, stdout: Buffer, stderr: string }}
 */
export function tryGit(repo, args, input) {
  const done = spawnSync('git', ['-C', repo, ...args], {
    env: environment,
    input: input ?? '',
    maxBuffer: 2 ** 32,
    timeout: 120_000,
  });
  if (done.error !== undefined) throw done.error;
  return { code: done.status, stdout: done.stdout, stderr: done.stderr.toString() };
}

/** As `tryGit`; what git refuses is thrown. */
export function git(repo, ...args) {
  const { code, stdout, stderr } = tryGit(repo, args);
  if (code !== 0) throw new Error(`git ${args.join(' ')}: exit ${code}: ${stderr}`);
  return stdout.toString('latin1').trimEnd();
}
