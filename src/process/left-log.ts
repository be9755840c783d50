/** A log whose writer died: what is on disk of it. How much there was before it was cut to size nobody knows any more. */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Stream } from '../model/adapter.ts';
import type { Log } from '../model/observation.ts';

const PIECE_BYTES = 1024 * 1024;

/** Null where there is no such file, or it cannot be read. */
export function leftLog(stream: Stream, path: string): Log | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // Nothing was printed yet, or the file went with a clean-up of others: there is no log to tell of.
    return null;
  }
  try {
    if (!fstatSync(file).isFile()) return null;
    const hash = createHash('sha256');
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let size = 0;
    for (;;) {
      const count = readSync(file, piece, 0, piece.length, null);
      if (count === 0) break;
      hash.update(piece.subarray(0, count));
      size += count;
    }
    return { stream, path, bytes_seen: size, bytes_kept: size, sha256: `sha256:${hash.digest('hex')}` };
  } finally {
    closeSync(file);
  }
}
