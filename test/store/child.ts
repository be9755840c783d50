/** Runs a few lines of TypeScript that use the real modules in a process of their own, also as another user. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { temporaryFolder } from './temporary.ts';

const STORE = new URL('../../src/store/', import.meta.url).pathname;

/** Bundles `source`, whose imports are relative to src/store/, and gives the script's path. */
export function bundled(source: string): string {
  const folder = temporaryFolder();
  const outfile = join(folder, 'script.mjs');
  buildSync({
    stdin: { contents: source, resolveDir: STORE, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile,
    logLevel: 'error',
  });
  chmodSync(outfile, 0o644);
  return outfile;
}

export interface ChildOptions {
  readonly uid?: number;
  /** Shell words put before the command, such as `ulimit -f 2;`. */
  readonly shellPrefix?: string;
}

export function start(script: string, args: readonly string[], options: ChildOptions = {}): ChildProcess {
  const identity = options.uid === undefined ? {} : { uid: options.uid, gid: options.uid };
  const stdio = ['pipe', 'pipe', 'inherit'] as ['pipe', 'pipe', 'inherit'];
  return options.shellPrefix === undefined
    ? spawn(process.execPath, [script, ...args], { stdio, cwd: '/', ...identity })
    : spawn('bash', ['-c', `${options.shellPrefix} exec "$0" "$@"`, process.execPath, script, ...args], {
        stdio,
        cwd: '/',
        ...identity,
      });
}

/** What the script prints, once it has ended; it must exit with 0. */
export async function outputOf(child: ChildProcess): Promise<string> {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`the child ended with ${code ?? signal}: ${text}`);
  return text;
}

/** Resolves with the first line that the script prints. */
export async function firstLine(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    text += chunk.toString();
    if (text.includes('\n')) break;
  }
  return text.split('\n')[0] ?? '';
}
