/**
 * Recognises the launchers of version managers (volta, mise, asdf, pyenv …). Such a shim finds the real program through
 * HOME, so it needs the real one also when it is only asked for a version, and its own file says nothing of what it runs.
 */
import { basename } from 'node:path';
import type { Executable } from './executable.ts';

const LAUNCHERS: ReadonlySet<string> = new Set(['volta-shim', 'mise', 'rtx', 'asdf', 'proto-shim']);

const isShim = ({ path, realPath }: Executable): boolean =>
  LAUNCHERS.has(basename(realPath)) || [path, realPath].some((file) => file.includes('/shims/'));

/** True where the executable, or an interpreter it runs under, is a shim. */
export function startsThroughShim(executable: Executable): boolean {
  for (let file: Executable | null = executable; file !== null; file = file.interpreter) if (isShim(file)) return true;
  return false;
}
