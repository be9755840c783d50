/**
 * `agent-exec refused`: the run's refusal predicate for shell harnesses. One JSON line, and an exit code that `if`
 * understands: nothing but 0 (refused), 1 (not refused) and 2 (the question could not be asked).
 */
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { linesOf } from '../adapters/lines.ts';
import { type LogRefusal, refusalLog } from '../adapters/refusal-log.ts';
import type { Stream } from '../model/adapter.ts';
import { EXIT } from '../model/codes.ts';
import type { Refused } from '../model/refused.ts';
import { err, ok, type Result } from '../model/result.ts';
import { lineBlocks } from '../process/lines.ts';
import { neutralise, printableJson } from '../receipt/neutralise.ts';
import type { Redactor } from '../receipt/redact.ts';
import { redactorFor } from '../run/credentials.ts';
import { askedAdapters } from './asked-adapters.ts';
import type { CliIo } from './io.ts';
import { errnoOf, type LogPieces, openLogFile, openStandardInput } from './log-input.ts';

const REFUSED = EXIT.success;
const NOT_REFUSED = 1;

interface RefusedOptions {
  readonly adapter?: string;
  readonly stream?: Stream;
  readonly repo?: string;
}

const EXAMPLE = `
Example:
  $ if agent-exec refused build/agent.log --adapter codex; then echo "try another CLI"; fi
  {"schema":"agent-exec-refused/v1","refused":true,"adapter":"codex","code":"RATE_LIMITED",…}

A log is the output of one CLI, as a run would have read it: stdout, stderr, or both in one
file (2>&1). Name the adapter where you know it: its words alone are then looked for.

Exit codes: 0 refused, 1 not refused, 2 usage (no such log, no such adapter, or the question
could not be answered).`;

/** The command; its exit code goes through `io`. */
export function refusedCommand(io: CliIo, input: () => Result<LogPieces, string> = openStandardInput): Command {
  return new Command('refused')
    .description("Says whether a CLI's log shows that its provider refused, by the same predicate as a run.")
    .argument('<logfile>', 'the log, or - for standard input')
    .option('--adapter <name>', 'whose log it is: built in, or custom in the repository (default: any built in)')
    .addOption(
      new Option('--stream <stream>', 'the one stream that was logged (default: either, or both)').choices([
        'stdout',
        'stderr',
      ]),
    )
    .option('--repo <path>', 'repository of a custom adapter (default: the one that encloses the current folder)')
    .addOption(new Option('--json', 'one JSON object on stdout, which it is without this too'))
    .addHelpText('after', EXAMPLE)
    .action(async (file: string, options: RefusedOptions) => io.exit(await answer(io, file, options, input)));
}

async function answer(
  io: CliIo,
  file: string,
  { adapter, stream, repo }: RefusedOptions,
  input: () => Result<LogPieces, string>,
): Promise<number> {
  const asked = await askedAdapters(io, adapter, repo);
  if (!asked.ok) return complain(io, asked.error);
  const pieces = file === '-' ? input() : openLogFile(file === '' ? file : resolve(io.cwd(), file));
  if (!pieces.ok) return complain(io, unreadable(file, pieces.error));
  const log = refusalLog(asked.value, { stream: stream ?? null, now: Date.now });
  const bytes = await readLog(pieces.value, log.read);
  if (!bytes.ok) return complain(io, unreadable(file, bytes.error));
  const found = log.refusal();
  const redactor = redactorFor(asked.value, io.env);
  await io.out(`${printableJson(record(found, bytes.value, redactor))}\n`);
  return found === null ? NOT_REFUSED : REFUSED;
}

const BYTE_ORDER_MARK = '\ufeff';

/** Gives the log's lines to `read`, cut as a run's are; the number of bytes, or the errno's name of a failed reading. */
async function readLog(pieces: LogPieces, read: (line: string) => void): Promise<Result<number, string>> {
  const blocks = lineBlocks();
  let bytes = 0;
  let first = true;
  const give = (line: string): void => {
    // The mark is the file's and not the CLI's.
    read(first && line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line);
    first = false;
  };
  const giveLines = (blocks: readonly Buffer[]): void => {
    for (const block of blocks) linesOf(block).forEach(give);
  };
  try {
    for await (const piece of pieces) {
      bytes += piece.length;
      giveLines(blocks.push(piece));
    }
  } catch (error) {
    return err(errnoOf(error));
  }
  giveLines(blocks.end());
  return ok(bytes);
}

function complain(io: CliIo, words: string): number {
  io.note(`agent-exec refused: ${neutralise(words)}\n`);
  return EXIT.usage;
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file (a part of its path is not a folder)',
  EISDIR: 'this is a folder, not a log',
  EACCES: 'the file may not be read',
  EPERM: 'the file may not be read',
  ELOOP: 'the file is a symbolic link that leads nowhere (a loop)',
};
const unreadable = (file: string, code: string): string => {
  const shown = file === '-' ? 'standard input' : JSON.stringify(file);
  return `${shown}: ${WORDS[code] ?? `it cannot be read (${code})`}. Name the file that holds the CLI's output, or - for standard input.`;
};

function record(found: LogRefusal | null, bytesRead: number, redactor: Redactor): Refused {
  return {
    schema: 'agent-exec-refused/v1',
    refused: found !== null,
    adapter: found?.adapter ?? null,
    code: found?.refusal.code ?? null,
    retry_after_seconds: found?.refusal.retry_after_seconds ?? null,
    line: found === null ? null : redactor.text(found.refusal.line),
    source: found?.refusal.source ?? null,
    line_number: found?.lineNumber ?? null,
    bytes_read: bytesRead,
  };
}
