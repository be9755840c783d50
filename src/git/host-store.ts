/**
 * A bare repository that only the host knows: commits are built and foreign objects are examined here. Its configuration
 * is its own, it has no hooks, no remotes and no refs of anybody, filters and conversions are off, and it borrows the
 * canonical objects, so that nothing reaches the canonical repository before it is published on purpose
 * (docs/adr/0001-private-repository-and-host-store.md).
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RepositoryFacts } from '../model/plan.ts';
import { writeBareRepository } from './bare-repository.ts';

export interface HostStore {
  readonly gitDir: string;
}

/** Makes the store at `dir`, which must not exist or be empty. */
export async function createHostStore(dir: string, facts: RepositoryFacts): Promise<HostStore> {
  return createStore(dir, facts, [facts.objectsDir]);
}

/** A store that borrows from several object folders. The first one that has an object answers for it. */
export async function createStore(
  dir: string,
  facts: RepositoryFacts,
  objectFolders: readonly string[],
): Promise<HostStore> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  writeBareRepository(dir, {
    objectFormat: facts.objectFormat,
    alternates: objectFolders,
    // A shallow clone lacks the parents of its oldest commits; without this list a walk would call that damage.
    ...(facts.shallow && { shallow: await readFile(join(facts.commonDir, 'shallow')) }),
  });
  return { gitDir: dir };
}
