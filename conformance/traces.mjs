/**
 * What a runner made for people to read, and what must not be in it: a secret in any encoding, and characters that a
 * terminal obeys.
 */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @param {import('./driver.mjs').Answer} answer
 * @returns {{ name: string, bytes: Buffer }[]} console, artefacts and texts
 */
export function readables({ stdout, stderr, artefacts, texts = [] }) {
  return [
    { name: 'stdout', bytes: stdout },
    { name: 'stderr', bytes: stderr },
    ...artefacts.flatMap(filesOf).map((file) => ({ name: path.basename(file), bytes: readFileSync(file) })),
    ...texts.map(({ name, text }) => ({ name, bytes: Buffer.from(text) })),
  ];
}

/** @returns {string[]} the files at or below a path */
export function filesOf(file) {
  const entry = lstatSync(file, { throwIfNoEntry: false });
  if (entry === undefined) return [];
  if (!entry.isDirectory()) return entry.isFile() ? [file] : [];
  return readdirSync(file).flatMap((name) => filesOf(path.join(file, name)));
}

/** The forms in which a text of letters and digits could be there. @returns {Map<string, string>} form -> what to look for */
function formsOf(core) {
  const bytes = Buffer.from(core);
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // Characters at both ends depend on the neighbours too.
    return text.slice(Math.ceil((8 * shift) / 6), (shift + bytes.length) % 3 === 0 ? undefined : -1);
  });
  return new Map([
    ['as it is', core],
    ['in upper case', core.toUpperCase()],
    ['in hex', bytes.toString('hex')],
    ['in upper-case hex', bytes.toString('hex').toUpperCase()],
    ['in percent form', [...bytes].map((byte) => `%${byte.toString(16)}`).join('')],
    ['in \\u escapes', [...core].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')],
    ...base64.map((text, shift) => [`in base64, shifted by ${shift}`, text]),
  ]);
}

/** @param {{ name: string, bytes: Buffer }[]} texts @param {readonly string[]} cores @returns {string[]} */
export function leaks(texts, cores) {
  const found = cores.flatMap((core) =>
    [...formsOf(core)].flatMap(([form, wanted]) =>
      texts.filter(({ bytes }) => bytes.includes(wanted)).map(({ name }) => `${form} in ${name}`),
    ),
  );
  return [...new Set(found)];
}

/** C0 but tab and line ends, DEL, C1, bidirectional and zero-width characters. */
const OBEYED = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;

/** @param {{ name: string, bytes: Buffer }[]} texts @returns {string[]} */
export function obeyedCharacters(texts) {
  return texts.flatMap(({ name, bytes }) => {
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes)) return [`invalid UTF-8 in ${name}`];
    const found = OBEYED.exec(text.replaceAll('\r\n', '\n'))?.[0];
    return found === undefined ? [] : [`U+${found.codePointAt(0).toString(16).padStart(4, '0')} in ${name}`];
  });
}
