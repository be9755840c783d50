/** Appends to files of lines so that a reader never sees half a line of ours, however short a single write falls. */
import type { FileHandle } from 'node:fs/promises';

/**
 * Writes all of `bytes` at the end of a file opened with O_APPEND, and makes them durable. A failure takes back what was
 * written of it, so the next append starts at a whole line. The caller sees to it that nobody else appends meanwhile.
 */
export async function appendDurably(file: FileHandle, bytes: Uint8Array): Promise<void> {
  const { size } = await file.stat();
  try {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done);
      done += bytesWritten;
    }
    await file.sync();
  } catch (error) {
    await takeBack(file, size);
    throw error;
  }
}

async function takeBack(file: FileHandle, size: number): Promise<void> {
  try {
    await file.truncate(size);
  } catch {
    // The failed write is what the caller hears of. A line that stays torn is legal to read and healed by the next append.
  }
}

/** True where the last line of a file has no newline: its writer died. */
export async function endsTorn(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  await file.read(last, 0, 1, size - 1);
  return last[0] !== 0x0a;
}
