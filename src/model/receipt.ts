/** The run's typed record (SPEC 10, RECEIPT.md). A field that does not apply is null, never missing. */
import * as z from 'zod';
import { ATTEMPT_CODES, ATTEMPT_STATES, RUN_OUTCOMES } from './codes.ts';
import {
  codeWord,
  commandResult,
  count,
  digest,
  identifier,
  isolation,
  log,
  oid,
  probe,
  processes,
  refName,
  refusal,
  termination,
  time,
  usage,
} from './observation.ts';
import { recordedPath } from './path.ts';
import { EXTERNAL_COSTS, NETWORKS } from './unit.ts';

export const finding = z.strictObject({ code: codeWord, message: z.string(), paths: z.array(recordedPath) });

export const recordedChange = z.strictObject({
  path: recordedPath,
  status: z.enum(['A', 'M', 'D', 'T']),
  mode: z
    .string()
    .regex(/^[0-7]{6}$/)
    .nullable(),
  size: count.nullable(),
  oid: oid.nullable(),
  binary: z.boolean(),
  in_scope: z.boolean(),
});

export const publishedCommit = z.strictObject({ ref: refName, commit: oid, tree: oid, parent: oid });

export const attemptRecord = z.strictObject({
  attempt_id: identifier,
  profile: identifier,
  adapter: identifier,
  state: z.enum(ATTEMPT_STATES),
  code: z.enum(ATTEMPT_CODES),
  message: z.string(),
  findings: z.array(finding),
  process_started: z.boolean(),
  probe,
  /** requested and resolved are the host's; reported is what the worker said of itself. */
  model: z.strictObject({
    requested: z.string().nullable(),
    resolved: z.string().nullable(),
    reported: z.string().nullable(),
  }),
  argv: z.array(z.string()),
  environment_names: z.array(z.string()),
  isolation,
  termination,
  processes,
  /** `provider-refused` wherever a refusal was read, whatever the state became; for filters over many receipts. */
  class: z.literal('provider-refused').nullable(),
  refusal: refusal.nullable(),
  reported: z.strictObject({
    status: z.enum(['success', 'error']).nullable(),
    error: z.string().nullable(),
    session_id: z.string().nullable(),
  }),
  usage,
  worker_result: z.unknown().nullable(),
  setup: z.array(commandResult),
  verification: z.array(commandResult),
  changes: z.array(recordedChange),
  change_count: count,
  changes_truncated: z.boolean(),
  ignored: z.strictObject({ count, bytes: count, paths: z.array(recordedPath) }),
  canonical: z.strictObject({
    unchanged: z.boolean(),
    differences: z.array(z.strictObject({ what: z.string(), path: z.string(), detail: z.string() })),
  }),
  transport: publishedCommit.nullable(),
  quarantine: publishedCommit.nullable(),
  cleanup: z.strictObject({
    /** The attempt left nothing behind but commits: all that follows holds, or the worker had no way to break it. */
    exact: z.boolean(),
    workspace_removed: z.boolean(),
    worktree_unregistered: z.boolean(),
    processes_gone: z.boolean(),
    canonical_unchanged: z.boolean(),
    retained_path: z.string().nullable(),
  }),
  logs: z.array(log),
  /** The worker's last words, bounded and redacted. Self-reported. */
  summary: z.string(),
  started_at: time,
  ended_at: time,
  duration_ms: count,
});
export type AttemptRecord = z.infer<typeof attemptRecord>;

export const hostFallback = z.strictObject({
  authorized: z.literal(true),
  unit_digest: digest,
  base: oid,
  allowed_paths: z.array(z.string()),
  issued_at: time,
  /** The attempts, every one unavailable with exact cleanup, on which the permission rests. */
  evidence: z.array(identifier),
});

export const receipt = z
  .strictObject({
    schema: z.literal('agent-exec-receipt/v1'),
    tool: z.strictObject({ name: z.literal('agent-exec'), version: z.string() }),
    run_id: identifier,
    outcome: z.enum(RUN_OUTCOMES),
    exit_code: z.int(),
    reason: z.strictObject({ code: codeWord, message: z.string() }),
    role: identifier,
    repository: z.strictObject({
      head: oid,
      head_ref: z.string().nullable(),
      base: oid,
      tree: oid,
      object_format: z.enum(['sha1', 'sha256']),
      /** Tracked files that differ from HEAD plus untracked, unignored ones, when the run began. */
      dirty_paths: count,
      /** True where the base uses Git LFS: workers see pointers, not contents. */
      lfs: z.boolean(),
    }),
    config: z.strictObject({ path: z.string(), digest }),
    unit: z.strictObject({
      unit_id: z.string(),
      digest,
      allowed_paths: z.array(z.string()),
      timeout_seconds: z.int(),
      network: z.enum(NETWORKS),
      external_cost: z.enum(EXTERNAL_COSTS),
    }),
    plan_digest: digest,
    policy: z.strictObject({
      permission: z.literal('run-everything'),
      fallback_to_host: z.enum(['all-unavailable', 'never']),
      isolation: z.enum(['auto', 'none', 'guard', 'strict']),
    }),
    candidates: z.array(identifier),
    attempts: z.array(attemptRecord),
    host_fallback: hostFallback.nullable(),
    /** Findings about the run as a whole, such as a working-copy configuration that differs from base. */
    findings: z.array(finding),
    telemetry: z.strictObject({ path: z.string(), logged: z.boolean(), error: z.string().nullable() }),
    started_at: time,
    ended_at: time,
    duration_ms: count,
    digest,
  })
  .meta({ id: 'agent-exec-receipt/v1', title: 'The record of one run' });
export type Receipt = z.infer<typeof receipt>;
