/**
 * Evidence and verdict of one attempt -> its entry in the receipt (RECEIPT.md). Everything a worker can make long is
 * bounded, everything it can say is redacted first and then made harmless to show. The evidence decides nothing here.
 */
import type { Change, Evidence, Finding, IgnoredFile } from '../model/evidence.ts';
import type { CommandResult, ProbeRecord } from '../model/observation.ts';
import { type AttemptRecord, attemptRecord as attemptSchema } from '../model/receipt.ts';
import type { Verdict } from '../verdict/classify.ts';
import { headOf, tailOf } from './bounded-text.ts';
import { neutralise } from './neutralise.ts';
import type { Redactor } from './redact.ts';
import { redactPath, redactRecord } from './redact-record.ts';

const MAX_CHANGES = 1000;
const MAX_IGNORED_PATHS = 100;
const MAX_FINDINGS = 100;
const MAX_FINDING_PATHS = 100;
const MAX_DIFFERENCES = 100;
const MAX_MESSAGE_BYTES = 4096;
const MAX_SUMMARY_BYTES = 2048;

export interface AttemptFacts {
  readonly candidate: {
    readonly attemptId: string;
    readonly profile: string;
    readonly adapter: { readonly name: string };
  };
  readonly verdict: Verdict;
  readonly evidence: Evidence;
  readonly probe: ProbeRecord;
  /** The program and its arguments with placeholders for prompt, workspace and files; empty where none was composed. */
  readonly argv: readonly string[];
  /** Names of the variables that the worker got. */
  readonly environmentNames: readonly string[];
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** By a clock that does not jump. */
  readonly durationMs: number;
}

/** The attempt's entry in the receipt: bounded, redacted, valid against its schema. */
export function attemptRecord(facts: AttemptFacts, redactor: Redactor): AttemptRecord {
  const { candidate, verdict, evidence } = facts;
  const { report, inventory, preservation } = evidence;
  const clean = (text: string): string => neutralise(redactor.text(text));
  const message = (text: string): string => headOf(clean(text), MAX_MESSAGE_BYTES);
  const kept = preservation.kind === 'kept' || preservation.kind === 'failed' ? preservation : null;
  const taken = inventory.kind === 'none' ? { changes: [], ignored: [] } : inventory;

  const record: AttemptRecord = {
    attempt_id: candidate.attemptId,
    profile: candidate.profile,
    adapter: candidate.adapter.name,
    state: verdict.state,
    code: verdict.code,
    message: message(verdict.message),
    findings: findingRecords(verdict.findings, redactor),
    process_started: evidence.termination.kind !== 'not-started',
    probe: { ...facts.probe, message: facts.probe.message === null ? null : message(facts.probe.message) },
    model: { ...evidence.model, reported: report.model === null ? null : message(report.model) },
    argv: facts.argv.map(message),
    environment_names: [...facts.environmentNames].sort(),
    isolation: evidence.isolation,
    termination: evidence.termination,
    processes: evidence.processes,
    class: report.refusal === null ? null : 'provider-refused',
    refusal: report.refusal === null ? null : { ...report.refusal, line: message(report.refusal.line) },
    reported: {
      status: report.status,
      error: report.error === null ? null : message(report.error),
      session_id: report.sessionId === null ? null : message(report.sessionId),
    },
    usage: report.usage,
    worker_result: evidence.workerResult.kind === 'valid' ? redactor.value(evidence.workerResult.value) : null,
    setup: commandRecords(evidence.setup, message),
    verification: commandRecords(evidence.verification ?? [], message),
    ...changeRecords(taken.changes, evidence, redactor),
    ignored: ignoredRecord(taken.ignored, redactor),
    canonical: {
      unchanged: evidence.canonical.differences.length === 0,
      differences: evidence.canonical.differences
        .slice(0, MAX_DIFFERENCES)
        .map(({ what, path, detail }) => ({ what, path: message(path), detail: message(detail) })),
    },
    transport: kept?.transport ?? null,
    quarantine: kept?.quarantine ?? null,
    cleanup: cleanupRecord(evidence),
    logs: [...evidence.logs],
    summary: tailOf(clean(report.finalText), MAX_SUMMARY_BYTES),
    started_at: facts.startedAt.toISOString(),
    ended_at: facts.endedAt.toISOString(),
    duration_ms: Math.max(0, Math.round(facts.durationMs)),
  };
  return redactRecord(attemptSchema, record, redactor);
}

/** Findings for a record: at most 100, each with at most 100 paths. */
export function findingRecords(findings: readonly Finding[], redactor: Redactor): AttemptRecord['findings'] {
  return findings.slice(0, MAX_FINDINGS).map(({ code, message, paths }) => ({
    code,
    message: headOf(neutralise(redactor.text(message)), MAX_MESSAGE_BYTES),
    paths: paths.slice(0, MAX_FINDING_PATHS).map((path) => redactPath(path, redactor)),
  }));
}

const commandRecords = (commands: readonly CommandResult[], clean: (text: string) => string): CommandResult[] =>
  commands.map((command) => ({ ...command, argv: command.argv.map(clean) }));

function changeRecords(
  changes: readonly Change[],
  evidence: Evidence,
  redactor: Redactor,
): Pick<AttemptRecord, 'changes' | 'change_count' | 'changes_truncated'> {
  const outside = new Set<string>(evidence.outOfScope);
  return {
    changes: changes.slice(0, MAX_CHANGES).map(({ path, status, mode, size, oid, binary }) => ({
      path: redactPath(path, redactor),
      status,
      mode,
      size,
      oid,
      binary,
      in_scope: !outside.has(path),
    })),
    change_count: changes.length,
    changes_truncated: changes.length > MAX_CHANGES,
  };
}

const ignoredRecord = (ignored: readonly IgnoredFile[], redactor: Redactor): AttemptRecord['ignored'] => ({
  count: ignored.length,
  bytes: ignored.reduce((sum, { size }) => sum + size, 0),
  paths: ignored.slice(0, MAX_IGNORED_PATHS).map(({ path }) => redactPath(path, redactor)),
});

function cleanupRecord({ cleanup, canonical, preservation }: Evidence): AttemptRecord['cleanup'] {
  const unchanged = canonical.differences.length === 0;
  if (cleanup.kind === 'pending') {
    return {
      exact: false,
      workspace_removed: false,
      worktree_unregistered: false,
      processes_gone: false,
      canonical_unchanged: unchanged,
      retained_path: null,
    };
  }
  const { workspaceRemoved, worktreeUnregistered, processesGone, problem, retainedPath } = cleanup;
  return {
    exact:
      workspaceRemoved &&
      worktreeUnregistered &&
      processesGone &&
      problem === null &&
      preservation.kind !== 'failed' &&
      (unchanged || !canonical.workerCouldWrite),
    workspace_removed: workspaceRemoved,
    worktree_unregistered: worktreeUnregistered,
    processes_gone: processesGone,
    canonical_unchanged: unchanged,
    retained_path: retainedPath,
  };
}
