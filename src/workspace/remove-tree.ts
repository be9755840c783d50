/**
 * Removes a folder whatever a worker made of it: read-only folders, names of any bytes, paths longer than the kernel
 * takes. It never follows a symlink, never crosses a mount, and tells what it could not remove instead of throwing.
 */
import {
  type BigIntStats,
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { mountsInside } from './mounts.ts';

/** A folder whose path is longer is moved up first, so that no path nears PATH_MAX (4096) and no recursion is deep. */
const LONG_PATH_BYTES = 1024;
const SLASH = Buffer.from('/');
/** Problems told; a tree of a million immutable files needs no million lines. */
const MAX_PROBLEMS = 20;

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);
const shown = (path: Buffer): string => JSON.stringify(path.toString('utf8').slice(0, 300));

class Removal {
  readonly problems: string[] = [];
  readonly #root: string;
  /** Folders moved up beside the root, still to be removed. */
  readonly #moved: Buffer[] = [];
  #shelf: string | null = null;
  #steps = 0;

  constructor(root: string) {
    this.#root = root;
  }

  async run(): Promise<void> {
    await this.#removeFolder(Buffer.from(this.#root), Buffer.from(dirname(this.#root)));
    for (let folder = this.#moved.pop(); folder !== undefined; folder = this.#moved.pop()) {
      await this.#removeFolder(folder, Buffer.from(this.#shelf ?? this.#root));
    }
    if (this.#shelf !== null) this.#attempt(Buffer.from(this.#shelf), () => rmdirSync(this.#shelf as string));
  }

  async #removeFolder(folder: Buffer, parent: Buffer): Promise<void> {
    const names = this.#attempt(folder, () => readdirSync(folder, { encoding: 'buffer' }), folder);
    for (const name of names ?? []) {
      const child = Buffer.concat([folder, SLASH, name]);
      if (++this.#steps % 256 === 0) await setImmediate();
      const isFolder = this.#attempt(child, () => lstatSync(child).isDirectory(), folder);
      if (isFolder === false) this.#attempt(child, () => unlinkSync(child), folder);
      else if (isFolder && child.length <= LONG_PATH_BYTES) await this.#removeFolder(child, folder);
      else if (isFolder) this.#moveUp(child, folder);
    }
    this.#attempt(folder, () => rmdirSync(folder), parent);
  }

  #moveUp(child: Buffer, parent: Buffer): void {
    this.#shelf ??= mkdtempSync(`${this.#root}-removing-`);
    const place = Buffer.from(`${this.#shelf}/${this.#steps}`);
    // Moving a folder rewrites its `..`, so it must be writable itself, as must be the one it leaves.
    const moved = this.#attempt(
      child,
      () => {
        chmodSync(child, 0o700);
        renameSync(child, place);
        return true;
      },
      parent,
    );
    if (moved) this.#moved.push(place);
  }

  /** Tries `step`; where permission is missing, makes `folder` (a real folder, just walked) writable and tries again. */
  #attempt<T>(path: Buffer, step: () => T, folder?: Buffer): T | undefined {
    try {
      return step();
    } catch (error) {
      if (codeOf(error) === 'EACCES' && folder !== undefined) {
        return this.#attempt(path, () => {
          chmodSync(folder, 0o700);
          return step();
        });
      }
      if (this.problems.length < MAX_PROBLEMS) this.problems.push(`${codeOf(error)} ${shown(path)}`);
      return undefined;
    }
  }
}

/** `lstat`, after making the folder above searchable where a worker took that away. Undefined where nothing is there. */
export function lookAt(path: string): BigIntStats | undefined {
  const look = () => lstatSync(path, { bigint: true, throwIfNoEntry: false });
  try {
    return look();
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error;
    chmodSync(dirname(path), 0o700);
    return look();
  }
}

/** Removes `root` (absolute) and all below it. Returns what stands in the way; empty where `lstat` proves it gone. */
export async function removeTree(root: string): Promise<string[]> {
  try {
    const stat = lookAt(root);
    if (stat === undefined) return [];
    if (!stat.isDirectory()) return [`${shown(Buffer.from(root))} is not a folder`];
    const mounts = mountsInside(root);
    if (mounts.length > 0) return mounts.map((point) => `${shown(Buffer.from(point))} is a mount point`);
    const removal = new Removal(root);
    await removal.run();
    if (removal.problems.length > 0) return removal.problems;
    return lookAt(root) === undefined ? [] : [`${shown(Buffer.from(root))} is still there`];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return [(error as Error).message];
  }
}
