/**
 * Which places a sandboxed worker finds read-only, writable or covered. Turns what the caller wants protected into the
 * mounts that make it true, other ways to the same files included:
 * - another mount of the same file system is made read-only too;
 * - a folder above a protected one could be renamed and replaced, so it is pinned by mounting it on itself;
 * - another view of the process table would lead to /proc/PID/root of a process outside;
 * - a root worker could write to block devices and to kernel settings, which no file mode keeps it from.
 * What stays open: services that act for their caller (a container daemon's socket, the session bus), and hard links.
 */
import { accessSync, constants, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { aliasesOf, isInside, type MountEntry, parseMountInfo } from './mount-table.ts';

export interface Mount {
  readonly kind: 'read-only' | 'writable' | 'fresh-proc' | 'covered-device';
  readonly path: string;
}

/** Absolute paths. Those that do not exist are skipped. */
export interface MountWishes {
  readonly readOnly: readonly string[];
  /**
   * Give canonical paths: a writable path that goes through a symlink is not opened inside a read-only one, because
   * whoever made the link would decide what is opened.
   */
  readonly writable: readonly string[];
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    // Missing, or not reachable for us and so neither for the worker.
    return null;
  }
}

function allows(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    // The refusal is the answer.
    return false;
  }
}

const identity = (path: string): string | null => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
};

/** Folders above `path` that could be renamed away with it. */
function pinsFor(path: string, readOnly: readonly string[], table: readonly MountEntry[]): string[] {
  const pins: string[] = [];
  for (let above = dirname(path); above !== '/'; above = dirname(above)) {
    const folder = above;
    if (readOnly.some((protectedPath) => isInside(folder, protectedPath))) continue;
    if (table.some((mount) => mount.point === folder)) continue;
    if (allows(dirname(folder), constants.W_OK)) pins.push(folder);
  }
  return pins;
}

/** Mounts for the level `guard`; `strict` needs only the writable ones, since the rest is read-only from the start. */
export function resolveMounts(wishes: MountWishes, level: 'guard' | 'strict'): Mount[] {
  const table = parseMountInfo(readFileSync('/proc/self/mountinfo', 'latin1'));
  const isMountPoint = (path: string): boolean => table.some((mount) => mount.point === path);
  const existing = [...new Set(wishes.readOnly.map(realPath).filter((path) => path !== null))];
  const aliases = existing
    .flatMap((path) => aliasesOf(path, table).map((alias) => ({ alias, path })))
    // A covered mount point shows something else at that path; parts mounted elsewhere are always protected.
    .filter(
      ({ alias, path }) => identity(alias) !== null && (identity(alias) === identity(path) || isMountPoint(alias)),
    );
  const readOnly = [...new Set([...existing, ...aliases.map(({ alias }) => alias)])];

  const writable = wishes.writable.filter((path) => {
    const real = realPath(path);
    if (real === null || readOnly.includes(real)) return false;
    if (level === 'strict') return true;
    // Elsewhere everything is writable anyway, and a mount point cannot be replaced by a rename, which CLIs do.
    return real === path && readOnly.some((protectedPath) => isInside(path, protectedPath));
  });
  const opened = [...new Set(writable.map((path) => realPath(path) ?? path))];
  const pins = level === 'strict' ? [] : readOnly.flatMap((path) => pinsFor(path, readOnly, table));
  const otherProcs = table.filter((mount) => mount.type === 'proc' && mount.root === '/' && mount.point !== '/proc');

  return [
    ...[...new Set(pins)].map((path) => ({ kind: 'writable', path }) as const),
    ...readOnly.map((path) => ({ kind: 'read-only', path }) as const),
    ...opened.map((path) => ({ kind: 'writable', path }) as const),
    ...[...new Set(otherProcs.map((mount) => mount.point))].map((path) => ({ kind: 'fresh-proc', path }) as const),
    ...writableKernelPlaces().map((path) => ({ kind: 'read-only', path }) as const),
    ...(level === 'guard' ? writableBlockDevices(table) : []).map(
      (path) => ({ kind: 'covered-device', path }) as const,
    ),
  ];
}

/** Kernel settings that belong to the user of this process: as root, core_pattern alone runs any program outside. */
function writableKernelPlaces(): string[] {
  if (process.getuid?.() !== 0) return [];
  return [
    '/proc/sys',
    '/proc/sysrq-trigger',
    '/proc/irq',
    '/proc/bus',
    '/proc/fs',
    '/proc/acpi',
    '/proc/scsi',
    '/sys',
  ].filter((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined);
}

/** Those below /dev itself: what is mounted inside it (shm, pts) holds none. */
function writableBlockDevices(table: readonly MountEntry[]): string[] {
  const devices: string[] = [];
  const look = (folder: string) => {
    if (!allows(folder, constants.R_OK | constants.X_OK)) return;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory() && !table.some((mount) => mount.point === path)) look(path);
      else if (entry.isBlockDevice() && allows(path, constants.W_OK)) devices.push(path);
    }
  };
  look('/dev');
  return devices;
}
