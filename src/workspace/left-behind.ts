/**
 * A workspace whose story nobody can tell: its controller died, and with it what was known of it. Everything is compared
 * by content with base; commits in the private repository are whatever base does not account for.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BaseTree } from '../git/base-tree.ts';
import type { RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import type { Baseline, BaselineEntry } from './baseline.ts';
import { commitsMade } from './commits-made.ts';
import { identityOf } from './file-identity.ts';
import { readGitDir } from './git-dir-files.ts';
import { readPseudoRefs, readReflogs, readRefs } from './git-dir-refs.ts';
import type { Workspace } from './workspace.ts';

/** What base says, with nothing known of when it was written: every file is read. */
export function baselineOfBase(tree: BaseTree): Baseline {
  const entries = new Map<RepoPath, BaselineEntry>();
  const folders = new Set<RepoPath>();
  for (const [path, { mode, oid }] of tree.entries) {
    if (mode === '160000') folders.add(path);
    else {
      const type = mode === '120000' ? 'symlink' : 'file';
      entries.set(path, { type, signature: null, mode, oid, permissions: Number.parseInt(mode, 8) & 0o777, size: -1 });
    }
  }
  return { atBase: tree.entries, entries, folders, gitNames: new Set(), takenAt: 0 };
}

/** Commits, stashes and branch tips in the private repository that the canonical one does not have. */
export async function commitsLeftBehind(workspace: Workspace): Promise<readonly string[]> {
  if (lstatSync(workspace.privateGitDir, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const files = await readGitDir(workspace.privateGitDir);
  const oids = [...readRefs(files).values(), ...readReflogs(files), ...readPseudoRefs(files)].filter(
    (oid) => oid !== null && oid !== workspace.base,
  );
  const canBorrow = files.files.get('objects/info/alternates' as RepoPath)?.kind !== 'other';
  return (await commitsMade(workspace, new Set(oids as string[]), canBorrow)).commits;
}

/** Folders of an attempt that are no workspace. */
const OTHERS = new Set(['logs', 'tmp', 'private.git', 'verification']);

/**
 * The workspace in an attempt's folder, found by what lies there: `createWorkspace` makes it beside the private
 * repository, and nothing else there is a folder of that kind. Null where there is none, or several.
 */
export function findWorkspace(attemptDir: string, facts: RepositoryFacts, base: string): Workspace | null {
  if (lstatSync(attemptDir, { throwIfNoEntry: false })?.isDirectory() !== true) return null;
  const [name, ...more] = readdirSync(attemptDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !OTHERS.has(entry.name) && !entry.name.startsWith('look-'))
    .map((entry) => entry.name);
  if (name === undefined || more.length > 0) return null;
  const path = join(attemptDir, name);
  const privateGitDir = join(attemptDir, 'private.git');
  return {
    path,
    privateGitDir,
    // Git names a worktree's folder after the last component of its path.
    worktreeGitDir: join(privateGitDir, 'worktrees', name),
    facts,
    base,
    identity: identityOf(lstatSync(path, { bigint: true })),
  };
}
