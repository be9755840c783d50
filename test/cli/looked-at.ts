/** Runs to look back at: one that is under way for as long as a test wants, and one whose agent-exec was killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOOL, type World } from '../run/world.ts';

/** Resolves when the world's folder has a file of that name. */
export function made(world: World, name: string): Promise<void> {
  const path = join(world.folder, name);
  return new Promise((resolve) => {
    const watcher = watch(world.folder, () => {
      if (!existsSync(path)) return;
      watcher.close();
      resolve();
    });
    if (existsSync(path)) {
      watcher.close();
      resolve();
    }
  });
}

/** Of a worker's script: says that it is ready, then waits until it is told to go on. */
export const WAIT = 'touch @D@/ready; until [ -e @D@/go ]; do sleep 0.02; done';

export interface UnderWay {
  readonly runId: string;
  readonly child: ChildProcess;
  /** Lets the worker go on; resolves when the run has ended. */
  finish(): Promise<void>;
}

/** Starts a run of `script`, which must contain {@link WAIT}, and resolves when its worker waits; `next`: a second candidate. */
export async function underWay(
  world: World,
  script: string,
  { execution = [], next }: { readonly execution?: readonly string[]; readonly next?: string } = {},
): Promise<UnderWay> {
  world.configure({ one: { script }, ...(next === undefined ? {} : { two: { script: next } }) }, execution);
  const known = new Set(existsSync(world.state) ? readdirSync(world.state) : []);
  const child = spawn(
    process.execPath,
    [TOOL, 'run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state],
    { cwd: world.repo, env: { PATH: process.env.PATH, HOME: world.home, LANG: 'C.UTF-8' }, stdio: 'ignore' },
  );
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  await made(world, 'ready');
  const runId = readdirSync(world.state).find((name) => !known.has(name)) ?? '';
  return {
    runId,
    child,
    finish: () => {
      writeFileSync(join(world.folder, 'go'), '');
      return ended;
    },
  };
}

/** The id of a run whose agent-exec was killed in the midst of its worker's work. */
export async function killed(
  world: World,
  script = `cat >/dev/null; echo half >> src/a.txt; ${WAIT}`,
): Promise<string> {
  const run = await underWay(world, script);
  const gone = new Promise((resolve) => run.child.on('close', resolve));
  run.child.kill('SIGKILL');
  await gone;
  return run.runId;
}

/** Path -> content of everything below the state root, to see that looking changes nothing. */
export function photographOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path, entry.isFile() ? readFileSync(path, 'latin1') : 'folder'];
    }),
  );
}
