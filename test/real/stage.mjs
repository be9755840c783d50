/**
 * The stage of one case: a folder with a real repository, a HOME, a packet and a policy, and one run of the built
 * agent-exec in it. It gives back what is there afterwards; whether that is right is judged elsewhere.
 */
import { spawn } from 'node:child_process';
import {
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { goalOf, playedBy, repairs, timeoutOf } from './cases.mjs';
import { KEY, POINTING } from './loopback.mjs';
import { canonicalLook, git, makeRepository } from './repository.mjs';

const ALLOWED = 'notes/';

/** Nothing listens there: the port is reserved and loopback refuses at once. */
const NOWHERE = 'http://127.0.0.1:9';
const PROVIDER_WAIT_SECONDS = 8;
const GRACE_MS = 60_000;

/** A repair is handed over as a supervisor does it: instructions, a milestone of a ledger, and the result alone on stdout. */
const INSTRUCTIONS = 'agents/repair.md';
const MILESTONE = 'm1';
const REPAIRING = `    instructions: ${INSTRUCTIONS}\n    result: repair-result/v1\n`;

const policy = (casts, clis, isolation, timeoutSeconds, role) => `# Who may work here

\`\`\`agent-execution
schema: agent-execution/v1
execution:
  fresh_process_per_unit: true
  permission: run-everything
  fallback_to_host: all-unavailable
  max_parallel: 1
  timeout_seconds: ${timeoutSeconds}
  isolation: ${isolation}
  provider_wait_seconds: ${PROVIDER_WAIT_SECONDS}
  summary_bytes: 4096
  raw_output_bytes: 10485760
roles:
  implementation:
    candidates: [${casts.map(({ cli }) => cli).join(', ')}]
${role}profiles:
${casts
  .map(({ cli, scenario }) => {
    const { adapter } = clis[cli];
    const { model, strangersModel, cost } = POINTING[adapter];
    const own = scenario === 'no-credentials' ? (strangersModel ?? model) : model;
    return `  ${cli}:\n    adapter: ${adapter}\n    model: ${own}\n    cost: ${cost}\n`;
  })
  .join('')}custom_adapters: {}
\`\`\`
`;

/**
 * @param {import('./cases.mjs').Case} test
 * @param {{ tool: string, clis: Record<string, import('./clis.mjs').Cli>, provider: import('./provider.mjs').Provider, isolation: string,
 *   source: string | null, uid: number | null, tag: string }} options `tool`: the built agent-exec; `source`: a repository to clone; null: a small one
 */
export async function play(test, { tool, clis, provider, isolation, source, uid, tag }) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'agent-exec-real-')));
  const at = (name) => path.join(folder, name);
  const repo = at('repo');
  const timeoutSeconds = timeoutOf(test);
  makeRepository(repo, source);
  writeFileSync(
    path.join(repo, 'AGENT-EXECUTION.md'),
    policy(test.casts, clis, isolation, timeoutSeconds, repairs(test) ? REPAIRING : ''),
  );
  mkdirSync(path.join(repo, path.dirname(INSTRUCTIONS)), { recursive: true });
  writeFileSync(path.join(repo, INSTRUCTIONS), '---\nname: repair\n---\nMend the cause, not the symptom.\n');
  git(repo, 'add', '-A');
  git(repo, 'commit', '-q', '--no-verify', '-m', 'base');
  for (const name of ['home', 'tmp', 'records']) mkdirSync(at(name), { mode: 0o700 });
  const unit = {
    unit_id: 'real-cli',
    goal: goalOf(test),
    allowed_paths: [ALLOWED],
    verification: [],
    constraints: [],
    network: 'allow',
    external_cost: 'metered',
    timeout_seconds: timeoutSeconds,
  };
  writeFileSync(at('unit.json'), JSON.stringify(unit));
  writeFileSync(at('ledger.json'), JSON.stringify({ milestones: { [MILESTONE]: { unit } } }));
  const look = () => ({
    ...canonicalLook(repo),
    instructions: fingerprint(path.join(repo, INSTRUCTIONS)),
    ledger: fingerprint(at('ledger.json')),
  });

  /** @type {Record<string, string>} */
  const env = {
    // Each CLI's own Node, where it has one, stands before the system's.
    PATH: [
      ...test.casts.map(({ cli }) => clis[cli].folder),
      path.dirname(process.execPath),
      '/usr/local/bin',
      '/usr/bin',
      '/bin',
      '/usr/sbin',
      '/sbin',
    ].join(':'),
    HOME: at('home'),
    USER: 'worker',
    LANG: 'C.UTF-8',
    TMPDIR: at('tmp'),
    // Whatever is not loopback goes to the provider's trap, which refuses and takes the name down.
    ...Object.fromEntries(
      ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [
        [name, provider.proxy],
        [name.toLowerCase(), provider.proxy],
      ]),
    ),
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
  };
  for (const [index, { cli, scenario }] of test.casts.entries()) {
    const target = {
      base: scenario === 'unreachable' ? NOWHERE : provider.base(playedBy(scenario), `${tag}-${index}`),
      key: scenario === 'no-credentials' ? null : KEY,
    };
    const pointing = POINTING[clis[cli].adapter];
    Object.assign(env, pointing.env(target));
    for (const [file, text] of Object.entries(pointing.files(target))) {
      mkdirSync(path.dirname(path.join(at('home'), file)), { recursive: true });
      writeFileSync(path.join(at('home'), file), text);
    }
  }
  // Beside HOME, where a worker's shell finds it: login shells make a PATH of their own.
  mkdirSync(at('bin'));
  writeFileSync(at('bin/agent-exec'), `#!/bin/sh\nexec '${process.execPath}' '${path.resolve(tool)}' "$@"\n`, {
    mode: 0o755,
  });
  if (uid !== null) giveTo(folder, uid);

  const before = look();
  const startedAt = Date.now();
  const receiptPath = at('records/receipt.json');
  const args = [
    'run',
    '--role',
    'implementation',
    ...(repairs(test)
      ? ['--ledger', at('ledger.json'), '--milestone', MILESTONE, '--blocker', 'notes/ is empty', '--print', 'result']
      : ['--unit', at('unit.json'), '--json']),
    '--receipt',
    receiptPath,
    '--state-dir',
    at('state'),
  ];
  const limitMs = test.casts.length * timeoutSeconds * 1000 + GRACE_MS;
  const ended = await runTool([tool, ...args], { cwd: repo, env, uid, limitMs });
  return {
    folder,
    repo,
    home: at('home'),
    tmp: at('tmp'),
    before,
    after: look(),
    ...ended,
    durationMs: Date.now() - startedAt,
    receipt: existsSync(receiptPath) ? JSON.parse(readFileSync(receiptPath, 'utf8')) : null,
    requests: test.casts.map((_, index) => provider.requests(`${tag}-${index}`)),
  };
}

