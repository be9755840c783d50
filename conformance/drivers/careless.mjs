/**
 * Drives a runner made to be bad in the ways that real ones are: it starts the worker and forgets it, believes every
 * exit, copies at most so much of what it finds and removes the rest with the worktree, and hides what went wrong. A
 * probe that the bare script happens to hold must fail here, or it proves nothing.
 */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { findInFolder } from '../driver.mjs';
import { launch } from '../launch.mjs';

const RUNNER = `
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
const [repo, folder, worker, result, log] = process.argv.slice(2);
execFileSync('git', ['-C', repo, 'worktree', 'add', '-q', '--detach', folder]);
// Whoever interrupts this is obeyed at once; the worker is not told.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(0));
const child = spawn(worker, [], { cwd: folder, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
child.stdin.on('error', () => {}).end('Append one line to src/a.txt.\\n');
let output = '';
for (const stream of [child.stdout, child.stderr]) stream.setEncoding('latin1').on('data', (text) => { output = (output + text).slice(-1e6); });
await new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
writeFileSync(log, 'done: ' + output);
process.stdout.write(output);
let left = 4;
try {
  const status = execFileSync('git', ['-C', folder, 'status', '--porcelain', '-uall'], { maxBuffer: 1e9 });
  for (const line of status.toString().split('\\n')) {
    const name = line.slice(3);
    try {
      const { size } = statSync(path.join(folder, name));
      if (name === '' || size === 0 || size > 1e6 || left-- <= 0) continue;
      mkdirSync(path.dirname(path.join(result, name)), { recursive: true });
      writeFileSync(path.join(result, name), readFileSync(path.join(folder, name)));
    } catch {}
  }
} catch {}
rmSync(folder, { recursive: true, force: true });
execFileSync('git', ['-C', repo, 'worktree', 'prune']);
`;

/** @type {import('../driver.mjs').Driver} */
export default {
  name: 'careless',
  isolations: () => ['none'],
  owned: /^\.git\/worktrees(?:\/.*)?$/,
  answerBytes: 65_536,
  answersJson: false,

  async run(world, { limitSeconds, signal, umask }) {
    const [program, folder, result, log] = ['runner.mjs', 'worktree', 'result', 'careless.log'].map((name) =>
      path.join(world.folder, name),
    );
    writeFileSync(program, RUNNER);
    const command = [process.execPath, program, world.repo, folder, world.worker, result, log];
    const done = await launch(world, command, { limitSeconds, signal, umask });
    return {
      ...done,
      exit: done.code ?? done.signal,
      claimsSuccess: done.code === 0,
      artefacts: existsSync(log) ? [log] : [],
      texts: [],
      privateLogs: [],
      findWork: (name) => [...findInFolder(result, name), ...findInFolder(folder, name)],
    };
  },
};
