/**
 * The repository that a probe is called from. It need not have a commit, and where a configuration is named there need
 * not be one at all.
 */
import { resolve } from 'node:path';
import { type Location, repositoryFolders } from '../git/configured-files.ts';
import { discoverRepository } from '../git/repository.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import { fileFinding } from '../run/config-file.ts';
import type { CliIo } from './io.ts';
import { explainRepository } from './problems.ts';

export interface CallingRepository extends Location {
  /** Null where there is no commit yet. */
  readonly facts: RepositoryFacts | null;
}

/** Null where a configuration is named and there is no repository: nothing of one is then needed. */
export async function findCallingRepository(
  io: CliIo,
  options: { readonly repo?: string; readonly config?: string },
): Promise<Result<CallingRepository | null, Diagnostic[]>> {
  const found = await discoverRepository(resolve(io.cwd(), options.repo ?? '.'), io.env);
  if (found.ok) return ok({ ...found.value, facts: found.value });
  if (found.error.kind === 'unborn-head') return ok({ ...found.error, facts: null });
  if (options.config !== undefined && options.repo === undefined) return ok(null);
  const { code, message } = explainRepository(found.error);
  return err([fileFinding(options.repo ?? '.', code, message, null)]);
}

export const gitFoldersOf = (repository: CallingRepository | null): string[] =>
  repository === null ? [] : [...new Set([repository.gitDir, repository.commonDir, repository.objectsDir])];

/** Everything of it that is neither a place for our state nor for a worker to write to. */
export const foldersOf = (repository: CallingRepository | null): string[] =>
  repository === null ? [] : repositoryFolders(repository);
