/**
 * Finds the very file a candidate would start: an absolute path, or a bare name on a PATH whose relative entries are
 * ignored, since they would mean the worker's own folder. Refuses what the system would hand to a shell instead of
 * running it (libuv uses execvp, which gives a file without magic to /bin/sh), and a script whose interpreter is missing,
 * which the system reports as if the script itself were.
 */
import { constants } from 'node:fs';
import { access, lstat, open, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Unavailable } from '../model/adapter.ts';
import { err, ok, type Result } from '../model/result.ts';
import { interpreterOf } from './shebang.ts';
import { assertNoShortage } from './shortage.ts';

export interface Executable {
  /** As looked up: absolute, symlinks kept, because launchers look at their own name. */
  readonly path: string;
  readonly realPath: string;
  readonly identity: {
    readonly size: number;
    readonly mtimeMs: number;
    readonly ctimeMs: number;
    readonly ino: number;
  };
  /** What a script runs under; null for a binary. */
  readonly interpreter: Executable | null;
}

interface Lookup {
  /** Names in order of preference; the first that exists counts, whether it is good or not. */
  readonly names: readonly string[];
  /** PATH of the environment the worker will get. */
  readonly path: string | undefined;
}

/** The kernel follows at most four scripts to an interpreter that is no script (BINPRM_MAX_RECURSION). */
const MAX_INTERPRETERS = 4;
/** The kernel reads this much of a script's first line (BINPRM_BUF_SIZE). */
const HEAD_BYTES = 256;

type Missing = { readonly missing: true };
type Found = { readonly missing: false; readonly result: Result<Executable, Unavailable> };

const invalid = (message: string): Found => ({ missing: false, result: err({ code: 'EXECUTABLE_INVALID', message }) });
const nowhere: Missing = { missing: true };

/** The folders of a PATH that are searched: absolute ones, each once. */
export const searchedFolders = (path: string | undefined): string[] => [
  ...new Set((path ?? '').split(':').filter((folder) => isAbsolute(folder))),
];

/** Finds and judges the first of the names. */
export async function findExecutable(lookup: Lookup): Promise<Result<Executable, Unavailable>> {
  for (const name of lookup.names) {
    const found = await findOne(name, lookup.path, 0);
    if (!found.missing) return found.result;
  }
  return err({ code: 'EXECUTABLE_MISSING', message: missingMessage(lookup) });
}

function missingMessage({ names, path }: Lookup): string {
  const shown = names.join(' or ');
  if (names.every((name) => name.includes('/')))
    return `${shown} does not exist. Install the program there, or correct the profile's executable.`;
  const folders = searchedFolders(path).length;
  const where = folders === 0 ? 'PATH names no absolute folder' : `not in any of the ${folders} folders of PATH`;
  return `${shown} was not found: ${where}. Install it, or give the profile an absolute executable.`;
}

async function findOne(name: string, path: string | undefined, depth: number): Promise<Found | Missing> {
  if (name.includes('\0')) return invalid('The name of the executable holds a NUL character.');
  if (isAbsolute(name)) return (await judgeFile(name, path, depth)) ?? nowhere;
  if (name.includes('/') || name === '')
    return invalid(`"${name}" is neither a bare name nor an absolute path. Relative executables are never run.`);
  // As execvp does: what cannot be executed does not hide a good one further on, but is told when nothing better comes.
  let blemished: Found | null = null;
  for (const folder of searchedFolders(path)) {
    const file = join(folder, name);
    const found = await judgeFile(file, path, depth);
    if (found === null) continue;
    if (found.result.ok || !found.passedOver) return found;
    blemished ??= found;
  }
  return blemished ?? nowhere;
}

/** `passedOver`: a PATH search goes on behind this file. */
type Judged = Found & { readonly passedOver?: boolean };
const unusable = (message: string): Judged => ({ ...invalid(message), passedOver: true });

/** Judges one absolute path; null where nothing is there. */
async function judgeFile(file: string, path: string | undefined, depth: number): Promise<Judged | null> {
  let realPath: string;
  let identity: Executable['identity'];
  let head: Buffer;
  try {
    realPath = await realpath(file);
    const facts = await stat(realPath);
    if (facts.isDirectory()) return unusable(`${file} is a directory, not a program.`);
    if (!facts.isFile()) return unusable(`${file} is not a regular file.`);
    identity = { size: facts.size, mtimeMs: facts.mtimeMs, ctimeMs: facts.ctimeMs, ino: facts.ino };
    await access(realPath, constants.X_OK);
    head = await readHead(realPath);
  } catch (error) {
    return failureOf(file, error as NodeJS.ErrnoException);
  }
  const accept = (interpreter: Executable | null): Found => ({
    missing: false,
    result: ok({ path: file, realPath, identity, interpreter }),
  });
  if (head.length === 0) return invalid(`${file} is empty. Install the program again.`);
  if (isBinary(head)) return accept(null);
  const line = interpreterOf(head);
  if (line.kind === 'none')
    return invalid(
      `${file} is neither a binary for this system nor a script with a "#!" line; it would be run by a shell.`,
    );
  if (line.kind === 'invalid') return invalid(`${file} cannot start: ${line.message}`);
  if (line.kind === 'unknown') return accept(null);
  if (depth === MAX_INTERPRETERS) return invalid(`${file} cannot start: its interpreters are scripts of scripts.`);
  const interpreter = await findOne(line.program, path, depth + 1);
  if (interpreter.missing)
    return invalid(
      `${file} exists, but its interpreter ${line.program} does not${line.program.includes('/') ? '' : ' (looked up on PATH)'}. Install ${line.program}.`,
    );
  if (!interpreter.result.ok) return invalid(`${file} cannot start: ${interpreter.result.error.message}`);
  return accept(interpreter.result.value);
}

async function readHead(file: string): Promise<Buffer> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    // A binary may be executable and not readable; the system runs it, so it is taken for one.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return MAGIC_OF_THIS_SYSTEM;
    throw error;
  }
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

const ELF = Buffer.from('\x7fELF', 'latin1');
const MACH_O = ['feedface', 'feedfacf', 'cefaedfe', 'cffaedfe', 'cafebabe', 'cafebabf'].map((hex) =>
  Buffer.from(hex, 'hex'),
);
const MAGICS = process.platform === 'darwin' ? MACH_O : [ELF];
const MAGIC_OF_THIS_SYSTEM = MAGICS[0] ?? ELF;
const isBinary = (head: Buffer): boolean => MAGICS.some((magic) => head.subarray(0, 4).equals(magic));

async function failureOf(file: string, error: NodeJS.ErrnoException): Promise<Judged | null> {
  assertNoShortage(error.code ?? '', `${file} could not be looked at`);
  switch (error.code) {
    case 'ENOENT':
      return (await isLink(file))
        ? unusable(`${file} is a symbolic link to nothing. Install the program again.`)
        : null;
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return null;
    case 'ELOOP':
      return unusable(`${file} is a symbolic link that leads back to itself.`);
    case 'EACCES':
    case 'EPERM':
      return unusable(`${file} may not be executed by this user. Check its mode (chmod +x) and its file system.`);
    default:
      return unusable(`${file} cannot be examined: ${error.message}`);
  }
}

/** Something lies at `file` itself, though what it leads to does not exist. */
async function isLink(file: string): Promise<boolean> {
  try {
    return (await lstat(file)).isSymbolicLink();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
