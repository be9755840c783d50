/** Profiles by name, with their adapters, as the plan freezes them. The policy has already been found valid. */
import { customAdapter } from '../adapters/custom.ts';
import { builtInAdapter } from '../adapters/registry.ts';
import type { Adapter, Candidate } from '../model/adapter.ts';
import type { Policy } from '../model/config.ts';

function adapterOf(policy: Policy, name: string): Adapter {
  const builtIn = builtInAdapter(name);
  if (builtIn !== null) return builtIn;
  const definition = Object.hasOwn(policy.custom_adapters, name) ? policy.custom_adapters[name] : undefined;
  if (definition === undefined) throw new Error(`no adapter ${name} in a valid policy`);
  return customAdapter(name, definition);
}

/** The candidates for these profiles, in this order; the attempt's id is the position and the profile (`01-cursor`). */
export function candidatesOf(policy: Policy, profiles: readonly string[]): readonly Candidate[] {
  return profiles.map((name, index) => {
    const profile = Object.hasOwn(policy.profiles, name) ? policy.profiles[name] : undefined;
    if (profile === undefined) throw new Error(`no profile ${name} in a valid policy`);
    return {
      attemptId: `${String(index + 1).padStart(2, '0')}-${name}`,
      profile: name,
      adapter: adapterOf(policy, profile.adapter),
      executable: profile.executable ?? null,
      model: profile.model,
      effort: profile.effort ?? null,
      enabled: profile.enabled,
      cost: profile.cost,
    };
  });
}
