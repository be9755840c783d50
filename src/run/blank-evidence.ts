/** Evidence of an attempt about which nothing has been observed yet: nothing started, nothing written, nothing to clean. */
import { type Candidate, requestedModel, type Unavailable } from '../model/adapter.ts';
import type { Cleanup, Evidence } from '../model/evidence.ts';
import { type Isolation, NO_USAGE, type ProbeRecord } from '../model/observation.ts';
import type { Network } from '../model/unit.ts';
import type { Run } from './surroundings.ts';
import { isolationOf } from './worker.ts';

const NOTHING_TO_CLEAN = {
  kind: 'done',
  workspaceRemoved: true,
  worktreeUnregistered: true,
  processesGone: true,
  problem: null,
  retainedPath: null,
} as const satisfies Cleanup;

/** Nothing was observed of a worker: none was started, none wrote, there is nothing to clean. */
export const NOTHING_OBSERVED: Omit<Evidence, 'expects' | 'isolation' | 'model'> = {
  unavailable: null,
  setup: [],
  termination: { kind: 'not-started', error: 'NOT_REACHED' },
  processes: { containment: 'none', escaped: 0, killed: 0, survivors: 0 },
  logs: [],
  report: {
    status: null,
    error: null,
    model: null,
    sessionId: null,
    usage: NO_USAGE,
    finalText: '',
    refusal: null,
    resultMissing: false,
  },
  inventory: { kind: 'none' },
  outOfScope: [],
  privateRepository: { violations: [], commits: [] },
  canonical: { differences: [], workerCouldWrite: false },
  workerResult: { kind: 'not-required' },
  preservation: { kind: 'nothing' },
  verification: null,
  controllerLost: null,
  cancelledAfterwards: false,
  cleanup: NOTHING_TO_CLEAN,
};

/** The candidate was not probed, or nobody knows any more what the probe said. */
export const NOT_PROBED: ProbeRecord = {
  available: false,
  code: null,
  message: null,
  executable: null,
  version: null,
};

/** Isolation of a candidate for which nothing was in force. */
export const notIsolated = (network: Network): Isolation => ({
  level: 'none',
  mechanism: 'none',
  network: network === 'allow' ? 'open' : 'declared',
});

/** Evidence to grow from: classified as it is, it would blame nobody. */
export function blankEvidence(run: Run, candidate: Candidate): Evidence {
  const { containment } = run;
  return {
    ...NOTHING_OBSERVED,
    expects: run.plan.role.expects,
    isolation: containment.ok ? isolationOf(run, containment.value) : notIsolated(run.plan.unit.network),
    model: { requested: requestedModel(candidate), resolved: null },
  };
}

/** The candidate was found unavailable before a worker process existed. */
export const unavailableEvidence = (evidence: Evidence, unavailable: Unavailable): Evidence => ({
  ...evidence,
  unavailable,
  termination: { kind: 'not-started', error: unavailable.code },
});

/** Nobody could tell whether it is available: no reason to go on to another candidate, nor to the host. */
export const undecided = (evidence: Evidence, problem: string): Evidence => ({
  ...evidence,
  cleanup: { ...NOTHING_TO_CLEAN, problem },
});

/** The host stopped the run before a worker process existed. */
export const cancelledEarly = (evidence: Evidence): Evidence => ({
  ...evidence,
  termination: { kind: 'not-started', error: 'CANCELLED' },
});
