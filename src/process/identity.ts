/**
 * Who a process is, in a form that outlives it: pid, start time and the boot both are counted in. What a journal records
 * so that a later command can tell a live controller from a dead one whose pid was handed out again.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isSame, readProcess } from './table.ts';

export interface ProcessIdentity {
  readonly pid: number;
  /** As {@link ProcessEntry.started}. */
  readonly started: number;
  readonly bootId: string;
}

function bootId(): string {
  if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim();
}

/** The identity of a running process; null where there is none of this pid. */
export function identityOf(pid: number): ProcessIdentity | null {
  const entry = readProcess(pid);
  return entry === null ? null : { pid, started: entry.started, bootId: bootId() };
}

export function selfIdentity(): ProcessIdentity {
  const identity = identityOf(process.pid);
  if (identity === null) throw new Error('the process table does not show this process');
  return identity;
}

/** True while exactly this process lives. A zombie is dead; so is everything from before the last boot. */
export const isAlive = (identity: ProcessIdentity): boolean => identity.bootId === bootId() && isSame(identity);
