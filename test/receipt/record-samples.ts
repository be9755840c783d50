/** A plan, attempts and a receipt, and ways to say only what differs. */
import type { Evidence } from '../../src/model/evidence.ts';
import type { Plan } from '../../src/model/plan.ts';
import type { AttemptRecord, Receipt } from '../../src/model/receipt.ts';
import { type AttemptFacts, attemptRecord } from '../../src/receipt/attempt.ts';
import { buildReceipt, type RunFacts } from '../../src/receipt/receipt.ts';
import { createRedactor, type Redactor } from '../../src/receipt/redact.ts';
import { classify } from '../../src/verdict/classify.ts';
import { evidence } from '../verdict/evidence-samples.ts';

export const OID = 'a'.repeat(40);
export const DIGEST = `sha256:${'b'.repeat(64)}`;
export const RUN_ID = '20261130t171500123z-4f9c2a';
export const noSecrets = createRedactor({ secrets: [] });
const at = new Date('2026-11-30T17:15:00.123Z');

export function attemptFacts(over: Partial<Evidence> = {}, facts: Partial<AttemptFacts> = {}): AttemptFacts {
  const observed = evidence(over);
  return {
    candidate: { attemptId: '01-cursor', profile: 'cursor', adapter: { name: 'cursor' } },
    verdict: classify(observed),
    evidence: observed,
    probe: { available: true, code: null, message: null, executable: '/usr/bin/cursor-agent', version: '1.2.3' },
    argv: ['cursor-agent', '-p', '{prompt}'],
    environmentNames: ['PATH', 'HOME'],
    startedAt: at,
    endedAt: new Date(at.getTime() + 1500),
    durationMs: 1500.4,
    ...facts,
  };
}

export const attempt = (over: Partial<Evidence> = {}, redactor: Redactor = noSecrets): AttemptRecord =>
  attemptRecord(attemptFacts(over), redactor);

export const plan = {
  runId: RUN_ID,
  role: { name: 'repair', candidates: ['cursor'], instructions: null, result: null, expects: 'changes' },
  unit: {
    unit_id: 'fix-add',
    goal: 'fix add',
    allowed_paths: ['src/'],
    verification: [['npm', 'test']],
    constraints: [],
    network: 'allow',
    external_cost: 'subscription',
    timeout_seconds: 900,
  },
  repository: {
    worktree: '/r',
    gitDir: '/r/.git',
    commonDir: '/r/.git',
    objectsDir: '/r/.git/objects',
    objectFormat: 'sha1',
    head: OID,
    headRef: 'refs/heads/main',
    shallow: false,
  },
  base: OID,
  baseTree: OID,
  candidates: [],
  isolation: 'auto',
  fallbackToHost: 'all-unavailable',
  config: { path: 'AGENT-EXECUTION.md', digest: DIGEST },
  unitDigest: DIGEST,
  planDigest: DIGEST,
} as unknown as Plan;

export const runFacts = (over: Partial<RunFacts> = {}): RunFacts => ({
  plan,
  toolVersion: '0.1.0',
  outcome: 'success',
  exitCode: 0,
  reason: { code: 'OK', message: 'cursor changed 1 file in scope' },
  dirtyPaths: 0,
  lfs: false,
  attempts: [attempt()],
  hostFallback: null,
  findings: [],
  telemetry: { path: '/r/.git/agent-exec/calls.jsonl', logged: true, error: null },
  startedAt: at,
  endedAt: new Date(at.getTime() + 2000),
  durationMs: 2000,
  ...over,
});

export const receipt = (over: Partial<RunFacts> = {}, redactor: Redactor = noSecrets): Receipt =>
  buildReceipt(runFacts(over), redactor);
