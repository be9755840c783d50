/**
 * What a worker did to its private repository. Read as plain files first, because everything in it is the worker's by
 * now; git only looks up objects, with a configuration of the host's. The invariant: whatever could move HEAD, run a
 * program or hide a file differs from the record or is told; what `git add`, `status` or `gc` write is nobody's crime.
 */
import { basename, join } from 'node:path';
import type { Finding, PrivateRepositoryEvidence } from '../model/evidence.ts';
import type { RepoPath } from '../model/path.ts';
import { commitsMade } from './commits-made.ts';
import { type FileText, type GitDirFiles, readGitDir, readSmallFile, sameText } from './git-dir-files.ts';
import { readHead, readPseudoRefs, readReflogs, readRefs } from './git-dir-refs.ts';
import { Notes } from './notes.ts';
import type { Workspace } from './workspace.ts';

/** How the private repository was before the worker started (after setup commands, which may use git). */
interface PrivateRepositoryRecord {
  readonly files: GitDirFiles;
  /** The worktree's `.git` file. */
  readonly link: FileText;
}

export interface PrivateRepositoryInspection extends PrivateRepositoryEvidence {
  readonly findings: readonly Finding[];
}

const linkOf = (workspace: Workspace): FileText => readSmallFile(join(workspace.path, '.git'));

/** Reads its files as they are now. Call it when nothing runs in it. */
export async function recordPrivateRepository(workspace: Workspace): Promise<PrivateRepositoryRecord> {
  return { files: await readGitDir(workspace.privateGitDir), link: linkOf(workspace) };
}

