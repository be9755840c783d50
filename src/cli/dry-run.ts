/** What a run would do (SPEC 5): candidates, argv, names of variables, prompt. Nothing is started or written. */
import { workerEnvironment } from '../adapters/environment.ts';
import { statePaths } from '../adapters/state-path.ts';
import { type Candidate, requestedModel } from '../model/adapter.ts';
import type { Plan } from '../model/plan.ts';
import { neutralise, printableJson } from '../receipt/neutralise.ts';
import type { Redactor } from '../receipt/redact.ts';
import { existingLoginFiles } from '../run/worker.ts';

interface PlannedCandidate {
  readonly attempt_id: string;
  readonly profile: string;
  readonly adapter: string;
  readonly enabled: boolean;
  readonly cost: string;
  readonly model: string | null;
  /** Null where none can be made; then `problem` says why. */
  readonly argv: readonly string[] | null;
  readonly problem: string | null;
  readonly environment_names: readonly string[];
  readonly withheld_names: readonly string[];
}

async function planned(
  plan: Plan,
  candidate: Candidate,
  hostEnv: Readonly<Record<string, string | undefined>>,
): Promise<PlannedCandidate> {
  const { adapter } = candidate;
  const { environment, withheld } = workerEnvironment({
    hostEnv,
    adapter,
    cost: candidate.cost,
    invocationEnvironment: {},
    chain: '{chain}',
    attempt: '{attempt}',
    tmpDir: '{tmp}',
  });
  const model = requestedModel(candidate);
  const invocation = adapter.invoke({
    workspace: '{workspace}',
    model: typeof candidate.model === 'string' ? model : '{model}',
    effort: candidate.effort,
    prompt: plan.prompt,
    promptFile: '{prompt}',
    resultFile: '{result}',
    timeoutSeconds: plan.unit.timeout_seconds,
    isolation: plan.isolation === 'auto' ? 'guard' : plan.isolation,
    runningAsRoot: process.getuid?.() === 0,
    environmentNames: Object.keys(environment),
    environment,
    existingLoginFiles: await existingLoginFiles(statePaths(adapter.loginFiles, environment)),
  });
  const names = { ...environment, ...(invocation.ok ? invocation.value.environment : {}) };
  return {
    attempt_id: candidate.attemptId,
    profile: candidate.profile,
    adapter: adapter.name,
    enabled: candidate.enabled,
    cost: candidate.cost,
    model,
    argv: invocation.ok
      ? [candidate.executable ?? adapter.programs[0] ?? adapter.name, ...invocation.value.shownArgs]
      : null,
    problem: invocation.ok ? null : `${invocation.error.code}: ${invocation.error.message}`,
    environment_names: Object.keys(names).sort(),
    withheld_names: [...withheld].sort(),
  };
}

/** The plan as one `agent-exec-dry-run/v1` object, redacted: the packet's words are in the prompt. */
export async function dryRunJson(
  plan: Plan,
  hostEnv: Readonly<Record<string, string | undefined>>,
  redactor: Redactor,
): Promise<string> {
  return `${printableJson(
    redactor.value({
      schema: 'agent-exec-dry-run/v1',
      role: plan.role.name,
      unit_id: plan.unit.unit_id,
      base: plan.base,
      isolation: plan.isolation,
      verify: plan.verify,
      setup: plan.setup,
      allowed_paths: plan.unit.allowed_paths,
      plan_digest: plan.planDigest,
      candidates: await Promise.all(plan.candidates.map((candidate) => planned(plan, candidate, hostEnv))),
      prompt: plan.prompt,
    }),
    2,
  )}\n`;
}

const shown = (argv: readonly string[]): string =>
  argv.map((item) => (/^[\w@%+=:,./{}-]+$/.test(item) ? item : JSON.stringify(item))).join(' ');

/** The plan for people, redacted and safe to show. */
export async function dryRunText(
  plan: Plan,
  hostEnv: Readonly<Record<string, string | undefined>>,
  redactor: Redactor,
): Promise<string> {
  const lines = [
    `unit       ${plan.unit.unit_id} as ${plan.role.name}, base ${plan.base.slice(0, 12)}`,
    `allowed    ${plan.unit.allowed_paths.join(' ')}`,
    `isolation  ${plan.isolation}, timeout ${plan.unit.timeout_seconds} s`,
    `setup      ${plan.setup.length === 0 ? 'none' : plan.setup.map(shown).join('; ')}`,
    `verify     ${plan.verify ? plan.unit.verification.map(shown).join('; ') || 'nothing to run' : 'no'}`,
  ];
  for (const candidate of await Promise.all(plan.candidates.map((one) => planned(plan, one, hostEnv)))) {
    lines.push(
      '',
      `${candidate.attempt_id}  (${candidate.adapter}, ${candidate.cost}${candidate.enabled ? '' : ', switched off'})`,
    );
    lines.push(
      candidate.argv === null ? `  cannot run   ${candidate.problem}` : `  argv         ${shown(candidate.argv)}`,
    );
    lines.push(`  environment  ${candidate.environment_names.join(' ')}`);
    if (candidate.withheld_names.length > 0) lines.push(`  withheld     ${candidate.withheld_names.join(' ')}`);
  }
  return neutralise(redactor.text(`${lines.join('\n')}\n\nprompt\n${plan.prompt.replace(/^/gm, '  ')}\n`));
}
