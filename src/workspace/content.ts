/** Contents of workspace entries as a commit needs them: a file's bytes, a symlink's target; never through a link. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import type { ReadContent } from '../git/fast-import.ts';
import { onDisk } from './walk.ts';
import type { Workspace } from './workspace.ts';

const CHUNK_BYTES = 256 * 1024;

/** Nothing may run in the workspace any more. Reading rejects with the system's error. */
export function contentReader(workspace: Workspace): ReadContent {
  return async function* (path) {
    const place = onDisk(workspace.path, path);
    if (lstatSync(place).isSymbolicLink()) {
      yield readlinkSync(place, { encoding: 'buffer' });
      return;
    }
    // Synchronous: most files are small, and a hundred thousand of them would be half a million turns of the thread pool.
    const file = openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      // One byte more than it holds: a short read shows its end. Large buffers for small files cost a collection each.
      const length = Math.min(CHUNK_BYTES, fstatSync(file).size + 1);
      for (;;) {
        // A buffer of its own for each chunk: the consumer gathers several before it writes.
        const chunk = Buffer.allocUnsafe(length);
        const count = readSync(file, chunk, 0, length, null);
        if (count > 0) yield chunk.subarray(0, count);
        if (count < length) return;
      }
    } finally {
      closeSync(file);
    }
  };
}
