/** The policy a repository carries in AGENT-EXECUTION.md, as data (SPEC 3). Positions and rules live in config/. */
import * as z from 'zod';

export const NAME = /^[a-z][a-z0-9-]{0,31}$/;
export const BUILT_IN_ADAPTERS = ['cursor', 'antigravity', 'claude', 'codex', 'pi', 'kimi', 'opencode'] as const;
export type BuiltInAdapter = (typeof BUILT_IN_ADAPTERS)[number];

export const COSTS = ['local', 'subscription', 'metered'] as const;
export type Cost = (typeof COSTS)[number];

const name = z.string().regex(NAME);
const argv = z.array(z.string().min(1)).min(1);

export const execution = z.strictObject({
  fresh_process_per_unit: z.literal(true),
  permission: z.literal('run-everything'),
  fallback_to_host: z.enum(['all-unavailable', 'never']),
  max_parallel: z.int().min(1).max(64),
  timeout_seconds: z.int().min(1).max(86_400),
  idle_timeout_seconds: z.int().min(1).max(86_400).optional(),
  isolation: z.enum(['auto', 'none', 'guard', 'strict']).default('auto'),
  provider_wait_seconds: z.int().min(0).max(86_400).default(120),
  verify: z.enum(['none', 'host']).default('none'),
  setup: z.array(argv).default([]),
  summary_bytes: z.int().min(256).max(65_536),
  raw_output_bytes: z
    .int()
    .min(4096)
    .max(2 ** 30),
});

export const roleMapping = z.strictObject({
  candidates: z.array(name).min(1),
  instructions: z.string().min(1).optional(),
  result: z.string().min(1).optional(),
  expects: z.enum(['changes', 'report', 'either']).optional(),
});
/** A role is an order of candidates, or a mapping where it needs more. */
export const role = z.union([z.array(name).min(1), roleMapping]);

export const modelRequest = z.union([
  z.string().min(1),
  z.strictObject({ family: z.string().min(1), effort: z.string().min(1) }),
]);

export const profile = z.strictObject({
  adapter: name,
  executable: z.string().min(1).optional(),
  model: modelRequest.default('auto'),
  enabled: z.boolean().default(true),
  cost: z.enum(COSTS).default('subscription'),
  effort: z.string().min(1).optional(),
});

export const PLACEHOLDERS = ['{workspace}', '{model}', '{prompt}', '{result}'] as const;

export const customAdapter = z.strictObject({
  base_argv: z.array(z.string()),
  run_everything_argv: z.array(z.string()),
  workspace_argv: z.array(z.string()),
  model_argv: z.array(z.string()),
  prompt_transport: z.enum(['stdin', 'argument', 'file']),
  /** `text`, or a built-in adapter whose event reader fits. */
  output_format: z.enum(['text', ...BUILT_IN_ADAPTERS]),
  pass_env: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)).optional(),
  required_help: z.array(z.string().min(1)).optional(),
  refusal_prefixes: z.array(z.string().min(1)).optional(),
  refusal_source: z.string().min(1).optional(),
});
export type CustomAdapter = z.infer<typeof customAdapter>;

export const policy = z
  .strictObject({
    schema: z.literal('agent-execution/v1'),
    execution,
    roles: z.record(name, role),
    profiles: z.record(name, profile),
    custom_adapters: z.record(name, customAdapter).default({}),
  })
  .meta({ id: 'agent-execution/v1', title: 'The agent-execution block of AGENT-EXECUTION.md' });
export type Policy = z.infer<typeof policy>;

export interface Role {
  readonly name: string;
  readonly candidates: readonly string[];
  readonly instructions: string | null;
  readonly result: string | null;
  readonly expects: 'changes' | 'report' | 'either';
}

/** The one form of a role that the rest of the program sees. Review and test roles may end without a change (SPEC 3). */
export function roleOf(policyData: Policy, roleName: string): Role | null {
  const given = Object.hasOwn(policyData.roles, roleName) ? policyData.roles[roleName] : undefined;
  if (given === undefined) return null;
  const mapping = Array.isArray(given) ? { candidates: given } : given;
  return {
    name: roleName,
    candidates: mapping.candidates,
    instructions: mapping.instructions ?? null,
    result: mapping.result ?? null,
    expects: mapping.expects ?? (roleName === 'review' || roleName === 'test' ? 'either' : 'changes'),
  };
}
