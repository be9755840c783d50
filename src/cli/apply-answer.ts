/** What `apply` did or why it did nothing, as a report for programs and in words for people. */
import type { BranchProblem } from '../git/branch.ts';
import type { MergeProblem } from '../git/merge.ts';
import type { ApplyReport } from '../model/apply.ts';
import { EXIT } from '../model/codes.ts';
import type { PublishedCommit } from '../model/evidence.ts';
import { type RepoPath, recordPath } from '../model/path.ts';
import type { AttemptRecord } from '../model/receipt.ts';
import { unreachable } from '../model/result.ts';
import type { Applied } from '../run/apply.ts';
import type { ApplyOptions, NothingToTake } from './chosen-work.ts';
import { nextCommand } from './next-command.ts';
import { firstOf, shownPath, told } from './told.ts';

/** What was to be taken. */
export interface Taken {
  readonly runId: string;
  readonly attempt: AttemptRecord;
  readonly source: 'transport' | 'quarantine';
  readonly published: PublishedCommit;
  readonly base: string;
  readonly options: ApplyOptions;
  readonly notes: readonly string[];
  readonly outOfScope: readonly RepoPath[];
}

export interface ApplyAnswer {
  readonly report: ApplyReport;
}

const SHOWN_PATHS = 20;
const COMMIT_IT = ['git diff --staged', 'git commit'];

type Said = Pick<ApplyReport, 'result' | 'exit_code' | 'reason'> &
  Partial<Pick<ApplyReport, 'paths' | 'overlaps' | 'conflicts' | 'next' | 'notes' | 'head_moved'>>;

const refusal = (code: string, message: string, more: Partial<Said> = {}): Said => ({
  result: 'refused',
  exit_code: EXIT.blocked,
  reason: { code, message },
  ...more,
});

/** The run has nothing that could be taken. */
export function untaken(runId: string, options: ApplyOptions, nothing: NothingToTake): ApplyAnswer {
  const { code, message, isDone, next } = nothing;
  return {
    report: {
      ...blank(runId, options),
      result: isDone ? 'nothing-to-apply' : 'refused',
      exit_code: isDone ? EXIT.success : EXIT.blocked,
      reason: { code, message },
      next: [...next],
    },
  };
}

const blank = (runId: string, options: ApplyOptions) => ({
  schema: 'agent-exec-apply/v1' as const,
  run_id: runId,
  attempt_id: null,
  source: null,
  base: null,
  commit: null,
  dry_run: options.dryRun === true,
  branch: options.branch ?? null,
  head_moved: false,
  paths: [],
  overlaps: [],
  conflicts: [],
  out_of_scope: [],
  notes: [],
  next: [],
});

function answer(what: Taken, { notes = [], ...said }: Said): ApplyAnswer {
  return {
    report: {
      ...blank(what.runId, what.options),
      attempt_id: what.attempt.attempt_id,
      source: what.source,
      base: what.base,
      commit: what.published.commit,
      out_of_scope: what.outOfScope.map(recordPath),
      ...said,
      notes: [...warnings(what), ...what.notes, ...notes],
    },
  };
}

/** What a quarantine is, for whoever takes it. */
function warnings({ source, attempt, outOfScope }: Taken): string[] {
  if (source === 'transport') return [];
  const { state, code, ignored } = attempt;
  return [
    `this is the quarantine of ${attempt.attempt_id} (${state} ${code}), not a success: nobody has found it right`,
    ...(outOfScope.length === 0
      ? []
      : [`it changes ${outOfScope.length} path(s) outside allowed_paths: ${shown(outOfScope).join(' ')}`]),
    ...(ignored.count === 0 ? [] : [`it holds ignored files too, of ${ignored.count} that the worker left`]),
  ];
}

const shown = (paths: readonly RepoPath[]): string[] => firstOf(paths.map(recordPath).map(shownPath), SHOWN_PATHS);

type BranchOutcome = { readonly kind: 'made' } | BranchProblem | RefMoved;
interface RefMoved {
  readonly kind: 'ref-moved';
  readonly ref: string;
  readonly commit: string;
}

/** Of `--branch`, and of a ref that somebody has moved, whatever was asked for. */
export function branchAnswer(what: Taken, outcome: BranchOutcome): ApplyAnswer {
  const { options, published, runId } = what;
  const name = options.branch ?? '';
  switch (outcome.kind) {
    case 'made': {
      const isDry = options.dryRun === true;
      return answer(what, {
        result: isDry ? 'would-create-branch' : 'branch-created',
        exit_code: EXIT.success,
        reason: { code: 'OK', message: `branch ${name} ${isDry ? 'would be' : 'is'} at ${published.commit}` },
        next: isDry ? [] : [`git log -p ${name} --not HEAD`, `git merge ${name}`],
      });
    }
    case 'invalid-name':
      return answer(what, {
        ...refusal('BRANCH_INVALID', `git takes no branch named ${JSON.stringify(name)}.`),
        exit_code: EXIT.usage,
      });
    case 'exists': {
      const there = outcome.commit === published.commit ? 'at this very commit' : `at ${outcome.commit}`;
      return answer(
        what,
        refusal('BRANCH_EXISTS', `there is a branch ${name} already, ${there}. Choose another name.`),
      );
    }
    case 'git-failed':
      return answer(what, refusal('GIT_FAILED', `git could not make the branch: ${outcome.message}`));
    case 'ref-moved':
      return answer(
        what,
        refusal(
          'REF_MOVED',
          `${outcome.ref} holds ${outcome.commit}, and the receipt says ${published.commit}: somebody has moved it. If you trust the receipt's commit, take that one with git: git merge ${published.commit}`,
          { next: [nextCommand(['show', runId], options)] },
        ),
      );
    default:
      return unreachable(outcome);
  }
}

