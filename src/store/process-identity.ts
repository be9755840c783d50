/**
 * Who a process is, beyond a number that is used again: pid, start time, boot, and where Linux has them the PID namespace
 * and host name, without which a number of another container says nothing. Used to tell whether the holder of a lock or
 * the controller of a run is still there.
 */
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import * as z from 'zod';

export const processIdentity = z.strictObject({
  pid: z.int().min(1),
  /** Clock ticks after boot (field 22 of /proc/PID/stat); null where there is no /proc. */
  start_time: z.string().nullable(),
  boot_id: z.string().nullable(),
  /** Where the pid counts: host name and PID namespace. */
  scope: z.string(),
});
export type ProcessIdentity = z.infer<typeof processIdentity>;

/** Null for what is not there: a process that is gone, a system without /proc. */
async function orNull(read: Promise<string>): Promise<string | null> {
  try {
    return await read;
  } catch {
    // Absence is the answer; any other trouble with /proc leaves us just as ignorant.
    return null;
  }
}

const surroundings = once(async () => ({
  bootId: (await orNull(readFile('/proc/sys/kernel/random/boot_id', 'utf8')))?.trim() ?? null,
  scope: `${hostname()} ${(await orNull(readlink('/proc/self/ns/pid'))) ?? ''}`,
}));

/** Neither changes while this process lives. */
function once<T>(look: () => Promise<T>): () => Promise<T> {
  let seen: Promise<T> | null = null;
  return () => {
    seen ??= look();
    return seen;
  };
}

/** State and start time of a process of our own namespace; null where it is gone or /proc is. */
async function statOf(pid: number): Promise<{ state: string; startTime: string } | null> {
  const text = await orNull(readFile(`/proc/${pid}/stat`, 'utf8'));
  // The name, in parentheses, may hold anything; what is counted stands after the last one.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields?.[0] !== undefined && fields[19] !== undefined ? { state: fields[0], startTime: fields[19] } : null;
}

/** This process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  const { bootId, scope } = await surroundings();
  const startTime = (await statOf(process.pid))?.startTime ?? null;
  return { pid: process.pid, start_time: startTime, boot_id: bootId, scope };
}

function signalReaches(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** `unknown`: its pid counts in another namespace or on another host, which cannot be looked into from here. */
export async function lifeOf(identity: ProcessIdentity): Promise<'alive' | 'gone' | 'unknown'> {
  const { bootId, scope } = await surroundings();
  if (identity.scope !== scope) return 'unknown';
  if (identity.boot_id !== bootId) return 'gone';
  if (identity.start_time === null) return signalReaches(identity.pid) ? 'alive' : 'gone';
  const stat = await statOf(identity.pid);
  return stat !== null && stat.startTime === identity.start_time && stat.state !== 'Z' && stat.state !== 'X'
    ? 'alive'
    : 'gone';
}
