/**
 * Starts a runner as a process of its own and waits for its end, whatever its output, with a limit after which it counts as
 * hanging. A signal is sent when the worker has said that it is ready: by a process with `<mark>-ready` in its words.
 */
import { spawn } from 'node:child_process';
import { alive } from './processes.mjs';

const KEPT_BYTES = 2 ** 26;

/**
 * @typedef {object} Launched
 * @property {number | null} code null: a signal ended it
 * @property {string | null} signal
 * @property {Buffer} stdout the first 64 MiB
 * @property {Buffer} stderr
 * @property {boolean} hung the limit ended it
 * @property {number} seconds
 */

/**
 * @param {import('./world.mjs').World} world
 * @param {readonly string[]} command
 * @param {{ env?: Record<string, string>, cwd?: string, limitSeconds: number, signal?: NodeJS.Signals | null, umask?: string | null }} options
 * @returns {Promise<Launched>}
 */
export function launch(world, command, { env = {}, cwd = world.repo, limitSeconds, signal = null, umask = null }) {
  const [file, ...args] = umask === null ? command : ['/bin/sh', '-c', `umask ${umask}; exec "$@"`, 'sh', ...command];
  const started = Date.now();
  const child = spawn(file, args, {
    cwd,
    env: { ...world.environment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kept = { stdout: [], stderr: [] };
  for (const stream of ['stdout', 'stderr']) {
    let bytes = 0;
    child[stream].on('data', (chunk) => {
      if (bytes < KEPT_BYTES) kept[stream].push(chunk);
      bytes += chunk.length;
    });
  }
  let hung = false;
  const limit = setTimeout(() => {
    hung = true;
    child.kill('SIGKILL');
  }, limitSeconds * 1000);
  const ready = `${world.mark}-ready`;
  const watch =
    signal === null
      ? null
      : setInterval(() => {
          if (alive([ready]).length === 0) return;
          clearInterval(watch);
          child.kill(signal);
        }, 50);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, by) => {
      clearTimeout(limit);
      clearInterval(watch);
      const answer = () =>
        resolve({
          code,
          signal: by,
          stdout: Buffer.concat(kept.stdout),
          stderr: Buffer.concat(kept.stderr),
          hung,
          seconds: (Date.now() - started) / 1000,
        });
      // A survivor may hold the pipes for ever: that is judged by the survivor, not waited for.
      const late = setTimeout(answer, 500);
      child.on('close', () => {
        clearTimeout(late);
        answer();
      });
    });
  });
}
