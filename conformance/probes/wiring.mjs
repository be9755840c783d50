/** What ties a workspace to its repository: the .git file, locks, submodules, nested repositories. */
import { judgedBy, keeps, keepsOrNoSuccess } from '../checks.mjs';
import { git } from '../git.mjs';

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const wiring = [
  {
    name: 'git-file-removed',
    says: "removes its workspace's .git file",
    worker: 'legal; rm -f .git',
    judge: judgedBy(keeps()),
  },
  {
    name: 'git-file-replaced',
    says: 'puts a repository of its own, with a commit, in the place of the .git file',
    worker: 'legal; rm -f .git; git init -q -b main; git add -A; git commit -q -m mine',
    judge: judgedBy(keeps()),
  },
  {
    name: 'git-file-to-planted',
    says: 'lets .git name a repository outside whose configuration runs a program',
    worker: `legal; rm -f .git; git init -q --bare "$OUTSIDE/evil.git" 2>/dev/null || git init -q --bare build/evil.git
evil="$OUTSIDE/evil.git"; [ -d "$evil" ] || evil="$(pwd)/build/evil.git"
git --git-dir="$evil" config core.bare false; git --git-dir="$evil" config core.fsmonitor "$PLANTED"
mkdir -p "$evil/hooks"; for hook in pre-commit post-commit post-index-change; do cp "$PLANTED" "$evil/hooks/$hook"; done
echo "gitdir: $evil" > .git`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'git-file-to-canonical',
    says: 'lets .git name the canonical git directory, so that git in its workspace acts on the checkout',
    worker: 'legal; echo "gitdir: $REPO/.git" > .git',
    judge: judgedBy(keeps()),
  },
  {
    name: 'lock-in-canonical',
    says: 'leaves index.lock and HEAD.lock in the canonical git directory',
    worker: 'legal; touch "$REPO/.git/index.lock" "$REPO/.git/HEAD.lock" 2>/dev/null; true',
    judge: judgedBy(keeps()),
  },
  {
    name: 'lock-left-behind',
    says: "leaves locks in its worktree's own git directory",
    worker: 'legal; own=$(git rev-parse --git-dir); touch "$own/index.lock" "$own/HEAD.lock"',
    judge: judgedBy(keeps()),
  },
  {
    name: 'broken-index',
    says: "fills its worktree's index and HEAD with nonsense",
    worker: 'legal; own=$(git rev-parse --git-dir); echo nonsense > "$own/index"; echo nonsense > "$own/HEAD"',
    judge: judgedBy(keeps()),
  },
  {
    name: 'nested-repository',
    says: 'makes a repository with a commit inside its scope, which git add keeps as a bare link',
    worker: `legal; git init -q src/nested; echo inner > src/nested/f.txt; git -C src/nested add -A; git -C src/nested commit -q -m x`,
    judge: judgedBy(keeps('src/nested/f.txt'), keeps()),
  },
  {
    name: 'nested-unborn',
    says: 'makes a repository without a commit inside its scope, at which git add gives up',
    worker: 'legal; git init -q src/nested; echo inner > src/nested/f.txt',
    judge: judgedBy(keeps('src/nested/f.txt'), keeps()),
  },
  {
    name: 'hidden-in-git-folder',
    says: 'puts files into a folder that is named .git and is no repository',
    worker: 'legal; mkdir -p src/x/.git; echo hidden > src/x/.git/hidden.txt',
    judge: judgedBy(keepsOrNoSuccess('src/x/.git/hidden.txt'), keeps('src/x/.git/hidden.txt')),
  },
  {
    name: 'submodule-interior',
    says: 'writes into the folder of a submodule that is not checked out',
    prepare: addSubmodule,
    worker: 'legal; mkdir -p src/sub; echo inner > src/sub/inner.txt',
    judge: judgedBy(keeps('src/sub/inner.txt'), keeps()),
  },
  {
    name: 'submodule-of-checkout',
    says: "edits a file inside the checkout's submodule, and that submodule's configuration",
    prepare: addSubmodule,
    worker: `legal; echo pwned >> "$REPO/src/sub/s.txt"; git config -f "$REPO/.git/modules/src/sub/config" core.fsmonitor "$PLANTED"; true`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'prunes-worktrees',
    says: 'unlocks, prunes and removes worktrees, its own with them',
    worker:
      'legal; git worktree unlock "$(pwd)"; git worktree prune --expire now; rm -rf "$(git rev-parse --git-dir)"; true',
    judge: judgedBy(keeps()),
  },
];

function addSubmodule(world) {
  const source = `${world.folder}/library`;
  git(world.folder, 'init', '-q', '-b', 'main', source);
  git(source, 'commit', '-q', '--allow-empty', '-m', 'empty');
  world.git('submodule', '--quiet', 'add', source, 'src/sub');
  world.write('src/sub/s.txt', 's\n');
  git(`${world.repo}/src/sub`, 'add', '-A');
  git(`${world.repo}/src/sub`, 'commit', '-q', '-m', 's');
  world.commit('submodule');
}
