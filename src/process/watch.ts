/**
 * The life of one started worker: reads its output, keeps its clocks, stops it for the first reason there is, and after
 * its exit ends everything that is left of it.
 */
import type { Invocation } from '../model/adapter.ts';
import type { Processes, Refusal, Termination } from '../model/observation.ts';
import type { Limits } from '../model/plan.ts';
import type { ProcessIdentity } from '../model/process-identity.ts';
import { readBwrapStatus } from './bwrap.ts';
import type { LogCapture } from './capture.ts';
import { afterReading, nextDeadline, type Reading, startClocks } from './deadlines.ts';
import { advance, type Ending, type Exit, exitOf, RUNNING, type StopReason } from './ending.ts';
import { identityOf } from './identity.ts';
import type { Launched, LaunchRequest } from './launch.ts';
import { exitThrough, neverRan } from './launcher-answer.ts';
import { namespacedTree } from './namespace.ts';
import { type BlockReader, follow, readOutput } from './output.ts';
import type { StartError } from './start-error.ts';
import { sweptTree } from './sweep.ts';
import { type ProcessEntry, readProcess } from './table.ts';
import { tagOf } from './traces.ts';
import { END_MS, type ProcessTree } from './tree.ts';

export interface SuperviseRequest extends Omit<LaunchRequest, 'hasInput'> {
  /** Bytes are written to stdin, which is closed after them or at the `finished` observation; `null`: /dev/null. */
  readonly stdin: Invocation['stdin'];
  readonly limits: Pick<Limits, 'timeoutMs' | 'idleTimeoutMs' | 'providerWaitMs' | 'graceMs' | 'rawOutputBytes'>;
  /** Milliseconds that a worker may stay after a `finished` observation; null: its exit is waited for. */
  readonly lingerMs: number | null;
  /** Private files to be made for its output; they must not exist. */
  readonly logs: { readonly stdout: string; readonly stderr: string };
  /** Reads each block of whole lines and says what they mean; null: nobody reads. Must not throw. */
  readonly onOutput: BlockReader | null;
  /** The host's cancellation; the reason it is aborted with is the signal's name. */
  readonly stop: AbortSignal | null;
  /** Told at once who was started, for the journal. */
  readonly onStarted?: (leader: ProcessIdentity) => void;
}

export interface Watched {
  readonly termination: Termination;
  readonly processes: Processes;
  readonly providerWait: Refusal | null;
  readonly startError: StartError | null;
  /** What a callback of the caller threw; a bug, to be thrown on once everything is cleaned up. */
  readonly fault: { readonly thrown: unknown } | null;
}

/** How long output may still come after the worker's exit, once nothing of it is left that could write. */
const DRAIN_MS = 250;
/** A deadline found passed by more than this was not seen in time. */
const HELD_UP_MS = 500;
/** Time for what waits in pipes and for an exit to be heard of. */
const CATCH_UP_MS = 200;
const FIRST_LOOK_MS = 20;
const LOOK_MS = 250;
/** Looking at the processes takes at most one part in so many of the time. */
const LOOK_SHARE = 20;

function holdTree(request: SuperviseRequest, leader: ProcessEntry, status: () => string): ProcessTree {
  if (request.containment.mechanism === 'sweep') {
    const tag = request.containment.prlimit === null ? null : tagOf(request.marker);
    return sweptTree(leader, { marker: request.marker, workspace: request.cwd, tag });
  }
  const { marker } = request;
  return namespacedTree({ launcher: leader, firstPid: () => readBwrapStatus(status()).childPid, marker });
}

/** Looks at the tree again and again, more rarely where looking is slow. Gives what stops it. */
function keepLooking(tree: ProcessTree): () => void {
  let timer: NodeJS.Timeout;
  const look = () => {
    const began = performance.now();
    tree.observe();
    timer = setTimeout(look, Math.max(LOOK_MS, LOOK_SHARE * (performance.now() - began)));
  };
  timer = setTimeout(look, FIRST_LOOK_MS);
  return () => clearTimeout(timer);
}

