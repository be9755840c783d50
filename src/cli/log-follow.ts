/**
 * Keeps printing logs while their run goes on: whatever comes, in turns, new logs of later attempts too. Looks at sizes a
 * few times a second and reads records only when the journal has grown. Ends when what is followed has ended, when nobody
 * reads, or when it is told to stop.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { lifeOf } from '../process/identity.ts';
import type { AttemptLog } from '../run/attempt-logs.ts';
import { attemptStories } from '../run/attempt-story.ts';
import { type RunState, readRunState } from '../store/run-state.ts';
import { bytesIn, type LogPrinter, nameOf, type PrintedLog } from './log-printer.ts';

const LOOK_EVERY_MS = 200;

interface FollowRequest {
  readonly run: RunState;
  /** Followed until this attempt has ended; null: until the run has. */
  readonly attemptId: string | null;
  /** The logs that are followed, as of now. */
  readonly find: () => Promise<readonly AttemptLog[]>;
  readonly printer: LogPrinter;
  readonly lastLines: number | null;
  readonly stop: AbortSignal;
  readonly note: (line: string) => void;
}

/** How many logs there were. Rejects with a system's error where one cannot be read. */
export async function followLogs(request: FollowRequest): Promise<number> {
  const { find, printer, lastLines, stop, note } = request;
  const open = new Map<string, PrintedLog>();
  const waiting = new Set<string>();
  const hasEnded = endOf(request);
  try {
    for (;;) {
      // Asked first: what was written before the end is then read below.
      const ended = await hasEnded();
      for (const log of await find()) {
        if (!open.has(log.path)) open.set(log.path, await printer.open(log, open.size === 0 ? lastLines : null));
      }
      for (const printed of open.values()) {
        if (!(await printed.more()) || !(await printed.rest())) return open.size;
        if (!ended && !waiting.has(printed.log.path) && bytesIn(printed.log.newest) > 0) {
          waiting.add(printed.log.path);
          note(`agent-exec logs: ${nameOf(printed.log)} is long: its newest output is shown when the command ends\n`);
        }
      }
      if (ended || stop.aborted) break;
      // The rejection says no more than the signal.
      await delay(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => {});
    }
    for (const printed of open.values()) if (!(await printed.end(stop.aborted))) break;
    return open.size;
  } finally {
    for (const printed of open.values()) await printed.close();
  }
}

/** Whether what is followed has ended; reads the records only where there is something new in them. */
function endOf({ run, attemptId }: FollowRequest): () => Promise<boolean> {
  let seen = -1;
  return async () => {
    const size = bytesIn(run.place.journal);
    const lives = run.controller !== null && lifeOf(run.controller) === 'alive';
    if (lives && size === seen) return false;
    seen = size;
    const { phase, journal } = await readRunState(run.place);
    if (phase !== 'running') return true;
    return (
      attemptId !== null && attemptStories(journal).some((one) => one.attemptId === attemptId && one.record !== null)
    );
  };
}
