/** Which of these receipts carries a commit: as its transport, as the same change elsewhere in the history, or not at all. */
import { bothSides } from '../git/merge.ts';
import { hunksBetween, lookAtObjects } from '../git/receipt-look.ts';
import { type BaseProblem, resolveBase } from '../git/repository.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import type { Receipt } from '../model/receipt.ts';
import type { CarriedCommit } from '../model/receipt-verify.ts';
import { ok, type Result } from '../model/result.ts';
import { shownText } from '../receipt/check.ts';
import { compareChange, type Sameness } from '../receipt/same-change.ts';

/** The tree with nothing in it, which every repository has without having been given it. */
const EMPTY_TREE = {
  sha1: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  sha256: '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
} as const;
/** Files whose lines are compared; each costs two processes. */
const MAX_COMPARED = 100;
const MAX_DIFFERENCES = 20;

interface Carrying {
  readonly runId: string;
  readonly base: string;
  readonly commit: string;
}

/** The commit that carries the success of a run; null where it had none. */
function carrying({ run_id: runId, outcome, repository, attempts }: Receipt): Carrying | null {
  if (outcome !== 'success' && outcome !== 'evidence-failed') return null;
  const transport = attempts.find(({ state }) => state === 'success')?.transport ?? null;
  return transport === null ? null : { runId, base: repository.base, commit: transport.commit };
}

/** `receipts`: those that were found valid. Throws GitError where git cannot answer. */
export async function carriedCommit(
  facts: RepositoryFacts,
  rev: string,
  receipts: readonly Receipt[],
): Promise<Result<CarriedCommit, BaseProblem>> {
  const resolved = await resolveBase(facts, rev);
  if (!resolved.ok) return resolved;
  const commit = resolved.value.base;
  const answer = (
    carries: CarriedCommit['carries'],
    runId: string | null,
    message: string,
    differences: readonly string[] = [],
  ) => ok({ rev, commit, carries, run_id: runId, message: shownText(message), differences: bounded(differences) });

  const all = receipts.map(carrying).filter((one) => one !== null);
  if (all.length === 0) return answer('differs', null, 'no valid receipt carries a commit');
  const own = all.find((one) => one.commit === commit);
  if (own !== undefined) return answer('transport', own.runId, `it is the transport of run ${own.runId}`);

  const object = (await lookAtObjects(facts.gitDir, [commit])).get(commit);
  const parents = object?.kind === 'commit' ? object.parents : [];
  const at = { gitDir: facts.gitDir };
  const found = await bothSides(at, parents[0] ?? EMPTY_TREE[facts.objectFormat], commit);
  const against = parents.length > 1 ? ' (a merge, compared with its first parent)' : '';
  let nearest: { readonly one: Carrying; readonly differences: readonly string[] } | null = null;
  let patch: Carrying | null = null;
  for (const one of all) {
    const sameness = compareChange(await bothSides(at, one.base, one.commit), found);
    if (sameness.kind === 'same')
      return answer('same-change', one.runId, `it makes exactly the change of run ${one.runId}${against}`);
    const differences = await lineDifferences(facts.gitDir, sameness);
    if (differences.length === 0) patch ??= one;
    else if (nearest === null || differences.length < nearest.differences.length) nearest = { one, differences };
  }
  if (patch !== null) {
    const words = `it makes the same patch as run ${patch.runId}, in another context: the same lines, in files in which something else is different`;
    return answer('same-patch', patch.runId, `${words}${against}`);
  }
  const whose = nearest === null ? '' : `; the change of run ${nearest.one.runId} comes nearest`;
  return answer(
    'differs',
    null,
    `it makes none of the changes that these receipts carry${against}${whose}`,
    nearest?.differences,
  );
}

/** What is different but the place; empty where only the lines around the change are. */
async function lineDifferences(
  gitDir: string,
  sameness: Exclude<Sameness, { kind: 'same' }>,
): Promise<readonly string[]> {
  if (sameness.kind === 'differs') return sameness.differences;
  const { pairs } = sameness;
  if (pairs.length > MAX_COMPARED)
    return [`${pairs.length} files have another content, too many to compare their lines`];
  const differences: string[] = [];
  for (const { path, wanted, found } of pairs) {
    const [should, does] = await Promise.all([
      hunksBetween(gitDir, wanted.from, wanted.to),
      hunksBetween(gitDir, found.from, found.to),
    ]);
    if (should === null || should !== does) differences.push(`${path} gets another content`);
  }
  return differences;
}

function bounded(differences: readonly string[]): string[] {
  const shown = differences.slice(0, MAX_DIFFERENCES).map(shownText);
  const more = differences.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more`] : shown;
}
