/**
 * Every value that must never be shown: what CLIs take as credentials, whether or not this run passes them on, because a
 * worker may find them elsewhere and print them.
 */
import { builtInAdapters } from '../adapters/registry.ts';
import type { Adapter } from '../model/adapter.ts';
import { createRedactor, type Redactor } from '../receipt/redact.ts';

/** Takes out the host's values of the credential variables of all built-in adapters and `others`, and everything shaped like a token. */
export function redactorFor(
  others: readonly Pick<Adapter, 'credentials'>[],
  hostEnv: Readonly<Record<string, string | undefined>>,
): Redactor {
  const names = [...builtInAdapters, ...others].flatMap(({ credentials }) => [
    ...credentials.subscription,
    ...credentials.metered,
  ]);
  const secrets = [...new Set(names)].flatMap((name) => hostEnv[name] ?? []);
  return createRedactor({ secrets });
}
