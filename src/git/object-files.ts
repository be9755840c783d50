/**
 * The files in which the canonical objects lie, to tell afterwards whether one is gone or has other content. Additions
 * are everybody's right. No git is asked: what an object should hold is its name, what a pack should hold is its last
 * bytes. Git itself only ever sets the times of such a file anew, so other times alone are looked into, not believed.
 */
import { createHash } from 'node:crypto';
import { closeSync, lstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inflateSync } from 'node:zlib';
import type { RepositoryFacts } from '../model/plan.ts';
import { namesIn } from './folder-names.ts';

interface ObjectFile {
  /** Equal where inode, size and times are, and the last bytes of a pack; '' where too many others were there. */
  readonly stamp: string;
  /** It has a second name somewhere, by which it can be written although this one is read-only. */
  readonly linked: boolean;
}
/** By name below the objects folder: `ab/cdef…`, `pack/pack-….idx`. */
export type ObjectFiles = ReadonlyMap<string, ObjectFile>;

/** Beyond so many loose objects only their names are known: gc is overdue then. */
const MAX_STAMPED = 20_000;
/** A larger file with other times and the same size is not read again. */
const MAX_VERIFIED = 64 * 1024 * 1024;
const PER_TURN = 512;

/**
 * Never rejects. With `since`, a file that has new times and its old content is given as it was then. `linkedOnly`: of the
 * files of `since` only those with a second name are looked at again, of the others it is enough that they are there.
 */
export async function readObjectFiles(
  { objectsDir, objectFormat }: Pick<RepositoryFacts, 'objectsDir' | 'objectFormat'>,
  since: ObjectFiles | null,
  linkedOnly: boolean,
): Promise<ObjectFiles> {
  const files = new Map<string, ObjectFile>();
  for (const name of namesOf(objectsDir)) {
    if (files.size % PER_TURN === PER_TURN - 1) await nextTurn();
    const path = join(objectsDir, name);
    const known = since?.get(name);
    const isPack = name.startsWith('pack/');
    if (linkedOnly && known?.linked === false) files.set(name, known);
    else if (!isPack && files.size >= MAX_STAMPED) files.set(name, { stamp: known?.stamp ?? '', linked: false });
    else {
      const file = isPack ? packAt(path, objectFormat) : looseAt(path);
      if (file === null) continue;
      const isIntact =
        known !== undefined &&
        known.stamp !== file.stamp &&
        known.stamp !== '' &&
        (isPack ? packIsIntact(path, known.stamp, file.stamp, objectFormat) : looseIsIntact(path, name, objectFormat));
      files.set(name, isIntact ? known : file);
    }
  }
  return files;
}

/** The full names of the loose objects in `before` whose files are gone: gc puts objects into packs. */
export const goneLoose = (before: ObjectFiles, after: ObjectFiles): string[] =>
  [...before.keys()].filter((name) => !name.startsWith('pack/') && !after.has(name));

export const oidOf = (name: string): string => name.replace('/', '');

function namesOf(objectsDir: string): string[] {
  const folders = namesIn(objectsDir).filter((name) => /^[0-9a-f]{2}$/.test(name));
  const packs = namesIn(join(objectsDir, 'pack')).filter((name) => /^pack-[0-9a-f]+\.(pack|idx)$/.test(name));
  return [
    ...packs.map((name) => `pack/${name}`),
    ...folders.flatMap((folder) =>
      namesIn(join(objectsDir, folder)).flatMap((name) =>
        /^[0-9a-f]{38,62}$/.test(name) ? [`${folder}/${name}`] : [],
      ),
    ),
  ];
}

function looseAt(path: string): ObjectFile | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  return { stamp: `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`, linked: stat.nlink > 1 };
}

const lengthOf = (objectFormat: 'sha1' | 'sha256'): number => (objectFormat === 'sha1' ? 20 : 32);

function packAt(path: string, objectFormat: 'sha1' | 'sha256'): ObjectFile | null {
  const file = looseAt(path);
  return file === null ? null : { ...file, stamp: `${file.stamp} ${trailerOf(path, lengthOf(objectFormat))}` };
}

/** The last bytes of a pack or its index: the hash of all before them. */
function trailerOf(path: string, length: number): string {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(length);
      const size = lstatSync(path).size;
      readSync(file, bytes, 0, length, Math.max(0, size - length));
      return bytes.toString('hex');
    } finally {
      closeSync(file);
    }
  } catch {
    // Unreadable, which no pack of ours is at first: differs from whatever it was.
    return 'unreadable';
  }
}

function packIsIntact(path: string, was: string, is: string, objectFormat: 'sha1' | 'sha256'): boolean {
  const [, wasSize = '', , , wasTrailer] = was.split(' ');
  const [, isSize, , , isTrailer] = is.split(' ');
  if (wasSize !== isSize || wasTrailer !== isTrailer) return false;
  if (Number(wasSize) > MAX_VERIFIED) return true;
  try {
    const bytes = readFileSync(path);
    const content = bytes.subarray(0, bytes.length - lengthOf(objectFormat));
    return createHash(objectFormat).update(content).digest('hex') === isTrailer;
  } catch {
    return false;
  }
}

function looseIsIntact(path: string, name: string, objectFormat: 'sha1' | 'sha256'): boolean {
  try {
    const bytes = readFileSync(path);
    if (bytes.length > MAX_VERIFIED) return true;
    const content = inflateSync(bytes, { maxOutputLength: 16 * MAX_VERIFIED });
    return createHash(objectFormat).update(content).digest('hex') === oidOf(name);
  } catch {
    // Unreadable, or no object at all.
    return false;
  }
}
