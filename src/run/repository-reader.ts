/** Reads the files of a repository that its configuration names, each once: what was checked is what is used. */
import { realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { ReadFile, Unread } from '../config/path-rules.ts';
import { MAX_FILE_BYTES } from '../config/source-text.ts';
import { err, ok, type Result } from '../model/result.ts';
import { errnoOf, readRegularFile } from './config-file.ts';

const MISSING: Unread = { kind: 'missing' };
const unusable = (why: string): Result<never, Unread> => err({ kind: 'unusable', why });

const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'may not be read',
  EPERM: 'may not be read',
  EISDIR: 'is a folder',
  ELOOP: 'is a symbolic link that leads nowhere (a loop)',
  ENAMETOOLONG: 'has too long a name',
  'not-regular': 'is not a regular file',
};

/** Reads files below `root`, of at most 256 KiB; links are followed as long as they stay inside. */
export function repositoryReader(root: string): ReadFile {
  const known = new Map<string, Result<Uint8Array, Unread>>();
  return (path) => {
    const read = known.get(path) ?? readBelow(root, path);
    known.set(path, read);
    return read;
  };
}

function readBelow(root: string, path: string): Result<Uint8Array, Unread> {
  const top = realPath(root);
  if (!top.ok) return top;
  const real = realPath(join(root, path));
  if (!real.ok) return real;
  if (!real.value.startsWith(top.value.endsWith(sep) ? top.value : top.value + sep))
    return unusable('leads out of the repository by a symbolic link');
  const read = readRegularFile(real.value, MAX_FILE_BYTES);
  if (!read.ok) return refused(read.error);
  return read.value.length > MAX_FILE_BYTES ? unusable(`is larger than ${MAX_FILE_BYTES / 1024} KiB`) : ok(read.value);
}

function realPath(path: string): Result<string, Unread> {
  try {
    return ok(realpathSync(path));
  } catch (error) {
    return refused(errnoOf(error));
  }
}

const refused = (code: string): Result<never, Unread> =>
  code === 'ENOENT' || code === 'ENOTDIR' ? err(MISSING) : unusable(WORDS[code] ?? `cannot be read (${code})`);
