/** The real outside: this process's streams, environment and exit code. */
import { givenToAncestors } from '../process/ancestry.ts';
import { joinChains } from '../run/recursion.ts';
import { type CliIo, CurrentFolderGone } from './io.ts';

/**
 * Where nobody can be told anything any more (a reader that went away, `| head`; a terminal that closed; a full disk), our
 * writing ends, not our work: the run goes on, is cleaned up and recorded, and keeps its exit code.
 */
function outliveLostReaders(): void {
  // There is no other place to complain to.
  process.stderr.on('error', () => {});
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') process.stderr.write(`error: the answer could not be written: ${message}\n`);
  });
}

async function readAll(stream: NodeJS.ReadStream, limit: number): Promise<Uint8Array | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new CurrentFolderGone('the current folder does not exist any more. Go to another one and try again.');
  }
}

/** Also where whoever called has dropped the chain on the way: a run must know that it is inside of another. */
function environment(): CliIo['env'] {
  const chain = joinChains(process.env.AGENT_EXEC_CHAIN, givenToAncestors('AGENT_EXEC_CHAIN'));
  return chain === '' ? process.env : { ...process.env, AGENT_EXEC_CHAIN: chain };
}

/** What this process really has. Call it once: it listens to the streams' errors. */
export function nodeIo(): CliIo {
  outliveLostReaders();
  return {
    env: environment(),
    cwd: currentFolder,
    out: (text) =>
      new Promise((resolve) => {
        process.stdout.write(text, () => resolve());
      }),
    note: (text) => {
      process.stderr.write(text);
    },
    stdin: (limit) => readAll(process.stdin, limit),
    stdoutIsTerminal: process.stdout.isTTY === true,
    stderrIsTerminal: process.stderr.isTTY === true,
    exit: (code) => {
      process.exitCode = code;
    },
  };
}
