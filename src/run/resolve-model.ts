/**
 * Family and effort -> one slug, by the CLI's own list (SPEC 5). None or several matches is an answer, never a guess,
 * and no provider is asked for anything but that list.
 */
import { join } from 'node:path';
import { workerEnvironment } from '../adapters/environment.ts';
import { slugsFor } from '../adapters/model-list.ts';
import type { Candidate, Unavailable } from '../model/adapter.ts';
import { err, ok, type Result } from '../model/result.ts';
import { runBounded } from '../process/bounded-command.ts';
import type { Executable } from '../process/executable.ts';
import type { Run } from './surroundings.ts';

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1024 * 1024;

const unresolved = (message: string): Result<never, Unavailable> => err({ code: 'UNRESOLVED_MODEL_SLUG', message });

/** The slug to pass; null where no model flag is passed (`model: auto`). */
export async function resolveModel(
  candidate: Candidate,
  executable: Executable,
  run: Run,
): Promise<Result<string | null, Unavailable>> {
  const { model, adapter } = candidate;
  if (typeof model === 'string') return ok(model === 'auto' ? null : model);
  if (adapter.models === null) return unresolved(`${adapter.name} cannot list its models. Name a fixed model instead.`);
  const { environment } = workerEnvironment({
    hostEnv: run.around.hostEnv,
    adapter,
    cost: candidate.cost,
    invocationEnvironment: {},
    chain: run.chain,
    attempt: `${run.plan.runId}/${candidate.attemptId}`,
    tmpDir: run.directory,
  });
  for (const { args } of adapter.models.commands) {
    const end = await runBounded({
      file: executable.path,
      args,
      cwd: join(run.directory),
      env: environment,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      signal: run.around.stop,
    });
    const models = end.kind === 'exited' ? adapter.models.parse(end.output) : null;
    if (models === null) continue;
    const slugs = slugsFor(models, model.family, model.effort);
    const [only] = slugs;
    if (only !== undefined && slugs.length === 1) return ok(only);
    const found = slugs.length === 0 ? 'none' : slugs.join(', ');
    return unresolved(
      `Of ${models.length} models of ${adapter.name}, ${found} fit family ${model.family} with effort ${model.effort}. See its list and name one that fits alone.`,
    );
  }
  return unresolved(`${adapter.name} gave no list of its models. Log in, or name a fixed model.`);
}
