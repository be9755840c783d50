/** The canonical repository of a case: made or cloned, and looked at before and after. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const git = (repo, ...args) =>
  execFileSync('git', ['-C', repo, ...args], {
    encoding: 'utf8',
    timeout: 60_000,
    env: {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      GIT_AUTHOR_NAME: 'host',
      GIT_AUTHOR_EMAIL: 'host@localhost',
      GIT_COMMITTER_NAME: 'host',
      GIT_COMMITTER_EMAIL: 'host@localhost',
      GIT_OPTIONAL_LOCKS: '0',
    },
  }).trimEnd();

/** What the canonical repository must look like afterwards: everything a person would notice, and every ref but ours. */
export const canonicalLook = (repo) => ({
  head: git(repo, 'rev-parse', 'HEAD'),
  branch: git(repo, 'symbolic-ref', 'HEAD'),
  refs: git(repo, 'for-each-ref', '--format=%(refname) %(objectname)')
    .split('\n')
    .filter((line) => !/^refs\/agent-exec/.test(line))
    .join('\n'),
  status: git(repo, 'status', '--porcelain', '--ignored'),
  config: readFileSync(path.join(repo, '.git/config'), 'utf8'),
  worktrees: git(repo, 'worktree', 'list', '--porcelain'),
});

/** A commit's parents, the paths it changes against the first, and one file's text. */
export function commitFacts(repo, commit, file) {
  return {
    parents: git(repo, 'show', '-s', '--format=%P', commit).split(' '),
    paths: git(repo, 'diff-tree', '-r', '--name-only', '--no-renames', `${commit}^`, commit).split('\n'),
    content: `${git(repo, 'show', `${commit}:${file}`)}\n`,
  };
}

/**
 * @param {string} repo where it is made
 * @param {string | null} source a repository to clone; null: a small one
 */
export function makeRepository(repo, source) {
  if (source !== null && hasCommit(source)) {
    git('/', 'clone', '-q', source, repo);
  } else if (source !== null) {
    // No commit to clone yet: the working tree, as a first commit would hold it.
    mkdirSync(repo);
    git(repo, 'init', '-q', '-b', 'main');
    const files = git(source, 'ls-files', '-co', '--exclude-standard').split('\n');
    for (const file of files.filter((each) => existsSync(path.join(source, each)))) {
      cpSync(path.join(source, file), path.join(repo, file));
    }
  } else {
    mkdirSync(path.join(repo, 'notes'), { recursive: true });
    git(repo, 'init', '-q', '-b', 'main');
    writeFileSync(path.join(repo, 'README.md'), '# A small repository\n');
    writeFileSync(path.join(repo, 'notes/host.md'), 'A line by the host.\n');
  }
}

function hasCommit(repo) {
  try {
    git(repo, 'rev-parse', '--verify', '-q', 'HEAD');
    return true;
  } catch {
    // git's answer for an unborn branch is its exit code.
    return false;
  }
}
