/** Reads the configuration file, without ever waiting for a pipe or reading without bound. */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { MAX_FILE_BYTES } from '../config/source-text.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { err, ok, type Result } from '../model/result.ts';

export const CONFIG_FILE = 'AGENT-EXECUTION.md';

/** `sha256:<hex>` of the file's bytes, as receipts hold it. */
export const configDigest = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A finding about the file as a whole. */
export const fileFinding = (file: string, code: string, message: string, hint: string | null): Diagnostic => ({
  code,
  severity: 'error',
  message,
  file,
  line: 0,
  column: 0,
  end_line: 0,
  end_column: 0,
  source_line: null,
  hint,
});

/** At most one byte more than is read as configuration, so that the parser can say that it is too long. */
export function readConfigFile(path: string, shownAs: string): Result<Uint8Array, Diagnostic> {
  const read = readRegularFile(path, MAX_FILE_BYTES);
  if (read.ok) return read;
  const [code, message, hint] = WORDS[read.error] ?? OTHER(read.error);
  return err(fileFinding(shownAs, code, message, hint));
}

type Words = readonly [code: string, message: string, hint: string];
const WORDS: Readonly<Record<string, Words>> = {
  ENOENT: ['FILE_MISSING', 'there is no such file', 'Create it: docs/configuration.md has an example to start from.'],
  ENOTDIR: ['FILE_MISSING', 'there is no such file', 'A part of its path is not a folder.'],
  EACCES: ['FILE_UNREADABLE', 'the file may not be read', 'Give yourself permission to read it.'],
  EPERM: ['FILE_UNREADABLE', 'the file may not be read', 'Give yourself permission to read it.'],
  ELOOP: ['FILE_UNREADABLE', 'the file is a symbolic link that leads nowhere (a loop)', 'Replace it by a file.'],
  EISDIR: ['FILE_NOT_REGULAR', 'this is a folder, not a file', 'Replace it by a file.'],
  'not-regular': ['FILE_NOT_REGULAR', 'this is not a regular file', 'Replace it by a file.'],
};
const OTHER = (code: string): Words => [
  'FILE_UNREADABLE',
  `the file cannot be read (${code})`,
  'Look at the file system.',
];

/** The first `limit + 1` bytes of a regular file, or an errno name. Opening never blocks, also for a FIFO. */
export function readRegularFile(path: string, limit: number): Result<Uint8Array, string> {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return err(errnoOf(error));
  }
  try {
    const facts = fstatSync(descriptor);
    if (facts.isDirectory()) return err('EISDIR');
    if (!facts.isFile()) return err('not-regular');
    const buffer = Buffer.alloc(Math.min(limit + 1, facts.size + 1));
    let length = 0;
    for (let got = -1; got !== 0 && length < buffer.length; length += got) {
      got = readSync(descriptor, buffer, length, buffer.length - length, null);
    }
    return ok(buffer.subarray(0, length));
  } catch (error) {
    return err(errnoOf(error));
  } finally {
    closeSync(descriptor);
  }
}

/** The name of a failed system call's error; any other error is thrown on. */
export const errnoOf = (error: unknown): string => {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  throw error;
};
