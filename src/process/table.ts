/**
 * Who is running: one look at every process, as the kernel tells it. A zombie is dead, except where threads of it still
 * run. A process is identified by pid *and* start time, because pids are used again.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { readDarwinTable } from './darwin-table.ts';
import { isShortage } from './shortage.ts';

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly hasTerminal: boolean;
  readonly alive: boolean;
  /** Clock ticks since boot on Linux, milliseconds since the epoch on macOS; equal only for the same process. */
  readonly started: number;
}
export type ProcessTable = ReadonlyMap<number, ProcessEntry>;

/** Reads one line of /proc/PID/stat; the program's name in parentheses may hold anything, so counting starts after it. */
export function parseStat(pid: number, text: string): ProcessEntry | null {
  const field = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group, session, terminal] = field;
  const threads = Number(field[17]);
  const started = Number(field[19]);
  if (state === undefined || !Number.isFinite(started)) return null;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    hasTerminal: terminal !== '0',
    // A leader that left by pthread_exit is shown as Z while its other threads go on.
    alive: (state !== 'Z' && state !== 'X' && state !== 'x') || threads > 1,
    started,
  };
}

/** One process, or null where there is none of this pid. */
export function readProcess(pid: number): ProcessEntry | null {
  const entry = lookUpProcess(pid);
  return entry === 'unreadable' ? null : entry;
}

/** As {@link readProcess}; `unreadable` where this machine has too little left to look (EMFILE), and nothing is known. */
export function lookUpProcess(pid: number): ProcessEntry | null | 'unreadable' {
  if (process.platform !== 'linux') return readDarwinTable().get(pid) ?? null;
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch (error) {
    // ENOENT or ESRCH: it ended, which is the answer.
    return isShortage((error as NodeJS.ErrnoException).code ?? '') ? 'unreadable' : null;
  }
  return parseStat(pid, text);
}

export function readProcessTable(): ProcessTable {
  if (process.platform !== 'linux') return readDarwinTable();
  const table = new Map<number, ProcessEntry>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const entry = readProcess(pid);
    if (entry !== null) table.set(pid, entry);
  }
  return table;
}

/** Whether this very process, not a later one with its pid, still lives. */
export function isSame(entry: Pick<ProcessEntry, 'pid' | 'started'>): boolean {
  const now = readProcess(entry.pid);
  return now?.started === entry.started && now.alive;
}

/**
 * Sends a signal to exactly this process, identified again right before. True where it was sent. The gap that is left
 * is a few microseconds, in which the pid would have to be freed and handed out again.
 */
export function signalProcess(entry: Pick<ProcessEntry, 'pid' | 'started'>, signal: NodeJS.Signals): boolean {
  if (entry.pid <= 1 || !isSame(entry)) return false;
  try {
    return process.kill(entry.pid, signal);
  } catch {
    // ESRCH: it just ended. EPERM: it changed its user; it stays in the table and counts as a survivor.
    return false;
  }
}
