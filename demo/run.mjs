/**
 * The main job, end to end, on a real repository: a candidate that is missing, one whose provider refuses, one that
 * repairs the bug. Usage: npm run demo [-- --keep]
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const tool = join(here, '../dist/agent-exec.mjs');
const keep = process.argv.includes('--keep');
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'agent-exec-demo-')));
const repo = join(folder, 'calculator');
const receiptPath = join(folder, 'receipt.json');

const say = (text = '') => console.log(text);
const heading = (text) => say(`\n\u001b[1m${text}\u001b[0m`.replace(process.stdout.isTTY ? '' : /\u001b\[\d+m/g, ''));
const git = (...args) =>
  execFileSync('git', ['-C', repo, ...args], {
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'demo',
      GIT_AUTHOR_EMAIL: 'demo@example.invalid',
      GIT_COMMITTER_NAME: 'demo',
      GIT_COMMITTER_EMAIL: 'demo@example.invalid',
    },
  }).trimEnd();
const put = (path, text) => {
  mkdirSync(join(repo, path, '..'), { recursive: true });
  writeFileSync(join(repo, path), text);
};
const problems = [];
const expect = (holds, what) => {
  say(`  ${holds ? 'yes' : 'NO '}  ${what}`);
  if (!holds) problems.push(what);
};

heading('1. A repository with a bug');
mkdirSync(repo);
git('init', '-q', '-b', 'main');
put('package.json', '{ "type": "module", "scripts": { "test": "node --test" } }\n');
put('src/add.js', 'export function add(a, b) {\n  return a - b;\n}\n');
put(
  'test/add.test.js',
  "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { add } from '../src/add.js';\n\ntest('adds', () => assert.equal(add(2, 3), 5));\n",
);
put('docs/refusals.txt', 'provider error: 429\n');
put(
  'AGENT-EXECUTION.md',
  `# Who may work here

Repairs go to the first of three workers that can do them.

\`\`\`agent-execution
schema: agent-execution/v1
execution:
  fresh_process_per_unit: true
  permission: run-everything
  fallback_to_host: all-unavailable
  max_parallel: 1
  timeout_seconds: 60
  summary_bytes: 4096
  raw_output_bytes: 1048576
roles:
  repair: [absent, busy, scripted]
profiles:
  absent:
    adapter: cursor
    executable: cursor-agent-that-is-not-installed
  busy:
    adapter: refused
    executable: ${JSON.stringify(join(here, 'workers/refused.mjs'))}
  scripted:
    adapter: scripted
    executable: ${JSON.stringify(join(here, 'workers/scripted.mjs'))}
custom_adapters:
  refused:
    base_argv: []
    run_everything_argv: []
    workspace_argv: []
    model_argv: []
    prompt_transport: stdin
    output_format: text
    refusal_prefixes: ["provider error: 429"]
    refusal_source: docs/refusals.txt
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
git('commit', '-q', '-m', 'A calculator that cannot add');
put('notes.txt', 'my own unfinished work\n');
const test = spawnSync(process.execPath, ['--test'], { cwd: repo, encoding: 'utf8' });
say(`  ${repo}`);
say(`  node --test exits with ${test.status}: add(2, 3) is ${'-1'}`);
const before = {
  head: git('rev-parse', 'HEAD'),
  status: git('status', '--porcelain'),
  add: readFileSync(join(repo, 'src/add.js'), 'utf8'),
};

const args = [
  'run',
  '--repo',
  repo,
  '--role',
  'repair',
  '--goal',
  'add(2, 3) must be 5. The test in test/add.test.js shows it.',
  '--allow',
  'src/',
  '--verify-cmd',
  '["node","--test"]',
  '--verify',
  '--receipt',
  receiptPath,
  '--state-dir',
  join(folder, 'state'),
];
heading('2. The unit goes to the first worker that can do it');
say(`  agent-exec ${args.map((a) => (/[\s"]/.test(a) ? `'${a}'` : a)).join(' ')}\n`);
const run = spawnSync(process.execPath, [tool, ...args], { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
say(`\n${run.stdout}`);
if (run.status !== 0) {
  say(`agent-exec exited with ${run.status}; everything is kept in ${folder}`);
  process.exit(1);
}

const receipt = JSON.parse(readFileSync(receiptPath, 'utf8'));
heading('3. What the receipt proves');
for (const attempt of receipt.attempts) {
  say(`  ${attempt.attempt_id}: ${attempt.state} / ${attempt.code}`);
  say(`      ${attempt.message}`);
}
const last = receipt.attempts.at(-1);
say(
  `  isolation ${last.isolation.level} by ${last.isolation.mechanism}; worker ${last.termination.kind} with ${last.termination.code}`,
);
for (const check of last.verification) say(`  verified: ${check.argv.join(' ')} exited with ${check.code}`);

heading('4. The change, as a commit that nobody has to trust the worker for');
say(`  ${last.transport.ref}`);
say(git('diff', '--stat', `${last.transport.commit}^`, last.transport.commit));
say(
  git('diff', `${last.transport.commit}^`, last.transport.commit)
    .split('\n')
    .filter((l) => /^[-+] /.test(l))
    .join('\n'),
);

heading('5. Did it keep its promises?');
expect(receipt.outcome === 'success' && receipt.exit_code === 0, 'outcome is success, exit code 0');
expect(
  receipt.attempts.map((a) => a.code).join() === 'EXECUTABLE_MISSING,RATE_LIMITED,OK',
  'missing, refused, repaired: each said so with its own code',
);
expect(receipt.attempts[1].termination.code === 0, 'the refused worker had exited with 0 and was not believed');
expect(git('rev-parse', `${last.transport.commit}^@`) === before.head, "the commit's only parent is the base");
expect(git('rev-parse', 'HEAD') === before.head, 'HEAD of the checkout has not moved');
expect(
  git('status', '--porcelain') === before.status,
  'git status of the checkout is what it was, unfinished work included',
);
expect(readFileSync(join(repo, 'src/add.js'), 'utf8') === before.add, 'the file in the checkout is untouched');

say(`\nTake it over with: git merge --ff-only ${last.transport.ref}`);
if (keep || problems.length > 0) say(`Everything is kept in ${folder}`);
else rmSync(folder, { recursive: true, force: true });
process.exit(problems.length > 0 ? 1 : 0);
