/**
 * Brings commits that a worker made in its private repository into the host's store. That repository is hostile: git is
 * never run with its configuration, hooks, refs or caches. A throwaway store of the host borrows its object folder, and
 * commits are read there by explicit name only. What arrives is hashed and checked anew, so an object that lies about
 * its name, is damaged or is missing makes the commit a failed one; nothing here throws for what a worker did.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RepositoryFacts } from '../model/plan.ts';
import { createStore, type HostStore } from './host-store.ts';
import { type GitCall, type GitOutput, tryGit } from './run.ts';

export interface ForeignImport {
  /** Commits that are now whole in the store. */
  readonly imported: readonly string[];
  readonly failed: readonly { readonly commit: string; readonly reason: string }[];
}

/** Commits tried one by one after all together failed; each costs several processes. */
const MAX_SINGLE_TRIES = 64;
/** Caches of a repository that would be believed instead of its objects. */
const NO_CACHES: readonly (readonly [string, string])[] = [
  ['core.commitGraph', 'false'],
  ['core.multiPackIndex', 'false'],
  ['pack.useBitmaps', 'false'],
];

/** All commits at once where that works, else one by one, so that a damaged one does not cost the others. */
export async function importForeignCommits(request: {
  readonly store: HostStore;
  readonly facts: RepositoryFacts;
  /** The worker's private repository; only the folder `objects` in it is read. */
  readonly privateGitDir: string;
  readonly commits: readonly string[];
  /** What is reachable from here is in the canonical repository and is not copied. */
  readonly base: string;
  /** Bound on the packed size of one import. */
  readonly limitBytes?: number;
  /** Bound on each git call: a fifo in an object's place would be waited for without end. */
  readonly timeoutMs?: number;
}): Promise<ForeignImport> {
  const { store, facts, privateGitDir, base, limitBytes = 2 ** 30, timeoutMs = 60_000 } = request;
  const oid = new RegExp(`^[0-9a-f]{${facts.objectFormat === 'sha1' ? 40 : 64}}$`);
  const commits = [...new Set(request.commits)];
  const named = commits.filter((commit) => oid.test(commit));
  const failed = commits
    .filter((commit) => !oid.test(commit))
    .map((commit) => ({ commit, reason: 'is not the name of an object' }));
  if (named.length === 0) return { imported: [], failed };

  const scratch = await mkdtemp(join(store.gitDir, 'foreign-'));
  try {
    const folders = [join(privateGitDir, 'objects'), facts.objectsDir];
    const reader = await createStore(join(scratch, 'reader.git'), facts, folders);
    const take = (some: readonly string[]): Promise<string | null> =>
      takeCommits({ store, reader, base, commits: some, pack: join(scratch, 'foreign.pack'), limitBytes, timeoutMs });
    if ((await take(named)) === null) return { imported: named, failed };

    const imported: string[] = [];
    for (const [i, commit] of named.entries()) {
      const reason = i < MAX_SINGLE_TRIES ? await take([commit]) : 'was not tried: too many commits, some damaged';
      if (reason === null) imported.push(commit);
      else failed.push({ commit, reason });
    }
    return { imported, failed };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Copies commits into the store; null, or why they could not be. */
async function takeCommits(request: {
  readonly store: HostStore;
  readonly reader: HostStore;
  readonly base: string;
  readonly commits: readonly string[];
  readonly pack: string;
  readonly limitBytes: number;
  readonly timeoutMs: number;
}): Promise<string | null> {
  const { store, reader, base, commits, pack, limitBytes, timeoutMs } = request;
  const inReader = (args: string[], more: Partial<GitCall> = {}): Promise<GitOutput> =>
    tryGit({ gitDir: reader.gitDir, args, timeoutMs, config: NO_CACHES, ...more });

  const names = Buffer.from(`${commits.join('\n')}\n`);
  const types = await inReader(['cat-file', '--batch-check=%(objecttype)'], { input: names });
  if (types.code !== 0) return reasonOf(types);
  if (!/^(commit\n)+$/.test(types.stdout.toString('latin1'))) return 'is missing or is not a commit';

  const wanted = Buffer.from(`${commits.join('\n')}\n^${base}\n`);
  const size = await inReader(['rev-list', '--objects', '--disk-usage', '--stdin'], { input: wanted });
  if (size.code !== 0) return reasonOf(size);
  if (Number(size.stdout.toString('latin1')) > limitBytes) return `is larger than ${limitBytes} bytes`;

  const packed = await inReader(['pack-objects', '-q', '--stdout', '--revs', '--window=0'], {
    input: wanted,
    outputFile: pack,
  });
  if (packed.code !== 0) return reasonOf(packed);
  // --strict reads every object's content and follows its links: hostile trees and gaps end here.
  const args = ['index-pack', '--stdin', '--strict', '--threads=1'];
  const stored = await tryGit({ gitDir: store.gitDir, args, inputFile: pack, timeoutMs });
  if (stored.code !== 0) return reasonOf(stored);
  const whole = await tryGit({
    gitDir: store.gitDir,
    args: ['rev-list', '--objects', '--quiet', '--stdin'],
    input: wanted,
    timeoutMs,
  });
  return whole.code === 0 ? null : reasonOf(whole);
}

const reasonOf = (output: GitOutput): string =>
  (output.stderr.trim() || `git ended without a word (${output.failure})`).slice(0, 1000);
