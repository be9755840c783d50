/**
 * A worker's stdin, stdout and stderr: what its process is given, and the ends that stay here. Invariant: whether it was
 * started or not, every descriptor has been closed or handed to a stream once one of the two functions was called.
 */
import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { ok, type Result } from '../model/result.ts';
import { makePipes, type Pipe } from './pipes.ts';
import type { StartError } from './start-error.ts';

type Given = 'pipe' | 'ignore' | number;

interface OurEnds {
  /** Null: the worker's stdin is /dev/null. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

export interface StandardStreams {
  /** For `spawn`, in order. */
  readonly given: readonly [Given, Given, Given];
  /** The process has started: its ends are closed here, so that they end with it. */
  started(child: ChildProcess): OurEnds;
  notStarted(): void;
}

/**
 * Where opening /dev/fd/1 duplicates the descriptor instead of opening its file anew (macOS), Node's sockets are as good
 * as pipes.
 */
const sockets = (hasInput: boolean): StandardStreams => ({
  given: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  started: (child) => child as OurEnds,
  notStarted: () => {},
});

export async function openStandardStreams(
  hasInput: boolean,
  platform: NodeJS.Platform,
): Promise<Result<StandardStreams, StartError>> {
  if (platform !== 'linux') return ok(sockets(hasInput));
  const made = await makePipes(hasInput ? 3 : 2);
  if (!made.ok) return made;
  const [output, errors, input] = made.value as [Pipe, Pipe, Pipe?];
  const theirs = [output.writeEnd, errors.writeEnd];
  if (input !== undefined) theirs.push(input.readEnd);
  // Made before the start, after which nothing may fail any more.
  const stdout = new Socket({ fd: output.readEnd, readable: true, writable: false });
  const stderr = new Socket({ fd: errors.readEnd, readable: true, writable: false });
  const stdin = input === undefined ? null : new Socket({ fd: input.writeEnd, readable: false, writable: true });
  const closeTheirs = () => {
    for (const descriptor of theirs) closeSync(descriptor);
  };
  return ok({
    given: [input?.readEnd ?? 'ignore', output.writeEnd, errors.writeEnd],
    started() {
      closeTheirs();
      return { stdin, stdout, stderr };
    },
    notStarted() {
      closeTheirs();
      for (const stream of [stdin, stdout, stderr]) stream?.destroy();
    },
  });
}
