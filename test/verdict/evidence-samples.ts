/** Evidence of an attempt that went well, and a way to say only what differs. */
import type { Evidence } from '../../src/model/evidence.ts';
import { NO_USAGE } from '../../src/model/observation.ts';
import type { RepoPath } from '../../src/model/path.ts';

const OID = 'a'.repeat(40);
export const path = (text: string): RepoPath => text as RepoPath;

export const change = (text: string): Extract<Evidence['inventory'], { kind: 'taken' }>['changes'][number] => ({
  path: path(text),
  status: 'M',
  mode: '100644',
  size: 3,
  oid: OID,
  binary: false,
});

export const ignored = (text: string) => ({ path: path(text), mode: '100644', size: 3, oid: OID, inScope: false });

export const taken = (
  over: Partial<Extract<Evidence['inventory'], { kind: 'taken' }>> = {},
): Evidence['inventory'] => ({
  kind: 'taken',
  changes: [change('src/add.js')],
  ignored: [],
  violations: [],
  findings: [],
  ...over,
});

export function evidence(over: Partial<Evidence> = {}): Evidence {
  return {
    expects: 'changes',
    unavailable: null,
    isolation: { level: 'guard', mechanism: 'bwrap', network: 'open' },
    setup: [],
    termination: { kind: 'exited', code: 0 },
    processes: { containment: 'pid-namespace', escaped: 0, killed: 0, survivors: 0 },
    logs: [],
    report: {
      status: null,
      error: null,
      model: null,
      sessionId: null,
      usage: NO_USAGE,
      finalText: 'done',
      refusal: null,
      resultMissing: false,
    },
    model: { requested: null, resolved: null },
    inventory: taken(),
    outOfScope: [],
    privateRepository: { violations: [], commits: [] },
    canonical: { differences: [], workerCouldWrite: false },
    workerResult: { kind: 'not-required' },
    preservation: {
      kind: 'kept',
      transport: { ref: 'refs/agent-exec/r/01-a', commit: OID, tree: OID, parent: OID },
      quarantine: null,
    },
    verification: null,
    controllerLost: null,
    cancelledAfterwards: false,
    cleanup: {
      kind: 'done',
      workspaceRemoved: true,
      worktreeUnregistered: true,
      processesGone: true,
      problem: null,
      retainedPath: null,
    },
    ...over,
  };
}

export const report = (over: Partial<Evidence['report']>): Evidence['report'] => ({ ...evidence().report, ...over });
export const refusal = (code: 'RATE_LIMITED' | 'AUTH_REJECTED', retry: number | null = null) =>
  ({ code, retry_after_seconds: retry, line: '429 too many', source: 'event' }) as const;
