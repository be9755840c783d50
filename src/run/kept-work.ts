/** Where the work of a run is: by its receipt, or of a run without one by its journal as far as that goes. */
import { lstatSync } from 'node:fs';
import type { PublishedCommit } from '../model/evidence.ts';
import type { RunState } from '../store/run-state.ts';
import { attemptStories } from './attempt-story.ts';

export interface KeptWork {
  readonly attemptId: string;
  /** State and code; null where nothing has judged it yet. */
  readonly verdict: string | null;
  readonly transport: PublishedCommit | null;
  readonly quarantine: PublishedCommit | null;
  /** The workspace, where it is still there. */
  readonly workspace: string | null;
}

/** One entry for every attempt that was begun, in their order. */
export function keptWork({ receipt, journal }: RunState): readonly KeptWork[] {
  if (receipt.kind === 'valid') {
    return receipt.receipt.attempts.map(({ attempt_id, state, code, transport, quarantine, cleanup }) => ({
      attemptId: attempt_id,
      verdict: `${state} ${code}`,
      transport,
      quarantine,
      workspace: ifThere(cleanup.retained_path),
    }));
  }
  return attemptStories(journal).map(({ attemptId, record, kept, workspace }) => ({
    attemptId,
    verdict: record === null ? null : `${record.state} ${record.code}`,
    // After verification a commit may stand elsewhere than where it was made: the attempt's own record knows.
    transport: record === null ? (kept?.transport ?? null) : record.transport,
    quarantine: record === null ? (kept?.quarantine ?? null) : record.quarantine,
    workspace: ifThere(record?.cleanup.retained_path ?? workspace?.path ?? null),
  }));
}

const ifThere = (path: string | null): string | null =>
  path !== null && lstatSync(path, { throwIfNoEntry: false }) !== undefined ? path : null;
