/**
 * The folders in which a CLI keeps its logins and caches. Under `strict` only what exists can be opened for it, so those
 * that are missing are made, empty, as the CLI itself would at its first start.
 */
import { mkdir } from 'node:fs/promises';
import { statePaths } from '../adapters/state-path.ts';
import type { Adapter } from '../model/adapter.ts';
import type { Isolation } from '../model/observation.ts';

/** Absolute paths of files and folders, existing or not. */
export async function stateFolders(
  { stateFolders: wanted }: Pick<Adapter, 'stateFolders'>,
  environment: Readonly<Record<string, string>>,
  level: Isolation['level'],
): Promise<readonly string[]> {
  if (level === 'strict') {
    const folders = wanted.filter(({ isFile }) => isFile !== true);
    for (const path of statePaths(folders, environment)) {
      await mkdir(path, { recursive: true, mode: 0o700 }).catch(() => {
        // A HOME that cannot be written: the CLI says it in its own words, as it would without us.
      });
    }
  }
  return statePaths(wanted, environment);
}