/** What a file is, and when it was last written or changed in any way. */
function fingerprint(file) {
  const { ino, mode, mtimeNs, ctimeNs } = lstatSync(file, { bigint: true });
  return `${ino} ${mode} ${mtimeNs} ${ctimeNs} ${readFileSync(file, 'utf8')}`;
}

/** @returns {Promise<{ exit: number | string, stdout: string, stderr: string }>} `exit` is a signal's name where it was ended */
function runTool(args, { cwd, env, uid, limitMs }) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(uid === null ? {} : { uid, gid: uid }),
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    // agent-exec ends its worker when it is told to end: whoever stops this program stops both.
    const abandoned = () => child.kill('SIGTERM');
    process.once('exit', abandoned);
    const stop = setTimeout(() => child.kill('SIGTERM'), limitMs);
    const kill = setTimeout(() => child.kill('SIGKILL'), limitMs + 30_000);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      process.off('exit', abandoned);
      clearTimeout(stop);
      clearTimeout(kill);
      // A grandchild may hold the pipes; what has arrived by now is the answer.
      setImmediate(() => resolve({ exit: code ?? String(signal), stdout, stderr }));
    });
  });
}

function giveTo(file, uid) {
  lchownSync(file, uid, uid);
  if (lstatSync(file).isDirectory()) for (const name of readdirSync(file)) giveTo(path.join(file, name), uid);
}
