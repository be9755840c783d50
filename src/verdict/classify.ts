/**
 * Evidence -> verdict: one pure, total function, an ordered table read from top to bottom (SPEC 7). The first rule that
 * holds gives the code; the code gives the state (model/codes.ts). Evidence grows during an attempt (preservation,
 * verification and cleanup come last) and the same function judges it each time: what is still pending never counts
 * against the worker, and nothing that comes later can turn a failure into a success.
 */
import { type AttemptCode, type AttemptState, CONSEQUENCES, type ViolationCode } from '../model/codes.ts';
import type { Change, Evidence, Finding, IgnoredFile, Violation } from '../model/evidence.ts';
import { unreachable } from '../model/result.ts';
import { contradicts } from './model-match.ts';

export interface Verdict {
  readonly state: AttemptState;
  readonly code: AttemptCode;
  /** What happened, in one sentence, for records and people. */
  readonly message: string;
  /** Everything else worth telling: violations behind the first, notes of the inventory, moves of the canonical repository. */
  readonly findings: readonly Finding[];
}

/** A rule answers with its code and message, or null where it does not hold. */
type Answer = { readonly code: AttemptCode; readonly message: string } | null;
type Rule = (evidence: Evidence) => Answer;

const changesOf = (e: Evidence): readonly Change[] => (e.inventory.kind === 'none' ? [] : e.inventory.changes);
const ignoredOf = (e: Evidence): readonly IgnoredFile[] => (e.inventory.kind === 'none' ? [] : e.inventory.ignored);
const wroteAnything = (e: Evidence): boolean => changesOf(e).length > 0 || ignoredOf(e).length > 0;
const plural = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;
const named = (paths: readonly string[]): string =>
  paths.slice(0, 3).join(', ') + (paths.length > 3 ? ` and ${paths.length - 3} more` : '');

// --- failed-unknown: something cannot be proven

/** First: whoever finished the run could only look at what was left. */
const controllerLost: Rule = ({ controllerLost: what }) =>
  what === null ? null : { code: 'CONTROLLER_LOST', message: `agent-exec died during the attempt (${what})` };

const canonicalChanged: Rule = ({ canonical, controllerLost: lost }) =>
  lost === null && canonical.workerCouldWrite && canonical.differences.length > 0
    ? {
        code: 'CANONICAL_CHANGED',
        message: `the canonical repository changed during the attempt (${named(canonical.differences.map((d) => `${d.what} ${d.path}`.trim()))}) and nothing kept the worker from doing it`,
      }
    : null;

const processSurvived: Rule = ({ processes, cleanup }) =>
  processes.survivors > 0
    ? {
        code: 'PROCESS_SURVIVED',
        message: `${plural(processes.survivors, 'process', 'processes')} of the attempt could not be proven gone`,
      }
    : cleanup.kind === 'done' && !cleanup.processesGone
      ? { code: 'PROCESS_SURVIVED', message: 'a process of the attempt could not be proven gone' }
      : null;

const inventoryFailed: Rule = ({ inventory }) =>
  inventory.kind === 'failed' ? { code: 'INVENTORY_FAILED', message: inventory.message } : null;

const cleanupInexact: Rule = ({ preservation, cleanup }) => {
  if (preservation.kind === 'failed') {
    return { code: 'CLEANUP_INEXACT', message: `the work could not be kept in a commit: ${preservation.message}` };
  }
  return cleanup.kind === 'done' && cleanup.problem !== null
    ? { code: 'CLEANUP_INEXACT', message: cleanup.problem }
    : null;
};

// --- scope-expansion: the worker provably exceeded its authority

const outOfScope: Rule = ({ outOfScope: paths }) =>
  paths.length > 0
    ? {
        code: 'PATH_OUT_OF_SCOPE',
        message: `${plural(paths.length, 'path')} outside allowed_paths changed: ${named(paths)}`,
      }
    : null;

