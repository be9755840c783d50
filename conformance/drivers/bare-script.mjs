/** Drives the shell script that everybody writes first: a worktree, the worker, `git add -A && git commit`. The contrast. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { findInCommits, findInFolder } from '../driver.mjs';
import { launch } from '../launch.mjs';

const SCRIPT = `repo=$1 folder=$2 worker=$3 seconds=$4
git -C "$repo" worktree add -q -b work "$folder" &&
cd "$folder" &&
echo 'Append one line to src/a.txt.' | timeout "$seconds" "$worker" &&
git add -A &&
git -c user.name=script -c user.email=script@example.invalid commit -q -m work &&
git -C "$repo" worktree remove --force "$folder"
`;

/** @type {import('../driver.mjs').Driver} */
export default {
  name: 'bare-script',
  isolations: () => ['none'],
  owned: /^(?:refs\/heads\/work|\.git\/worktrees(?:\/.*)?)$/,
  answerBytes: 65_536,
  answersJson: false,

  async run(world, { timeoutSeconds, limitSeconds, signal, umask }) {
    const script = path.join(world.folder, 'script.sh');
    const folder = path.join(world.folder, 'worktree');
    writeFileSync(script, SCRIPT);
    const command = ['/bin/sh', script, world.repo, folder, world.worker, String(timeoutSeconds)];
    const done = await launch(world, command, { limitSeconds, signal, umask });
    const refs = world
      .git('for-each-ref', '--format=%(refname)', 'refs/heads/work', 'refs/stash')
      .split('\n')
      .filter(Boolean);
    return {
      ...done,
      exit: done.code ?? done.signal,
      claimsSuccess: done.code === 0,
      artefacts: [],
      texts: refs.map((ref) => ({ name: `message of ${ref}`, text: world.git('log', '-1', '--format=%B', ref) })),
      privateLogs: [],
      findWork: (name) => [...findInCommits(world.repo, refs, world.base, name), ...findInFolder(folder, name)],
    };
  },
};
