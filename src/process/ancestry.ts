/**
 * What the processes above this one were given in their environment. A worker's shell tool may hand on a cleaned
 * environment, and a script may call `env -i`; the processes in between still carry what agent-exec gave them. Linux
 * shows it in /proc/PID/environ as it was at exec (proc(5)); elsewhere nothing is seen.
 */
import { readFileSync } from 'node:fs';
import { readProcess } from './table.ts';

/** Nobody nests deeper by intent; a table that changes while it is read can have no cycle longer than that either. */
const MAX_ANCESTORS = 64;

/** The values of `name` in the environments of this process's ancestors, nearest first; those that may not be read are left out. */
export function givenToAncestors(name: string): readonly string[] {
  if (process.platform !== 'linux') return [];
  const values: string[] = [];
  let pid = process.ppid;
  for (let i = 0; i < MAX_ANCESTORS && pid > 0; i++) {
    const value = readVariable(pid, name);
    if (value !== null) values.push(value);
    pid = readProcess(pid)?.parent ?? 0;
  }
  return values;
}

function readVariable(pid: number, name: string): string | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    // Another user's process, or it has ended: its environment is not for us to see.
    return null;
  }
  const start = `${name}=`;
  return (
    text
      .split('\0')
      .find((entry) => entry.startsWith(start))
      ?.slice(start.length) ?? null
  );
}