const VIOLATION_ORDER: readonly ViolationCode[] = [
  'WORKER_COMMITTED',
  'GIT_TAMPERED',
  'NESTED_REPOSITORY',
  'SYMLINK_ESCAPE',
  'SPECIAL_FILE',
  'SECRET_FILE',
  'PATH_OUT_OF_SCOPE',
];
const violationsOf = (e: Evidence): readonly Violation[] => [
  ...e.privateRepository.violations,
  ...(e.inventory.kind === 'none' ? [] : e.inventory.violations),
];
const violated: Rule = (e) => {
  const all = violationsOf(e);
  for (const code of VIOLATION_ORDER) {
    const first = all.find((violation) => violation.code === code);
    if (first !== undefined) return { code, message: first.message };
  }
  return null;
};

// --- cancelled

const cancelled: Rule = ({ termination, cancelledAfterwards }) =>
  cancelledAfterwards ||
  (termination.kind === 'stopped' && termination.by === 'cancel') ||
  (termination.kind === 'not-started' && termination.error === 'CANCELLED')
    ? { code: 'CANCELLED', message: 'the host stopped the run' }
    : null;

// --- unavailable: no work can have been done

const foundUnavailable: Rule = ({ unavailable }) => unavailable;

const setupFailed: Rule = ({ setup }) => {
  const failed = setup.find((command) => !command.ok);
  return failed === undefined
    ? null
    : {
        code: 'SETUP_FAILED',
        message: `setup command ${JSON.stringify(failed.argv)} ${failed.code === null ? 'did not end by itself' : `exited with ${failed.code}`}`,
      };
};

/** A launcher's complaint can be imitated; what wrote something was started, whatever its output says. */
const spawnFailed: Rule = (e) => {
  if (e.termination.kind !== 'not-started') return null;
  return wroteAnything(e)
    ? { code: 'EXIT_NONZERO', message: 'the worker ended as if it had never started, but something was written' }
    : { code: 'SPAWN_FAILED', message: `the worker's process could not be started: ${e.termination.error}` };
};

const refused: Rule = (e) => {
  const refusal = e.report.refusal;
  if (refusal === null) return null;
  const wait = refusal.retry_after_seconds === null ? '' : ` (retry after ${refusal.retry_after_seconds} s)`;
  return wroteAnything(e)
    ? {
        code: 'PROVIDER_REFUSED_MIDWAY',
        message: `the provider refused (${refusal.code}${wait}) after the worker had written something: ${refusal.line}`,
      }
    : { code: refusal.code, message: `the provider refused${wait}: ${refusal.line}` };
};

// --- failed-clean: it ran and did not succeed

const endedBadly: Rule = ({ termination }) => {
  switch (termination.kind) {
    case 'exited':
      return termination.code === 0
        ? null
        : { code: 'EXIT_NONZERO', message: `the worker exited with ${termination.code}` };
    case 'signaled':
      return { code: 'SIGNALED', message: `the worker was ended by ${termination.signal}` };
    case 'stopped':
      switch (termination.by) {
        case 'total-timeout':
          return { code: 'TIMEOUT', message: "the worker did not end within the attempt's timeout and was stopped" };
        case 'idle-timeout':
          return { code: 'IDLE_TIMEOUT', message: 'the worker showed no activity for too long and was stopped' };
        case 'provider-wait':
          return { code: 'IDLE_TIMEOUT', message: 'the worker waited on its provider for too long and was stopped' };
        case 'finished':
        case 'cancel':
          return null;
        default:
          return unreachable(termination.by);
      }
    case 'not-started':
      return null;
    default:
      return unreachable(termination);
  }
};

const reportedError: Rule = ({ report }) =>
  report.status === 'error'
    ? { code: 'REPORTED_ERROR', message: `the worker reported an error: ${report.error ?? 'no text given'}` }
    : null;

const modelMismatch: Rule = ({ model, report }) =>
  model.resolved !== null && report.model !== null && contradicts(model.resolved, report.model)
    ? { code: 'MODEL_MISMATCH', message: `model ${model.resolved} was asked for and ${report.model} answered` }
    : null;

const workerResult: Rule = ({ workerResult: result }) => {
  switch (result.kind) {
    case 'missing':
      return { code: 'NO_RESULT', message: "the worker's last message holds no result" };
    case 'unparseable':
      return { code: 'UNPARSEABLE_OUTPUT', message: result.message };
    case 'invalid':
      return { code: 'INVALID_WORKER_RESULT', message: result.message };
    case 'valid':
      return result.status === 'BLOCKED'
        ? { code: 'WORKER_BLOCKED', message: 'the worker says that it is blocked' }
        : null;
    case 'not-required':
      return null;
    default:
      return unreachable(result);
  }
};

