/** What a command hands to a run of what it may touch of the outside. */
import type { Progress } from '../run/progress.ts';
import type { Surroundings } from '../run/surroundings.ts';
import { openStateRoot } from '../store/state-root.ts';
import type { CliIo } from './io.ts';
import { VERSION } from './version.ts';

const uid = (): number => process.getuid?.() ?? 0;

export const surroundingsOf = (io: CliIo, stop: AbortSignal, progress: Progress): Surroundings => ({
  hostEnv: io.env,
  platform: process.platform,
  uid: uid(),
  toolVersion: VERSION,
  now: () => new Date(),
  stop,
  progress,
});

/** The one that `--state-dir` or the environment names, or the usual one. */
const wantedStateRoot = (io: CliIo, stateDir: string | undefined) => ({
  override: stateDir ?? io.env.AGENT_EXEC_STATE_DIR ?? null,
  cwd: io.cwd(),
  uid: uid(),
});

/** The state root, which must not lie in one of these folders; made where it is missing. */
export const stateRootFor = (io: CliIo, stateDir: string | undefined, repositoryFolders: readonly string[]) =>
  openStateRoot({ ...wantedStateRoot(io, stateDir), repositoryFolders });

/** As {@link stateRootFor}, for whoever only looks: nothing is made, and a place that is not there is `missing`. */
export const existingStateRoot = (io: CliIo, stateDir: string | undefined) =>
  openStateRoot({ ...wantedStateRoot(io, stateDir), repositoryFolders: [], make: false });
