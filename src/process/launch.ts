/**
 * Starts a worker's process by the containment's means. Plain child_process and not execa: what execa adds (its own
 * termination, buffering, error shapes, signal forwarding) is what supervision must decide itself, and a second opinion
 * on any of it would break "one reason, the first". Detached: a session of its own, out of reach of the terminal's
 * Ctrl-C. No shell, ever.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { err, ok, type Result } from '../model/result.ts';
import { bwrapCommand } from './bwrap.ts';
import { type Containment, replacedTools, unshareCommand } from './containment.ts';
import { behindInit } from './init.ts';
import { type MountWishes, resolveMounts } from './mounts.ts';
import { descriptorShortage } from './shortage.ts';
import { openStandardStreams, type StandardStreams } from './standard-streams.ts';
import { diagnoseStart, errorCode, type StartError } from './start-error.ts';
import { tagOf } from './traces.ts';

export interface LaunchRequest {
  /** Absolute path. */
  readonly executable: string;
  readonly args: readonly string[];
  /** Absolute path of the workspace. */
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly hasInput: boolean;
  readonly containment: Containment;
  readonly mounts: MountWishes;
  /** Only `strict` can take the network away; elsewhere it must be false. */
  readonly networkOff: boolean;
  readonly marker: string;
}

export interface Launched {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Null where there is no input. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** bwrap's reports; null for other mechanisms. */
  readonly status: Readable | null;
}

const STATUS_DESCRIPTOR = 3;

function commandFor(request: LaunchRequest): string[] {
  const { containment } = request;
  const command = [request.executable, ...request.args];
  switch (containment.mechanism) {
    case 'bwrap':
      return bwrapCommand(
        {
          program: containment.program,
          level: containment.level,
          userNamespace: containment.userNamespace,
          runningAsRoot: process.getuid?.() === 0,
          networkOff: request.networkOff,
          statusDescriptor: STATUS_DESCRIPTOR,
          workspace: request.cwd,
          mounts: resolveMounts(request.mounts, containment.level),
        },
        command,
      );
    case 'unshare':
      return [...unshareCommand(containment), ...behindInit(command, request.environment)];
    case 'sweep':
      if (containment.prlimit === null) return command;
      // Only the soft limit: a run inside this one must be able to set its own.
      return [containment.prlimit, `--locks=${tagOf(request.marker)}:`, '--', ...command];
  }
}

/**
 * Descriptors above 2 that this process was itself started with and would pass on. Node marks only the lowest ones
 * close-on-exec; the worker gets /dev/null in place of the others.
 */
function leakingDescriptors(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => {
      if (descriptor <= 2) return false;
      try {
        const flags = /^flags:\t([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
        return flags !== undefined && (Number.parseInt(flags, 8) & 0o2000000) === 0;
      } catch (thrown) {
        // The descriptor of the listing itself, closed by now. Of any other it must be known.
        if (errorCode(thrown) === 'ENOENT') return false;
        throw thrown;
      }
    });
}

function startProcess(request: LaunchRequest, streams: StandardStreams): ChildProcess {
  const [file = '', ...args] = commandFor(request);
  const through = request.containment.mechanism === 'bwrap';
  const leaks = leakingDescriptors();
  const nothing = openSync('/dev/null', 'r+');
  const stdio: ('pipe' | 'ignore' | number)[] = [...streams.given];
  for (let descriptor = 3; descriptor <= Math.max(0, ...leaks); descriptor++) {
    stdio[descriptor] = leaks.includes(descriptor) ? nothing : 'ignore';
  }
  if (through) stdio[STATUS_DESCRIPTOR] = 'pipe';
  try {
    return spawn(file, args, {
      // bwrap goes to the workspace itself, inside.
      cwd: through ? '/' : request.cwd,
      env: request.environment,
      detached: true,
      stdio,
    });
  } finally {
    closeSync(nothing);
  }
}

/** Starts the process. The error is that of the launcher where there is one, else of the executable itself. */
export async function launch(request: LaunchRequest): Promise<Result<Launched, StartError>> {
  if (request.networkOff && request.containment.level !== 'strict') {
    throw new Error('only strict isolation can take the network away');
  }
  const replaced = replacedTools(request.containment);
  if (replaced !== null) {
    const message = `${replaced} is not the program any more that it was when this run began; it was not started`;
    return err({ code: 'SANDBOX_FAILED', message });
  }
  const streams = await openStandardStreams(request.hasInput, process.platform);
  if (!streams.ok) return streams;

  const failed = (thrown: unknown): Result<never, StartError> => {
    const told = errorCode(thrown);
    // Node's word where it finds no descriptor left in the midst of a start.
    const code = told === 'EINVAL' && descriptorShortage() !== null ? 'EMFILE' : told;
    streams.value.notStarted();
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    return err({ code, message: diagnoseStart(request.executable, request.cwd)?.message ?? said });
  };
  try {
    const child = startProcess(request, streams.value);
    if (child.pid === undefined) {
      return failed(await new Promise<unknown>((resolve) => child.once('error', resolve)));
    }
    const { stdin, stdout, stderr } = streams.value.started(child);
    const status = request.containment.mechanism === 'bwrap' ? (child.stdio[STATUS_DESCRIPTOR] as Readable) : null;
    return ok({ child, pid: child.pid, stdin, stdout, stderr, status });
  } catch (thrown) {
    // Some refusals are thrown at once: E2BIG, ETXTBSY, a NUL in an argument, no descriptor left. A bug has no code.
    const refusal = failed(thrown);
    if (thrown instanceof Error && 'code' in thrown) return refusal;
    throw thrown;
  }
}