const nothingToShow: Rule = (e) => {
  if (e.report.resultMissing) {
    return { code: 'NO_RESULT', message: 'the worker exited without the result event that its format promises' };
  }
  if (changesOf(e).length > 0 && e.expects !== 'report') return null;
  if (e.expects === 'changes') {
    const note = ignoredOf(e).length > 0 ? ` (only ${plural(ignoredOf(e).length, 'ignored file')}, kept)` : '';
    return { code: 'EMPTY_DIFF', message: `the worker exited with 0 but changed nothing${note}` };
  }
  return e.report.finalText.trim() === ''
    ? {
        code: 'NO_RESULT',
        message: `the worker ${changesOf(e).length > 0 ? 'reported nothing' : 'neither changed nor said anything'}`,
      }
    : null;
};

const verificationFailed: Rule = ({ verification }) => {
  const failed = verification?.find((command) => !command.ok);
  return failed === undefined
    ? null
    : {
        code: 'VERIFICATION_FAILED',
        message: `verification ${JSON.stringify(failed.argv)} ${failed.code === null ? 'did not end by itself' : `exited with ${failed.code}`}`,
      };
};

/** Precedence, top to bottom. */
const RULES: readonly Rule[] = [
  controllerLost,
  canonicalChanged,
  processSurvived,
  inventoryFailed,
  cleanupInexact,
  outOfScope,
  violated,
  cancelled,
  foundUnavailable,
  setupFailed,
  spawnFailed,
  refused,
  endedBadly,
  reportedError,
  modelMismatch,
  workerResult,
  nothingToShow,
  verificationFailed,
];

/** What is also told where an earlier rule decided: nothing that went wrong is hidden by something worse. */
const TOLD_BEHIND_THE_FIRST: readonly Rule[] = [
  canonicalChanged,
  processSurvived,
  cleanupInexact,
  cancelled,
  refused,
  endedBadly,
  reportedError,
];

function describeSuccess(e: Evidence): string {
  const changed = changesOf(e).length;
  return changed > 0 ? `${plural(changed, 'path')} changed, all in scope` : 'no change, and none was required';
}

function findingsOf(e: Evidence, code: AttemptCode): Finding[] {
  const findings: Finding[] = [];
  if (e.outOfScope.length > 0) {
    findings.push({
      code: 'PATH_OUT_OF_SCOPE',
      message: `${plural(e.outOfScope.length, 'changed path')} outside allowed_paths`,
      paths: e.outOfScope,
    });
  }
  findings.push(...violationsOf(e));
  if (e.inventory.kind === 'failed') {
    findings.push({ code: 'INVENTORY_FAILED', message: e.inventory.message, paths: e.inventory.paths });
  }
  if (e.inventory.kind !== 'none') findings.push(...e.inventory.findings);
  if (e.controllerLost === null && e.canonical.differences.length > 0 && !e.canonical.workerCouldWrite) {
    findings.push({
      code: 'CANONICAL_MOVED_BY_HOST',
      message: `the canonical repository changed during the attempt, which the worker could not have done: ${named(e.canonical.differences.map((d) => `${d.what} ${d.path}`.trim()))}`,
      paths: [],
    });
  }
  for (const rule of TOLD_BEHIND_THE_FIRST) {
    const answer = rule(e);
    if (answer === null || answer.code === code || findings.some((f) => f.code === answer.code)) continue;
    findings.push({ code: answer.code, message: answer.message, paths: [] });
  }
  return findings;
}

/** The verdict on an attempt. Never throws for any evidence. */
export function classify(evidence: Evidence): Verdict {
  let answer: { code: AttemptCode; message: string } | null = null;
  for (const rule of RULES) {
    answer = rule(evidence);
    if (answer !== null) break;
  }
  const { code, message } = answer ?? { code: 'OK' as const, message: describeSuccess(evidence) };
  return { state: CONSEQUENCES[code].state, code, message, findings: findingsOf(evidence, code) };
}
