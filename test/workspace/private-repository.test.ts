import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  inspectPrivateRepository,
  type PrivateRepositoryInspection,
  recordPrivateRepository,
} from '../../src/workspace/private-repository.ts';
import { codes, type Ready, ready, sh, stage, tempDir } from './fixture.ts';

const sample = await stage(`echo a > a; git add -A; git commit -qm older; echo b > b`);

async function inspected(script: string, on?: Ready): Promise<PrivateRepositoryInspection & { on: Ready }> {
  const made = on ?? (await ready(sample));
  const record = await recordPrivateRepository(made.workspace);
  sh(made.workspace.path, script);
  return { ...(await inspectPrivateRepository(made.workspace, record)), on: made };
}
const violated = ({ violations }: PrivateRepositoryInspection): string[] =>
  [...new Set(violations.map(({ code }) => code))].sort();
const commitOf = (on: Ready, rev: string): string => sh(on.workspace.path, `git rev-parse ${rev}`).trim();
const HEAD = 'worktrees/repo/HEAD';

describe('nobody’s crime', () => {
  test.each([
    ['nothing', 'true'],
    ['git add, status, diff', 'echo c > c; git add c; git status; git diff; git log; git show; git ls-files -v'],
    ['index bits', 'git update-index --assume-unchanged a; git rm -q --cached b'],
    ['loose objects', 'echo x | git hash-object -w --stdin; git write-tree'],
    [
      'gc',
      'echo x | git hash-object -w --stdin; git gc -q --prune=now; git repack -adq; git prune; git pack-refs --all',
    ],
    ['stash and pop', 'echo c >> a; git stash -q; git stash pop -q'],
    ['reset to base', 'echo c >> a; git reset -q --hard; git checkout -q -- .; git restore .'],
    ['worktree prune', 'git worktree prune; git worktree list; git fsck'],
  ])('%s', async (_, script) => {
    const { violations, findings, commits } = await inspected(script);
    expect({ violations, findings, commits }).toEqual({ violations: [], findings: [], commits: [] });
  });

  test('locks left behind, opencode’s file and leftovers of git commands are findings', async () => {
    const { violations, findings } = await inspected(
      `touch "$(git rev-parse --git-dir)/index.lock"; echo id > "$(git rev-parse --git-common-dir)/opencode"; touch "$(git rev-parse --git-dir)/BISECT_LOG"`,
    );
    expect(violations).toEqual([]);
    expect(codes(findings).sort()).toEqual([
      'GIT_DIR_FILES worktrees/repo/BISECT_LOG',
      'GIT_LOCK_LEFT worktrees/repo/index.lock',
      'OPENCODE_IN_GIT_DIR opencode',
    ]);
  });

  test('fetching by address', async () => {
    const { violations, findings, commits } = await inspected(
      'git init -q ../other; git -C ../other commit -q --allow-empty -m theirs; git fetch -q ../other',
    );
    expect({ violations, commits }).toEqual({ violations: [], commits: [] });
    expect(codes(findings)).toEqual(['GIT_DIR_FILES worktrees/repo/FETCH_HEAD']);
  });

  test('looking at an older commit and coming back', async () => {
    const { violations, findings, commits } = await inspected('git checkout -q HEAD~1; git checkout -q -');
    expect({ violations, commits }).toEqual({ violations: [], commits: [] });
    expect(codes(findings)).toEqual([`HEAD_MOVED_AND_BACK ${HEAD}`]);
  });
});

