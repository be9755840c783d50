/**
 * Every value that must never be shown: what the candidates' CLIs take as credentials, whether or not this run passes
 * them on, because a worker may find them elsewhere and print them.
 */
import type { Plan } from '../model/plan.ts';
import { createRedactor, type Redactor } from '../receipt/redact.ts';

export function redactorFor(plan: Plan, hostEnv: Readonly<Record<string, string | undefined>>): Redactor {
  const names = plan.candidates.flatMap(({ adapter }) => [
    ...adapter.credentials.subscription,
    ...adapter.credentials.metered,
  ]);
  const secrets = [...new Set(names)].flatMap((name) => hostEnv[name] ?? []);
  return createRedactor({ secrets });
}
