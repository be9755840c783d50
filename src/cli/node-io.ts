/** The real outside: this process's streams, environment and exit code. */
import type { CliIo } from './io.ts';

/** A reader that went away (`| head`) ends our writing, not our work: the run goes on and keeps its exit code. */
function ignoreClosedPipe(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
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

export function nodeIo(): CliIo {
  ignoreClosedPipe(process.stdout);
  ignoreClosedPipe(process.stderr);
  return {
    env: process.env,
    cwd: () => process.cwd(),
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
