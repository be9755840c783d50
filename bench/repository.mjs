/** What every benchmark starts from: a repository with one scripted worker, and how it is run. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Nothing of the person at this machine takes part. */
export const environmentIn = (folder) => ({
  PATH: process.env.PATH,
  HOME: folder,
  LANG: 'C.UTF-8',
  GIT_CONFIG_NOSYSTEM: '1',
});

export const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/**
 * Makes `folder/name` with `files` (path to content) and a worker that runs `script` (sh) once it has read its prompt, its
 * output read as `format`. Gives the paths of both.
 */
export function makeRepository(folder, { name, files, script, format = 'text' }) {
  const repo = join(folder, name);
  const env = environmentIn(folder);
  const git = (...args) =>
    execFileSync('git', ['-C', repo, '-c', 'user.name=b', '-c', 'user.email=b@b', ...args], { env });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(repo, path)), { recursive: true });
    writeFileSync(join(repo, path), text);
  }
  git('init', '-q', '-b', 'main');
  const worker = join(folder, `${name}-worker.sh`);
  writeFileSync(worker, `#!/bin/sh\ncat >/dev/null\n${script}\n`, { mode: 0o755 });
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
    output_format: ${format}
\`\`\`
`,
  );
  git('add', '-A');
  git('commit', '-q', '-m', 'base');
  return { repo, worker };
}

/** Arguments of `node` that run the repository's worker once. */
export const runArgs = (tool, folder, repo) => [
  ...[tool, 'run', '--repo', repo, '--role', 'repair', '--goal', 'bench', '--allow', 'src/'],
  ...['--state-dir', join(folder, 'state'), '--quiet', '--json'],
];
