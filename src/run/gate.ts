/**
 * Everything that must hold before a candidate may have a process: it is enabled, affordable, containable, present,
 * compatible, its model is known, and its command line can be made. In this order, so that nothing is probed that could
 * not run anyway. What does not hold makes the candidate `unavailable`; nothing here has an effect that outlives it.
 */
import { type Candidate, requestedModel, type Unavailable } from '../model/adapter.ts';
import { COSTS } from '../model/config.ts';
import type { ProbeRecord } from '../model/observation.ts';
import { err, ok, type Result } from '../model/result.ts';
import type { ExternalCost } from '../model/unit.ts';
import type { Containment } from '../process/containment.ts';
import type { Executable } from '../process/executable.ts';
import { probeCandidate, probeRecord, switchedOff } from '../process/probe.ts';
import { resolveModel } from './resolve-model.ts';
import type { Run } from './surroundings.ts';
import { attemptMarker } from './worker.ts';

/** A candidate that may run. */
export interface Admitted {
  readonly candidate: Candidate;
  readonly containment: Containment;
  readonly executable: Executable;
  readonly probe: ProbeRecord;
  readonly model: { readonly requested: string | null; readonly resolved: string | null };
}

/** A candidate that may not, and what was found out on the way. */
export interface Refused {
  readonly unavailable: Unavailable;
  readonly probe: ProbeRecord;
  readonly model: { readonly requested: string | null; readonly resolved: string | null };
}

const PROBED_NOTHING = { executable: null, version: null } as const;

/** What of a spending limit a profile's cost needs; costs are ordered. */
const ALLOWED_COST: Record<ExternalCost, (typeof COSTS)[number]> = {
  none: 'local',
  subscription: 'subscription',
  metered: 'metered',
};

/** Reasons that need no look at the machine. */
export function forbidden(run: Run, candidate: Candidate): Unavailable | null {
  const { unit } = run.plan;
  if (run.insideRun !== null) {
    return {
      code: 'RECURSION_DETECTED',
      message: `This run was started inside run ${run.insideRun} of the same repository. A worker must do its unit itself.`,
    };
  }
  const disabled = switchedOff(candidate);
  if (disabled !== null) return disabled;
  if (COSTS.indexOf(candidate.cost) > COSTS.indexOf(ALLOWED_COST[unit.external_cost])) {
    return {
      code: 'COST_NOT_AUTHORISED',
      message: `Profile ${candidate.profile} costs ${candidate.cost} and the packet authorises ${unit.external_cost} (external_cost).`,
    };
  }
  if (!run.containment.ok) return run.containment.error;
  if (unit.network === 'deny' && run.containment.value.level !== 'strict') {
    return {
      code: 'NETWORK_NOT_ENFORCEABLE',
      message: `The packet says network: deny, which isolation ${run.containment.value.level} cannot enforce. Set execution.isolation to strict where bwrap works, or allow the network.`,
    };
  }
  return null;
}

/** Rejects only where the run is being stopped. */
export async function admit(run: Run, candidate: Candidate): Promise<Result<Admitted, Refused>> {
  const requested = requestedModel(candidate);
  const unresolved = { requested, resolved: null };
  const refusal = forbidden(run, candidate);
  if (refusal !== null || !run.containment.ok) {
    const unavailable = refusal ?? (run.containment as { error: Unavailable }).error;
    const probe = { available: false, code: unavailable.code, message: unavailable.message, ...PROBED_NOTHING };
    return err({ unavailable, probe, model: unresolved });
  }
  const probed = {
    hostEnv: run.around.hostEnv,
    scratchParent: run.directory,
    cache: run.probeCache,
    signal: run.around.stop,
    marker: attemptMarker(run, candidate.attemptId),
  };
  const answer = await probeCandidate(candidate, probed);
  const probe = probeRecord(answer);
  if (answer.unavailable !== null || answer.executable === null) {
    if (answer.unavailable === null) throw new Error('a probe without an executable and without a reason');
    return err({ unavailable: answer.unavailable, probe, model: unresolved });
  }
  const resolved = await resolveModel(candidate, answer.executable, run);
  if (!resolved.ok) return err({ unavailable: resolved.error, probe, model: unresolved });
  return ok({
    candidate,
    containment: run.containment.value,
    executable: answer.executable,
    probe,
    model: { requested, resolved: resolved.value },
  });
}
