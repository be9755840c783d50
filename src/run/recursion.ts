/**
 * Is this run inside a run of the same repository? (docs/adr/0007-recursion.md) The chain is carried by the worker's
 * environment as `<run-id>@<base commit>`, outermost first, separated by commas.
 */
import { MADE_BY } from '../git/bare-repository.ts';
import { tryGit } from '../git/run.ts';
import type { RepositoryFacts } from '../model/plan.ts';

const LINK = /^([A-Za-z0-9-]{1,64})@([0-9a-f]{40}|[0-9a-f]{64})$/;
/** A chain longer than this is not followed further: something is badly wrong, and the run is refused. */
const MAX_LINKS = 32;

/** A run as a chain names it. */
export const linkOf = (runId: string, base: string): string => `${runId}@${base}`;

const runIn = (link: string | undefined): string | null => LINK.exec(link ?? '')?.[1] ?? null;

/** The chain that this run's workers get. */
export const extendChain = (chain: string | undefined, runId: string, base: string): string =>
  [...(chain === undefined || chain === '' ? [] : [chain]), linkOf(runId, base)].join(',');

/**
 * One chain of what this process was given and what its ancestors were, nearest first: a worker's own shell may have lost
 * it on the way. Outermost first, each link once.
 */
export const joinChains = (own: string | undefined, ofAncestors: readonly string[]): string =>
  [...new Set([own ?? '', ...ofAncestors].reverse().flatMap((chain) => chain.split(',')))]
    .filter((link) => link !== '')
    .join(',');

/**
 * The run id of the chain that works on this repository, or of the run that made it; null for neither. A chain that
 * cannot be read names nothing.
 */
export async function runAround(chain: string | undefined, facts: RepositoryFacts): Promise<string | null> {
  const own = await tryGit({ gitDir: facts.commonDir, args: ['config', '--local', '--get', MADE_BY] });
  const links = [...(chain ?? '').split(','), ...(own.code === 0 ? [own.stdout.toString('utf8').trim()] : [])];
  if (links.length > MAX_LINKS) return runIn(links[0]) ?? 'unknown';
  for (const link of links) {
    const [, runId, base] = LINK.exec(link) ?? [];
    if (runId === undefined || base === undefined || base.length !== facts.head.length) continue;
    const found = await tryGit({ gitDir: facts.commonDir, args: ['cat-file', '-e', `${base}^{commit}`] });
    if (found.code === 0) return runId;
  }
  return null;
}
