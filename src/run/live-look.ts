/** What the host looks at by itself after a live probe, beside the receipt: facts only, verdict/live.ts judges them. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type CanonicalLook, compareLooks, differsOutside } from '../git/canonical.ts';
import { lookAtCommit } from '../git/commit-look.ts';
import type { CanonicalComparison } from '../model/evidence.ts';
import type { CommitLook, Marker } from '../model/live.ts';
import type { Plan, RepositoryFacts } from '../model/plan.ts';
import type { AttemptRecord } from '../model/receipt.ts';
import { endLeftovers } from '../process/leftovers.ts';
import type { Redactor } from '../receipt/redact.ts';
import type { RunDirectory } from '../store/run-directory.ts';

export const foldersOf = ({ worktree, gitDir, commonDir, objectsDir }: RepositoryFacts): string[] => [
  worktree,
  gitDir,
  commonDir,
  objectsDir,
];

export async function lookAtTransport(
  plan: Plan,
  attempt: AttemptRecord | undefined,
  { path }: Marker,
): Promise<CommitLook | null> {
  const ref = attempt?.transport?.ref;
  return ref === undefined ? null : lookAtCommit(plan.repository.gitDir, { ref, base: plan.base, path });
}

/** Enough to recognise a content by; redacted before it is cut any shorter. */
const SHOWN_BYTES = 4096;
export const shownContent = (transport: CommitLook | null, redactor: Redactor): string =>
  redactor.text(Buffer.from(transport?.bytes?.subarray(0, SHOWN_BYTES) ?? []).toString('utf8'));

/** As an attempt judges its own canonical repository; here the checkout is read-only beside it. */
export function compareCaller(
  caller: RepositoryFacts,
  before: CanonicalLook,
  after: CanonicalLook,
  attempt: AttemptRecord | undefined,
): CanonicalComparison {
  const differences = compareLooks(before, after);
  if (attempt?.process_started !== true) return { differences, workerCouldWrite: false };
  const { level } = attempt.isolation;
  const outside = level === 'guard' && differsOutside(foldersOf(caller), before, after);
  return { differences, workerCouldWrite: level === 'none' || outside };
}

/** What a finished run may leave in its directory, and an attempt in its own. */
const RUN_RECORDS = ['attempts', 'journal.jsonl', 'plan.json', 'receipt.json'];
const ATTEMPT_RECORDS = ['logs', 'prompt.md'];

export async function leftBehind({ path, attempts }: RunDirectory): Promise<string[]> {
  const left = (await readdir(path)).filter((name) => !RUN_RECORDS.includes(name));
  for (const attempt of await readdir(attempts)) {
    const names = await readdir(join(attempts, attempt));
    left.push(...names.filter((name) => !ATTEMPT_RECORDS.includes(name)).map((name) => `attempts/${attempt}/${name}`));
  }
  return left;
}

/** Searches once more, by what a process cannot shed, and ends what it finds. */
export async function stillRunning(
  { attempts }: RunDirectory,
  plan: Plan,
  { attempt_id }: AttemptRecord,
): Promise<number> {
  const workspace = join(attempts, attempt_id, 'probe');
  const { killed, survivors } = await endLeftovers({ marker: `${plan.runId}/${attempt_id}`, workspace, leader: null });
  return killed + survivors;
}
