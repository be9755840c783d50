/** What the host looks at by itself after a live probe, beside the receipt: facts only, verdict/live.ts judges them. */
import { join } from 'node:path';
import { compareLooks, lookAtCanonical } from '../git/canonical.ts';
import { lookAtCommit } from '../git/commit-look.ts';
import { hostExcludesFile } from '../git/ignore.ts';
import type { CheckoutLook, CommitLook, RequestedFile } from '../model/live.ts';
import type { Plan, RepositoryFacts } from '../model/plan.ts';
import type { AttemptRecord } from '../model/receipt.ts';
import { err, ok, type Result } from '../model/result.ts';
import { endLeftovers } from '../process/leftovers.ts';
import type { Redactor } from '../receipt/redact.ts';
import { beyondRecords, type RunDirectory } from '../store/run-directory.ts';
import { ATTEMPT_RECORDS } from './attempt-places.ts';
import { workerCouldWrite } from './canonical-check.ts';
import { REPOSITORY_NAME } from './live-unit.ts';
import { attemptMarker } from './worker.ts';

/** The host's repository, if any, that a probe is called from. */
export interface HostCheckout {
  /** Absolute folders that no worker may write. */
  readonly folders: readonly string[];
  /** What it can be compared by; null where it has no commit yet. */
  readonly facts: RepositoryFacts | null;
}

export async function lookAtTransport(
  plan: Plan,
  attempt: AttemptRecord | undefined,
  { path }: RequestedFile,
): Promise<CommitLook | null> {
  const ref = attempt?.transport?.ref;
  return ref === undefined ? null : lookAtCommit(plan.repository.gitDir, { ref, base: plan.base, path });
}

/** The start of the file that was written: enough to recognise a content by. */
export const shownContent = (transport: CommitLook | null, redactor: Redactor): string =>
  redactor.text(Buffer.from(transport?.file?.bytes ?? []).toString('utf8'));

/** Looks at the host's checkout; the answer looks again, after the attempt, and says what is different. */
export async function watchCheckout(
  checkout: HostCheckout | null,
  hostEnv: Readonly<Record<string, string | undefined>>,
): Promise<(attempt: AttemptRecord | undefined) => Promise<CheckoutLook>> {
  if (checkout === null) return async () => ({ kind: 'none' });
  const { facts, folders } = checkout;
  if (facts === null) {
    return async (attempt) => ({ kind: 'not-compared', workerCouldWrite: startedUnder(attempt) === 'none' });
  }
  const excludesFile = await hostExcludesFile(facts, hostEnv);
  const before = await lookAtCanonical(facts, { excludesFile });
  return async (attempt) => {
    const after = await lookAtCanonical(facts, { since: before, excludesFile });
    const differences = compareLooks(before, after);
    const level = startedUnder(attempt);
    const couldWrite = level !== null && workerCouldWrite(level, folders, before, after);
    return { kind: 'compared', differences, workerCouldWrite: couldWrite };
  };
}

const startedUnder = (attempt: AttemptRecord | undefined): AttemptRecord['isolation']['level'] | null =>
  attempt?.process_started === true ? attempt.isolation.level : null;

/** What should be gone and is not; under `none` a worker may have taken all of it away, and then why nobody can say. */
export async function leftBehind(place: RunDirectory): Promise<Result<readonly string[], string>> {
  const found = await beyondRecords(place, ATTEMPT_RECORDS);
  return found.ok ? ok(found.value) : err(found.error.message);
}

/** Searches once more, by what a process cannot shed, and ends what it finds. */
export async function stillRunning(
  { attempts }: RunDirectory,
  plan: Plan,
  { attempt_id }: AttemptRecord,
): Promise<number> {
  const workspace = join(attempts, attempt_id, REPOSITORY_NAME);
  const { killed, survivors } = await endLeftovers({
    marker: attemptMarker({ plan }, attempt_id),
    workspace,
    leader: null,
  });
  return killed + survivors;
}
