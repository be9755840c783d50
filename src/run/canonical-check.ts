/** The canonical repository before and after an attempt (SPEC 6.8), and what of a difference the worker could have made. */
import {
  type CanonicalLook,
  compareLooks,
  differsOutside,
  type LookOptions,
  lookAtCanonical,
} from '../git/canonical.ts';
import { replacedGit } from '../git/run.ts';
import type { CanonicalComparison, Evidence } from '../model/evidence.ts';
import type { Isolation } from '../model/observation.ts';
import type { Run } from './surroundings.ts';
import { protectedPlaces } from './worker.ts';

function optionsFor({ excludesFile, otherWorktrees, around }: Run, level: Isolation['level']): LookOptions {
  const reach = level === 'none' ? { writable: { otherWorktrees } } : { readOnly: true };
  return { excludesFile, hostEnv: around.hostEnv, ...reach };
}

export const lookBefore = (run: Run, level: Isolation['level']): Promise<CanonicalLook> =>
  lookAtCanonical(run.plan.repository, optionsFor(run, level));

/** Throws where git was replaced meanwhile: nothing more is asked of it, and {@link distrustedGit} is what is known. */
export async function compareSince(
  run: Run,
  level: Isolation['level'],
  before: CanonicalLook,
): Promise<CanonicalComparison> {
  if (replacedGit() !== null) throw new Error('git was replaced');
  const after = await lookAtCanonical(run.plan.repository, { ...optionsFor(run, level), since: before });
  return {
    differences: compareLooks(before, after),
    workerCouldWrite: workerCouldWrite(level, protectedPlaces(run), before, after),
  };
}

/** Whether a worker under `level` could have made what differs, where `folders` were read-only for it but under `none`. */
export const workerCouldWrite = (
  level: Isolation['level'],
  folders: readonly string[],
  before: CanonicalLook,
  after: CanonicalLook,
): boolean => level === 'none' || (level === 'guard' && differsOutside(folders, before, after));

/** What is left to say where a worker may have put something in the place of the host's git, `file`: what it did stays. */
export function distrustedGit(
  file: string,
  { preservation, canonical }: Evidence,
): Pick<Evidence, 'canonical' | 'preservation'> & { readonly problem: string } {
  const problem = `the program ${file} was replaced during the attempt, so git was not run any more`;
  const { transport, quarantine } = preservation.kind === 'kept' ? preservation : { transport: null, quarantine: null };
  const difference = { what: 'config', path: file, detail: 'the git program was replaced' } as const;
  return {
    canonical: { differences: [difference, ...canonical.differences], workerCouldWrite: true },
    preservation: { kind: 'failed', message: problem, transport, quarantine },
    problem,
  };
}
