/** What the fields of a receipt say about each other, whatever came of the run: changes and counts, names of refs, times. */
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import type { ReceiptCheck } from '../model/receipt-verify.ts';
import { judged, notApplicable } from './check.ts';
import { isRecovered } from './check-outcome.ts';
import { displayOf, pathOf } from './recorded-path.ts';

type Commit = NonNullable<AttemptRecord['transport']>;

/** The commits that an attempt names, and the ref where each belongs. */
export function commitsOf(
  { run_id: runId }: Pick<Receipt, 'run_id'>,
  { attempt_id: id, transport, quarantine }: AttemptRecord,
): readonly { readonly what: 'transport' | 'quarantine'; readonly commit: Commit; readonly ref: string }[] {
  return [
    ...(transport === null
      ? []
      : [{ what: 'transport' as const, commit: transport, ref: `refs/agent-exec/${runId}/${id}` }]),
    ...(quarantine === null
      ? []
      : [{ what: 'quarantine' as const, commit: quarantine, ref: `refs/agent-exec-quarantine/${runId}/${id}` }]),
  ];
}

const MODES: readonly string[] = ['100644', '100755', '120000'];

function changeProblems(attempt: AttemptRecord): string[] {
  const { attempt_id: id, changes, change_count: count, changes_truncated: truncated, state } = attempt;
  const problems: string[] = [];
  if (truncated ? count <= changes.length : count !== changes.length)
    problems.push(`${id}: change_count is ${count} with ${changes.length} changes${truncated ? ', truncated' : ''}`);
  const seen = new Set<string>();
  for (const { path, status, mode, size, oid } of changes) {
    const shown = displayOf(path);
    const real = pathOf(path);
    const wrong = (what: string): void => {
      problems.push(`${id}: ${shown} ${what}`);
    };
    if (real === null) wrong('is given as bytes that do not fit what is shown');
    else if (seen.has(real) && !shown.includes('[redacted]')) wrong('is listed twice');
    else if (!isTreePath(real)) wrong('is a path that no commit can hold');
    if (real !== null) seen.add(real);
    if (
      status === 'D' ? mode !== null || size !== null || oid !== null : mode === null || size === null || oid === null
    )
      wrong(`has status ${status} and ${status === 'D' ? 'a' : 'no'} mode, size or oid`);
    if (mode !== null && state === 'success' && !MODES.includes(mode))
      wrong(`has mode ${mode}, which no transport carries`);
  }
  return problems;
}

/** A path that a tree can hold: relative, without empty, `.`, `..` or `.git` components and without NUL. */
const isTreePath = (path: string): boolean =>
  !path.includes('\0') && path.split('/').every((part) => !/^(?:\.?\.?|\.git)$/i.test(part));

/** Lists of changes against their counts and against themselves. */
export function checkChanges({ attempts }: Receipt): ReceiptCheck {
  const count = attempts.reduce((sum, { change_count: one }) => sum + one, 0);
  const problems = attempts.flatMap(changeProblems);
  if (problems.length === 0 && count === 0) return notApplicable('changes', 'nothing was changed');
  return judged(
    'changes',
    problems,
    `the lists agree with their counts, ${count === 1 ? '1 change' : `${count} changes`} in all`,
  );
}

/** Refs are named by run and attempt, parents are base, and all names of objects are of the repository's kind. */
export function checkRefs(receipt: Receipt): ReceiptCheck {
  const { repository, attempts } = receipt;
  const length = repository.object_format === 'sha1' ? 40 : 64;
  const problems: string[] = [];
  const named = (what: string, oid: string | null): void => {
    if (oid !== null && oid.length !== length) problems.push(`${what} ${oid} is no ${repository.object_format} name`);
  };
  named('head', repository.head);
  named('base', repository.base);
  named('tree', repository.tree);
  let commits = 0;
  for (const attempt of attempts) {
    for (const { oid } of attempt.changes) named(`${attempt.attempt_id}:`, oid);
    for (const { what, commit, ref } of commitsOf(receipt, attempt)) {
      commits++;
      const whose = `${attempt.attempt_id}: the ${what}`;
      if (commit.ref !== ref) problems.push(`${whose} is at ${commit.ref}, and belongs at ${ref}`);
      if (commit.parent !== repository.base) problems.push(`${whose} has the parent ${commit.parent}, not the base`);
      for (const oid of [commit.commit, commit.tree]) named(whose, oid);
    }
  }
  return judged(
    'refs',
    problems,
    commits === 0 ? 'it names no commits of its own' : 'its commits are at the refs of this run, on its base',
  );
}

const RUN_ID = /^(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)(\d{3})z-[0-9a-f]{6}$/;
/** Between naming a run and starting it lies the reading of a repository. */
const MOST_BEFORE_START_MS = 24 * 60 * 60_000;

function idProblems({ run_id: id, started_at: startedAt }: Receipt): string[] {
  const [, year, month, day, hour, minute, second, ms] = RUN_ID.exec(id) ?? [];
  if (year === undefined) return [`${id} is no id of a run`];
  const named = `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`;
  const before = Date.parse(startedAt) - Date.parse(named);
  return before >= 0 && before <= MOST_BEFORE_START_MS
    ? []
    : [`the run's id says ${named}, and it was started at ${startedAt}`];
}

/** The run's id, and the order of all times: run, attempts one after the other, run. */
export function checkTimes(receipt: Receipt): ReceiptCheck {
  const { attempts, started_at: startedAt, ended_at: endedAt } = receipt;
  const problems = idProblems(receipt);
  if (endedAt < startedAt) problems.push(`it ended at ${endedAt}, before it was started at ${startedAt}`);
  let earliest = startedAt;
  for (const { attempt_id: id, started_at: from, ended_at: to } of attempts) {
    // Of an attempt whose journal was lost, nobody knows when it began.
    if (from < earliest && !isRecovered(receipt))
      problems.push(
        `${id} began at ${from}, before ${earliest === startedAt ? 'the run' : 'the one before it had ended'}`,
      );
    if (to < from) problems.push(`${id} ended at ${to}, before it began at ${from}`);
    if (to > endedAt) problems.push(`${id} ended at ${to}, after the run (${endedAt})`);
    earliest = to;
  }
  return judged('times', problems, `from ${startedAt} to ${endedAt}, in order`);
}
