/**
 * Reads a log that may still grow, piece by piece and never twice: from its beginning or its last lines, up to what is
 * there by now. Never follows a link and never waits for a pipe.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

const PIECE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

export interface LogReader {
  /** The pieces that were not read yet; each is only valid until the next is asked for. */
  pieces(): AsyncGenerator<Buffer>;
  /** At most so many bytes that lie right before what is read first. */
  before(bytes: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** `lastLines`: null for all of it. Rejects with the system's error; what is no file is `ENOTFILE`. */
export async function openLogReader(path: string, lastLines: number | null): Promise<LogReader> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw Object.assign(new Error('not an ordinary file'), { code: 'ENOTFILE', syscall: 'open' });
    const start = lastLines === null ? 0 : await startOfLines(file, facts.size, lastLines);
    return readerOf(file, start);
  } catch (error) {
    await file.close();
    throw error;
  }
}

function readerOf(file: FileHandle, start: number): LogReader {
  let at = start;
  return {
    async *pieces() {
      const buffer = Buffer.allocUnsafe(PIECE_BYTES);
      for (let left = (await file.stat()).size - at; left > 0; ) {
        const { bytesRead } = await file.read(buffer, 0, Math.min(left, buffer.length), at);
        if (bytesRead === 0) return;
        at += bytesRead;
        left -= bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    },
    async before(bytes) {
      const wanted = Math.min(bytes, start);
      const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted), 0, wanted, start - wanted);
      return buffer.subarray(0, bytesRead);
    },
    close: () => file.close(),
  };
}

/** Where the last `lines` lines begin; the end of the file for none. A last line need not end in a newline. */
async function startOfLines(file: FileHandle, size: number, lines: number): Promise<number> {
  if (lines === 0) return size;
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  let left = lines;
  for (let end = size; end > 0; ) {
    const wanted = Math.min(buffer.length, end);
    const { bytesRead } = await file.read(buffer, 0, wanted, end - wanted);
    if (bytesRead < wanted) return 0;
    for (let at = buffer.lastIndexOf(NEWLINE, wanted - 1); at >= 0; ) {
      const place = end - wanted + at;
      // The newline at the very end ends a line and begins none.
      if (place !== size - 1 && --left === 0) return place + 1;
      at = at === 0 ? -1 : buffer.lastIndexOf(NEWLINE, at - 1);
    }
    end -= wanted;
  }
  return 0;
}
