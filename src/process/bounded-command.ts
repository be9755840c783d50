/**
 * Runs one small helper command to its end, or to a bound: time, bytes, an abort. Nothing of its process group is left
 * behind, whatever it did, and nobody waits for a pipe that a child of it still holds.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { ProbeOutput } from '../model/adapter.ts';
import { errorCode } from './start-error.ts';

interface BoundedCommand {
  /** Absolute path of the executable. */
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Of each stream; one byte more ends the command. */
  readonly maxBytes: number;
  /** Ends the command; the promise then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export type BoundedEnd =
  | { readonly kind: 'exited'; readonly output: ProbeOutput }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'flood' }
  | { readonly kind: 'not-started'; readonly error: string; readonly code: string };

/** How long output that is already in the pipes may take to arrive once the group is dead. */
const DRAIN_MS = 1000;

class Capture {
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }
  /** False where the limit is passed. */
  take(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    if (this.bytes <= this.limit) this.chunks.push(chunk);
    return this.bytes <= this.limit;
  }
  text(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }
}

/** Kills what is left of the child's process group. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    // ESRCH is the aim: nobody is left. macOS answers EPERM for a group of zombies.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

export function runBounded(command: BoundedCommand): Promise<BoundedEnd> {
  command.signal?.throwIfAborted();
  let child: ReturnType<typeof start>;
  try {
    child = start(command);
  } catch (error) {
    // NUL in an argument, E2BIG and ETXTBSY are thrown, where other failures to start arrive as an event.
    return Promise.resolve(notStarted(error as Error));
  }
  // Without a descriptor left the child has no streams either.
  if (child.pid === undefined) return new Promise((resolve) => child.once('error', (e) => resolve(notStarted(e))));
  const stdout = new Capture(command.maxBytes);
  const stderr = new Capture(command.maxBytes);
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let settled = false;
    const settle = (finish: () => void): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      command.signal?.removeEventListener('abort', onAbort);
      killGroup(child);
      child.stdout.destroy();
      child.stderr.destroy();
      // A child that is in the midst of dying must not keep us alive.
      child.unref();
      finish();
    };
    const end = (how: BoundedEnd): void => settle(() => resolve(how));
    const onAbort = (): void => settle(() => reject(command.signal?.reason));
    command.signal?.addEventListener('abort', onAbort);
    timer = setTimeout(() => end({ kind: 'timeout' }), command.timeoutMs);

    child.stdout.on('data', (chunk: Buffer) => stdout.take(chunk) || end({ kind: 'flood' }));
    child.stderr.on('data', (chunk: Buffer) => stderr.take(chunk) || end({ kind: 'flood' }));
    child.on('error', (error) => end(notStarted(error)));
    child.on('exit', (code) => {
      const done = (): void => end({ kind: 'exited', output: { stdout: stdout.text(), stderr: stderr.text(), code } });
      clearTimeout(timer);
      killGroup(child);
      // A child that left the group may hold the pipes open; what the command itself wrote is there by now.
      timer = setTimeout(done, DRAIN_MS);
      child.on('close', done);
    });
  });
}

const notStarted = (error: Error): BoundedEnd => ({
  kind: 'not-started',
  error: error.message,
  code: errorCode(error),
});

const start = (command: BoundedCommand) =>
  spawn(command.file, command.args, {
    cwd: command.cwd,
    env: command.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A session and group of its own, so that all of it can be ended.
    detached: true,
  });
