/**
 * Anonymous pipes, which Node cannot make: what it calls a pipe is a socket, and a socket cannot be opened again through
 * /dev/stdin, /dev/stdout or /dev/stderr (ENXIO), as scripts and test runners do. Linux only.
 *
 * A shell makes them, one for each `|`; opening them in /proc/PID/fd gives ends of our own, and the shell ends. Not FIFOs
 * of mkfifo: opening a FIFO for reading waits for a writer, so `cat /dev/stdin` would hang for ever once the prompt is
 * written and our end closed. Besides, a pipe has no name to remove and needs no room on a disk.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { err, ok, type Result } from '../model/result.ts';
import { errorCode, type StartError } from './start-error.ts';

/** Two descriptors, blocking and close-on-exec. Whoever takes one over closes it. */
export interface Pipe {
  readonly readEnd: number;
  readonly writeEnd: number;
}

/** The first of the descriptors on which the shell holds the pipes, and the one on which it waits for its end. */
const FIRST = 3;
const WAITING = 9;

/** Holds `count` pipes, says its pid, and ends with its stdin: also where this process is killed meanwhile. */
function holdingScript(count: number): string {
  // $$ would be the outermost shell, which holds none of them.
  let script = `read -r pid rest </proc/self/stat; echo "$pid"; read -r rest <&${WAITING}`;
  for (let held = FIRST + count - 1; held >= FIRST; held--) script = `: | { exec ${held}<&0; ${script}; }`;
  return `exec 2>&1 ${WAITING}<&0; ${script}`;
}

const startShell = (program: string, count: number) =>
  spawn(program, ['-c', holdingScript(count)], {
    cwd: '/',
    env: { LC_ALL: 'C' },
    // A terminal's Ctrl-C is for the caller to understand, not for a helper to die of.
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });

/** Opens both ends by way of one: the kernel looks only at the mode of the new descriptor. */
function openPipe(path: string): Pipe {
  const readEnd = openSync(path, constants.O_RDONLY);
  try {
    return { readEnd, writeEnd: openSync(path, constants.O_WRONLY) };
  } catch (thrown) {
    closeSync(readEnd);
    throw thrown;
  }
}

function failure(thrown: unknown): Result<never, StartError> {
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  return err({ code: errorCode(thrown), message: `the pipes for the worker cannot be made: ${said}` });
}

/**
 * Makes `count` pipes, at most 6. The error is an errno name, or `PIPES_FAILED` with the shell's own words. Nothing of
 * the shell is left when it settles, so nobody else holds an end.
 */
export async function makePipes(
  count: number,
  shell = '/bin/sh',
  limitMs = 10_000,
): Promise<Result<readonly Pipe[], StartError>> {
  let holder: ReturnType<typeof startShell>;
  try {
    holder = startShell(shell, count);
  } catch (thrown) {
    return failure(thrown);
  }
  if (holder.pid === undefined) return failure((await once(holder, 'error'))[0]);

  const pipes: Pipe[] = [];
  let said = '';
  let refused: unknown = null;
  holder.stdin.on('error', () => {
    // It ended by itself; what it said tells why.
  });
  holder.stdout.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('latin1')).slice(0, 1000);
    const pid = /^(\d+)\n$/.exec(said)?.[1];
    if (pid === undefined) return;
    try {
      for (let held = FIRST; held < FIRST + count; held++) pipes.push(openPipe(`/proc/${pid}/fd/${held}`));
    } catch (thrown) {
      refused = thrown;
    }
    holder.stdin.end();
  });
  const timer = setTimeout(() => {
    said ||= `${shell} did not answer within ${limitMs} ms`;
    holder.kill('SIGKILL');
    holder.stdin.destroy();
    holder.stdout.destroy();
  }, limitMs);
  await once(holder, 'close');
  clearTimeout(timer);
  if (pipes.length === count) return ok(pipes);

  for (const { readEnd, writeEnd } of pipes) for (const end of [readEnd, writeEnd]) closeSync(end);
  return failure(
    refused ?? Object.assign(new Error(said.trim() || 'the shell said nothing'), { code: 'PIPES_FAILED' }),
  );
}
