/**
 * What agent-exec costs, as ratios within one run on one machine. Usage: npm run bench [-- ROUNDS]
 *   overhead: a run around a worker that writes one file and exits, beside the bare git commands for the same
 *   start-up: `--version` and `validate` beside `node -e 0`
 *   flood:    1 GB of output of every format and kind (flood.mjs)
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const tool = fileURLToPath(new URL('../dist/agent-exec.mjs', import.meta.url));
const rounds = Number(process.argv[2] ?? 20);
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-exec-bench-')));
const env = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', GIT_CONFIG_NOSYSTEM: '1' };

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const ms = (number) => `${number.toFixed(number < 10 ? 1 : 0)} ms`;
const timed = (action) => {
  const started = process.hrtime.bigint();
  action();
  return Number(process.hrtime.bigint() - started) / 1e6;
};

/** A repository of `files` small files with one worker. Returns its path. */
function repository(name, files, workerLines) {
  const repo = join(folder, name);
  mkdirSync(join(repo, 'src'), { recursive: true });
  const git = (...args) =>
    execFileSync('git', ['-C', repo, '-c', 'user.name=b', '-c', 'user.email=b@b', ...args], { env });
  git('init', '-q', '-b', 'main');
  for (let i = 0; i < files; i++) writeFileSync(join(repo, 'src', `f${i}.txt`), `file ${i}\n`);
  const worker = join(folder, `${name}-worker.sh`);
  writeFileSync(worker, `#!/bin/sh\ncat >/dev/null\n${workerLines}\n`, { mode: 0o755 });
  writeFileSync(
    join(repo, 'AGENT-EXECUTION.md'),
    `\`\`\`agent-execution
schema: agent-execution/v1
execution:
  fresh_process_per_unit: true
  permission: run-everything
  fallback_to_host: never
  max_parallel: 1
  timeout_seconds: 300
  summary_bytes: 4096
  raw_output_bytes: 1048576
roles:
  repair: [scripted]
profiles:
  scripted:
    adapter: scripted
    executable: ${worker}
custom_adapters:
  scripted:
    base_argv: []
    run_everything_argv: []
    workspace_argv: []
    model_argv: []
    prompt_transport: stdin
    output_format: text
\`\`\`
`,
  );
  git('add', '-A');
  git('commit', '-q', '-m', 'base');
  return { repo, worker };
}

const runArgs = (repo) => [
  tool,
  'run',
  '--repo',
  repo,
  '--role',
  'repair',
  '--goal',
  'bench',
  '--allow',
  'src/',
  '--state-dir',
  join(folder, 'state'),
  '--quiet',
  '--json',
];

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
    ours.push(timed(() => must(spawnSync(process.execPath, runArgs(repo), { env, encoding: 'utf8' }))));
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
