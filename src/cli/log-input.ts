/**
 * The bytes of a log, piece by piece: of a regular file those it had when it was opened, so that one which still grows
 * comes to its end; of anything else (a pipe, standard input) all until its end.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { err, ok, type Result } from '../model/result.ts';

/** A piece is only valid until the next one is asked for. */
export type LogPieces = Iterable<Buffer> | AsyncIterable<Buffer>;

const PIECE_BYTES = 64 * 1024;
const STDIN = 0;

/** Opens a log, or says why not by the name of an errno. Waits for a named pipe's writer. */
export function openLogFile(path: string): Result<LogPieces, string> {
  try {
    const file = openSync(path, 'r');
    const facts = fstatSync(file);
    if (!facts.isDirectory()) return ok(piecesOf(file, facts.isFile() ? facts.size : Number.POSITIVE_INFINITY));
    closeSync(file);
    return err('EISDIR');
  } catch (error) {
    return err(errnoOf(error));
  }
}

function* piecesOf(file: number, limit: number): Generator<Buffer> {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  try {
    for (let left = limit; left > 0; ) {
      const got = readSync(file, buffer, 0, Math.min(left, buffer.length), null);
      if (got === 0) return;
      left -= got;
      yield buffer.subarray(0, got);
    }
  } finally {
    closeSync(file);
  }
}

/** Standard input, in the same way. */
export function openStandardInput(): Result<LogPieces, string> {
  const facts = fstatSync(STDIN);
  if (facts.isDirectory()) return err('EISDIR');
  return ok(upTo(facts.isFile() ? facts.size : Number.POSITIVE_INFINITY, process.stdin as AsyncIterable<Buffer>));
}

async function* upTo(limit: number, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = limit;
  for await (const piece of pieces) {
    yield piece.subarray(0, left);
    left -= piece.length;
    if (left <= 0) return;
  }
}

/** The errno's name of a failed system call; anything else is a bug and is thrown on. */
export function errnoOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  throw error;
}
