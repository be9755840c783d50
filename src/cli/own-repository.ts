/**
 * Which repository's runs are meant by a command that looks back: the enclosing one's, so that `last` is never another
 * project's run. Looking back needs no repository: outside of one, or without git, every run is meant.
 */
import { resolve } from 'node:path';
import { discoverRepository } from '../git/repository.ts';
import { err, ok, type Result } from '../model/result.ts';
import type { RunState } from '../store/run-state.ts';
import type { CliIo } from './io.ts';
import { type Explained, explainRepository } from './problems.ts';

/** Where runs of one repository can be told from others by. */
export interface OwnRepository {
  readonly worktree: string;
  /** The git directory that all worktrees of the repository share. */
  readonly commonDir: string;
}

/** The repository of `--repo`, or the enclosing one; null where there is none. A `--repo` that is none is an error, exit 3. */
export async function ownRepository(
  io: CliIo,
  repo: string | undefined,
): Promise<Result<OwnRepository | null, Explained>> {
  const found = await discoverRepository(resolve(io.cwd(), repo ?? '.'), io.env);
  if (found.ok) return ok(found.value);
  if (found.error.kind === 'unborn-head') return ok(found.error);
  return repo === undefined ? ok(null) : err(explainRepository(found.error));
}

/** `unknown`: its plan cannot be read, so nobody can say. */
export function whoseRun(run: RunState, own: OwnRepository): 'own' | 'other' | 'unknown' {
  if (run.plan === null) return 'unknown';
  return run.plan.repository.commonDir === own.commonDir ? 'own' : 'other';
}
