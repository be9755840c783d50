/**
 * What a process carries from its attempt, wherever it went: an inherited mark, the attempt's variable in its
 * environment, the workspace as its folder.
 */
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { isInside } from './mount-table.ts';
import type { ProcessEntry, ProcessTable } from './table.ts';

export interface AttemptTraces {
  /** Value of AGENT_EXEC_ATTEMPT, unique to the attempt. */
  readonly marker: string;
  /** Canonical path; null: no folder gives a process away. */
  readonly workspace: string | null;
  /**
   * A number set as RLIMIT_LOCKS, which Linux ignores since 2.4.25 and nobody else sets: unlike the environment, session
   * and folder it cannot be shed by accident, since every fork and exec passes it on. Null: not set.
   */
  readonly tag: number | null;
}

/** The tag of an attempt, made from its marker so that a later command can find its processes by the same two. */
export const tagOf = (marker: string): number =>
  2 ** 40 + Number.parseInt(createHash('sha256').update(marker).digest('hex').slice(0, 12), 16);

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // Gone, or not ours to read: no trace.
    return '';
  }
}

function folderOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    // As above.
    return null;
  }
}

const hasTag = (pid: number, tag: number): boolean =>
  new RegExp(`^Max file locks +${tag} +`, 'm').test(read(`/proc/${pid}/limits`));

const hasMarker = (pid: number, marker: string): boolean =>
  `\0${read(`/proc/${pid}/environ`)}`.includes(`\0AGENT_EXEC_ATTEMPT=${marker}\0`);

/** This process and everything above it: what orphans fall to, and what is never of the attempt. */
function ancestors(table: ProcessTable): Set<number> {
  const found = new Set([1]);
  for (let pid = process.pid; pid > 0 && !found.has(pid); pid = table.get(pid)?.parent ?? 0) found.add(pid);
  return found;
}

/** Whether an entry of `table` carries a trace that proves it to be of the attempt. */
export function proofIn(table: ProcessTable, traces: AttemptTraces): (entry: ProcessEntry) => boolean {
  if (process.platform !== 'linux') return () => false;
  const above = ancestors(table);
  return ({ pid, parent, hasTerminal }) => {
    if (above.has(pid)) return false;
    if (traces.tag !== null && hasTag(pid, traces.tag)) return true;
    if (hasMarker(pid, traces.marker)) return true;
    // A person may look around in the workspace. A daemon that escaped has no terminal and no parent of its own.
    if (traces.workspace === null || hasTerminal || !above.has(parent)) return false;
    const folder = folderOf(pid);
    return folder !== null && isInside(folder.replace(/ \(deleted\)$/, ''), traces.workspace);
  };
}
