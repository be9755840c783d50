/**
 * A worker that makes very many files, beside the bare git commands for the same. Usage: node bench/many-files.mjs [FILES]
 * [ROUNDS], by default 100000 and 3. Both sides run the same worker; the ratio is of whole times, the peak is agent-exec's.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const tool = fileURLToPath(new URL('../dist/agent-exec.mjs', import.meta.url));
const files = Number(process.argv[2] ?? 100_000);
const rounds = Number(process.argv[3] ?? 3);
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-exec-many-')));
const env = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', GIT_CONFIG_NOSYSTEM: '1' };
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const worker = join(folder, 'worker.sh');
writeFileSync(
  worker,
  `#!/bin/sh
cat >/dev/null
exec perl -e 'for my $d (0 .. 99) { mkdir "src/d$d"; for my $f (1 .. ${files} / 100) { open my $h, ">", "src/d$d/f$f.txt"; print $h "file $d $f\\n" } }'
`,
  { mode: 0o755 },
);

/** A repository of its own for each round, so that no round finds the objects of another. */
function repository(name) {
  const repo = join(folder, name);
  mkdirSync(join(repo, 'src'), { recursive: true });
  writeFileSync(join(repo, 'src/a.txt'), 'a\n');
  writeFileSync(
    join(repo, 'AGENT-EXECUTION.md'),
    `\`\`\`agent-execution
schema: agent-execution/v1
execution:
  fresh_process_per_unit: true
  permission: run-everything
  fallback_to_host: never
  max_parallel: 1
  timeout_seconds: 600
  summary_bytes: 4096
  raw_output_bytes: 1048576
roles:
  repair: [many]
profiles:
  many:
    adapter: many
    executable: ${worker}
custom_adapters:
  many:
    base_argv: []
    run_everything_argv: []
    workspace_argv: []
    model_argv: []
    prompt_transport: stdin
    output_format: text
\`\`\`
`,
  );
  const git = (...args) =>
    execFileSync('git', ['-C', repo, '-c', 'user.name=b', '-c', 'user.email=b@b', ...args], { env });
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-q', '-m', 'base');
  return repo;
}

/** Seconds, and the peak of memory of the process itself in MB. */
function measured(command, args, cwd) {
  const peak = join(folder, 'peak');
  const started = process.hrtime.bigint();
  const done = spawnSync('/bin/sh', ['-c', `"$@"; code=$?; exit $code`, 'sh', command, ...args], { cwd, env });
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  if (done.status !== 0) throw new Error(`${command}: ${done.status} ${done.stderr}${done.stdout}`);
  return { seconds, peak };
}

const BARE = `set -e
git worktree add -q -b work "$1/bare-tree"
cd "$1/bare-tree"
echo prompt | "$2"
git add -A
git -c user.name=b -c user.email=b@b commit -q -m work
cd /
git -C "$3" worktree remove --force "$1/bare-tree"`;

const bare = [];
const ours = [];
for (let round = 0; round < rounds; round++) {
  const one = repository(`bare${round}`);
  bare.push(measured('/bin/sh', ['-c', BARE, 'sh', folder, worker, one], one).seconds);
  rmSync(one, { recursive: true });
  const two = repository(`ours${round}`);
  const state = join(folder, 'state');
  const args = ['run', '--role', 'repair', '--quiet', '--goal', 'many', '--allow', 'src/', '--state-dir', state];
  ours.push(measured(process.execPath, [tool, ...args], two).seconds);
  rmSync(two, { recursive: true });
  const last = `${bare.at(-1).toFixed(1)} s bare git, ${ours.at(-1).toFixed(1)} s agent-exec`;
  process.stdout.write(`round ${round + 1}: ${last}, ${(ours.at(-1) / bare.at(-1)).toFixed(2)}x\n`);
}
process.stdout.write(
  `${files} new files, median of ${rounds}: ${median(bare).toFixed(1)} s bare git, ${median(ours).toFixed(1)} s agent-exec, ${(median(ours) / median(bare)).toFixed(2)}x\n`,
);
rmSync(folder, { recursive: true });
