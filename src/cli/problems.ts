/** Every reason why nothing was started, in words: what, where, why, and what to do next. */
import type { BaseProblem, RepositoryProblem } from '../git/repository.ts';
import { unreachable } from '../model/result.ts';
import type { FindRunProblem } from '../store/find-run.ts';
import type { ReceiptPathProblem } from '../store/receipt-path.ts';
import type { StateRootProblem } from '../store/state-root.ts';

/** A problem as a code for programs and a message for people. */
export interface Explained {
  readonly code: string;
  readonly message: string;
}

const octal = (mode: number): string => `0${mode.toString(8)}`;

/** Why the repository cannot be worked with. */
export function explainRepository(problem: RepositoryProblem): Explained {
  switch (problem.kind) {
    case 'git-missing':
      return { code: 'GIT_MISSING', message: 'git is not on PATH. Install git and try again.' };
    case 'git-not-run':
      return { code: 'GIT_NOT_RUN', message: `git --version gave no answer: ${problem.message}` };
    case 'git-too-old':
      return {
        code: 'GIT_TOO_OLD',
        message: `git ${problem.version} is too old; ${problem.minimum} or newer is needed.`,
      };
    case 'path-missing':
      return {
        code: 'REPOSITORY_MISSING',
        message: `${problem.path} does not exist. Name a folder of the repository with --repo.`,
      };
    case 'not-a-directory':
      return {
        code: 'REPOSITORY_MISSING',
        message: `${problem.path} is not a folder. Name a folder of the repository with --repo.`,
      };
    case 'not-a-repository':
      return {
        code: 'NOT_A_REPOSITORY',
        message: `${problem.path} is not inside a git repository. Change to one, or name it with --repo.`,
      };
    case 'bare':
      return {
        code: 'BARE_REPOSITORY',
        message: `${problem.gitDir} is a bare repository. Use a clone that has a worktree.`,
      };
    case 'no-worktree':
      return {
        code: 'NO_WORKTREE',
        message: `${problem.path} is inside a git directory. Name the worktree with --repo.`,
      };
    case 'unborn-head':
      return {
        code: 'UNBORN_HEAD',
        message: `${problem.worktree} has no commit yet (${problem.headRef} is unborn). Make a first commit: a run starts from one.`,
      };
    case 'dubious-ownership':
      return { code: 'DUBIOUS_OWNERSHIP', message: problem.message.replace(/^fatal: /, '') };
    case 'unreadable':
      return { code: 'REPOSITORY_UNREADABLE', message: `${problem.path}: ${problem.message.replace(/^fatal: /, '')}` };
    default:
      return unreachable(problem);
  }
}

/** Why a revision names no commit; `flag` is the one that named it. */
export function explainBase(problem: BaseProblem, flag = '--base'): Explained {
  switch (problem.kind) {
    case 'refused':
      return { code: 'BASE_INVALID', message: `${flag} ${JSON.stringify(problem.rev)} is not a revision.` };
    case 'unknown':
      return { code: 'BASE_UNKNOWN', message: `${flag} ${problem.rev} names no commit of this repository.` };
    case 'ambiguous':
      return {
        code: 'BASE_AMBIGUOUS',
        message: `${flag} ${problem.rev} is ambiguous: ${problem.message} Give its full name.`,
      };
    case 'not-a-commit':
      return { code: 'BASE_INVALID', message: `${flag} ${problem.rev} is not a commit: ${problem.message}` };
    case 'partial-clone-incomplete':
      return {
        code: 'PARTIAL_CLONE',
        message: `${problem.missing} objects of ${problem.rev} are not in this partial clone. Fetch them first (git checkout, or git fetch --refetch).`,
      };
    case 'unreadable':
      return { code: 'BASE_UNREADABLE', message: `${problem.rev} cannot be read: ${problem.message}` };
    default:
      return unreachable(problem);
  }
}

