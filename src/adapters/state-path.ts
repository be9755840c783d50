/** Where a CLI keeps its logins and caches, as absolute paths. */
import type { StatePath } from '../model/adapter.ts';

type HostEnvironment = Readonly<Record<string, string | undefined>>;

/** Absolute paths, without repeats; those that cannot be known (no HOME, a relative value) are left out. Nothing is looked up. */
export function statePaths(paths: readonly StatePath[], environment: HostEnvironment): string[] {
  const found = new Set<string>();
  for (const { variable, below, path } of paths) {
    const named = variable === null ? undefined : environment[variable];
    const home = environment.HOME;
    const absolute =
      named !== undefined && named !== ''
        ? below === undefined
          ? named
          : `${named.replace(/\/+$/, '')}/${below}`
        : home === undefined || home === ''
          ? ''
          : `${home.replace(/\/+$/, '')}/${path}`;
    if (absolute.startsWith('/')) found.add(absolute);
  }
  return [...found];
}
