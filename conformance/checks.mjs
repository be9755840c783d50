/**
 * What probes judge by. A check looks at a world and an answer and complains or does not; a probe's judge is the checks that
 * every run must pass and the probe's own. Nothing here reads a runner's own account of what happened.
 */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { differences, lookAt } from './canonical.mjs';
import { alive } from './processes.mjs';
import { leaks, obeyedCharacters, readables } from './traces.mjs';
import { WORK } from './world.mjs';

/**
 * @typedef {import('./world.mjs').World} World
 * @typedef {import('./driver.mjs').Answer & { owned: RegExp, answerBytes: number, answersJson: boolean }} Answer
 * @typedef {object} Complaint
 * @property {string} text
 * @property {string[] | null} told words of which a runner that noticed has told one; null: nothing makes this good
 * @typedef {(world: World, answer: Answer) => Complaint[]} Check
 */

/** @returns {Complaint[]} */
const complaint = (text, told = null) => [{ text, told }];

/** Names come from hostile hands, and these words go to a terminal. */
const printable = (name) =>
  name.replace(/[^ -~]/g, (letter) => `\\x${letter.charCodeAt(0).toString(16).padStart(2, '0')}`);

const few = (names) => {
  const first = names.slice(0, 3).map(printable).join(', ');
  return names.length > 3 ? `${first} and ${names.length - 3} more` : first;
};

/** @type {Check} */
const endsByItself = (_, { hung, seconds }) => (hung ? complaint(`the runner hung for ${seconds.toFixed(0)} s`) : []);

/** @type {Check} */
export const nothingAlive = ({ marks }) => {
  const found = alive(marks);
  const pids = found.map(({ pid }) => String(pid));
  return found.length === 0 ? [] : complaint(`alive afterwards: ${found.length} of the worker's processes`, pids);
};

/** @type {Check} */
const canonicalUntouched = ({ repo, before }, { owned }) => {
  const changed = differences(before, lookAt(repo), owned);
  return changed.length === 0 ? [] : complaint(`changed in the canonical repository: ${few(changed)}`, changed);
};

/** @type {Check} */
const nothingPlantedRan = (world) => {
  const ran = world.canaryText();
  return ran === null
    ? []
    : complaint(`a planted program ran with the host's authority: ${printable(path.basename(ran))}`);
};

/** @type {Check} */
const nothingLeaked = ({ tokenCore, shapedToken }, answer) => {
  const found = leaks(readables(answer), [tokenCore, shapedToken.slice(4)]);
  return found.length === 0 ? [] : complaint(`the secret is readable ${few(found)}`);
};

/** @type {readonly Check[]} */
const ALWAYS = [endsByItself, nothingAlive, canonicalUntouched, nothingPlantedRan, nothingLeaked];

/** The worker's file can be found afterwards. @param {string} [name] @param {string} [text] @returns {Check} */
export const keeps =
  (name = 'src/a.txt', text = name === 'src/a.txt' ? WORK : '') =>
  (_, { findWork }) =>
    findWork(name).some(({ read }) => text === '' || read().includes(text)) ? [] : complaint(`lost: ${few([name])}`);

/** @type {Check} */
export const noSuccess = (_, { claimsSuccess }) => (claimsSuccess ? complaint('claims success') : []);

/** @type {Check} */
export const success = (_, { claimsSuccess, exit }) => (claimsSuccess ? [] : complaint(`no success: exit ${exit}`));

/** Either it says that it failed, or the work is there. @returns {Check} */
export const keepsOrNoSuccess = (name, text) => (world, answer) =>
  answer.claimsSuccess
    ? keeps(name, text)(world, answer).map(({ text: lost }) => ({ text: `${lost}, and claims success`, told: null }))
    : [];

/** A file beside the repository is as it was, or as absent. @param {(world: World) => string} place @returns {Check} */
export const stays = (place) => (world) => {
  const file = place(world);
  const now = existsSync(file) ? readFileSync(file, 'latin1') : null;
  return now === world.notes[file]
    ? []
    : complaint(`changed: ${path.relative(world.folder, file)}`, [file, path.basename(file)]);
};

/** Remembers a file for `stays`. @param {World} world @param {string} file */
export function remember(world, file) {
  world.notes[file] = existsSync(file) ? readFileSync(file, 'latin1') : null;
}

/** What the worker has written to a file of its own is empty: it uses the file to tell. @returns {Check} */
export const tellsNothing =
  (name) =>
  (_, { findWork }) => {
    const told = findWork(name).flatMap(({ read }) => read().toString().trim().split('\n').filter(Boolean));
    return told.length === 0 ? [] : complaint(`the worker tells: ${few([...new Set(told)])}`);
  };

/** @type {Check} */
export const answerIsBounded = (_, { stdout, answerBytes, answersJson }) => {
  if (stdout.length > answerBytes) return complaint(`the answer has ${stdout.length} bytes, more than ${answerBytes}`);
  if (!answersJson) return [];
  try {
    JSON.parse(stdout.toString());
    return [];
  } catch (error) {
    return complaint(`the answer is no JSON: ${error.message}`);
  }
};

/** @type {Check} */
export const nothingObeyed = (_, answer) => {
  const found = obeyedCharacters(readables(answer));
  return found.length === 0 ? [] : complaint(`characters that a terminal obeys: ${few(found)}`);
};

/** Private logs cannot be opened by other users, whatever the umask. @type {Check} */
export const logsArePrivate = (_, { privateLogs }) => {
  const open = privateLogs.flatMap(reachable);
  return open.length === 0 ? [] : complaint(`other users can read ${open.length} of the runner's own files`);
};

/** @returns {string[]} files below that another user can read: those in closed folders are not */
function reachable(file) {
  const entry = lstatSync(file, { throwIfNoEntry: false });
  if (entry === undefined || (entry.mode & 0o077) === 0 || entry.isSymbolicLink()) return [];
  return entry.isDirectory() ? readdirSync(file).flatMap((name) => reachable(path.join(file, name))) : [file];
}

/**
 * A probe's judge.
 * @param {...Check} own
 */
export const judgedBy =
  (...own) =>
  (world, answer) => {
    const complaints = [...ALWAYS, ...own].flatMap((check) => check(world, answer));
    const ending = `exit ${answer.exit}, ${answer.claimsSuccess ? 'success' : 'no success'}`;
    const happened = [ending, ...complaints.map(({ text }) => text)].join('; ');
    return { held: complaints.length === 0, happened, complaints };
  };

/** The runner let it happen, claimed no success and told what happened. */
export function detected(answer, complaints) {
  if (answer.claimsSuccess) return false;
  const texts = readables(answer);
  return complaints.every(({ told }) => told?.some((word) => texts.some(({ bytes }) => bytes.includes(word))));
}
