/**
 * Reads what an entry holds, within the limits of an inventory. The invariant: what is not read is noted as a failure.
 */
import type { RepoPath } from '../model/path.ts';
import type { BaselineEntry } from './baseline.ts';
import { type HashedBlob, hashFile, hashSymlink } from './hash.ts';
import type { InventoryLimits } from './limits.ts';
import type { Notes } from './notes.ts';
import { onDisk, type WalkedEntry } from './walk.ts';
import type { Workspace } from './workspace.ts';

/** `target`: the bytes a symlink leads to; null for a file. */
export type Content = HashedBlob & { readonly target: Buffer | null };

/** One for an inventory: it counts what it reads against the limit of all files together. */
export class ContentReader {
  readonly #workspace: Workspace;
  readonly #limits: InventoryLimits;
  readonly #notes: Notes;
  #hashedBytes = 0;

  constructor(workspace: Workspace, limits: InventoryLimits, notes: Notes) {
    this.#workspace = workspace;
    this.#limits = limits;
    this.#notes = notes;
  }

  /** The content of a file or symlink; null where it could not be read, which is noted. */
  async read(path: RepoPath, entry: WalkedEntry, before: BaselineEntry | undefined): Promise<Content | null> {
    const { path: root, facts } = this.#workspace;
    const place = onDisk(root, path);
    if (entry.type === 'symlink') {
      const link = hashSymlink(place, facts.objectFormat);
      if (link.ok) return link.value;
      this.#notes.failure(path, link.error);
      return null;
    }
    if (!this.#isWithinLimits(path, entry, before)) return null;
    const file = await hashFile(place, entry.signature, facts.objectFormat);
    if (file.ok) return { ...file.value, target: null };
    this.#notes.failure(path, file.error);
    return null;
  }

  /** A large file that the baseline has may only have been touched; any other need not be read to be too large. */
  #isWithinLimits(path: RepoPath, entry: WalkedEntry, before: BaselineEntry | undefined): boolean {
    const mayBeUnchanged = typeof before?.oid === 'string' && before.size === entry.size;
    const isTooLarge = entry.size > this.#limits.fileBytes && !mayBeUnchanged;
    if (!isTooLarge) this.#hashedBytes += entry.size;
    if (!isTooLarge && this.#hashedBytes <= this.#limits.hashedBytes) return true;
    this.#notes.failure(path, `${entry.size} bytes, over the limit of ${isTooLarge ? 'one file' : 'all files'}`);
    return false;
  }
}
