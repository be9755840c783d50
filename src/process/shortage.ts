/**
 * What this machine has too little of: descriptors, processes, memory. It says nothing about a candidate, so whatever
 * fails for it makes nobody unavailable: it ends the run.
 */
import { closeSync, openSync } from 'node:fs';

const CODES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'PIPES_FAILED']);

/** Whether an error's code means that the machine is short of something. */
export const isShortage = (code: string): boolean => CODES.has(code);

/** A process could not be started, or a file opened, because the machine is short of something. */
export class ShortageError extends Error {
  override readonly name = 'ShortageError';
}

/** Thrown where `code` is a shortage. `what` could not be done. */
export function assertNoShortage(code: string, what: string): void {
  if (isShortage(code)) throw new ShortageError(`${what}: ${inWords(code)}`);
}

const inWords = (code: string): string =>
  code === 'EMFILE' || code === 'ENFILE'
    ? `too many open files (${code}). Raise the limit (ulimit -n).`
    : `this machine is short of memory or processes (${code}). Raise its limits (ulimit -u, ulimit -v), or end something.`;

/** What a run has open at once at most, of its own and for the programs that it starts, with some to spare. */
const WANTED = 24;

/** Why a run should not begin: it would run out of descriptors on the way. Null where enough can be had now. */
export function descriptorShortage(): string | null {
  const open: number[] = [];
  try {
    while (open.length < WANTED) open.push(openSync('/dev/null', 'r'));
    return null;
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : String(thrown);
    return `of ${WANTED} descriptors that a run needs only ${open.length} can be had (${code}). Raise the limit (ulimit -n 256).`;
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
}
