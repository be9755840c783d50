/** Contents of workspace entries as a commit needs them: a file's bytes, a symlink's target; never through a link. */
import { constants, lstatSync, readlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
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
    const file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      for (;;) {
        // A buffer of its own for each chunk: the consumer gathers several before it writes.
        const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
        const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, null);
        if (bytesRead === 0) return;
        yield chunk.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  };
}
