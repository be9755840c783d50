/**
 * What a run must leave alone in the canonical repository, as facts: bytes of the checkout, of configuration, hooks and all
 * else of the git directory, refs, index and worktree list. Read from files; git is asked only for refs and index.
 */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { tryGit } from './git.mjs';

/** Path in the repository -> what is there, paths by their bytes as latin1. @typedef {Map<string, string>} Look */

/** Compared by their meaning, below; and objects, which may be added. */
const BY_MEANING =
  /^\.git\/(?:objects\/(?!info(?:$|\/alternates$))|info\/refs$|gc\.pid$|refs\/|packed-refs$|index$|logs\/)/;

/** @param {string} repo @returns {Look} */
export function lookAt(repo) {
  const look = new Map(photograph(Buffer.from(repo), ''));
  const refs = tryGit(repo, ['for-each-ref', '--format=%(refname) %(objectname) %(symref)']);
  for (const line of refs.stdout.toString('latin1').split('\n').filter(Boolean)) {
    const [name, ...rest] = line.split(' ');
    look.set(name, rest.join(' '));
  }
  look.set('.git/index', tryGit(repo, ['ls-files', '-s', '-v', '-z']).stdout.toString('latin1'));
  return look;
}

/**
 * @param {Look} before @param {Look} after
 * @param {RegExp} owned paths and refs that the runner may add
 * @returns {string[]} what is not as it was
 */
export function differences(before, after, owned) {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => !owned.test(name) && before.get(name) !== after.get(name)).sort();
}

/** @returns {Generator<[string, string]>} */
function* photograph(absolute, name) {
  if (BY_MEANING.test(name)) return;
  const entry = lstatSync(absolute);
  const mode = entry.mode.toString(8);
  if (entry.isSymbolicLink()) yield [name, `${mode} -> ${readlinkSync(absolute, 'latin1')}`];
  else if (entry.isFile()) yield [name, `${mode} ${createHash('sha256').update(readFileSync(absolute)).digest('hex')}`];
  else if (!entry.isDirectory() || name === '.git/hooks') yield [name, mode];
  if (!entry.isDirectory()) return;
  for (const child of readdirSync(absolute, { encoding: 'buffer' })) {
    const below = Buffer.concat([absolute, Buffer.from('/'), child]);
    yield* photograph(below, path.posix.join(name, child.toString('latin1')));
  }
}
