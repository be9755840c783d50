/** Problems of the effects in one line, for the message of a record. */
import type { BuildProblem } from '../git/build-commit.ts';
import type { PublishProblem } from '../git/publish.ts';
import { showPath } from '../git/quote.ts';
import type { RepoPath } from '../model/path.ts';
import { unreachable } from '../model/result.ts';

const some = (paths: readonly RepoPath[]): string =>
  paths.slice(0, 3).map(showPath).join(', ') + (paths.length > 3 ? ` and ${paths.length - 3} more` : '');

/** Why there is no commit. */
export function describeBuildProblem(problem: BuildProblem): string {
  switch (problem.kind) {
    case 'unrepresentable':
      return `git cannot hold ${some(problem.paths)}`;
    case 'content-changed':
      return `${some(problem.paths)} changed while it was read: ${problem.message}`;
    case 'not-exact':
      return `the commit would not be what the workspace holds in ${some(problem.paths)}`;
    case 'git-failed':
      return problem.message;
    default:
      return unreachable(problem);
  }
}

/** Why the canonical repository has no ref for the commit. */
export function describePublishProblem(problem: PublishProblem): string {
  switch (problem.kind) {
    case 'ref-exists':
      return `${problem.ref} is there already: ${problem.message}`;
    case 'ref-moved':
      return `${problem.ref} is not where it was: ${problem.message}`;
    case 'disk-full':
      return `the disk of the canonical repository is full: ${problem.message}`;
    case 'read-only':
      return `the canonical repository cannot be written: ${problem.message}`;
    case 'git-failed':
      return problem.message;
    default:
      return unreachable(problem);
  }
}