describe('commits', () => {
  test('on the detached HEAD', async () => {
    const found = await inspected('echo c >> a; git commit -qam mine');
    expect(violated(found)).toEqual(['WORKER_COMMITTED']);
    expect(found.commits).toEqual([commitOf(found.on, 'HEAD')]);
  });

  test('made and hidden by a reset: the reflog remembers, also after a gc', async () => {
    const found = await inspected(
      'echo c >> a; git commit -qam mine; git tag t; git tag -d t; git rev-parse HEAD > ../made; git reset -q --hard HEAD~1; git gc -q',
    );
    expect(violated(found)).toEqual(['WORKER_COMMITTED']);
    expect(found.commits).toEqual([sh(found.on.workspace.path, 'cat ../made').trim()]);
  });

  test('in a stash, on branches, in tags, packed, per worktree, with HEAD at base', async () => {
    const found = await inspected(
      `echo c >> a; git stash -q; echo d >> a; git checkout -q -b side; git commit -qam side; git tag -a -m t annotated; git checkout -q --detach ${sample.base}
       git update-ref refs/worktree/mine side~0; git update-ref refs/bisect/x "$(git commit-tree -p HEAD -m x HEAD^{tree})"; git pack-refs --all; git branch at-base`,
    );
    expect(violated(found)).toEqual(['GIT_TAMPERED', 'WORKER_COMMITTED']);
    const wanted = ['stash@{0}', 'side', 'refs/bisect/x'].map((rev) => commitOf(found.on, rev));
    expect(new Set(found.commits)).toEqual(new Set(wanted));
    expect(codes(found.violations)).toEqual(
      expect.arrayContaining([
        'WORKER_COMMITTED refs/stash',
        'WORKER_COMMITTED refs/heads/side',
        'WORKER_COMMITTED refs/tags/annotated',
        'WORKER_COMMITTED worktrees/repo/refs/worktree/mine',
        'GIT_TAMPERED refs/heads/at-base',
      ]),
    );
  });

  test('of a chain, only the tip, which holds the others', async () => {
    const found = await inspected('for i in 1 2 3 4 5; do echo $i > a; git commit -qam $i; done');
    expect(found.commits).toEqual([commitOf(found.on, 'HEAD')]);
  });

  test('in another worktree', async () => {
    const found = await inspected(
      `git worktree add -q --detach ${tempDir()}/other; cd ${'$(git worktree list --porcelain | sed -n "s/^worktree //p" | grep /other)'}; echo c >> a; git commit -qam other`,
    );
    expect(violated(found)).toEqual(['GIT_TAMPERED', 'WORKER_COMMITTED']);
    expect(found.commits).toHaveLength(1);
    expect(codes(found.violations)).toContain('GIT_TAMPERED worktrees/other');
  });

  test('an amended or merged HEAD, an interrupted merge', async () => {
    const amended = await inspected('echo c >> a; git commit -q --amend -am mine');
    expect(violated(amended)).toEqual(['WORKER_COMMITTED']);
    const merging = await inspected(
      `git checkout -q -b x; echo 1 > a; git commit -qam 1; git checkout -q --detach ${sample.base}; echo 2 > a; git commit -qam 2; git merge x || true; git branch -D x`,
    );
    expect(violated(merging)).toEqual(['WORKER_COMMITTED']);
    expect(merging.commits).toContain(commitOf(merging.on, 'MERGE_HEAD'));
  });

  test('that cannot be read any more are named', async () => {
    const found = await inspected(
      'echo c >> a; git commit -qam mine; git reset -q --hard HEAD~1; rm -rf "$(git rev-parse --git-common-dir)"/objects/??',
    );
    expect(violated(found)).toEqual(['WORKER_COMMITTED']);
    expect(found.commits).toEqual([]);
    expect(codes(found.findings)).toEqual(['WORKER_COMMIT_UNREADABLE']);
  });

  test('sha256', async () => {
    const found = await inspected(
      'echo c >> a; git commit -qam mine',
      await ready(await stage('echo a > a', 'sha256')),
    );
    expect(found.commits).toEqual([commitOf(found.on, 'HEAD')]);
    expect(violated(found)).toEqual(['WORKER_COMMITTED']);
  });
});

