/**
 * The difference between two commits as git shows it. To a program: git's own bytes, the same whatever anybody has
 * configured. To a person: by their own git settings and pager. In neither case does an external diff, a textconv, a hook
 * or fsmonitor run, and a move is shown as what it is in the commit, a removal and an addition.
 *
 * The pager of the repository's own configuration is obeyed like the user's: it is the host's configuration, `git log`
 * runs the same program, and a run in which a worker could have changed it ends as CANONICAL_CHANGED.
 */
import { type GitCall, type HostEnvironment, showGit, tryGit } from './run.ts';

export interface DiffRequest {
  readonly gitDir: string;
  readonly worktree: string;
  readonly hostEnv: HostEnvironment;
  readonly from: string;
  readonly to: string;
  readonly form: 'patch' | 'stat' | 'name-only';
  /** As git takes them: relative to `cwd`, and with its pathspec magic. */
  readonly paths: readonly string[];
  readonly cwd: string;
}

const SAFE = ['--no-renames', '--no-ext-diff', '--no-textconv', '--submodule=short', '--no-color-moved'];
const FORMS = { patch: ['--patch'], stat: ['--stat'], 'name-only': ['--name-only'] } as const;

const callOf = (request: DiffRequest, args: readonly string[], hostEnv: HostEnvironment): GitCall => ({
  gitDir: request.gitDir,
  workTree: request.worktree,
  asHost: hostEnv,
  literalPathspecs: false,
  args: [...args, ...SAFE, ...FORMS[request.form], request.from, request.to, '--', ...request.paths],
});

/** Answers as {@link showGit} does. `plumbing` has no settings of a person: it can be applied as it is. */
const plumbing = (request: DiffRequest, ...more: string[]): GitCall => {
  // Only with its binary files is a patch the whole change.
  const whole = request.form === 'patch' ? ['--binary', '--full-index'] : [];
  return callOf(request, ['diff-tree', '-r', '--no-color', ...whole, ...more], {
    ...request.hostEnv,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
  });
};

/** Git's own bytes on this process's stdout. */
export const writeDiff = (request: DiffRequest) => showGit(plumbing(request), request.cwd);

/** Through the user's pager, in the user's colours. `colour` false: without any. */
export const pageDiff = (request: DiffRequest, colour: boolean) =>
  showGit(callOf(request, ['diff', ...(colour ? [] : ['--no-color'])], request.hostEnv), request.cwd);

/** Whether there is a pager that stands between git and the terminal; `cat` and none at all let every byte through. */
export async function hasPager({ gitDir, hostEnv }: DiffRequest): Promise<boolean> {
  const [pager, isOn] = await Promise.all([
    tryGit({ gitDir, asHost: hostEnv, args: ['var', 'GIT_PAGER'] }),
    tryGit({ gitDir, asHost: hostEnv, args: ['config', '--type=bool-or-str', '--get', 'pager.diff'] }),
  ]);
  const setting = isOn.code === 0 ? isOn.stdout.toString('utf8').trim() : 'true';
  if (setting === 'false') return false;
  const program = setting === 'true' ? pager.stdout.toString('utf8').trim() : setting;
  return program !== '' && program !== 'cat';
}

/** The same as text, for a terminal without a pager; an error where git failed or there is too much of it. */
export async function readDiff(request: DiffRequest): Promise<{ readonly text: string } | { readonly error: string }> {
  // Relative paths are told where they begin: calls whose output is read start at the root.
  const output = await tryGit(callOf(request, ['-C', request.cwd, 'diff', '--no-color'], request.hostEnv));
  return output.code === 0
    ? { text: output.stdout.toString('utf8') }
    : { error: output.stderr.trim() || `git ended without a word (${output.failure})` };
}
