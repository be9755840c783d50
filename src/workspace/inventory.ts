/**
 * Everything in the workspace that is not as the worker found it. A walk of its own, never git's view of a work tree: an
 * index bit, an ignore rule, a nested `.git` or a strange name hides nothing. A path is a change where it differs both
 * from the baseline (else the worker did not do it) and from base (else no commit would show it). The invariant: what
 * differs is in `changes`, `ignored`, a violation or a finding, or the inventory is `failed` and names it.
 */
import { GitError } from '../git/run.ts';
import type { Change, IgnoredFile, Inventory } from '../model/evidence.ts';
import type { RepoPath } from '../model/path.ts';
import type { Scope } from '../unit/scope.ts';
import { type Baseline, type BaselineEntry, type IgnoredAmong, modeOf, sameMode } from './baseline.ts';
import { identityAt } from './file-identity.ts';
import { judgeInode, judgeNewFile, judgeSymlink, noteIgnored, noteRepositories } from './judge-entry.ts';
import { INVENTORY_LIMITS, type InventoryLimits } from './limits.ts';
import { missingPaths } from './missing-paths.ts';
import { mountsInside } from './mounts.ts';
import { Notes } from './notes.ts';
import { inByteOrder } from './path-order.ts';
import { ContentReader } from './read-content.ts';
import { foldersAbove, type Walk, type WalkedEntry, walk } from './walk.ts';
import type { Workspace } from './workspace.ts';

interface InventoryRequest {
  readonly workspace: Workspace;
  readonly baseline: Baseline;
  readonly scope: Scope;
  /** Ignore rules of base; asked once, only for paths that base does not track. */
  readonly ignored: IgnoredAmong;
  readonly limits?: InventoryLimits;
}

const mountsIn = (workspace: Workspace): RepoPath[] =>
  mountsInside(workspace.path).map((point) => point.slice(workspace.path.length + 1) as RepoPath);

/** An entry that is new or may have changed since the baseline. */
interface Touched {
  readonly path: RepoPath;
  readonly entry: WalkedEntry;
  readonly before: BaselineEntry | undefined;
}

function touchedEntries(walked: Walk, baseline: Baseline): Touched[] {
  const touched: Touched[] = [];
  for (const [path, entry] of walked.entries) {
    const before = baseline.entries.get(path);
    if (before?.signature !== entry.signature) touched.push({ path, entry, before });
  }
  return touched;
}

const sorted = <T extends { readonly path: RepoPath }>(items: readonly T[]): T[] =>
  inByteOrder(items, (item) => item.path);

const DELETED = { status: 'D', mode: null, size: null, oid: null, binary: false } as const;

class InventoryTaking {
  readonly #request: InventoryRequest;
  readonly #limits: InventoryLimits;
  readonly #walked: Walk;
  readonly #submodules: ReadonlySet<RepoPath>;
  readonly #replaced = new Set<RepoPath>();
  readonly #notes: Notes;
  readonly #reader: ContentReader;
  readonly #changes: Change[] = [];
  readonly #ignoredFiles: IgnoredFile[] = [];

  constructor(request: InventoryRequest, walked: Walk, notes: Notes) {
    this.#request = request;
    this.#limits = request.limits ?? INVENTORY_LIMITS;
    this.#walked = walked;
    this.#notes = notes;
    this.#reader = new ContentReader(request.workspace, this.#limits, notes);
    const links = [...request.baseline.atBase].filter(([, { mode }]) => mode === '160000');
    this.#submodules = new Set(links.map(([path]) => path));
  }

