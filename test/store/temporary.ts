/** Temporary folders, other users, small disks: what the tests of store/ stand on. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ax-store-')));
  // Reachable for the tests that drop root.
  chmodSync(folder, 0o755);
  return folder;
}

export const isRoot = process.getuid?.() === 0;
export const NOBODY = 65534;
/** Shown where a test needs to be root to make its circumstances. */
export const NEEDS_ROOT = 'needs root to make its circumstances';

/** Runs `work` with another umask; restored afterwards. */
export async function withUmask<T>(umask: number, work: () => Promise<T>): Promise<T> {
  const before = process.umask(umask);
  try {
    return await work();
  } finally {
    process.umask(before);
  }
}

interface Disk {
  readonly path: string;
  /** Gives it room for everything. */
  grow(): void;
  unmount(): void;
}

/** A tmpfs of `bytes` bytes and room for `files` names at a new folder, or null where mounting is not allowed. */
export function smallDisk(bytes: number, files = 100_000): Disk | null {
  const path = join(temporaryFolder(), 'disk');
  mkdirSync(path);
  const mount = (...options: string[]): boolean => spawnSync('mount', ['-o', ...options, path]).status === 0;
  if (!mount(`size=${bytes},nr_inodes=${files},mode=0755`, '-t', 'tmpfs', 'tmpfs')) return null;
  return {
    path,
    grow: () => void mount('remount,size=256m,nr_inodes=100000'),
    unmount: () => void spawnSync('umount', ['-l', path]),
  };
}

/** Makes a folder read-only from now on, for root too; files that are open stay writable. Null where it is not allowed. */
export function readOnlyMount(path: string): (() => void) | null {
  if (spawnSync('mount', ['--bind', path, path]).status !== 0) return null;
  const unmount = (): void => void spawnSync('umount', ['-l', path]);
  if (spawnSync('mount', ['-o', 'remount,bind,ro', path]).status === 0) return unmount;
  unmount();
  return null;
}
