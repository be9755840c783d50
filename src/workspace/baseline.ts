/**
 * What the workspace held before the worker: base right after checkout, and once more after setup commands, whose work is
 * no change of the worker's. The invariant: an entry that still has its recorded signature holds what it held then;
 * where that cannot be promised, the signature is null and content decides (docs/adr/0005-baseline-by-ctime.md).
 */
import type { TreeEntry } from '../git/base-tree.ts';
import { showPath } from '../git/quote.ts';
import type { RepoPath } from '../model/path.ts';
import { err, ok, type Result } from '../model/result.ts';
import { hashFile, hashSymlink } from './hash.ts';
import { INVENTORY_LIMITS } from './limits.ts';
import { type EntryType, onDisk, type Walk, type WalkedEntry, walk } from './walk.ts';
import type { Workspace, WorkspaceProblem } from './workspace.ts';

/** Every file, symlink and submodule link at base. */
type TreeEntries = ReadonlyMap<RepoPath, TreeEntry>;
/** Tells which of some paths that base does not track are ignored. Rejects with git's error. */
export type IgnoredAmong = (paths: readonly RepoPath[]) => Promise<ReadonlySet<RepoPath>>;

export interface BaselineEntry {
  readonly type: EntryType;
  /** Null where a write within the same tick of the clock would not show: the file is compared by content. */
  readonly signature: string | null;
  /** Git's mode of a file or symlink; null for a special file. */
  readonly mode: string | null;
  /** Null where the content was not read: ignored files and those too large to carry. */
  readonly oid: string | null;
  readonly permissions: number;
  readonly size: number;
}

export interface Baseline {
  readonly atBase: TreeEntries;
  readonly entries: ReadonlyMap<RepoPath, BaselineEntry>;
  readonly folders: ReadonlySet<RepoPath>;
  readonly gitNames: ReadonlySet<RepoPath>;
  /** Milliseconds since the epoch, before the first look. */
  readonly takenAt: number;
}

/** File systems stamp times from a clock that ticks every 1 to 10 ms; twice the slowest is safe. */
const RACY_NS = 20_000_000n;

/** Git keeps one permission: whether the owner may execute. */
export function modeOf(entry: { readonly type: EntryType; readonly permissions: number }): string | null {
  if (entry.type === 'special') return null;
  return entry.type === 'symlink' ? '120000' : (entry.permissions & 0o100) !== 0 ? '100755' : '100644';
}

/** Old trees hold 100664 and the like; git itself reads them as 100644. */
export const sameMode = (a: string | null, b: string | null): boolean => normalMode(a) === normalMode(b);
const normalMode = (mode: string | null): string | null =>
  mode?.startsWith('100') ? ((Number.parseInt(mode, 8) & 0o100) !== 0 ? '100755' : '100644') : mode;

async function walkFor(workspace: Workspace): Promise<{ walked: Walk; takenAt: number }> {
  const takenAt = Date.now();
  const walked = await walk(workspace.path, {
    maxEntries: INVENTORY_LIMITS.entries,
    skips: (path) => path === '.git',
  });
  return { walked, takenAt };
}

const isRacy = (entry: WalkedEntry, takenAt: number): boolean =>
  entry.changedAtNs > BigInt(takenAt) * 1_000_000n - RACY_NS;

function unreadable(walked: Walk): WorkspaceProblem | null {
  const first = [...walked.unreadable].slice(0, 3).map(([path, why]) => `${showPath(path)}: ${why}`);
  return first.length === 0 ? null : { reason: 'unreadable', message: `cannot look at ${first.join(', ')}` };
}

/** What of the checkout is not as base has it, as `path: what`. Content is git's word; names, types and modes are ours. */
function differencesFromBase(walked: Walk, atBase: TreeEntries): string[] {
  const differences: string[] = [];
  for (const [path, { mode }] of atBase) {
    const entry = walked.entries.get(path);
    const matches = mode === '160000' ? walked.folders.has(path) : entry && sameMode(modeOf(entry), mode);
    if (!matches) differences.push(`${showPath(path)} is not there as ${mode}`);
  }
  for (const path of walked.entries.keys()) {
    if (!atBase.has(path)) differences.push(`${showPath(path)} is not in base`);
  }
  return differences;
}

/** Right after checkout: proves that names, types and modes on disk are base's. */
export async function takeBaseline(
  workspace: Workspace,
  atBase: TreeEntries,
): Promise<Result<Baseline, WorkspaceProblem>> {
  const { walked, takenAt } = await walkFor(workspace);
  const problem = unreadable(walked);
  if (problem !== null) return err(problem);
  const differences = differencesFromBase(walked, atBase);
  if (differences.length > 0) {
    const message = `the checkout is not base: ${differences.slice(0, 3).join(', ')} (${differences.length} in all)`;
    return err({ reason: 'not-base', message });
  }
  const entries = new Map<RepoPath, BaselineEntry>();
  for (const [path, entry] of walked.entries) {
    entries.set(path, {
      type: entry.type,
      signature: isRacy(entry, takenAt) ? null : entry.signature,
      mode: modeOf(entry),
      oid: atBase.get(path)?.oid ?? null,
      permissions: entry.permissions,
      size: entry.size,
    });
  }
  return ok({ atBase, entries, folders: walked.folders, gitNames: walked.gitNames, takenAt });
}

/** Content now, or null where it is not read: special files, and files no commit can carry anyway. */
async function contentOf(
  workspace: Workspace,
  path: RepoPath,
  entry: WalkedEntry,
): Promise<Result<string | null, string>> {
  const place = onDisk(workspace.path, path);
  if (entry.type === 'special' || entry.size > INVENTORY_LIMITS.fileBytes) return ok(null);
  const hashed =
    entry.type === 'symlink'
      ? hashSymlink(place, workspace.facts.objectFormat)
      : await hashFile(place, entry.signature, workspace.facts.objectFormat);
  return hashed.ok ? ok(hashed.value.oid) : hashed;
}

/** After setup commands: everything they wrote is what the worker starts from. Reads only what they touched. */
export async function retakeBaseline(
  workspace: Workspace,
  previous: Baseline,
  ignored: IgnoredAmong,
): Promise<Result<Baseline, WorkspaceProblem>> {
  const { walked, takenAt } = await walkFor(workspace);
  const problem = unreadable(walked);
  if (problem !== null) return err(problem);
  const isNew = ([path, entry]: [RepoPath, WalkedEntry]) => !previous.atBase.has(path) && !entry.insideGit;
  const ignoredPaths = await ignored([...walked.entries].filter(isNew).map(([path]) => path));

  const entries = new Map<RepoPath, BaselineEntry>();
  for (const [path, entry] of walked.entries) {
    const before = previous.entries.get(path);
    const racy = isRacy(entry, takenAt);
    let oid = before?.oid ?? null;
    const untouched = before !== undefined && before.signature === entry.signature;
    const unread = entry.insideGit || (!racy && ignoredPaths.has(path));
    if (!untouched) {
      const content = unread ? ok(null) : await contentOf(workspace, path, entry);
      if (!content.ok) return err({ reason: 'unreadable', message: `${showPath(path)}: ${content.error}` });
      oid = content.value;
    }
    entries.set(path, {
      type: entry.type,
      signature: racy && oid !== null ? null : entry.signature,
      mode: modeOf(entry),
      oid,
      permissions: entry.permissions,
      size: entry.size,
    });
  }
  return ok({ atBase: previous.atBase, entries, folders: walked.folders, gitNames: walked.gitNames, takenAt });
}
