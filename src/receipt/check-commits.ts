/** What a receipt says of commits and changes, against what the repository has. */
import type { Change } from '../model/evidence.ts';
import type { RepoPath } from '../model/path.ts';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import type { ReceiptCheck } from '../model/receipt-verify.ts';
import { lookKey, type NamedCommitLook, type RepositoryLook } from '../model/repository-look.ts';
import { judged, notApplicable, notChecked } from './check.ts';
import { commitsOf } from './check-shape.ts';
import { displayOf, isRedacted, mayBe, pathOf } from './recorded-path.ts';

type RecordedChange = AttemptRecord['changes'][number];
type Named = ReturnType<typeof commitsOf>[number];

/** As agent-exec signs every commit that it makes. */
const OWN_IDENTITY = 'agent-exec <agent-exec@localhost>';

const FETCH = (space: string): string => `fetch it with: git fetch <remote> '${space}*:${space}*'`;
const DEEPEN = 'in a shallow clone, fetch more of the history (fetch-depth: 0)';

/** The base commit is in the repository, with the tree that the receipt says. */
export function checkBase({ repository }: Receipt, look: RepositoryLook): ReceiptCheck {
  const { base, tree, object_format: format } = repository;
  const problems: string[] = [];
  if (format !== look.objectFormat)
    problems.push(`object_format is ${format}, and this repository is ${look.objectFormat}`);
  if (look.base.kind === 'missing') problems.push(`this repository does not have the base ${base}; ${DEEPEN}`);
  else if (look.base.kind === 'another-kind') problems.push(`the base ${base} is no commit`);
  else if (look.base.tree !== tree) problems.push(`the tree of the base is ${look.base.tree}, not ${tree}`);
  return judged('base', problems, `${base} is here, with its tree`);
}

/** Every in_scope flag is what `allowed_paths` say at base, and they could be asked for. `illegal`: what of them could not. */
export function checkScope(receipt: Receipt, look: RepositoryLook, illegal: readonly string[]): ReceiptCheck {
  const { allows } = look;
  if (illegal.length > 0) return judged('scope', illegal, '');
  if (allows === null) return notChecked('scope', 'without the base nobody can say what allowed_paths allow');
  const problems: string[] = [];
  let count = 0;
  for (const { attempt_id: id, changes } of receipt.attempts) {
    for (const { path, in_scope: inScope } of changes) {
      const real = pathOf(path);
      if (real === null || isRedacted(path)) continue;
      count++;
      if (allows(real) !== inScope)
        problems.push(
          `${id}: ${displayOf(path)} is ${inScope ? 'not ' : ''}in allowed_paths, and in_scope is ${inScope}`,
        );
    }
  }
  return judged(
    'scope',
    problems,
    `${receipt.unit.allowed_paths.length} allowed paths; in_scope is right for ${count} changes`,
  );
}

/** A commit that agent-exec made: the object, its parent and tree, who made it, and the ref. */
function commitProblems({ what, commit, ref }: Named, base: string, look: NamedCommitLook): string[] {
  const { object, refHolds, containedIn } = look;
  const space = what === 'transport' ? 'refs/agent-exec/' : 'refs/agent-exec-quarantine/';
  if (object.kind === 'missing') return [`this repository does not have ${commit.commit}; ${FETCH(space)}`];
  if (object.kind === 'another-kind') return [`${commit.commit} is no commit`];
  const problems: string[] = [];
  const [first, ...others] = object.parents;
  // A quarantine has the commits that a worker made as further parents.
  if (first !== base || (what === 'transport' && others.length > 0))
    problems.push(
      `its parents are ${object.parents.join(', ') || 'none'}, not the base ${what === 'transport' ? 'alone' : 'first'}`,
    );
  if (object.tree !== commit.tree) problems.push(`its tree is ${object.tree}, not ${commit.tree}`);
  for (const role of ['author', 'committer'] as const)
    if (object[role] !== OWN_IDENTITY) problems.push(`its ${role} is ${object[role]}, not ${OWN_IDENTITY}`);
  if (refHolds !== null && refHolds !== commit.commit) problems.push(`${ref} holds ${refHolds}, not ${commit.commit}`);
  if (refHolds === null && containedIn === null)
    problems.push(`there is no ref ${ref}, and no branch or tag has the commit; ${FETCH(space)}`);
  return problems;
}

interface Looked extends Named {
  readonly attempt: AttemptRecord;
  readonly look: NamedCommitLook;
}

function named(receipt: Receipt, look: RepositoryLook, what: Named['what']): Looked[] {
  return receipt.attempts.flatMap((attempt) =>
    commitsOf(receipt, attempt).flatMap((one) => {
      const seen = one.what === what ? look.commits.get(lookKey(one.ref, one.commit.commit)) : undefined;
      return seen === undefined ? [] : [{ ...one, attempt, look: seen }];
    }),
  );
}

