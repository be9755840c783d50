/**
 * How much uncommitted work the host's worktree holds, for the receipt. Git's own `status` would run clean filters; here
 * a file is unchanged where its stat data are those of the index, or its raw bytes those of its blob. A file whose blob
 * differs from its bytes by a filter counts as dirty only where its stat data differ too.
 */
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodePath, type RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { type BaseTree, pathsAtBase } from './base-tree.ts';
import { placeOf } from './places.ts';
import { git, splitNul } from './run.ts';

interface IndexEntry {
  readonly path: RepoPath;
  readonly skipsWorktree: boolean;
  readonly mode: string;
  readonly oid: string;
  readonly stage: string;
  readonly mtimeNs: bigint;
  readonly size: bigint;
}

/** Bytes read to compare touched files with their blobs; what is over counts as dirty. */
const MAX_HASHED = 256 * 1024 * 1024;

/** Tracked files that differ from HEAD, plus untracked ones that nothing ignores. `headTree`: HEAD's, where it is known. */
export async function countDirtyPaths(
  facts: RepositoryFacts,
  excludesFile: string | null,
  headTree?: BaseTree,
): Promise<number> {
  const at = { gitDir: facts.gitDir, workTree: facts.worktree };
  const others = ['ls-files', '--others', '--exclude-standard', '-z'];
  const [head, index, untracked] = await Promise.all([
    headTree ?? pathsAtBase(facts, facts.head),
    git({ ...at, args: ['ls-files', '--stage', '-v', '--debug', '-z'] }).then(parseIndex),
    git({ ...at, args: others, config: [['core.excludesFile', excludesFile ?? '/dev/null']] }),
  ]);
  const dirty = new Set<RepoPath>(splitNul(untracked).map(decodePath));
  const staged = new Set<RepoPath>();
  let hashed = 0;
  for (const [i, entry] of index.entries()) {
    if (i % 512 === 511) await nextTurn();
    staged.add(entry.path);
    const committed = head.entries.get(entry.path);
    if (entry.stage !== '0' || committed?.oid !== entry.oid || committed.mode !== entry.mode) dirty.add(entry.path);
    else if (!entry.skipsWorktree && entry.mode !== '160000') {
      const read = compareWithWorktree(facts, entry, MAX_HASHED - hashed);
      hashed += read.bytes;
      if (read.isDirty) dirty.add(entry.path);
    }
  }
  for (const path of head.entries.keys()) if (!staged.has(path)) dirty.add(path);
  return dirty.size;
}

function compareWithWorktree(
  facts: RepositoryFacts,
  entry: IndexEntry,
  budget: number,
): { isDirty: boolean; bytes: number } {
  const place = placeOf(facts.worktree, entry.path);
  try {
    const stat = lstatSync(place, { bigint: true });
    const mode = stat.isSymbolicLink() ? '120000' : stat.mode & 0o100n ? '100755' : '100644';
    if (!(stat.isFile() || stat.isSymbolicLink()) || mode !== entry.mode) return { isDirty: true, bytes: 0 };
    if (stat.size === entry.size && stat.mtimeNs === entry.mtimeNs) return { isDirty: false, bytes: 0 };
    if (stat.size > BigInt(budget)) return { isDirty: true, bytes: 0 };
    const bytes = stat.isFile() ? readFileSync(place) : readlinkSync(place, { encoding: 'buffer' });
    const hash = createHash(facts.objectFormat).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
    return { isDirty: hash !== entry.oid, bytes: bytes.length };
  } catch {
    // Gone, or not readable: not what HEAD holds.
    return { isDirty: true, bytes: 0 };
  }
}

/** `ls-files --debug -z` puts five lines of stat data after every entry's NUL. */
function parseIndex(listing: Buffer): IndexEntry[] {
  const entries: IndexEntry[] = [];
  const stat = /^ {2}ctime: \d+:\d+\n {2}mtime: (\d+):(\d+)\n {2}dev: .*\n {2}uid: .*\n {2}size: (\d+)\t.*\n/;
  for (let at = 0; at < listing.length; ) {
    const nul = listing.indexOf(0, at);
    const record = listing.subarray(at, nul);
    const tab = record.indexOf(9);
    const [flag = '', mode = '', oid = '', stage = ''] = record.toString('latin1', 0, tab).split(' ');
    const data = stat.exec(listing.toString('latin1', nul + 1, nul + 400));
    if (nul < 0 || data === null) throw new Error('ls-files --debug printed stat data in an unknown form');
    const [text, seconds = '', nanoseconds = '', size = ''] = data;
    entries.push({
      path: decodePath(record.subarray(tab + 1)),
      skipsWorktree: /s/i.test(flag),
      mode,
      oid,
      stage,
      mtimeNs: BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds),
      size: BigInt(size),
    });
    at = nul + 1 + text.length;
  }
  return entries;
}
