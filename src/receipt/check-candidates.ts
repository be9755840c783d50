/** What was asked of whom, against the configuration that the run read: candidates, policy, setup, profiles. */
import { requestedModel } from '../model/adapter.ts';
import type { AttemptCode } from '../model/codes.ts';
import { type Policy, type Role, roleOf } from '../model/config.ts';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import type { ReceiptCheck } from '../model/receipt-verify.ts';
import { judged, notChecked } from './check.ts';
import { isSameArgv } from './recorded-argv.ts';

/** The role has exactly these candidates there, and the policy is as it says. Null: no configuration fits. */
export function checkCandidates(receipt: Receipt, policy: Policy | null): ReceiptCheck {
  if (policy === null) return notChecked('candidates', 'the configuration that the run read is not here, or not valid');
  const role = roleOf(policy, receipt.role);
  if (role === null) return judged('candidates', [`the configuration has no role ${receipt.role}`], '');
  const problems = [
    ...policyProblems(receipt, policy, role),
    ...receipt.attempts.flatMap((attempt) =>
      attemptProblems(attempt, policy, role)
        .filter((problem) => problem !== false)
        .map((problem) => `${attempt.attempt_id}: ${problem}`),
    ),
  ];
  return judged('candidates', problems, `role ${receipt.role} has these candidates, in this order, under this policy`);
}

function policyProblems({ candidates, unit, policy: told }: Receipt, { execution }: Policy, role: Role): string[] {
  const pairs: readonly (readonly [what: string, told: string, wanted: string])[] = [
    ['the candidates', candidates.join(', '), role.candidates.join(', ')],
    ['fallback_to_host', told.fallback_to_host, execution.fallback_to_host],
    ['isolation', told.isolation, execution.isolation],
  ];
  const problems = pairs.flatMap(([what, says, wanted]) =>
    says === wanted ? [] : [`${what}: ${wanted} in the configuration, and ${says} in the receipt`],
  );
  if (unit.timeout_seconds > execution.timeout_seconds)
    problems.push(
      `the unit's timeout_seconds is ${unit.timeout_seconds}, and the configuration allows ${execution.timeout_seconds}`,
    );
  return problems;
}

/** Reasons for which a candidate is passed by before anybody asks whether it is switched on. */
const BEFORE_ENABLED: readonly AttemptCode[] = ['DISABLED', 'RECURSION_DETECTED', 'CANCELLED', 'CONTROLLER_LOST'];
/** Reasons for which nothing may have been isolated yet. */
const BEFORE_ISOLATION: readonly AttemptCode[] = [...BEFORE_ENABLED, 'COST_NOT_AUTHORISED', 'ISOLATION_UNAVAILABLE'];

function attemptProblems(attempt: AttemptRecord, policy: Policy, role: Role): readonly (string | false)[] {
  const { profile: name, adapter, model, code, isolation, setup, state, transport } = attempt;
  const { execution } = policy;
  const profile = Object.hasOwn(policy.profiles, name) ? policy.profiles[name] : undefined;
  if (profile === undefined) return [`the configuration has no profile ${name}`];
  const wanted = requestedModel(profile);
  const asked = execution.isolation;
  return [
    profile.adapter !== adapter && `profile ${name} has the adapter ${profile.adapter}, not ${adapter}`,
    model.requested !== wanted &&
      `profile ${name} asks for ${wanted ?? 'no model'}, and model.requested is ${model.requested ?? 'null'}`,
    typeof profile.model === 'string' &&
      model.resolved !== null &&
      model.resolved !== wanted &&
      `profile ${name} names its model ${profile.model}, and it was resolved to ${model.resolved}`,
    code === 'DISABLED' && profile.enabled && `profile ${name} is enabled, and its code is DISABLED`,
    !profile.enabled && !BEFORE_ENABLED.includes(code) && `profile ${name} is disabled, and its code is ${code}`,
    (asked === 'guard' || asked === 'strict') &&
      isolation.level !== asked &&
      !BEFORE_ISOLATION.includes(code) &&
      `isolation ${asked} was asked for, and ${isolation.level} was in force`,
    asked === 'none' && isolation.level !== 'none' && `no isolation was asked for, and ${isolation.level} was in force`,
    (setup.length > execution.setup.length || setup.some(({ argv }, i) => !isSameArgv(argv, execution.setup[i]))) &&
      'its setup commands are not those of the configuration',
    state === 'success' &&
      transport !== null &&
      setup.length < execution.setup.length &&
      `it succeeded, and ${execution.setup.length - setup.length} setup commands were not run`,
    role.result === null && attempt.worker_result !== null && `role ${role.name} asks for no result, and one is told`,
    role.result !== null &&
      state === 'success' &&
      attempt.worker_result === null &&
      `role ${role.name} asks for a result, and it succeeded without one`,
  ];
}
