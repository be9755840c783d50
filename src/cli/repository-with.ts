/** The repository in which a run's commit can be looked at: the enclosing one, or where the run was made. */
import { resolve } from 'node:path';
import { holdsCommit } from '../git/commit-at.ts';
import { discoverRepository } from '../git/repository.ts';
import { EXIT } from '../model/codes.ts';
import { err, ok, type Result } from '../model/result.ts';
import type { RunState } from '../store/run-state.ts';
import type { ChoosingOptions, NotChosen } from './chosen-run.ts';
import type { CliIo } from './io.ts';
import { explainRepository } from './problems.ts';

interface FoundRepository {
  readonly gitDir: string;
  readonly worktree: string;
}

/** The first that has the commit. A clone will do: what counts is the commit, not the place. */
export async function repositoryWith(
  io: CliIo,
  options: ChoosingOptions,
  run: RunState,
  commit: string,
): Promise<Result<FoundRepository, NotChosen>> {
  const places = [
    resolve(io.cwd(), options.repo ?? '.'),
    ...(options.repo === undefined && run.plan !== null ? [run.plan.repository.worktree] : []),
  ];
  const tried: string[] = [];
  for (const place of places) {
    const found = await discoverRepository(place, io.env);
    const repository = found.ok ? found.value : found.error.kind === 'unborn-head' ? found.error : null;
    if (repository === null) {
      if (!found.ok) tried.push(explainRepository(found.error).message);
    } else if (await holdsCommit(repository.gitDir, commit)) return ok(repository);
    else tried.push(`${repository.worktree} does not have it.`);
  }
  const message = `commit ${commit} of run ${run.place.runId} is in no repository that could be found. ${tried.join(' ')} Name a repository that has it with --repo.`;
  return err({ code: 'COMMIT_MISSING', message, exitCode: EXIT['invalid-config'] });
}
