/**
 * A worker that makes very many files, beside the bare git commands for the same. Usage: node bench/many-files.mjs [FILES]
 * [ROUNDS], by default 100000 and 3. Both sides run the same worker; the ratio is of whole times.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentIn, makeRepository, median, runArgs } from './repository.mjs';

const tool = fileURLToPath(new URL('../dist/agent-exec.mjs', import.meta.url));
const files = Number(process.argv[2] ?? 100_000);
const rounds = Number(process.argv[3] ?? 3);
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-exec-many-')));
const env = environmentIn(folder);

const SCRIPT = `exec perl -e 'for my $d (0 .. 99) { mkdir "src/d$d"; for my $f (1 .. ${files} / 100) { open my $h, ">", "src/d$d/f$f.txt"; print $h "file $d $f\\n" } }'`;

/** One for each round, so that no round finds the objects of another. */
const repository = (name) => makeRepository(folder, { name, files: { 'src/a.txt': 'a\n' }, script: SCRIPT });

function seconds(command, args) {
  const started = process.hrtime.bigint();
  const done = spawnSync(command, args, { env });
  if (done.status !== 0) throw new Error(`${command}: ${done.status} ${done.stderr}${done.stdout}`);
  return Number(process.hrtime.bigint() - started) / 1e9;
}

const BARE = `set -e
git -C "$1" worktree add -q -b work "$1-tree"
cd "$1-tree"
echo prompt | "$2"
git add -A
git -c user.name=b -c user.email=b@b commit -q -m work
cd /
git -C "$1" worktree remove --force "$1-tree"`;

try {
  const bare = [];
  const ours = [];
  for (let round = 1; round <= rounds; round++) {
    const one = repository(`bare${round}`);
    bare.push(seconds('/bin/sh', ['-c', BARE, 'sh', one.repo, one.worker]));
    rmSync(one.repo, { recursive: true });
    const two = repository(`ours${round}`);
    ours.push(seconds(process.execPath, runArgs(tool, folder, two.repo)));
    rmSync(two.repo, { recursive: true });
    const last = `${bare.at(-1).toFixed(1)} s bare git, ${ours.at(-1).toFixed(1)} s agent-exec`;
    console.log(`round ${round}: ${last}, ${(ours.at(-1) / bare.at(-1)).toFixed(2)}x`);
  }
  console.log(
    `${files} new files, median of ${rounds}: ${median(bare).toFixed(1)} s bare git, ${median(ours).toFixed(1)} s agent-exec, ${(median(ours) / median(bare)).toFixed(2)}x`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
