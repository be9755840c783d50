/**
 * Which objects a worker added, asked of stores that only the host knows: the private repository's objects are borrowed,
 * its configuration is never read.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createStore } from '../git/host-store.ts';
import { tryGit } from '../git/run.ts';
import type { Workspace } from './workspace.ts';

interface CommitsMade {
  /** Names that the canonical repository has no object for. */
  readonly foreign: ReadonlySet<string>;
  /** Commits among them that can be read, tags resolved to what they tag, without those that another one contains. */
  readonly commits: readonly string[];
  /** Names that no commit could be found for: damaged, removed again, or not commits at all. */
  readonly lost: readonly string[];
}

/** Names on one command line. */
const MAX_COMPARED = 1000;
/** An object folder with a fifo in a file's place keeps git waiting; then nothing is known. */
const TIMEOUT_MS = 30_000;

/** A store of the host's that borrows the objects of `objectFolders`, for as long as `use` takes. */
async function withStore<T>(
  workspace: Workspace,
  objectFolders: readonly string[],
  use: (gitDir: string) => Promise<T>,
): Promise<T> {
  const scratch = await mkdtemp(join(workspace.privateGitDir, '..', 'look-'));
  try {
    return await use((await createStore(join(scratch, 'store.git'), workspace.facts, objectFolders)).gitDir);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The object each name leads to, null where there is none. `suffix` asks for the commit behind a tag. */
async function lookUp(gitDir: string, oids: readonly string[], suffix: '' | '^{commit}'): Promise<(string | null)[]> {
  const input = Buffer.from(oids.map((oid) => `${oid}${suffix}\n`).join(''));
  const args = ['cat-file', '--batch-check=%(objectname)'];
  const output = await tryGit({ gitDir, args, input, timeoutMs: TIMEOUT_MS });
  const lines = output.stdout.toString('latin1').split('\n');
  return oids.map((_, i) => (/^[0-9a-f]{40,64}$/.test(lines[i] ?? '') ? (lines[i] as string) : null));
}

/** Commits that no other of them has as an ancestor: what must be kept so that all are. */
async function tipsOf(gitDir: string, commits: readonly string[]): Promise<readonly string[]> {
  if (commits.length < 2 || commits.length > MAX_COMPARED) return commits;
  const output = await tryGit({ gitDir, args: ['merge-base', '--independent', ...commits], timeoutMs: TIMEOUT_MS });
  // A damaged history cannot be compared; then every commit is kept for itself.
  return output.code === 0 ? output.stdout.toString('latin1').trim().split('\n') : commits;
}

/** Sorts names out by whose they are. `canBorrow` false: the private objects must not be touched, nothing is readable. */
export async function commitsMade(
  workspace: Workspace,
  oids: Iterable<string>,
  canBorrow: boolean,
): Promise<CommitsMade> {
  const asked = [...new Set(oids)];
  if (asked.length === 0) return { foreign: new Set(), commits: [], lost: [] };
  const canonical = workspace.facts.objectsDir;
  const known = await withStore(workspace, [canonical], (store) => lookUp(store, asked, ''));
  const foreign = asked.filter((_, i) => known[i] === null);
  if (foreign.length === 0 || !canBorrow) return { foreign: new Set(foreign), commits: [], lost: foreign };
  return withStore(workspace, [join(workspace.privateGitDir, 'objects'), canonical], async (store) => {
    const found = await lookUp(store, foreign, '^{commit}');
    const commits = [...new Set(found.filter((commit) => commit !== null))];
    const lost = foreign.filter((_, i) => found[i] === null);
    return { foreign: new Set(foreign), commits: await tipsOf(store, commits), lost };
  });
}
