/**
 * The repository's limit of runs at a time (`max_parallel`), between processes: as many locks as the limit, and a run
 * holds one. A lock does not outlive its process, so a killed run makes room at once.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileProblem } from '../store/durable-file.ts';
import { acquireLock, type Lock } from '../store/lock.ts';
import { makePrivateFolder } from '../store/private-folder.ts';

/** Between two looks; a run lasts minutes. */
const LOOK_MS = 250;
/** A run of another container or host is believed for longer than any run lasts. */
const OLDEST_UNKNOWN_MS = 26 * 3_600_000;

export interface SlotRequest {
  /** The git directory that all worktrees share. */
  readonly commonDir: string;
  readonly limit: number;
  readonly stop: AbortSignal;
  /** Told once, when there is no room. */
  readonly onWait: () => void;
}

/**
 * Waits for room. Null where none is needed or to be had: the run is being stopped, or the git directory cannot be
 * written (then no run can publish anything there either, and says so in its own way).
 */
export async function takeSlot({ commonDir, limit, stop, onWait }: SlotRequest): Promise<Lock | null> {
  const folder = join(commonDir, 'agent-exec', 'slots');
  for (const part of [join(commonDir, 'agent-exec'), folder]) if (!(await made(part))) return null;
  for (let waited = false; !stop.aborted; ) {
    for (let slot = 1; slot <= limit; slot++) {
      const lock = await acquireLock(join(folder, String(slot)), { waitMs: 0, oldestUnknownMs: OLDEST_UNKNOWN_MS });
      if (lock.ok) return lock.value;
      if (lock.error.code !== 'ELOCKED') return null;
    }
    if (!waited) onWait();
    waited = true;
    try {
      await pause(LOOK_MS, undefined, { signal: stop });
    } catch (error) {
      if (!stop.aborted) throw error;
    }
  }
  return null;
}

async function made(folder: string): Promise<boolean> {
  try {
    await makePrivateFolder(folder);
    return true;
  } catch (error) {
    return fileProblem(error).code === 'EEXIST';
  }
}
