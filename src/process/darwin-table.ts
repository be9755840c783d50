/**
 * The process table where there is no /proc: one call of `ps`. UNTESTED: written from the manual, no such machine was at
 * hand. Start times have seconds' resolution, so identity is weaker than on Linux.
 */
import { execFileSync } from 'node:child_process';
import type { ProcessEntry } from './table.ts';

const LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(.+?)\s*$/;

export function readDarwinTable(): ReadonlyMap<number, ProcessEntry> {
  const text = execFileSync('/bin/ps', ['-axo', 'pid,ppid,pgid,sess,tty,state,lstart'], {
    env: { LC_ALL: 'C', TZ: 'UTC' },
    encoding: 'utf8',
    timeout: 10_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  return parsePs(text);
}

/** `sess` is a kernel address, not a pid, on macOS: the group stands in for the session. */
export function parsePs(text: string): ReadonlyMap<number, ProcessEntry> {
  const table = new Map<number, ProcessEntry>();
  for (const line of text.split('\n')) {
    const [, pid, parent, group, , tty, state, started] = LINE.exec(line) ?? [];
    const at = Date.parse(`${started} UTC`);
    if (pid === undefined || tty === undefined || state === undefined || Number.isNaN(at)) continue;
    table.set(Number(pid), {
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      session: Number(group),
      hasTerminal: !tty.startsWith('?'),
      alive: !state.startsWith('Z'),
      started: at,
    });
  }
  return table;
}
