/** Does something in the midst of a run. */
import { watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CliOptions, World } from './world.ts';

/** Calls `act` once the worker has made the file `ready`, then makes `go`, for which it waits. */
export function midway(world: World, act: () => void): Pick<CliOptions, 'onStart'> {
  return {
    onStart: () => {
      const watcher = watch(world.folder, (_, name) => {
        if (name !== 'ready') return;
        watcher.close();
        act();
        writeFileSync(join(world.folder, 'go'), '');
      });
    },
  };
}
