/**
 * A plan on disk (`agent-exec-plan/v1`): what another process needs to finish a run whose controller died, and to say
 * what a run was about. Private: it holds the unit's words.
 */
import * as z from 'zod';
import { requestedModel } from './adapter.ts';
import { digest, identifier, oid, time } from './observation.ts';
import type { Plan, PlannedRun } from './plan.ts';
import { processIdentity } from './process-identity.ts';
import { unit } from './unit.ts';

const repositoryFacts = z.strictObject({
  worktree: z.string(),
  gitDir: z.string(),
  commonDir: z.string(),
  objectsDir: z.string(),
  objectFormat: z.enum(['sha1', 'sha256']),
  head: oid,
  headRef: z.string().nullable(),
  shallow: z.boolean(),
});

export const planRecord = z.strictObject({
  schema: z.literal('agent-exec-plan/v1'),
  run_id: identifier,
  /** Who began it; a journal that says otherwise is right. */
  controller: processIdentity,
  started_at: time,
  role: z.strictObject({ name: identifier, expects: z.enum(['changes', 'report', 'either']) }),
  unit,
  repository: repositoryFacts,
  base: oid,
  base_tree: oid,
  candidates: z.array(
    z.strictObject({
      attempt_id: identifier,
      profile: identifier,
      adapter: identifier,
      /** As the profile asks for it; null: the CLI's own choice. */
      model: z.string().nullable(),
    }),
  ),
  isolation: z.enum(['auto', 'none', 'guard', 'strict']),
  fallback_to_host: z.enum(['all-unavailable', 'never']),
  config: z.strictObject({ path: z.string(), digest }),
  unit_digest: digest,
  plan_digest: digest,
  telemetry_path: z.string(),
  /** `--receipt`; null where none was asked for. */
  receipt_path: z.string().nullable(),
});
export type PlanRecord = z.infer<typeof planRecord>;

/** The record of a plan; `around` is what the plan itself does not say. */
export const planRecordOf = (
  plan: Plan,
  around: Pick<PlanRecord, 'controller' | 'started_at' | 'telemetry_path' | 'receipt_path'>,
): PlanRecord => ({
  schema: 'agent-exec-plan/v1',
  run_id: plan.runId,
  controller: around.controller,
  started_at: around.started_at,
  role: { name: plan.role.name, expects: plan.role.expects },
  unit: plan.unit,
  repository: plan.repository,
  base: plan.base,
  base_tree: plan.baseTree,
  candidates: plan.candidates.map((candidate) => ({
    attempt_id: candidate.attemptId,
    profile: candidate.profile,
    adapter: candidate.adapter.name,
    model: requestedModel(candidate),
  })),
  isolation: plan.isolation,
  fallback_to_host: plan.fallbackToHost,
  config: plan.config,
  unit_digest: plan.unitDigest,
  plan_digest: plan.planDigest,
  telemetry_path: around.telemetry_path,
  receipt_path: around.receipt_path,
});

/** What a record says of its run, in the form that commits and receipts are made from. */
export const plannedRunOf = (record: PlanRecord): PlannedRun => ({
  runId: record.run_id,
  role: record.role,
  unit: record.unit,
  repository: record.repository,
  base: record.base,
  baseTree: record.base_tree,
  candidates: record.candidates.map(({ attempt_id, profile, adapter }) => ({
    attemptId: attempt_id,
    profile,
    adapter: { name: adapter },
  })),
  isolation: record.isolation,
  fallbackToHost: record.fallback_to_host,
  config: record.config,
  unitDigest: record.unit_digest,
  planDigest: record.plan_digest,
});