const prefixed = ({ attempt }: Looked, problems: readonly string[]): string[] =>
  problems.map((problem) => `${attempt.attempt_id}: ${problem}`);

/** The commit that carries a success. */
export function checkTransport(receipt: Receipt, look: RepositoryLook): ReceiptCheck {
  const all = named(receipt, look, 'transport');
  const [first] = all;
  if (first === undefined) return notApplicable('transport', 'no commit carries a change');
  const problems = all.flatMap((one) => prefixed(one, commitProblems(one, receipt.repository.base, one.look)));
  const where = first.look.refHolds === null ? `in ${first.look.containedIn}, its own ref is gone` : `at ${first.ref}`;
  return judged('transport', problems, `${first.commit.commit} is ${where}, on base alone, made by agent-exec`);
}

/** What that commit changes is what the receipt lists, and all of it is in scope. */
export function checkTransportChanges(receipt: Receipt, look: RepositoryLook): ReceiptCheck {
  const all = named(receipt, look, 'transport');
  const [first] = all;
  if (first === undefined) return notApplicable('transport-changes', 'no commit carries a change');
  const problems: string[] = [];
  for (const one of all) {
    const { changes } = one.look;
    if (changes === null) return notChecked('transport-changes', 'the transport is not there, or not on base');
    const { attempt } = one;
    const differences = compareChanges(attempt.changes, changes, attempt.changes_truncated);
    if (changes.length !== attempt.change_count)
      differences.unshift(`change_count is ${attempt.change_count}, and the commit changes ${changes.length} paths`);
    const outside = look.allows === null ? [] : changes.filter(({ path }) => look.allows?.(path) === false);
    differences.push(...outside.map(({ path }) => `the commit changes ${path}, which is not in allowed_paths`));
    problems.push(...prefixed(one, differences));
  }
  const count = first.look.changes?.length ?? 0;
  return judged(
    'transport-changes',
    problems,
    `it changes exactly the ${count === 1 ? 'path' : `${count} paths`} listed, all in scope`,
  );
}

/** Work that is in commits of the run and of which the receipt is silent; where things went wrong, that may happen. */
const untoldProblems = ({ outcome }: Receipt, { untold }: RepositoryLook): string[] =>
  outcome === 'blocked' ? [] : untold.map((ref) => `the run has ${ref}, and the receipt does not say so`);

/** Commits that keep what else was left: they are there, and hold the changes that the receipt lists. */
export function checkQuarantine(receipt: Receipt, look: RepositoryLook): ReceiptCheck {
  const all = named(receipt, look, 'quarantine');
  const hidden = untoldProblems(receipt, look);
  if (all.length === 0 && hidden.length === 0) return notApplicable('quarantine', 'nothing was put into quarantine');
  const problems = all.flatMap((one) => {
    const found = commitProblems(one, receipt.repository.base, one.look);
    const { changes } = one.look;
    // Beside a transport it has only what was ignored.
    if (changes !== null && one.attempt.transport === null)
      found.push(...compareChanges(one.attempt.changes, changes, true));
    return prefixed(one, found);
  });
  return judged(
    'quarantine',
    [...hidden, ...problems],
    `${all.length === 1 ? 'its commit is' : `its ${all.length} commits are`} here, with the changes listed`,
  );
}

const sides = ({ status, mode, oid, size }: RecordedChange | Change): string =>
  status === 'D' ? 'D' : `${status} ${mode} ${oid} ${size} bytes`;

/** How a list in a receipt differs from a commit; `partial`: the commit may change more than is listed. */
function compareChanges(recorded: readonly RecordedChange[], actual: readonly Change[], partial: boolean): string[] {
  const left = new Map<RepoPath, Change>(actual.map((change) => [change.path, change]));
  const problems: string[] = [];
  const patterns: RecordedChange[] = [];
  for (const change of recorded) {
    const path = pathOf(change.path);
    const found = path === null ? undefined : left.get(path);
    if (path === null || found === undefined) {
      if (isRedacted(change.path)) patterns.push(change);
      else problems.push(`${displayOf(change.path)} is listed, and the commit does not change it`);
      continue;
    }
    left.delete(path);
    if (sides(change) !== sides(found))
      problems.push(`${displayOf(change.path)} is listed as ${sides(change)}, and is ${sides(found)}`);
  }
  for (const change of patterns) {
    const found = [...left.values()].find((one) => sides(one) === sides(change) && mayBe(change.path, one.path));
    if (found === undefined) problems.push(`${displayOf(change.path)} is listed, and the commit does not change it`);
    else left.delete(found.path);
  }
  if (!partial) problems.push(...[...left.keys()].map((path) => `the commit changes ${path}, which is not listed`));
  return problems;
}
