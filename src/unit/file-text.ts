/** Bytes of a file that should hold JSON -> its text, or why they cannot be text. Shared by packets and ledgers. */
import type { Diagnostic } from '../model/diagnostic.ts';
import { err, ok, type Result } from '../model/result.ts';

/** Most that is read of a packet or a ledger. */
export const MAX_BYTES = 16 * 1024 * 1024;

/** What the file is: the start of its codes, and its name in messages. */
export interface FileKind {
  readonly prefix: 'UNIT' | 'LEDGER';
  readonly noun: 'packet' | 'ledger';
  /** What an empty one lacks. */
  readonly wanted: string;
}

/** A problem of the file as a whole: no line. */
export const wholeFile = (file: string, code: string, message: string, hint: string | null): Diagnostic[] => [
  { code, severity: 'error', message, hint, file, line: 0, column: 0, end_line: 0, end_column: 0, source_line: null },
];

/** The text, without a byte order mark; never blank. */
export function decodeText(
  { prefix, noun, wanted }: FileKind,
  { file, bytes }: { readonly file: string; readonly bytes: Uint8Array },
): Result<string, Diagnostic[]> {
  const fail = (code: string, message: string, hint: string | null) =>
    err(wholeFile(file, `${prefix}_${code}`, message, hint));
  if (bytes.length > MAX_BYTES)
    return fail('TOO_LARGE', `the ${noun} has ${bytes.length} bytes; at most ${MAX_BYTES} are read`, null);
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff))
    return fail('NOT_UTF8', `the ${noun} is UTF-16 text`, 'Save it as UTF-8.');
  if (bytes.includes(0)) return fail('BINARY', `the ${noun} is binary, not JSON text`, 'Save it as UTF-8 JSON.');
  let text: string;
  try {
    // Fatal, so that a bad byte is an error and not a replacement character; a byte order mark is dropped.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return fail('NOT_UTF8', `the ${noun} is not valid UTF-8`, 'Save it as UTF-8 JSON.');
  }
  if (text.trim() === '') return fail('EMPTY', `the ${noun} is empty`, wanted);
  return ok(text);
}
