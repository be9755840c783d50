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

/** A tmpfs of `bytes` bytes at a new folder, or null where mounting is not allowed. */
export function smallDisk(bytes: number): { readonly path: string; unmount(): void } | null {
  const path = join(temporaryFolder(), 'disk');
  mkdirSync(path);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0755`, 'tmpfs', path]);
  return mounted.status === 0 ? { path, unmount: () => void spawnSync('umount', ['-l', path]) } : null;
}
