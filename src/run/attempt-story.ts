/**
 * What a journal tells of an attempt: the names of its steps, what each writes down, and the reading of it by whoever
 * finishes the run of a dead controller. Total: what is missing or unreadable is simply not known.
 */
import * as z from 'zod';
import { isolation, log, probe, processes, termination } from '../model/observation.ts';
import { processIdentity } from '../model/process-identity.ts';
import { type AttemptRecord, attemptRecord, publishedCommit } from '../model/receipt.ts';
import type { JournalReading, JournalRecord } from '../store/journal.ts';

/** All of an attempt; what it came to is its `after`. */
export const ATTEMPT_STEP = 'attempt';
export type AttemptStep = 'workspace' | 'setup' | 'worker' | 'preserve' | 'verification' | 'cleanup' | 'demote';
/** A note: the worker's process exists. */
export const STARTED_NOTE = 'worker-started';

const workspaceMade = z.object({
  workspace: z.object({
    path: z.string(),
    privateGitDir: z.string(),
    worktreeGitDir: z.string(),
    identity: z.string(),
  }),
});
const workerBegun = z.object({
  argv: z.array(z.string()),
  environment_names: z.array(z.string()),
  isolation,
  probe,
  model: z.object({ requested: z.string().nullable(), resolved: z.string().nullable() }),
});
const workerEnded = z.object({ termination, processes, logs: z.array(log) });
const workKept = z.object({ transport: publishedCommit.nullable(), quarantine: publishedCommit.nullable() });
const started = z.object({ leader: processIdentity });
const ended = z.object({ record: attemptRecord });

export type WorkerBegun = z.infer<typeof workerBegun>;
export type WorkerEnded = z.infer<typeof workerEnded>;

export interface AttemptStory {
  readonly attemptId: string;
  readonly startedAt: Date;
  /** The attempt's entry of the receipt, where it came to its end. */
  readonly record: AttemptRecord | null;
  /** Where its workspace is; null where none was made, or nobody can say any more. */
  readonly workspace: z.infer<typeof workspaceMade>['workspace'] | null;
  /** True where anything may have written into the workspace: setup commands or the worker. */
  readonly somethingRan: boolean;
  readonly setUp: boolean;
  readonly worker: {
    readonly begun: WorkerBegun | null;
    readonly leader: z.infer<typeof processIdentity> | null;
    readonly ended: WorkerEnded | null;
  };
  /** The commits that hold the work; null while the attempt had not come that far. */
  readonly kept: z.infer<typeof workKept> | null;
  /** True where the workspace may be partly removed. */
  readonly cleanUpBegun: boolean;
  /** The last step that was begun, for words. */
  readonly lastStep: string;
}

/** The attempts that were begun, in their order. */
export function attemptStories({ records }: JournalReading): AttemptStory[] {
  const begun = records.filter(({ step, phase }) => step === ATTEMPT_STEP && phase === 'before');
  return begun.flatMap(({ attempt, at }) =>
    attempt === null
      ? []
      : [
          storyOf(
            attempt,
            at,
            records.filter((record) => record.attempt === attempt),
          ),
        ],
  );
}

function storyOf(attemptId: string, at: string, records: readonly JournalRecord[]): AttemptStory {
  const find = (step: string, phase: JournalRecord['phase']) =>
    records.findLast((record) => record.step === step && record.phase === phase);
  const read = <T>(schema: z.ZodType<T>, step: string, phase: JournalRecord['phase']): T | null =>
    schema.safeParse(find(step, phase)?.data).data ?? null;
  const has = (step: AttemptStep, phase: JournalRecord['phase']): boolean => find(step, phase) !== undefined;
  const worker = {
    begun: read(workerBegun, 'worker', 'before'),
    leader: read(started, STARTED_NOTE, 'note')?.leader ?? null,
    ended: read(workerEnded, 'worker', 'after'),
  };
  return {
    attemptId,
    startedAt: new Date(at),
    record: read(ended, ATTEMPT_STEP, 'after')?.record ?? null,
    workspace: read(workspaceMade, 'workspace', 'after')?.workspace ?? null,
    somethingRan: has('setup', 'before') || has('worker', 'before'),
    setUp: has('setup', 'before'),
    worker,
    kept: read(workKept, 'preserve', 'after'),
    cleanUpBegun: has('cleanup', 'before'),
    lastStep: records.findLast(({ phase, step }) => phase === 'before' && step !== ATTEMPT_STEP)?.step ?? 'probe',
  };
}
