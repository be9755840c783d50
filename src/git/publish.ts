/**
 * The only writer to the canonical repository: objects, and refs below refs/agent-exec/ and refs/agent-exec-quarantine/.
 * A ref is created only where none is, and moved or deleted only from the commit it is known to hold. Branches, HEAD,
 * index, reflogs and worktree are never touched, no hook runs, and nothing but the named commit's objects is added.
 */
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PublishedCommit } from '../model/evidence.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result } from '../model/result.ts';
import type { BuiltCommit } from './build-commit.ts';
import { complaint } from './complaint.ts';
import type { HostStore } from './host-store.ts';
import { type GitOutput, tryGit } from './run.ts';

export type PublishProblem =
  /** The ref is there already, or another ref is in its way. */
  | { readonly kind: 'ref-exists'; readonly ref: string; readonly message: string }
  /** The ref does not hold the commit it was expected to hold. */
  | { readonly kind: 'ref-moved'; readonly ref: string; readonly message: string }
  | { readonly kind: 'disk-full'; readonly message: string }
  | { readonly kind: 'read-only'; readonly message: string }
  | { readonly kind: 'git-failed'; readonly message: string };

/** Up to this many objects are written one by one, more as a pack: git's own rule for what it receives. */
const UNPACK_LIMIT = 100;
/** From this size on git streams a blob instead of holding it in memory. */
const BIG_FILES: readonly (readonly [string, string])[] = [['core.bigFileThreshold', '8m']];
/**
 * What is published must outlive a power cut, because the workspace is removed after it. Git's defaults flush neither loose
 * objects nor refs (git-config, core.fsync).
 */
const DURABLE: readonly (readonly [string, string])[] = [
  ['core.fsyncMethod', 'batch'],
  ['core.fsync', 'committed,loose-object,reference'],
];
const PUBLISH_TIMEOUT_MS = 30 * 60_000;
const OWN_REF = /^refs\/agent-exec(-quarantine)?\/[^/]+\/[^/]+$/;

export interface PublishRequest {
  readonly store: HostStore;
  readonly facts: RepositoryFacts;
  readonly built: BuiltCommit;
  readonly base: string;
  readonly ref: string;
}

/** Moves the commit's objects into the canonical repository and creates the ref. */
export async function publish(request: PublishRequest): Promise<Result<PublishedCommit, PublishProblem>> {
  const { store, facts, built, base, ref } = request;
  requireOwnRef(ref);
  const scratch = await mkdtemp(join(store.gitDir, 'publish-'));
  try {
    const pack = join(scratch, 'objects.pack');
    const packed = await tryGit({
      gitDir: store.gitDir,
      args: ['pack-objects', '-q', '--stdout', '--revs', '--window=0', '--no-reuse-delta'],
      input: Buffer.from(`${built.commit}\n^${base}\n`),
      outputFile: pack,
      config: BIG_FILES,
      timeoutMs: PUBLISH_TIMEOUT_MS,
    });
    if (packed.code !== 0) return err(problemOf(packed, ref));
    const few = (await objectCount(pack)) <= UNPACK_LIMIT;
    const stored = await tryGit({
      gitDir: facts.gitDir,
      args: few ? ['unpack-objects', '-q'] : ['index-pack', '--stdin', '--threads=1'],
      inputFile: pack,
      config: [...DURABLE, ...BIG_FILES],
      timeoutMs: PUBLISH_TIMEOUT_MS,
    });
    if (stored.code !== 0) return err(problemOf(stored, ref));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  // Every object the commit needs must be there by the canonical repository's own account before a ref vouches for it.
  const whole = await tryGit({
    gitDir: facts.gitDir,
    args: ['rev-list', '--objects', '--quiet', built.commit, `^${base}`],
    timeoutMs: PUBLISH_TIMEOUT_MS,
  });
  if (whole.code !== 0) return err(problemOf(whole, ref));
  const created = await updateRefs(facts, [`create ${ref}\0${built.commit}`]);
  if (created.code !== 0) return err(problemOf(created, ref));
  return ok({ ref, commit: built.commit, tree: built.tree, parent: base });
}

/** Gives a published commit another ref and takes the old one away, both or neither. */
export async function moveRef(
  facts: RepositoryFacts,
  published: PublishedCommit,
  to: string,
): Promise<Result<PublishedCommit, PublishProblem>> {
  requireOwnRef(published.ref);
  requireOwnRef(to);
  const moved = await updateRefs(facts, [
    `create ${to}\0${published.commit}`,
    `delete ${published.ref}\0${published.commit}`,
  ]);
  return moved.code === 0 ? ok({ ...published, ref: to }) : err(problemOf(moved, to));
}

/** Deletes the ref if it still holds the commit. */
export async function deleteRef(
  facts: RepositoryFacts,
  published: { readonly ref: string; readonly commit: string },
): Promise<Result<null, PublishProblem>> {
  requireOwnRef(published.ref);
  const deleted = await updateRefs(facts, [`delete ${published.ref}\0${published.commit}`]);
  return deleted.code === 0 ? ok(null) : err(problemOf(deleted, published.ref));
}

/** One transaction. `--no-deref`: a symbolic ref planted under our name must not lead the write to a branch. */
const updateRefs = (facts: RepositoryFacts, commands: readonly string[]): Promise<GitOutput> =>
  tryGit({
    gitDir: facts.gitDir,
    args: ['update-ref', '--no-deref', '--stdin', '-z'],
    config: DURABLE,
    input: Buffer.from(commands.map((command) => `${command}\0`).join('')),
  });

function requireOwnRef(ref: string): void {
  if (!OWN_REF.test(ref)) throw new Error(`not a ref of agent-exec: ${ref}`);
}

/** The number of objects a pack announces in its header. */
async function objectCount(pack: string): Promise<number> {
  const file = await open(pack, 'r');
  try {
    const header = Buffer.alloc(12);
    const { bytesRead } = await file.read(header, 0, 12, 0);
    if (bytesRead !== 12) throw new Error('pack-objects wrote no pack');
    return header.readUInt32BE(8);
  } finally {
    await file.close();
  }
}

function problemOf(output: GitOutput, ref: string): PublishProblem {
  const message = complaint(output.stderr, `git ended without a word (${output.failure})`);
  if (/No space left on device|Disk quota exceeded/.test(message)) return { kind: 'disk-full', message };
  if (/Read-only file system|Permission denied|insufficient permission/.test(message))
    return { kind: 'read-only', message };
  if (/reference already exists|cannot create 'refs\/|cannot process '/.test(message))
    return { kind: 'ref-exists', ref, message };
  if (/but expected|unable to resolve reference/.test(message)) return { kind: 'ref-moved', ref, message };
  return { kind: 'git-failed', message };
}
