/** Whether a process that a record names is still there. The answer is three-fold: of another machine nobody knows here. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { ProcessIdentity } from '../model/process-identity.ts';
import { lookUpProcess, readProcess } from './table.ts';

function readBootId(): string {
  if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim();
}

function readNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    // No /proc: then there are no PID namespaces either.
    return '';
  }
}

let seen: Pick<ProcessIdentity, 'boot_id' | 'scope'> | null = null;
/** Neither changes while this process lives. */
function here(): Pick<ProcessIdentity, 'boot_id' | 'scope'> {
  seen ??= { boot_id: readBootId(), scope: `${hostname()} ${readNamespace()}` };
  return seen;
}

/** The identity of a running process; null where there is none of this pid. */
export function identityOf(pid: number): ProcessIdentity | null {
  const entry = readProcess(pid);
  return entry === null ? null : { pid, started: entry.started, ...here() };
}

let self: ProcessIdentity | null = null;
/** Looked up once: later there may be no descriptor left to look with. */
export function selfIdentity(): ProcessIdentity {
  self ??= identityOf(process.pid);
  if (self === null) throw new Error('the process table does not show this process');
  return self;
}

const hostOf = ({ scope }: Pick<ProcessIdentity, 'scope'>): string => scope.split(' ')[0] ?? '';

/** True for a process of an earlier boot of this machine: nothing lives through a boot. */
export const isFromEarlierBoot = (identity: ProcessIdentity): boolean =>
  identity.boot_id !== here().boot_id && hostOf(identity) === hostOf(here());

/**
 * `alive` while exactly this process lives; a zombie is `gone`. `unknown`: its pid counts in another PID namespace or on
 * another host, which cannot be looked into from here, or there is no descriptor left to look with.
 */
export function lifeOf(identity: ProcessIdentity): 'alive' | 'gone' | 'unknown' {
  if (isFromEarlierBoot(identity)) return 'gone';
  if (identity.scope !== here().scope || identity.boot_id !== here().boot_id) return 'unknown';
  const entry = lookUpProcess(identity.pid);
  if (entry === 'unreadable') return 'unknown';
  return entry?.started === identity.started && entry.alive ? 'alive' : 'gone';
}