describe('tampering', () => {
  const gitDir = 'cd "$(git rev-parse --git-common-dir)";';
  test.each([
    ['config', 'git config user.name x', 'config'],
    [
      'config of the worktree',
      'git config extensions.worktreeConfig true; git config --worktree core.fsmonitor evil',
      'worktrees/repo/config.worktree',
    ],
    ['config of the same length', `${gitDir} sed -i s/true/TRUE/ config`, 'config'],
    ['a hook', `${gitDir} mkdir -p hooks; echo evil > hooks/pre-commit`, 'hooks/pre-commit'],
    ['attributes', `${gitDir} echo '* text' > info/attributes`, 'info/attributes'],
    ['exclude', `${gitDir} echo '*' > info/exclude`, 'info/exclude'],
    ['grafts', `${gitDir} echo x > info/grafts`, 'info/grafts'],
    ['alternates', `${gitDir} echo /elsewhere >> objects/info/alternates`, 'objects/info/alternates'],
    [
      'alternates as a fifo',
      `${gitDir} rm objects/info/alternates; mkfifo objects/info/alternates`,
      'objects/info/alternates',
    ],
    ['shallow', `${gitDir} echo ${sample.base} > shallow`, 'shallow'],
    ['HEAD of the repository', `${gitDir} echo ref: refs/heads/x > HEAD`, 'HEAD'],
    ['gitdir', `${gitDir} echo /elsewhere/.git > worktrees/repo/gitdir`, 'worktrees/repo/gitdir'],
    ['commondir', `cd "$(git rev-parse --git-dir)"; echo /elsewhere > commondir`, 'worktrees/repo/commondir'],
    ['the lock', 'git worktree unlock .', 'worktrees/repo/locked'],
    ['a branch at base', 'git branch side', 'refs/heads/side'],
    ['a replace ref', 'git replace HEAD HEAD~1', `refs/replace/${sample.base}`],
    ['HEAD on a branch', 'git checkout -q -b side', HEAD],
    ['HEAD removed', 'rm "$(git rev-parse --git-dir)/HEAD"', HEAD],
    ['.git removed', 'rm .git', '.git'],
    ['.git replaced by a repository', 'rm .git; git init -q .', '.git'],
    ['.git pointing elsewhere', 'echo gitdir: /elsewhere > .git', '.git'],
    ['.git as a symlink to an equal file', 'mv .git ../link; ln -s ../link .git', '.git'],
    ['.git as a fifo', 'rm .git; mkfifo .git', '.git'],
    ['a ref as a symlink', `${gitDir} ln -s ../../HEAD refs/heads/x`, 'refs/heads/x'],
    ['reflogs as a fifo', `${gitDir} mkdir -p logs; rm -f logs/HEAD; mkfifo logs/HEAD`, 'logs/HEAD'],
    ['another worktree', 'git worktree add -q --detach ../another', 'worktrees/another'],
    ['the worktree unregistered', 'rm -r "$(git rev-parse --git-dir)"', HEAD],
    ['the repository removed', 'rm -r "$(git rev-parse --git-common-dir)"', 'config'],
  ])('%s', async (_, script, path) => {
    const found = await inspected(script);
    expect(violated(found)).toEqual(['GIT_TAMPERED']);
    expect(codes(found.violations)).toContain(`GIT_TAMPERED ${path}`);
    expect(found.commits).toEqual([]);
  });

  test('alternates that were changed lose no commit; a fifo in their place is not waited for', async () => {
    const lists = 'cd "$(git rev-parse --git-common-dir)/objects/info"';
    const longer = await inspected(`echo c >> a; git commit -qam mine; ${lists}; echo /elsewhere >> alternates`);
    expect(violated(longer)).toEqual(['GIT_TAMPERED', 'WORKER_COMMITTED']);
    expect(longer.commits).toHaveLength(1);
    const fifo = await inspected(`echo c >> a; git commit -qam mine; ${lists}; rm alternates; mkfifo alternates`);
    expect(violated(fifo)).toEqual(['GIT_TAMPERED', 'WORKER_COMMITTED']);
    expect(codes(fifo.findings)).toEqual(['WORKER_COMMIT_UNREADABLE']);
  }, 25_000);

  test('refs that setup made are known, and missed when they are gone', async () => {
    const setup = 'git commit -q --allow-empty -m setup; git tag setup; git branch made; git reset -q --hard HEAD~1';
    const on = await ready(sample);
    sh(on.workspace.path, setup);
    expect(await inspected('git pack-refs --all', on)).toMatchObject({ violations: [], findings: [], commits: [] });
    expect(codes((await inspected('git tag -d setup', on)).violations)).toEqual(['GIT_TAMPERED refs/tags/setup']);
  });

  test('an older HEAD counts as moved', async () => {
    expect(violated(await inspected('git checkout -q HEAD~1'))).toEqual(['WORKER_COMMITTED']);
  });

  test('a hostile configuration runs nothing, and nothing is left in the attempt’s folder', async () => {
    const on = await ready(sample);
    const canary = join(on.dir, 'canary');
    const found = await inspected(
      `echo c >> a; git commit -qam mine; git config core.fsmonitor "touch ${canary}"; git config core.sshCommand "touch ${canary}"; git config core.alternateRefsCommand "touch ${canary}"
       git config extensions.partialClone evil; git config remote.evil.url ext::touch; git config remote.evil.promisor true; git config include.path /dev/zero`,
      on,
    );
    expect(violated(found)).toEqual(['GIT_TAMPERED', 'WORKER_COMMITTED']);
    expect(found.commits).toHaveLength(1);
    expect(readdirSync(join(on.workspace.privateGitDir, '..')).sort()).toEqual(['private.git', 'repo']);
    expect(readdirSync(on.dir)).not.toContain('canary');
  });
});
