/**
 * The shapes between this suite and a runner's driver.
 *
 * @typedef {object} Request
 * @property {string} isolation one of the driver's own
 * @property {number} timeoutSeconds what the worker is allowed
 * @property {number} limitSeconds after which the runner itself counts as hanging
 * @property {readonly string[]} allowed paths that the worker may change
 * @property {'allow' | 'deny'} network what the worker may reach; a runner that cannot deny it must not start the worker
 * @property {NodeJS.Signals | null} signal to the runner, once the worker is ready
 * @property {string | null} umask that the runner is started with
 *
 * @typedef {object} Found
 * @property {string} where
 * @property {string} mode as git writes it: 100644, 100755, 120000
 * @property {number} size
 * @property {() => Buffer} read
 *
 * @typedef {object} Answer
 * @property {number | string | null} exit code, or the signal that ended it
 * @property {boolean} hung
 * @property {Buffer} stdout
 * @property {Buffer} stderr
 * @property {number} seconds
 * @property {boolean} claimsSuccess
 * @property {string[]} artefacts files and folders that people may read: receipts, telemetry, reports
 * @property {{ name: string, text: string }[]} [texts] further words for people, such as commit messages
 * @property {string[]} privateLogs files and folders that only the user may read
 * @property {(path: string) => Found[]} findWork where a file of the worker is now: commits, refs, kept folders; the path by
 *   its bytes as latin1, relative to the repository
 *
 * @typedef {object} Driver
 * @property {string} name
 * @property {() => string[]} isolations those that work on this machine
 * @property {RegExp} owned what the runner may add to the canonical repository: refs by name, files as `.git/...`
 * @property {number} answerBytes how much it may print on stdout
 * @property {boolean} answersJson
 * @property {Record<string, string[]>} [detectsOnly] isolation -> probes that it detects and does not prevent
 * @property {(world: import('./world.mjs').World, request: Request) => void} [prepare] its configuration, before the commit
 * @property {(world: import('./world.mjs').World, request: Request) => Promise<Answer>} run
 */
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { tryGit } from './git.mjs';

/** A file of the worker in the commits that these refs have and `base` has not. @returns {Found[]} */
export function findInCommits(repo, refs, base, name) {
  if (refs.length === 0) return [];
  const listed = tryGit(repo, ['rev-list', ...refs, `^${base}`]).stdout.toString();
  const commits = listed.split('\n').filter(Boolean);
  return commits.flatMap((commit) => {
    const listing = tryGit(repo, ['ls-tree', '-r', '-z', '-l', '--full-tree', commit]).stdout.toString('latin1');
    const entry = listing.split('\0').find((record) => record.endsWith(`\t${name}`));
    const [, mode, oid, size] = /^(\d+) \w+ (\w+) +(\d+|-)\t/.exec(entry ?? '') ?? [];
    if (oid === undefined || mode === '160000') return [];
    const read = () => tryGit(repo, ['cat-file', 'blob', oid]).stdout;
    return [{ where: commit, mode, size: Number(size), read }];
  });
}

/** A file of the worker in a folder that was kept. @returns {Found[]} */
export function findInFolder(folder, name) {
  const file = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name, 'latin1')]);
  let entry;
  try {
    entry = lstatSync(file);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ENAMETOOLONG'].includes(error.code)) return [];
    throw error;
  }
  if (entry.isSymbolicLink()) {
    const target = readlinkSync(file, { encoding: 'buffer' });
    return [{ where: folder, mode: '120000', size: target.length, read: () => target }];
  }
  if (entry.isDirectory()) return [];
  const mode = entry.mode & 0o100 ? '100755' : '100644';
  return [{ where: folder, mode, size: entry.size, read: () => readFileSync(file) }];
}