/** Of a change that was to go into the checkout. */
export function changeAnswer(what: Taken, applied: Applied): ApplyAnswer {
  const { options, runId } = what;
  const again = [
    'apply',
    runId,
    ...(what.source === 'quarantine' ? ['--attempt', what.attempt.attempt_id, '--quarantine'] : []),
  ];
  const asBranch = [nextCommand([...again, '--branch', 'NAME'], options), 'git merge NAME'];
  switch (applied.kind) {
    case 'applied':
    case 'would-apply': {
      const isDry = applied.kind === 'would-apply';
      const how = applied.headMoved ? ', merged with what HEAD has got since base' : '';
      const message = `${applied.paths.length} path(s) ${isDry ? 'would be changed and staged' : 'are changed and staged, not committed'}${how}`;
      return answer(what, {
        result: applied.kind,
        exit_code: EXIT.success,
        reason: { code: 'OK', message },
        paths: applied.paths.map(recordPath),
        head_moved: applied.headMoved,
        notes: applied.kind === 'applied' ? unlikeNote(applied.unlike) : [],
        next: isDry ? [nextCommand(again, options)] : COMMIT_IT,
      });
    }
    case 'already-applied': {
      const inHead = applied.paths.length === 0;
      const message = inHead ? 'HEAD has this change already' : 'it is in the checkout and staged already';
      return answer(what, {
        result: 'already-applied',
        exit_code: EXIT.success,
        reason: { code: 'ALREADY_APPLIED', message },
        paths: applied.paths.map(recordPath),
        head_moved: applied.headMoved,
        next: inHead ? [] : COMMIT_IT,
      });
    }
    case 'overlap':
      return answer(
        what,
        refusal(
          'OVERLAP',
          'nothing was changed: uncommitted work is in the way. Commit it, stash it or move it away.',
          {
            paths: applied.paths.map(recordPath),
            overlaps: applied.overlaps.map(({ path, kind }) => ({ path: recordPath(path), kind })),
            next: ['git stash --include-untracked', nextCommand(again, options), ...asBranch.slice(0, 1)],
          },
        ),
      );
    case 'conflict':
      return answer(what, conflictOf(applied.problem, asBranch));
    case 'busy':
      return answer(what, refusal('BUSY', `another apply works in this checkout: ${applied.message}`));
    case 'index-locked':
      return answer(
        what,
        refusal(
          'INDEX_LOCKED',
          `nothing was changed: ${applied.message} is there. Another git works here, or one has died; if none is running, remove the file and try again.`,
          { next: [nextCommand(again, options)] },
        ),
      );
    case 'interrupted':
      return answer(what, {
        result: 'interrupted',
        exit_code: EXIT.blocked,
        reason: {
          code: 'INTERRUPTED',
          message: `${applied.message}. ${applied.written} of ${applied.paths.length} paths are already as in the change, the others and the index are as they were. Do away with the reason and do the same again: it goes on from there.`,
        },
        paths: applied.paths.map(recordPath),
        head_moved: applied.headMoved,
        next: [nextCommand(again, options)],
      });
    case 'failed':
      return answer(what, refusal('FAILED', `nothing was changed: ${applied.message}${diskHint(applied.message)}`));
    default:
      return unreachable(applied);
  }
}

/** All that git says where a disk is full. */
const diskHint = (message: string): string => (/unable to write file/.test(message) ? '. Is the disk full?' : '');

const unlikeNote = (paths: readonly RepoPath[]): string[] =>
  paths.length === 0
    ? []
    : [
        `git calls ${paths.length} of them modified all the same, because your filters or line endings write other bytes than the commit holds: ${shown(paths).join(' ')}`,
      ];

function conflictOf(problem: MergeProblem, next: readonly string[]): Said {
  const paths = problem.paths.map(recordPath);
  if (problem.kind === 'conflicts')
    return refusal(
      'CONFLICT',
      'nothing was changed: HEAD has moved since base, and git cannot merge these paths by itself. Make a branch of the change and merge that.',
      { conflicts: paths, head_moved: true, next: [...next] },
    );
  return refusal(
    'CONFLICT',
    `nothing was changed: HEAD has renamed files that the change is about; git would put it into ${shown(problem.to).join(' ')}. Make a branch of the change and merge that, if this is right.`,
    { conflicts: paths, head_moved: true, next: [...next] },
  );
}

/** For people. */
export function applyText({ report }: ApplyAnswer): string {
  const { overlaps, conflicts } = report;
  const head = report.attempt_id === null ? report.run_id : `${report.run_id} ${report.attempt_id}`;
  const kinds = new Map<string, string[]>();
  for (const { path, kind } of overlaps) kinds.set(kind, [...(kinds.get(kind) ?? []), shownPath(path)]);
  const lines = [
    `${report.result} ${head}`,
    ...told('why', report.reason.message),
    ...[...kinds].flatMap(([kind, paths]) => told(kind, firstOf(paths, SHOWN_PATHS))),
    ...told('conflict', firstOf(conflicts.map(shownPath), SHOWN_PATHS)),
    ...(overlaps.length > 0 || conflicts.length > 0
      ? []
      : told('paths', firstOf(report.paths.map(shownPath), SHOWN_PATHS))),
    ...told('note', report.notes),
    ...told('next', report.next),
  ];
  return `${lines.join('\n')}\n`;
}
