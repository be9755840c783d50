/** What `runs --json` prints: the runs of a state root, newest first. What it names was true when it was written down. */
import * as z from 'zod';
import { ATTEMPT_CODES, ATTEMPT_STATES, RUN_OUTCOMES } from './codes.ts';
import { codeWord, identifier, oid, refName, time } from './observation.ts';

export const RUN_PHASES = ['running', 'finished', 'unfinished', 'unknown', 'unaccountable'] as const;

const listedRun = z.strictObject({
  run_id: identifier,
  /**
   * `running`: its agent-exec lives. `finished`: every record is written. `unfinished`: its agent-exec is gone, and
   * `recover` has something to do. `unknown`: its agent-exec is in another container or on another host. `unaccountable`:
   * neither plan nor receipt can be read.
   */
  phase: z.enum(RUN_PHASES),
  /** True while it waits for its turn, because `max_parallel` runs of its repository are under way. */
  waiting: z.boolean(),
  started_at: time,
  /** Null, as whatever follows, where neither plan nor receipt tells. */
  role: z.string().nullable(),
  unit_id: z.string().nullable(),
  /** The worktree that it was started in. */
  repository: z.string().nullable(),
  /** Null while there is no receipt. */
  outcome: z.enum(RUN_OUTCOMES).nullable(),
  reason: z.strictObject({ code: codeWord, message: z.string() }).nullable(),
  attempts: z.array(
    z.strictObject({
      attempt_id: identifier,
      /** Null while the attempt has not come to its end; `step` is then what it was doing. */
      state: z.enum(ATTEMPT_STATES).nullable(),
      code: z.enum(ATTEMPT_CODES).nullable(),
      step: z.string().nullable(),
    }),
  ),
  /** What the run kept; whether it was taken over since then is not known here. */
  transport: z.strictObject({ ref: refName, commit: oid }).nullable(),
  quarantine: z.array(z.strictObject({ ref: refName, commit: oid })),
  /** Workspaces that are still there. */
  retained: z.array(z.string()),
  directory: z.string(),
  /** Null while there is none that can be read. */
  receipt: z.string().nullable(),
  /** What of its records cannot be read, and why. */
  problem: z.string().nullable(),
});
export type ListedRun = z.infer<typeof listedRun>;

export const runList = z
  .strictObject({
    schema: z.literal('agent-exec-runs/v1'),
    /** Null where there is no state root yet. */
    state_root: z.string().nullable(),
    /** The worktree whose repository's runs are listed; null: those of every repository. */
    repository: z.string().nullable(),
    runs: z.array(listedRun),
    /** True where there are older ones. */
    truncated: z.boolean(),
  })
  .meta({ id: 'agent-exec-runs/v1', title: 'The runs of a state root' });
export type RunList = z.infer<typeof runList>;