/** Why private state cannot be kept there; one code for all, exit 3. */
export function explainStateRoot(problem: StateRootProblem): Explained {
  const code = 'STATE_ROOT_INVALID';
  const elsewhere = 'Choose another with --state-dir or AGENT_EXEC_STATE_DIR.';
  const at = `state root ${problem.path}`;
  switch (problem.kind) {
    case 'empty':
      return { code, message: `the state root is empty. ${elsewhere}` };
    case 'missing':
      return { code, message: `${at} does not exist: no run has been made there. ${elsewhere}` };
    case 'control-characters':
      return { code, message: `${JSON.stringify(problem.path)} has control characters. ${elsewhere}` };
    case 'too-long':
      return { code, message: `${at} has ${problem.bytes} bytes, more than ${problem.limit}. ${elsewhere}` };
    case 'dot-component':
      return {
        code,
        message: `${at} has the component ${problem.component}; some agent CLIs silently work elsewhere under a folder that starts with a dot. ${elsewhere}`,
      };
    case 'parent-missing':
      return { code, message: `${at}: its parent ${problem.parent} does not exist. Make it, or choose another.` };
    case 'parent-unsafe':
      return {
        code,
        message: `${at}: anybody may rename what is in ${problem.parent} (mode ${octal(problem.mode)}, no sticky bit). ${elsewhere}`,
      };
    case 'symlink':
      return {
        code,
        message: `${at} is a symlink; somebody else may have put it there. Remove it, or choose another.`,
      };
    case 'not-directory':
      return { code, message: `${at} is not a folder. ${elsewhere}` };
    case 'foreign-owner':
      return { code, message: `${at} belongs to user ${problem.owner}, not to you (${problem.uid}). ${elsewhere}` };
    case 'open-permissions':
      return {
        code,
        message: `${at} is open to others (mode ${octal(problem.mode)}). Make it yours alone: chmod 700.`,
      };
    case 'inside-repository':
      return { code, message: `${at} lies inside the repository ${problem.repository}. ${elsewhere}` };
    case 'not-writable':
      return { code, message: `${at} cannot be written (${problem.code}). ${elsewhere}` };
    case 'unusable':
      return { code, message: `${at} cannot be used: ${problem.message}. ${elsewhere}` };
    default:
      return unreachable(problem);
  }
}

/** Why no receipt can be written there; a usage error, exit 2. `flag` is the one that named the place. */
export function explainReceiptPath(problem: ReceiptPathProblem, flag = '--receipt'): Explained {
  const code = 'RECEIPT_PATH_INVALID';
  const at = `${flag} ${problem.path}`;
  switch (problem.kind) {
    case 'empty':
      return { code, message: `${flag} is empty.` };
    case 'exists':
      return { code, message: `${at} exists (${problem.what}); a receipt never replaces anything. Name a new file.` };
    case 'parent-missing':
      return { code, message: `${at}: the folder ${problem.parent} does not exist. Make it first.` };
    case 'parent-not-folder':
      return { code, message: `${at}: ${problem.parent} is not a folder.` };
    case 'not-writable':
      return { code, message: `${at}: the folder ${problem.parent} cannot be written (${problem.code}).` };
    case 'not-ignored':
      return {
        code,
        message: `${at} would be a change of the repository. Put it elsewhere, or ignore ${problem.inRepository} in .gitignore.`,
      };
    case 'inside-git-directory':
      return { code, message: `${at} lies in the git directory ${problem.gitDirectory}. Put it elsewhere.` };
    case 'unusable':
      return { code, message: `${at} cannot be used: ${problem.message}.` };
    default:
      return unreachable(problem);
  }
}

/** Why no run is meant. */
export function explainFindRun(problem: FindRunProblem): Explained {
  switch (problem.kind) {
    case 'no-runs':
      return { code: 'RUN_UNKNOWN', message: `there is no run in ${problem.stateRoot}. agent-exec runs lists them.` };
    case 'unknown':
      return {
        code: 'RUN_UNKNOWN',
        message: `no run ${JSON.stringify(problem.wanted)} in ${problem.stateRoot}. agent-exec runs lists them.`,
      };
    case 'ambiguous':
      return {
        code: 'RUN_AMBIGUOUS',
        message: `${JSON.stringify(problem.wanted)} begins ${problem.count} runs: ${problem.matches.join(', ')}${problem.count > problem.matches.length ? ' and more' : ''}. Give more of the id.`,
      };
    case 'unreadable':
      return { code: 'STATE_ROOT_INVALID', message: `${problem.stateRoot} cannot be read: ${problem.message}` };
    default:
      return unreachable(problem);
  }
}
