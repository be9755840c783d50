/**
 * Prints logs one after the other, or in turns while they grow. Either fit for a terminal, with a header wherever the log
 * changes, or the bytes as they are.
 */
import { lstatSync } from 'node:fs';
import type { Redactor } from '../receipt/redact.ts';
import { LONGEST_SECRET, type ShownStream, shownStream } from '../receipt/shown-stream.ts';
import type { AttemptLog } from '../run/attempt-logs.ts';
import type { ByteOutput } from './byte-output.ts';
import { type LogReader, openLogReader } from './log-reader.ts';
import { sizeOf } from './size.ts';

/** A log that is being printed. Everything but `close` is false where nobody reads any more. */
export interface PrintedLog {
  readonly log: AttemptLog;
  /** What came since the last time. */
  more(): Promise<boolean>;
  /** Whole lines that were held back to see what follows them. */
  rest(): Promise<boolean>;
  /** All that is left, as the log is over, and what of it is elsewhere. */
  end(isRunning: boolean): Promise<boolean>;
  close(): Promise<void>;
}

export interface LogPrinter {
  /** Rejects with the system's error where the log cannot be read. */
  open(log: AttemptLog, lastLines: number | null): Promise<PrintedLog>;
  /** Says which log follows, though there may be nothing in it. */
  head(log: AttemptLog, words: string): Promise<boolean>;
}

/** `redactor` null: the bytes as they are. `note` gets what must be said beside them. */
export function logPrinter(options: {
  readonly output: ByteOutput;
  readonly redactor: Redactor | null;
  readonly headers: boolean;
  readonly note: (line: string) => void;
}): LogPrinter {
  const { output, redactor, note } = options;
  const headers = options.headers && redactor !== null;
  let current: AttemptLog | null = null;
  let midLine = false;

  const headline = (log: AttemptLog, words: string): string => {
    const before = `${midLine ? '\n' : ''}${current === null ? '' : '\n'}`;
    current = log;
    midLine = false;
    return `${before}==> ${nameOf(log)}${words} <==\n`;
  };

  async function put(log: AttemptLog, text: string): Promise<boolean> {
    if (text === '') return true;
    const head = headers && current !== log ? headline(log, '') : '';
    midLine = !text.endsWith('\n');
    return output.write(head + text);
  }

  async function remark(log: AttemptLog, words: string): Promise<boolean> {
    if (redactor !== null) return put(log, `${midLine ? '\n' : ''}[agent-exec: ${words}]\n`);
    note(`agent-exec logs: ${nameOf(log)}: ${words}\n`);
    return true;
  }

  async function pour(log: AttemptLog, reader: LogReader, shown: ShownStream | null): Promise<boolean> {
    for await (const piece of reader.pieces()) {
      if (!(await (shown === null ? output.write(piece) : put(log, shown.push(piece))))) return false;
    }
    return true;
  }

  return {
    head: async (log, words) => !headers || output.write(headline(log, words)),
    async open(log, lastLines) {
      const reader = await openLogReader(log.path, lastLines);
      const shown = redactor === null ? null : shownStream(redactor, await reader.before(LONGEST_SECRET));
      return {
        log,
        more: () => pour(log, reader, shown),
        rest: async () => shown === null || put(log, shown.rest()),
        async end(isRunning) {
          if (shown !== null && !(await put(log, shown.end()))) return false;
          const elsewhere = bytesIn(log.newest);
          return elsewhere === 0 || remark(log, missingWords(log, elsewhere, isRunning));
        },
        close: () => reader.close(),
      };
    },
  };
}

/** `01-a stdout`, `01-a setup-1 stderr`. */
export const nameOf = ({ attemptId, command, stream }: AttemptLog): string =>
  [attemptId, ...(command === null ? [] : [command]), stream].join(' ');

function missingWords({ newest }: AttemptLog, bytes: number, isRunning: boolean): string {
  const what = `this is only the first part. ${sizeOf(bytes)} of the newest output are not shown`;
  return isRunning
    ? `${what} yet: they are put here when the command ends`
    : `${what}: agent-exec died before it could put them here. They are in ${newest}, where the oldest bytes may stand behind the newest`;
}

/** 0 where there is no such file. */
export function bytesIn(path: string): number {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  return facts?.isFile() === true ? facts.size : 0;
}
