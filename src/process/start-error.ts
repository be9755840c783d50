/**
 * Why a program did not start. The kernel says ENOENT for a missing program, a missing working directory and a missing
 * interpreter alike; a launcher (bwrap, unshare, prlimit) says it in words. Looked at after the failure, never before:
 * a check in advance would prove nothing about the moment of the start.
 */
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { interpreterOf } from './shebang.ts';
import { isShortage } from './shortage.ts';

export interface StartError {
  /** An errno name such as ENOENT, or `SANDBOX_FAILED` where the launcher itself could not set up. */
  readonly code: string;
  readonly message: string;
}

export function errorCode(thrown: unknown): string {
  if (thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string') return thrown.code;
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function check(look: () => void): string | null {
  try {
    look();
    return null;
  } catch (thrown) {
    return errorCode(thrown);
  }
}

/** The beginning of a file; empty where it cannot be read. */
function headOf(executable: string): Buffer {
  const head = Buffer.alloc(256);
  let length = 0;
  check(() => {
    const file = openSync(executable, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      length = readSync(file, head, 0, head.length, 0);
    } finally {
      closeSync(file);
    }
  });
  return head.subarray(0, length);
}

/** What is wrong with starting `executable` in `cwd`, as far as looking can tell; null where nothing is. */
export function diagnoseStart(executable: string, cwd: string): StartError | null {
  const place = check(() => {
    if (!statSync(cwd).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' });
  });
  if (place !== null) return { code: place, message: `the working directory ${cwd} cannot be entered (${place})` };
  const missing = check(() => statSync(executable));
  if (missing !== null) return { code: missing, message: `${executable} cannot be found (${missing})` };
  const denied = check(() => {
    accessSync(executable, constants.X_OK);
    if (!statSync(executable).isFile()) throw Object.assign(new Error(), { code: 'EACCES' });
  });
  if (denied !== null) return { code: denied, message: `${executable} is not an executable file (${denied})` };
  const line = interpreterOf(headOf(executable));
  if (line.kind === 'invalid') return { code: 'ENOENT', message: `${executable} cannot start: ${line.message}` };
  // What env looks up on PATH is for env to miss.
  if (line.kind !== 'program' || !line.program.startsWith('/')) return null;
  const unusable = check(() => accessSync(line.program, constants.X_OK));
  if (unusable === null) return null;
  return { code: unusable, message: `the interpreter ${JSON.stringify(line.program)} of ${executable} cannot be run` };
}

const WORDS: readonly (readonly [string, string])[] = [
  ['No such file or directory', 'ENOENT'],
  ['Permission denied', 'EACCES'],
  ['Exec format error', 'ENOEXEC'],
  ['Argument list too long', 'E2BIG'],
  ['Text file busy', 'ETXTBSY'],
  ['Not a directory', 'ENOTDIR'],
  ['Too many levels of symbolic links', 'ELOOP'],
  ['Too many open files', 'EMFILE'],
  ['Too many open files in system', 'ENFILE'],
  ['Cannot allocate memory', 'ENOMEM'],
  ['Resource temporarily unavailable', 'EAGAIN'],
];

/** The start error that a launcher's complaint stands for. `complaint`: the first bytes of its stderr. */
export function readComplaint(complaint: string, executable: string, cwd: string): StartError {
  const line = complaint.split('\n', 1)[0]?.slice(0, 1000) ?? '';
  const named = WORDS.find(([words]) => line.endsWith(words))?.[1];
  if (named !== undefined && isShortage(named)) return { code: named, message: line };
  const aboutProgram = /^\S+: (execvp|failed to execute|can't chdir to|Can't chdir to|(line )?\d+:) ?/.test(line);
  if (!aboutProgram)
    return { code: 'SANDBOX_FAILED', message: line === '' ? 'the launcher ended without a word' : line };
  // A translated message names no error we know; looking again does.
  const diagnosis = diagnoseStart(executable, cwd);
  return { code: named ?? diagnosis?.code ?? 'ENOEXEC', message: diagnosis?.message ?? line };
}
