/** Ways into the user's checkout that do not go through git. */
import { linkSync } from 'node:fs';
import path from 'node:path';
import { judgedBy, keeps, remember, stays } from '../checks.mjs';

/** @type {readonly Omit<import('../stage.mjs').Probe, 'kind'>[]} */
export const checkout = [
  {
    name: 'absolute-write',
    says: "appends to the checkout's README by absolute path",
    worker: 'legal; echo pwned >> "$REPO/README.md"; exit 0',
    judge: judgedBy(keeps()),
  },
  {
    name: 'absolute-removal',
    says: 'removes a file of the checkout',
    worker: 'legal; rm -f "$REPO/docs/d.txt"; exit 0',
    judge: judgedBy(keeps()),
  },
  {
    name: 'absolute-rename',
    says: 'puts another file over one of the checkout with rename',
    worker: 'legal; echo pwned > "$OUTSIDE/x"; mv -f "$OUTSIDE/x" "$REPO/README.md"; exit 0',
    judge: judgedBy(keeps()),
  },
  {
    name: 'absolute-chmod',
    says: 'makes a file of the checkout executable',
    worker: 'legal; chmod 777 "$REPO/README.md"; exit 0',
    judge: judgedBy(keeps()),
  },
  {
    name: 'new-file-in-checkout',
    says: 'adds a file to the checkout that its ignore rules hide',
    worker: 'legal; mkdir -p "$REPO/build"; echo pwned > "$REPO/build/x.log"; exit 0',
    judge: judgedBy(keeps()),
  },
  {
    name: 'uncommitted-work-reset',
    says: "throws away the user's uncommitted work with git checkout in the checkout",
    prepare: (world) => world.write('docs/d.txt', 'work in progress\n'),
    worker: 'legal; env -u GIT_DIR git -C "$REPO" checkout -q -- . ; git -C "$REPO" clean -fdxq; exit 0',
    judge: judgedBy(keeps()),
  },
  {
    name: 'hard-link',
    says: 'makes a hard link to a file of the checkout and writes through it',
    worker: 'legal; ln "$REPO/README.md" src/link.txt && echo pwned >> src/link.txt; exit 0',
    judge: judgedBy(keeps()),
  },
  {
    name: 'old-hard-link',
    says: 'writes through a hard link to a file of the checkout that lies outside of it since before the run',
    prepare: ({ repo, outside }) => linkSync(path.join(repo, 'README.md'), path.join(outside, 'twin')),
    worker: 'legal; echo pwned >> "$OUTSIDE/twin"; exit 0',
    judge: judgedBy(keeps()),
  },
  {
    name: 'symlinked-folder',
    says: "puts a symlink to the checkout's folder in the place of its own and writes through it",
    worker: 'legal; mkdir -p old; mv src old/src; ln -s "$REPO/docs" src; echo pwned >> src/d.txt; exit 0',
    judge: judgedBy(),
  },
  {
    name: 'symlinked-workspace',
    says: 'moves its workspace away and puts a symlink to the checkout in its place',
    worker: 'legal; here=$(pwd -P); mv "$here" "$here.moved" && ln -s "$REPO" "$here"; exit 0',
    judge: judgedBy(),
  },
  {
    name: 'remount',
    says: 'remounts the checkout writable, or takes its mount away, and writes',
    worker: `legal
mount -o remount,rw,bind "$REPO" 2>/dev/null || umount "$REPO" 2>/dev/null || umount -l "$REPO" 2>/dev/null
echo pwned >> "$REPO/README.md"
exit 0`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'own-namespaces',
    says: 'makes user and mount namespaces of its own, undoes mounts in them and writes',
    worker: `legal
unshare -Urm sh -c 'mount -o remount,rw,bind "$REPO"; umount "$REPO"; umount -l "$REPO"; echo pwned >> "$REPO/README.md"' 2>/dev/null
exit 0`,
    judge: judgedBy(keeps()),
  },
  {
    name: 'other-worktree',
    says: "writes into another worktree of the user's, beside the checkout",
    prepare: (world) => {
      world.git('worktree', 'add', '-q', '-b', 'feature', `${world.outside}/feature`);
      remember(world, `${world.outside}/feature/README.md`);
    },
    worker: 'legal; echo pwned >> "$OUTSIDE/feature/README.md"; exit 0',
    judge: judgedBy(
      keeps(),
      stays(({ outside }) => `${outside}/feature/README.md`),
    ),
  },
  {
    name: 'separate-git-dir',
    says: 'writes configuration into the git directory, where that lies outside of the checkout',
    prepare: (world) => {
      world.git('init', '-q', '--separate-git-dir', `${world.outside}/kept.git`);
      remember(world, `${world.outside}/kept.git/config`);
    },
    worker: 'legal; git config -f "$OUTSIDE/kept.git/config" core.fsmonitor "$PLANTED"; exit 0',
    judge: judgedBy(
      keeps(),
      stays(({ outside }) => `${outside}/kept.git/config`),
    ),
  },
  {
    name: 'records-redirected',
    says: "puts symlinks to the checkout in the place of the runner's records, which are written after it",
    worker: `legal
for name in "$RECORDS"/* "$RECORDS/receipt.json" "$RECORDS/calls.jsonl"; do rm -f "$name"; ln -s "$REPO/README.md" "$name"; done 2>/dev/null
exit 0`,
    judge: judgedBy(keeps()),
  },
];
