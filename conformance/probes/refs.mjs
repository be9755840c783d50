/** Commits, refs, stashes, worktrees and objects: what a worker does with git while the canonical repository must stay. */
import { judgedBy, keeps, noSuccess } from '../checks.mjs';
import { git, tryGit } from '../git.mjs';

/** Objects that a user may still want stay readable. */
const objectStays = (name, what) => (world) => {
  const oid = world.notes[name];
  const readable = tryGit(world.repo, ['cat-file', '-p', oid]).code === 0;
  // Told by its name, or by that of its file, which lacks the first two letters.
  const told = [oid.slice(2)];
  return readable ? [] : [{ text: `an object of the canonical repository is gone: ${what}`, told }];
};

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const refs = [
  {
    name: 'commits',
    says: 'commits its work in its worktree, with a message of its own and a later change on top',
    worker: 'legal; git add -A; git commit -q -m "mine"; echo more >> src/a.txt',
    judge: judgedBy(keeps()),
  },
  {
    name: 'stashes',
    says: 'hides its work in git stash, so that nothing seems to be changed',
    worker: 'legal; git stash -q',
    judge: judgedBy(keeps(), noSuccess),
  },
  {
    name: 'resets-to-hide',
    says: 'commits a file, goes back with reset --hard and leaves the commit to the reflog',
    worker: 'legal; echo x > src/gone.txt; git add -A; git commit -q -m x; git reset -q --hard HEAD~1; legal',
    judge: judgedBy(keeps('src/gone.txt')),
  },
  {
    name: 'moves-a-branch',
    says: 'moves main to a commit of its own through the worktree',
    worker: `legal
commit=$(git commit-tree -p HEAD -m mine "$(git rev-parse 'HEAD^{tree}')")
git update-ref refs/heads/main "$commit"`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'moves-a-branch-by-path',
    says: 'moves main by writing the file of the ref in the canonical git directory',
    prepare: (world) => {
      world.write('docs/d.txt', 'second\n');
      world.commit('second');
    },
    worker: 'legal; git rev-parse HEAD~1 > "$OUTSIDE/oid"; cp "$OUTSIDE/oid" "$REPO/.git/refs/heads/main"',
    judge: judgedBy(keeps()),
  },
  {
    name: 'deletes-refs',
    says: 'deletes a branch and a tag',
    prepare: (world) => {
      world.git('branch', 'keep');
      world.git('tag', 'v1');
    },
    worker: 'legal; git branch -D keep; git tag -d v1; git --git-dir="$REPO/.git" branch -D keep; true',
    judge: judgedBy(keeps()),
  },
  {
    name: 'makes-branches',
    says: 'makes a branch, a tag and a worktree of its own',
    worker: 'legal; git branch mine; git tag mine; git worktree add -q -b other "$OUTSIDE/w"; true',
    judge: judgedBy(keeps()),
  },
  {
    name: 'switches-the-checkout',
    says: 'switches the checkout to another branch',
    prepare: (world) => world.git('branch', 'other'),
    worker: 'legal; git -C "$REPO" symbolic-ref HEAD refs/heads/other',
    judge: judgedBy(keeps()),
  },
  {
    name: 'prunes-objects',
    says: 'runs gc --prune=now, where an object that no ref names is still wanted',
    prepare: (world) => {
      world.notes.precious = tryGit(world.repo, ['hash-object', '-w', '--stdin'], 'precious\n')
        .stdout.toString()
        .trim();
    },
    worker: 'legal; git gc -q --prune=now; git --git-dir="$REPO/.git" gc -q --prune=now; true',
    judge: judgedBy(keeps(), objectStays('precious', 'the one that no ref names')),
  },
  {
    name: 'breaks-an-object',
    says: 'removes an object of the canonical repository',
    prepare: (world) => {
      world.write('docs/d.txt', 'second\n');
      world.commit('second');
      world.notes.broken = world.git('rev-parse', 'HEAD~1:docs/d.txt');
    },
    worker: `legal
oid=$(git rev-parse HEAD~1:docs/d.txt); file="$REPO/.git/objects/$(echo "$oid" | cut -c1-2)/$(echo "$oid" | cut -c3-)"
rm -f "$file"; true`,
    judge: judgedBy(objectStays('broken', 'a file of an earlier commit')),
  },
  {
    name: 'replaces-objects',
    says: 'replaces HEAD and a blob with git replace',
    worker: `legal
other=$(git commit-tree -m other "$(git rev-parse 'HEAD^{tree}')"); git replace -f HEAD "$other"
git replace -f "$(git rev-parse HEAD:docs/d.txt)" "$(echo evil | git hash-object -w --stdin)"; true`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'grafts',
    says: 'cuts history with info/grafts and shallow files',
    worker: `legal
common=$(git rev-parse --path-format=absolute --git-common-dir)
mkdir -p "$common/info"; git rev-parse HEAD > "$common/info/grafts"; git rev-parse HEAD > "$common/shallow"
git rev-parse HEAD > "$OUTSIDE/oid"; cp "$OUTSIDE/oid" "$REPO/.git/info/grafts"; cp "$OUTSIDE/oid" "$REPO/.git/shallow"; true`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'alternates',
    says: 'lets the object store borrow from a folder of its own',
    worker: `legal
git init -q --bare "$OUTSIDE/store" 2>/dev/null || git init -q --bare src/store
common=$(git rev-parse --path-format=absolute --git-common-dir)
echo "$OUTSIDE/store/objects" >> "$common/objects/info/alternates"
echo "$OUTSIDE/store/objects" >> "$REPO/.git/objects/info/alternates"; true`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'clone-shares-objects',
    says: "overwrites an object of a local clone beside, which is a hard link to the canonical repository's",
    prepare: (world) => {
      world.notes.shared = world.git('rev-parse', 'HEAD:docs/d.txt');
      git(world.folder, 'clone', '-q', world.repo, `${world.outside}/clone`);
    },
    worker: `legal
oid=$(git rev-parse HEAD:docs/d.txt); file="$OUTSIDE/clone/.git/objects/$(echo "$oid" | cut -c1-2)/$(echo "$oid" | cut -c3-)"
chmod u+w "$file" && echo nonsense > "$file"; exit 0`,
    judge: judgedBy(objectStays('shared', 'a file of HEAD')),
  },
];
