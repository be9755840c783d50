/**
 * Keeps a stream of any volume in a private file of bounded size: the first half of the allowance as it came, and of the
 * rest the newest bytes. Everything is counted and hashed, kept or not. Memory is constant: the newest bytes go round in
 * a second file until the end, when they are put behind the first ones.
 *
 * A disk that refuses to take more stops the keeping, never the reading: the worker must not hang on a full disk.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import type { Stream } from '../model/adapter.ts';
import type { Log } from '../model/observation.ts';
import { errorCode } from './start-error.ts';

export interface LogCapture {
  write(chunk: Buffer): void;
  /** The first bytes of the stream, at most {@link HEAD_BYTES}: what a launcher complains with. */
  head(): Buffer;
  /** The last bytes of the stream, at most {@link LAST_BYTES}. */
  last(): Buffer;
  /** Puts the file into its final form. Called once. */
  finish(): FinishedLog;
}

export interface FinishedLog {
  readonly log: Log;
  /** The first error of writing, such as ENOSPC; the log is incomplete then. */
  readonly error: string | null;
}

/** Room for the line that says how much is missing. */
const MARKER_ROOM = 96;
const HEAD_BYTES = 4096;
const LAST_BYTES = 256;
const COPY_BYTES = 1024 * 1024;

function writeFully(file: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
  }
}

/** The newest `capacity` bytes of what is written, in a file of that size. */
interface Ring {
  write(chunk: Buffer): void;
  /** Gives the kept bytes, oldest first, and removes the file. */
  drain(take: (bytes: Buffer) => void): void;
}

function openRing(path: string, capacity: number): Ring {
  const file = openSync(path, 'wx+', 0o600);
  let total = 0;
  return {
    write(chunk) {
      // Of a chunk larger than the ring only its end can stay.
      const skipped = Math.max(0, chunk.length - capacity);
      let rest = chunk.subarray(skipped);
      total += skipped;
      while (rest.length > 0) {
        const at = total % capacity;
        const piece = rest.subarray(0, capacity - at);
        writeFully(file, piece, at);
        total += piece.length;
        rest = rest.subarray(piece.length);
      }
    },
    drain(take) {
      try {
        const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, capacity));
        let left = Math.min(total, capacity);
        for (let at = (total - left) % capacity; left > 0; ) {
          const wanted = Math.min(buffer.length, left, capacity - at);
          const got = readSync(file, buffer, 0, wanted, at);
          if (got === 0) throw new Error('the kept output got shorter');
          take(buffer.subarray(0, got));
          left -= got;
          at = (at + got) % capacity;
        }
      } finally {
        closeSync(file);
        unlinkSync(path);
      }
    },
  };
}

/** Opens a log. Throws where its file exists or cannot be made. `limitBytes` bounds the file, the marker line included. */
export function openLog(stream: Stream, path: string, limitBytes: number): LogCapture {
  const file = openSync(path, 'wx', 0o600);
  const hash = createHash('sha256');
  const firstRoom = Math.floor((limitBytes - MARKER_ROOM) / 2);
  const tailRoom = limitBytes - MARKER_ROOM - firstRoom;
  const head = Buffer.alloc(HEAD_BYTES);
  let last = Buffer.alloc(0);
  let seen = 0;
  let written = 0;
  let kept = 0;
  let ring: Ring | null = null;
  let error: string | null = null;

  function append(bytes: Buffer): void {
    writeFully(file, bytes, written);
    written += bytes.length;
  }
  function attempt(work: () => void): void {
    if (error !== null) return;
    try {
      work();
    } catch (thrown) {
      error = errorCode(thrown);
    }
  }

  return {
    write(chunk) {
      if (seen < HEAD_BYTES) chunk.copy(head, seen);
      last = Buffer.concat([last, chunk.subarray(-LAST_BYTES)]).subarray(-LAST_BYTES);
      const first = chunk.subarray(0, Math.max(0, firstRoom - seen));
      seen += chunk.length;
      hash.update(chunk);
      attempt(() => {
        if (first.length > 0) {
          append(first);
          kept += first.length;
        }
        if (first.length < chunk.length) {
          ring ??= openRing(`${path}.tail`, tailRoom);
          ring.write(chunk.subarray(first.length));
        }
      });
    },
    head: () => head.subarray(0, Math.min(seen, HEAD_BYTES)),
    last: () => last,
    finish() {
      const tail = ring;
      // Also after an error: whatever the ring holds is worth trying to keep, and its file must go.
      if (tail !== null) {
        try {
          const dropped = Math.max(0, seen - firstRoom - tailRoom);
          if (dropped > 0) append(Buffer.from(`\n[agent-exec: ${dropped} bytes of output are not kept here]\n`));
          tail.drain((bytes) => {
            append(bytes);
            kept += bytes.length;
          });
        } catch (thrown) {
          error ??= errorCode(thrown);
        }
      }
      try {
        closeSync(file);
      } catch (thrown) {
        error ??= errorCode(thrown);
      }
      const sha256 = `sha256:${hash.digest('hex')}`;
      return { log: { stream, path, bytes_seen: seen, bytes_kept: kept, sha256 }, error };
    },
  };
}
