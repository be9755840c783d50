/**
 * Configuration, packet and repository facts -> one frozen Plan. Whatever a run does later, it reads from here; digests
 * of what went in let a receipt be checked against the repository.
 */
import type { Policy, Role } from '../model/config.ts';
import type { Plan, RepositoryFacts } from '../model/plan.ts';
import type { Unit } from '../model/unit.ts';
import { resultContract } from '../model/worker-result.ts';
import { candidatesOf } from './candidates.ts';
import { composePrompt } from './prompt.ts';

export interface PlanParts {
  readonly runId: string;
  readonly policy: Policy;
  readonly role: Role;
  readonly unit: Unit;
  readonly repository: RepositoryFacts;
  readonly base: string;
  readonly baseTree: string;
  /** The text of the role's instructions file. */
  readonly instructions: string | null;
  /** `--verify`; the policy may ask for it too. */
  readonly verify: boolean;
  readonly config: { readonly path: string; readonly digest: string };
  /** Digest of a JSON value. */
  readonly digestOf: (value: unknown) => string;
}

/** Between a polite request to end and the end. */
const GRACE_MS = 5000;

/** What the plan's digest covers: everything that decides what runs, as data. */
function planData(plan: Omit<Plan, 'planDigest'>): unknown {
  return {
    role: { ...plan.role },
    base: plan.base,
    candidates: plan.candidates.map(({ attemptId, profile, adapter, executable, model, effort, enabled, cost }) => ({
      attempt_id: attemptId,
      profile,
      adapter: adapter.name,
      executable,
      model,
      effort,
      enabled,
      cost,
    })),
    limits: { ...plan.limits },
    isolation: plan.isolation,
    verify: plan.verify,
    setup: plan.setup,
    fallback_to_host: plan.fallbackToHost,
    prompt: plan.prompt,
    config: plan.config.digest,
    unit: plan.unitDigest,
  };
}

/** The plan. Throws only where the policy has not been found valid. */
export function freezePlan(parts: PlanParts): Plan {
  const { policy, role, unit } = parts;
  const { execution } = policy;
  const plan: Omit<Plan, 'planDigest'> = {
    runId: parts.runId,
    role,
    unit,
    repository: parts.repository,
    base: parts.base,
    baseTree: parts.baseTree,
    candidates: candidatesOf(policy, role.candidates),
    limits: {
      timeoutMs: unit.timeout_seconds * 1000,
      idleTimeoutMs: execution.idle_timeout_seconds === undefined ? null : execution.idle_timeout_seconds * 1000,
      providerWaitMs: execution.provider_wait_seconds * 1000,
      graceMs: GRACE_MS,
      rawOutputBytes: execution.raw_output_bytes,
      summaryBytes: execution.summary_bytes,
    },
    isolation: execution.isolation,
    maxParallel: execution.max_parallel,
    verify: parts.verify || execution.verify === 'host',
    setup: execution.setup,
    fallbackToHost: execution.fallback_to_host,
    instructions: parts.instructions,
    prompt: composePrompt({
      instructions: parts.instructions,
      unit,
      expects: role.expects,
      resultKeys: role.result === null ? null : resultContract(role.result).keys,
    }),
    config: parts.config,
    unitDigest: parts.digestOf(unit),
  };
  return Object.freeze({ ...plan, planDigest: parts.digestOf(planData(plan)) });
}
