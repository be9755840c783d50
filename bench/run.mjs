/**
 * What agent-exec costs, as ratios within one run on one machine. Usage: npm run bench [-- ROUNDS]
 *   overhead: a run around a worker that writes one file and exits, beside the bare git commands for the same
 *   start-up: `--version` and `validate` beside `node -e 0`
 *   flood:    1 GB of output of every format and kind (flood.mjs)
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentIn, makeRepository, median, runArgs } from './repository.mjs';

const tool = fileURLToPath(new URL('../dist/agent-exec.mjs', import.meta.url));
const rounds = Number(process.argv[2] ?? 20);
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-exec-bench-')));
const env = environmentIn(folder);

const ms = (number) => `${number.toFixed(number < 10 ? 1 : 0)} ms`;
const timed = (action) => {
  const started = process.hrtime.bigint();
  action();
  return Number(process.hrtime.bigint() - started) / 1e6;
};

/** A repository of `count` small files with one worker. */
const repository = (name, count, script) =>
  makeRepository(folder, {
    name,
    files: Object.fromEntries(Array.from({ length: count }, (_, i) => [`src/f${i}.txt`, `file ${i}\n`])),
    script,
  });

function must(result) {
  if (result.status !== 0) throw new Error(`exit ${result.status}: ${result.stdout}${result.stderr}`);
}

function overhead(files) {
  const { repo, worker } = repository(`repo-${files}`, files, 'echo done >> src/new.txt');
  const script = `set -e
w=$(mktemp -d)/w
git -C "$1" worktree add -q --detach "$w"
(cd "$w" && echo prompt | "$2")
git -C "$w" add -A
tree=$(git -C "$w" write-tree)
commit=$(git -C "$w" -c user.name=b -c user.email=b@b commit-tree -p HEAD -m bench "$tree")
git -C "$1" update-ref "refs/bench/$$" "$commit"
git -C "$1" worktree remove --force "$w"`;
  const bare = [];
  const ours = [];
  for (let round = 0; round < rounds; round++) {
    bare.push(timed(() => must(spawnSync('sh', ['-c', script, 'sh', repo, worker], { env, encoding: 'utf8' }))));
    ours.push(timed(() => must(spawnSync(process.execPath, runArgs(tool, folder, repo), { env, encoding: 'utf8' }))));
  }
  console.log(
    `run, ${files} files: ${ms(median(ours))}, bare git ${ms(median(bare))}, ratio ${(median(ours) / median(bare)).toFixed(1)} (median of ${rounds})`,
  );
}

function startUp() {
  const { repo } = repository('start-up', 1, ':');
  const commands = {
    'node -e 0': ['-e', '0'],
    '--version': [tool, '--version'],
    validate: [tool, 'validate', '--repo', repo],
  };
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, args] of Object.entries(commands)) {
      times[name].push(timed(() => must(spawnSync(process.execPath, args, { env, encoding: 'utf8' }))));
    }
  }
  const node = median(times['node -e 0']);
  for (const [name, all] of Object.entries(times)) {
    console.log(`start-up, ${name}: ${ms(median(all))}, ratio ${(median(all) / node).toFixed(1)}`);
  }
}

try {
  startUp();
  overhead(10);
  overhead(2000);
  const floods = fileURLToPath(new URL('flood.mjs', import.meta.url));
  if (process.platform === 'linux') execFileSync(process.execPath, [floods], { stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
