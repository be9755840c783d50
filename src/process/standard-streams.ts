/**
 * A worker's stdin, stdout and stderr: what its process is given, and the ends that stay here. Invariant: whether it was
 * started or not, every descriptor has been closed or handed to a stream once one of the two functions was called.
 */
import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Socket, type SocketConstructorOpts } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { ok, type Result } from '../model/result.ts';
import { makePipes, type Pipe } from './pipes.ts';
import type { StartError } from './start-error.ts';

type Given = 'pipe' | 'ignore' | number;

interface OurEnds {
  /** Null: the worker's stdin is /dev/null. */
  readonly stdin: Writable | null;
  /** The bytes of its `data` events, and of those of stderr, are good until the listeners return. */
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

/** What a pipe holds at most, unless somebody makes it larger. */
const READ_BYTES = 64 * 1024;

/** A stream of the descriptor that reads into one buffer again and again: a new one for each read costs as much as reading. */
function readingInto(bytes: number, descriptor: number): Socket {
  const callback = (length: number, buffer: Uint8Array): boolean =>
    stream.emit('data', Buffer.from(buffer.buffer, buffer.byteOffset, length));
  const stream = new Socket({
    fd: descriptor,
    readable: true,
    writable: false,
    manualStart: true,
    onread: { buffer: Buffer.allocUnsafeSlow(bytes), callback },
  } as SocketConstructorOpts);
  return stream;
}

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
  const stdout = readingInto(READ_BYTES, output.readEnd);
  const stderr = readingInto(READ_BYTES, errors.readEnd);
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