/** Paths inside the git directory; `W` is the attempt's own worktree in them. First match decides. */
type Meaning = 'guarded' | 'commits' | 'harmless' | 'lock' | 'opencode';
const MEANINGS: readonly (readonly [RegExp, Meaning])[] = [
  [/\.lock$/, 'lock'],
  [/^(?:W\/)?opencode(?:\/|$)/, 'opencode'],
  // Refs, HEADs and reflogs are judged by what they say.
  [/^(?:worktrees\/[^/]+\/|W\/)?(?:refs|logs)\//, 'commits'],
  [/^packed-refs$/, 'commits'],
  [/^(?:W\/)?(?!(?:FETCH_)?HEAD$)[A-Z_]*HEAD$/, 'commits'],
  [/^W\/HEAD$/, 'commits'],
  // Messages and states of merges and commits.
  [/^(?:W\/)?(?:AUTO_MERGE|COMMIT_EDITMSG|MERGE_MSG|MERGE_MODE|MERGE_RR|SQUASH_MSG)$/, 'harmless'],
  // Written by gc and repack.
  [/^(?:info\/refs|gc\.(?:log|pid)|objects\/info\/(?:packs|commit-graph|commit-graphs\/.*))$/, 'harmless'],
  [/^(?:config|config\.worktree|HEAD|shallow|commondir|gitdir)$/, 'guarded'],
  [/^(?:hooks|info|objects\/info|worktrees)\//, 'guarded'],
  [/^W\/(?:gitdir|commondir|locked|config\.worktree|info\/.*|hooks\/.*)$/, 'guarded'],
];

function meaningOf(path: RepoPath, ownWorktree: string): Meaning | 'unknown' {
  const own = `worktrees/${ownWorktree}/`;
  const plain = path.startsWith(own) ? `W/${path.slice(own.length)}` : path;
  return MEANINGS.find(([pattern]) => pattern.test(plain))?.[1] ?? 'unknown';
}

/** The entry of a git directory, the worktree's own or the shared one, that `path` lies in. */
const topOf = (path: RepoPath): RepoPath => (/^(?:worktrees\/[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path) as RepoPath;

/** Files that differ from the record, in either direction. */
function differing(record: PrivateRepositoryRecord, now: GitDirFiles): RepoPath[] {
  const paths = new Set([...record.files.files.keys(), ...now.files.keys()]);
  return [...paths].filter((path) => !sameText(record.files.files.get(path), now.files.get(path)));
}

function noteFiles(workspace: Workspace, record: PrivateRepositoryRecord, now: GitDirFiles, notes: Notes): void {
  const ownWorktree = basename(workspace.worktreeGitDir);
  for (const path of differing(record, now)) {
    const meaning = meaningOf(path, ownWorktree);
    if (meaning === 'guarded') notes.violation('GIT_TAMPERED', 'files of the private repository changed', path);
    else if (meaning === 'lock') notes.finding('GIT_LOCK_LEFT', 'a lock left by an unfinished git command', path);
    else if (meaning === 'opencode')
      notes.finding('OPENCODE_IN_GIT_DIR', 'opencode keeps its project name there', path);
    else if (meaning === 'commits' && now.files.get(path)?.kind === 'other')
      notes.violation('GIT_TAMPERED', 'refs or reflogs cannot be read', path);
    else if (meaning === 'unknown')
      notes.finding('GIT_DIR_FILES', 'files that git commands left in the private repository', topOf(path));
  }
  for (const [path, why] of now.unreadable) {
    notes.violation('GIT_TAMPERED', `the private repository cannot be read (${why})`, path);
  }
  for (const folder of now.folders) {
    const name = /^worktrees\/([^/]+)$/.exec(folder)?.[1];
    if (name !== undefined && !record.files.folders.has(folder)) {
      notes.violation('GIT_TAMPERED', 'another worktree was registered', folder);
    }
  }
  const link = linkOf(workspace);
  if (!sameText(record.link, link)) {
    notes.violation('GIT_TAMPERED', "the workspace's .git file was changed, replaced or removed", '.git' as RepoPath);
  }
}

interface Movement {
  readonly head: ReturnType<typeof readHead>;
  readonly newRefs: ReadonlyMap<string, string | null>;
  readonly goneRefs: readonly string[];
  /** Every name of an object the worker's git left behind and the record did not have. */
  readonly oids: ReadonlySet<string>;
}

function movementOf(workspace: Workspace, record: PrivateRepositoryRecord, now: GitDirFiles): Movement {
  const head = readHead(now, `worktrees/${basename(workspace.worktreeGitDir)}/HEAD`);
  const before = readRefs(record.files);
  const refs = readRefs(now);
  const newRefs = new Map([...refs].filter(([name, oid]) => !before.has(name) || before.get(name) !== oid));
  const known = new Set([
    workspace.base,
    ...before.values(),
    ...readReflogs(record.files),
    ...readPseudoRefs(record.files),
  ]);
  const oids = new Set(
    [...newRefs.values(), ...readReflogs(now), ...readPseudoRefs(now)].filter((oid) => oid !== null),
  );
  for (const oid of known) if (oid !== null) oids.delete(oid);
  return { head, newRefs, goneRefs: [...before.keys()].filter((name) => !refs.has(name)), oids };
}

function noteMovement(workspace: Workspace, movement: Movement, foreign: ReadonlySet<string>, notes: Notes): void {
  const { head, newRefs, oids } = movement;
  const headPath = `worktrees/${basename(workspace.worktreeGitDir)}/HEAD` as RepoPath;
  for (const name of movement.goneRefs) notes.violation('GIT_TAMPERED', 'refs were removed', name as RepoPath);
  for (const [name, oid] of newRefs) {
    if (oid !== null && foreign.has(oid))
      notes.violation('WORKER_COMMITTED', 'refs hold commits of the worker', name as RepoPath);
    else notes.violation('GIT_TAMPERED', 'refs were made or moved', name as RepoPath);
  }
  if (head.kind === 'unreadable') notes.violation('GIT_TAMPERED', 'HEAD is gone or unreadable', headPath);
  if (head.kind === 'attached') notes.violation('GIT_TAMPERED', 'HEAD was attached to a branch', headPath);
  if (head.kind === 'detached' && head.oid !== workspace.base) {
    notes.violation('WORKER_COMMITTED', 'HEAD no longer names base', headPath);
  }
  if ([...oids].some((oid) => foreign.has(oid))) {
    notes.violation('WORKER_COMMITTED', 'the worker made commits', headPath);
  } else if (oids.size > 0 && head.kind === 'detached' && head.oid === workspace.base) {
    notes.finding('HEAD_MOVED_AND_BACK', 'HEAD visited other commits and came back to base', headPath);
  }
}

/** Compares the private repository with its record. Nothing may run in it any more. */
export async function inspectPrivateRepository(
  workspace: Workspace,
  record: PrivateRepositoryRecord,
): Promise<PrivateRepositoryInspection> {
  const notes = new Notes();
  const now = await readGitDir(workspace.privateGitDir);
  noteFiles(workspace, record, now, notes);
  const movement = movementOf(workspace, record, now);
  // Git would wait for ever at a fifo in this place; a changed list only leads to more objects.
  const canBorrow = now.files.get('objects/info/alternates' as RepoPath)?.kind !== 'other';
  const { foreign, commits, lost } = await commitsMade(workspace, movement.oids, canBorrow);
  noteMovement(workspace, movement, foreign, notes);
  if (lost.length > 0) {
    const names = `${lost.slice(0, 10).join(', ')}${lost.length > 10 ? ` and ${lost.length - 10} more` : ''}`;
    notes.finding('WORKER_COMMIT_UNREADABLE', `the worker's git named objects that cannot be read: ${names}`, null);
  }
  return { violations: notes.violations, findings: notes.findings, commits };
}