export async function watch(
  request: SuperviseRequest,
  launched: Launched,
  logs: readonly [LogCapture, LogCapture],
): Promise<Watched> {
  const { child, pid } = launched;
  const { limits } = request;
  const through = request.containment.mechanism === 'sweep' ? 'direct' : 'init';
  const leader = readProcess(pid);
  // Node has not waited for it yet, so even a process that ended at once is still in the table.
  if (leader === null) {
    child.kill('SIGKILL');
    throw new Error(`process ${pid} was started and is not in the process table`);
  }

  let status = '';
  const drainStatus = launched.status === null ? null : follow(launched.status);
  launched.status?.on('data', (chunk: Buffer) => {
    status += chunk.toString('latin1');
  });
  const tree = holdTree(request, leader, () => status);

  let ending: Ending = RUNNING;
  let clocks = startClocks(performance.now());
  let providerWait: Refusal | null = null;
  let fault: { thrown: unknown } | null = null;
  let deadlineTimer: NodeJS.Timeout | null = null;
  let killTimer: NodeJS.Timeout | null = null;
  let leave: (exit: Exit | null) => void = () => {};
  const left = new Promise<Exit | null>((resolve) => {
    leave = resolve;
  });
  child.once('exit', (code, signal) => leave(exitOf(code, signal, through)));

  function kill(): void {
    ending = advance(ending, { kind: 'escalate', signal: 'SIGKILL' });
    tree.kill();
    // A process that even KILL does not end (it hangs in the kernel) is not waited for: it is a survivor.
    killTimer = setTimeout(() => leave(null), END_MS);
  }

  function stop(by: StopReason, signal: string): void {
    if (ending.phase !== 'running') return;
    ending = advance(ending, { kind: 'stop', by, signal });
    providerWait = clocks.waiting?.refusal ?? null;
    if (tree.terminate()) killTimer = setTimeout(kill, limits.graceMs);
    else kill();
  }

  function checkDeadline(caughtUp = false): void {
    if (ending.phase !== 'running') return;
    const next = nextDeadline(clocks, { ...limits, lingerMs: request.lingerMs });
    const rest = next.at - performance.now();
    if (deadlineTimer !== null) clearTimeout(deadlineTimer);
    // Rounded up: a timer may fire a fraction of a millisecond early.
    if (rest > 0) deadlineTimer = setTimeout(checkDeadline, Math.ceil(rest));
    // We stood still (Ctrl-Z, a stopped container): what the worker did meanwhile is still to be read.
    else if (rest < -HELD_UP_MS && !caughtUp) deadlineTimer = setTimeout(checkDeadline, CATCH_UP_MS, true);
    else stop(next.by, 'SIGTERM');
  }

  function onReading(reading: Reading): void {
    const before = clocks;
    clocks = afterReading(clocks, reading, performance.now());
    // Only these two can bring the deadline nearer; output moves it away, which the timer sees when it fires.
    if (clocks.waiting !== before.waiting || clocks.finishedAt !== before.finishedAt) checkDeadline();
    if (clocks.finishedAt !== before.finishedAt) launched.stdin?.end();
  }
  function onFault(thrown: unknown): void {
    fault ??= { thrown };
    stop('cancel', 'SIGTERM');
  }

  const outputs = [
    readOutput(launched.stdout, 'stdout', logs[0], request.onOutput, onReading, onFault),
    readOutput(launched.stderr, 'stderr', logs[1], request.onOutput, onReading, onFault),
  ];
  // A worker need not read what it is given: EPIPE is nothing.
  launched.stdin?.on('error', () => {});
  if (request.stdin.kind === 'bytes') {
    launched.stdin?.write(request.stdin.bytes);
    if (request.stdin.openUntilFinished !== true) launched.stdin?.end();
  }
  const stopLooking = keepLooking(tree);
  const cancel = () => stop('cancel', String(request.stop?.reason));
  request.stop?.addEventListener('abort', cancel);
  try {
    const identity = identityOf(pid);
    if (identity !== null) request.onStarted?.(identity);
  } catch (thrown) {
    onFault(thrown);
  }
  if (request.stop?.aborted === true) cancel();
  checkDeadline();

  const exit = await left;
  stopLooking();
  request.stop?.removeEventListener('abort', cancel);
  for (const timer of [deadlineTimer, killTimer]) if (timer !== null) clearTimeout(timer);
  launched.stdin?.destroy();
  const processes = await tree.end();
  await Promise.all(outputs.map((output) => output.drain(DRAIN_MS)));
  await drainStatus?.(DRAIN_MS);

  const startError = exit === null || ending.phase === 'stopping' ? null : neverRan(request, exit, status, logs);
  ending = advance(
    ending,
    startError !== null
      ? { kind: 'not-started', error: startError.code }
      : exit === null
        ? { kind: 'lost' }
        : { kind: 'exit', exit: exitThrough(request.containment, exit, logs[1]) },
  );
  if (ending.phase !== 'ended') throw new Error('a worker that left has no ending');
  const survivors = exit === null ? Math.max(1, processes.survivors) : processes.survivors;
  return { termination: ending.termination, processes: { ...processes, survivors }, providerWait, startError, fault };
}