  async take(): Promise<{ changes: Change[]; ignored: IgnoredFile[] }> {
    const { baseline } = this.#request;
    for (const [path, why] of this.#walked.unreadable) this.#notes.failure(path, why);
    noteRepositories(this.#walked, baseline, this.#notes);
    const touched = touchedEntries(this.#walked, baseline);
    const ignoredPaths = await this.#ignoredAmong(touched);
    for (const one of touched) await this.#observe(one, ignoredPaths.has(one.path));
    for (const path of missingPaths(this.#walked, baseline)) this.#changes.push({ path, ...DELETED });
    return { changes: sorted(this.#changes), ignored: sorted(this.#ignoredFiles) };
  }

  /** The submodule's folder that `path` lies in, if any. */
  #submoduleOf(path: RepoPath): RepoPath | undefined {
    if (this.#submodules.size === 0) return undefined;
    for (const folder of foldersAbove(path)) if (this.#submodules.has(folder)) return folder;
    return undefined;
  }

  async #ignoredAmong(touched: readonly Touched[]): Promise<ReadonlySet<RepoPath>> {
    const { baseline, ignored } = this.#request;
    const asked = touched
      .filter(({ path, entry }) => !baseline.atBase.has(path) && !entry.insideGit && entry.type !== 'special')
      .map(({ path }) => path)
      .filter((path) => this.#submoduleOf(path) === undefined);
    if (asked.length === 0) return new Set();
    try {
      return await ignored(asked);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      this.#notes.failure('' as RepoPath, `ignore rules could not be applied: ${error.message}`);
      return new Set();
    }
  }

  async #observe({ path, entry, before }: Touched, isIgnored: boolean): Promise<void> {
    const { baseline, scope, workspace } = this.#request;
    const base = baseline.atBase.get(path);
    if (entry.insideGit && base === undefined) {
      this.#notes.finding('KEPT_IN_WORKSPACE', 'files inside a nested .git; no commit can carry them', path);
      return;
    }
    judgeInode(path, entry, before, this.#notes);
    if (entry.type === 'special') return;
    if (entry.type === 'file' && entry.links > 1 && !isIgnored) {
      this.#notes.finding('HARD_LINK', 'a file with a second name, here or elsewhere', path);
    }
    const mode = modeOf(entry);
    const inScope = scope.allows(path);
    // Of what setup installed only the last moment's files were read; they can be compared, the others are told.
    const comparable = typeof before?.oid === 'string' && entry.size <= this.#limits.fileBytes;
    if (isIgnored && !inScope && !comparable) {
      this.#ignoredFiles.push({ path, mode: mode as string, size: entry.size, oid: null, inScope });
      noteIgnored(workspace, path, entry, this.#notes);
      return;
    }
    const content = await this.#reader.read(path, entry, before);
    if (content === null) return;
    if (before !== undefined && before.oid === content.oid && sameMode(before.mode, mode)) return;
    if (base !== undefined && base.oid === content.oid && sameMode(base.mode, mode)) return;
    if (content.size > this.#limits.fileBytes) {
      this.#notes.failure(path, `${content.size} bytes, over the limit of one file`);
      return;
    }
    const isCarried = inScope || !isIgnored;
    if (isCarried && content.target !== null) judgeSymlink(workspace, path, content.target, this.#notes);
    if (isCarried && base === undefined) judgeNewFile({ path, content }, this.#notes);

    const { oid, size, binary } = content;
    if (isIgnored) {
      this.#ignoredFiles.push({ path, mode: mode as string, size, oid: inScope ? oid : null, inScope });
      return;
    }
    const sameType = base !== undefined && base.mode.slice(0, 2) === mode?.slice(0, 2);
    this.#changes.push({ path, status: base === undefined ? 'A' : sameType ? 'M' : 'T', mode, size, oid, binary });
    const submodule = this.#submoduleOf(path);
    if (submodule !== undefined) this.#replaceSubmodule(submodule);
  }

  /** A tree cannot hold both a submodule's link and files below it, so keeping the files gives up the link. */
  #replaceSubmodule(path: RepoPath): void {
    if (this.#replaced.has(path)) return;
    this.#replaced.add(path);
    this.#notes.finding(
      'SUBMODULE_CONTENT',
      'files in the folder of a submodule; keeping them replaces its link',
      path,
    );
    this.#changes.push({ path, ...DELETED });
  }
}

/** Nothing may run in the workspace any more; a file that changes while it is read fails the inventory. */
export async function takeInventory(request: InventoryRequest): Promise<Inventory> {
  const { workspace } = request;
  const notes = new Notes();
  if (identityAt(workspace.path) !== workspace.identity) {
    const message = `${JSON.stringify(workspace.path)} is not the workspace that was made there, or cannot be looked at`;
    return { kind: 'failed', message, paths: [], changes: [], ignored: [], violations: [], findings: [] };
  }
  const mounts = new Set(mountsIn(workspace));
  const walked = await walk(workspace.path, {
    maxEntries: (request.limits ?? INVENTORY_LIMITS).entries,
    skips: (path) => path === '.git' || mounts.has(path),
  });
  const unreadable = new Map([
    ...walked.unreadable,
    ...[...mounts].map((point) => [point, 'is a mount point'] as const),
  ]);
  const { changes, ignored } = await new InventoryTaking(request, { ...walked, unreadable }, notes).take();
  const { violations, findings, failed } = notes;
  const seen = { changes, ignored, violations, findings };
  return failed === null ? { kind: 'taken', ...seen } : { kind: 'failed', ...failed, ...seen };
}

/** Changed paths that the unit does not allow; both sides of a move count, as a deletion and an addition. */
export const outOfScope = (changes: readonly Change[], scope: Scope): RepoPath[] =>
  changes.map(({ path }) => path).filter((path) => !scope.allows(path));
