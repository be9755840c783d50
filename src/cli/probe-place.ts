/** Where `probe` works and remembers: the state root that a run would have, or a folder for the moment. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type CallingRepository, foldersOf } from './calling-repository.ts';
import type { CliIo } from './io.ts';
import { explainStateRoot } from './problems.ts';
import { stateRootFor } from './surroundings.ts';

interface ProbePlace {
  readonly scratchParent: string;
  /** Null where nothing is remembered. */
  readonly cacheFile: string | null;
  readonly notes: readonly string[];
  close(): Promise<void>;
}

/** Where a run would refuse the state root, a note says so. */
export async function openProbePlace(
  io: CliIo,
  repository: CallingRepository | null,
  stateDir: string | undefined,
): Promise<ProbePlace> {
  const root = await stateRootFor(io, stateDir, foldersOf(repository));
  if (root.ok) {
    const cacheFile = join(root.value, 'probe-cache.json');
    return { scratchParent: root.value, cacheFile, notes: [], close: async () => {} };
  }
  const scratchParent = await mkdtemp('/tmp/agent-exec-probe-');
  return {
    scratchParent,
    cacheFile: null,
    notes: [`A run would be refused: ${explainStateRoot(root.error).message}`],
    close: () => rm(scratchParent, { recursive: true, force: true }),
  };
}
