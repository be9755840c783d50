/**
 * Does what is told of each attempt support its state and code? The rules of SPEC 7, read backwards: what a code says must
 * be in the evidence beside it, and evidence of something graver must not stand beside a lighter code. Words for people
 * are not compared; they may change from one version of this tool to the next.
 */
import { type AttemptCode, type AttemptState, CONSEQUENCES, REFUSAL_CODES } from '../model/codes.ts';
import type { AttemptRecord, Receipt } from '../model/receipt.ts';
import type { ReceiptCheck } from '../model/receipt-verify.ts';
import { contradicts } from '../verdict/model-match.ts';
import { judged, notApplicable } from './check.ts';
import { isRecovered } from './check-outcome.ts';
import { REDACTED } from './redact.ts';

/** What is wrong, or nothing where the rule does not concern the attempt. */
type Rule = (attempt: AttemptRecord) => readonly (string | false)[];

const wrote = ({ change_count: count, ignored }: AttemptRecord): boolean => count > 0 || ignored.count > 0;
const isRefusal = (code: AttemptCode): boolean => (REFUSAL_CODES as readonly string[]).includes(code);
const isOneOf = (state: AttemptState, ...states: readonly AttemptState[]): boolean => states.includes(state);

/** Fields that say the same thing twice. */
const agreement: Rule = ({
  code,
  state,
  process_started: started,
  termination,
  class: kind,
  refusal,
  canonical,
  cleanup,
}) => [
  CONSEQUENCES[code].state !== state && `its code ${code} means ${CONSEQUENCES[code].state}, and its state is ${state}`,
  started !== (termination.kind !== 'not-started') &&
    `process_started is ${started}, and its termination is ${termination.kind}`,
  (kind !== null) !== (refusal !== null) &&
    `its class is ${kind ?? 'null'}, and ${refusal === null ? 'no' : 'a'} refusal is told`,
  canonical.unchanged !== (canonical.differences.length === 0) &&
    `canonical.unchanged is ${canonical.unchanged} with ${canonical.differences.length} differences`,
  canonical.unchanged !== cleanup.canonical_unchanged && 'canonical.unchanged and cleanup.canonical_unchanged differ',
];

const cleanupRule: Rule = ({ state, cleanup, processes, isolation, canonical }) => [
  cleanup.exact &&
    !(cleanup.workspace_removed && cleanup.worktree_unregistered && cleanup.processes_gone) &&
    'its cleanup is called exact, and something of it is not',
  cleanup.exact && cleanup.retained_path !== null && 'its cleanup is called exact, and a workspace is kept',
  cleanup.workspace_removed && cleanup.retained_path !== null && 'its workspace is called removed, and it is kept',
  cleanup.exact &&
    !canonical.unchanged &&
    isolation.level === 'none' &&
    'its cleanup is called exact, and the repository changed while nothing kept the worker from it',
  cleanup.processes_gone !== (processes.survivors === 0) &&
    `processes_gone is ${cleanup.processes_gone} with ${processes.survivors} survivors`,
  !cleanup.exact &&
    isOneOf(state, 'success', 'unavailable', 'failed-clean', 'cancelled') &&
    `it is ${state}, and its cleanup is not exact`,
  state === 'scope-expansion' &&
    cleanup.retained_path === null &&
    'it is scope-expansion, and its workspace was not kept',
];

/** Evidence of what is graver than the state. */
const gravity: Rule = ({ state, processes, isolation, canonical, changes }) => [
  processes.survivors > 0 &&
    state !== 'failed-unknown' &&
    `${processes.survivors} processes survived, and it is ${state}`,
  isolation.level === 'none' &&
    !canonical.unchanged &&
    state !== 'failed-unknown' &&
    `the repository changed while nothing kept the worker from it, and it is ${state}`,
  changes.some(({ in_scope: inScope }) => !inScope) &&
    !isOneOf(state, 'scope-expansion', 'failed-unknown') &&
    `a change is not in scope, and it is ${state}`,
  (isolation.level === 'none') !== (isolation.mechanism !== 'bwrap') &&
    `its isolation is ${isolation.level} by ${isolation.mechanism}`,
  processes.containment === 'pid-namespace' &&
    isolation.mechanism === 'none' &&
    'its processes are called contained in a namespace, and nothing made one',
];

const commitsRule: Rule = ({ state, transport, quarantine, change_count: count }) => [
  transport !== null && !isOneOf(state, 'success', 'failed-unknown') && `it is ${state}, and it has a transport`,
  isOneOf(state, 'failed-clean', 'cancelled', 'scope-expansion') &&
    count > 0 &&
    quarantine === null &&
    `it is ${state} with ${count} changes, and they are in no quarantine`,
];

const succeeded: Rule = (attempt) => {
  const { state, termination, setup, verification, reported, refusal, transport, change_count: count } = attempt;
  if (state !== 'success') return [];
  const ended =
    (termination.kind === 'exited' && termination.code === 0) ||
    (termination.kind === 'stopped' && termination.by === 'finished');
  const { resolved, reported: said } = attempt.model;
  return [
    !ended && `it succeeded, and its worker did not end with exit code 0 (${termination.kind})`,
    count > 0 !== (transport !== null) &&
      `it succeeded with ${count} changes and ${transport === null ? 'no' : 'a'} transport`,
    reported.status === 'error' && 'it succeeded, and its worker reported an error',
    refusal !== null && 'it succeeded, and its provider refused',
    !attempt.probe.available && 'it succeeded, and its probe says that it is not available',
    [...setup, ...verification].some(({ ok }) => !ok) && 'it succeeded, and a setup or verification command failed',
    statusOf(attempt.worker_result) === 'BLOCKED' && 'it succeeded, and its worker says that it is blocked',
    resolved !== null &&
      said !== null &&
      !said.includes(REDACTED) &&
      contradicts(resolved, said) &&
      `it succeeded, and ${said} answered where ${resolved} was asked for`,
    ...attempt.findings.map(
      ({ code }) => Object.hasOwn(CONSEQUENCES, code) && `it succeeded, and a finding says ${code}`,
    ),
  ];
};

/** No work can have been done. */
const unavailable: Rule = (attempt) => {
  const { state, code, process_started: started, change_count: count, quarantine, refusal, ignored } = attempt;
  if (state !== 'unavailable') return [];
  return [
    (count > 0 || ignored.count > 0) && `it is unavailable, and it changed ${count + ignored.count} files`,
    quarantine !== null && 'it is unavailable, and something of it is in a quarantine',
    started && !isRefusal(code) && `a process was started, and ${code} is a reason to start none`,
    started &&
      isRefusal(code) &&
      refusal?.code !== code &&
      `its code is ${code}, and the refusal is ${refusal?.code ?? 'none'}`,
    !started && refusal !== null && 'no process was started, and a provider refused',
  ];
};

const statusOf = (result: unknown): unknown =>
  result !== null && typeof result === 'object' && 'STATUS' in result ? result.STATUS : null;

const stoppedBy = ({ termination }: AttemptRecord): string | null =>
  termination.kind === 'stopped' ? termination.by : null;

/** What each code says of the evidence; true where it fits. Codes whose reason leaves no trace of its own are not here. */
const SUPPORT: Partial<Record<AttemptCode, (attempt: AttemptRecord) => boolean>> = {
  CANONICAL_CHANGED: ({ canonical }) => !canonical.unchanged,
  PROCESS_SURVIVED: ({ processes }) => processes.survivors > 0,
  PROVIDER_REFUSED_MIDWAY: (attempt) => attempt.refusal !== null && wrote(attempt),
  EXIT_NONZERO: ({ termination }) =>
    termination.kind === 'not-started' || (termination.kind === 'exited' && termination.code !== 0),
  SIGNALED: ({ termination }) => termination.kind === 'signaled',
  TIMEOUT: (attempt) => stoppedBy(attempt) === 'total-timeout',
  IDLE_TIMEOUT: (attempt) => ['idle-timeout', 'provider-wait'].includes(stoppedBy(attempt) ?? ''),
  REPORTED_ERROR: ({ reported }) => reported.status === 'error',
  EMPTY_DIFF: ({ change_count }) => change_count === 0,
  WORKER_BLOCKED: ({ worker_result: result }) => statusOf(result) === 'BLOCKED',
  MODEL_MISMATCH: ({ model }) => model.resolved !== null && model.reported !== null,
  SETUP_FAILED: ({ setup }) => setup.some(({ ok }) => !ok),
  VERIFICATION_FAILED: ({ verification }) => verification.some(({ ok }) => !ok),
};

const supported: Rule = (attempt) => [
  SUPPORT[attempt.code]?.(attempt) === false &&
    `its code is ${attempt.code}, and the evidence beside it does not say so`,
  // Violations are always told as findings too, of which only so many are kept.
  attempt.state === 'scope-expansion' &&
    attempt.findings.length < 100 &&
    !attempt.findings.some(({ code }) => code === attempt.code) &&
    `its code is ${attempt.code}, and no finding says where`,
];

const commands: Rule = ({ setup, verification }) =>
  [...setup, ...verification].map(
    ({ argv, code, ok }) => ok && code !== 0 && `${JSON.stringify(argv)} is called ok with exit code ${code}`,
  );

/** Reasons that leave no program to be found. */
const NO_PROGRAM: readonly string[] = ['EXECUTABLE_MISSING', 'EXECUTABLE_INVALID', 'DISABLED', 'COST_NOT_AUTHORISED'];

const probeRule: Rule = ({ probe, code, state, process_started: started }) => [
  probe.available &&
    (probe.code !== null || probe.message !== null || probe.executable === null) &&
    'its probe says available, and says why it is not, or names no program',
  probe.available && NO_PROGRAM.includes(code) && `its code is ${code}, and its probe says available`,
  !probe.available &&
    started &&
    code !== 'CONTROLLER_LOST' &&
    'a process was started, and its probe says not available',
  state === 'unavailable' &&
    !probe.available &&
    probe.code !== null &&
    probe.code !== code &&
    `its code is ${code}, and its probe says ${probe.code}`,
  code === 'EXECUTABLE_MISSING' && probe.executable !== null && 'its program is missing, and is named',
];

const ignoredRule: Rule = ({ ignored: { count, bytes, paths } }) => [
  count < paths.length && `${paths.length} ignored files are named, and there are ${count}`,
  count > 0 && paths.length === 0 && `there are ${count} ignored files, and none is named`,
  count === 0 && bytes > 0 && `no ignored file has ${bytes} bytes`,
];

const modelRule: Rule = ({ model: { requested, resolved } }) => [
  requested === null && resolved !== null && `no model was asked for, and it was resolved to ${resolved}`,
];

const logs: Rule = ({ logs: all }) =>
  all.map(
    ({ stream, bytes_kept: kept, bytes_seen: seen }) => kept > seen && `of ${stream} more was kept than was seen`,
  );

const RULES: readonly Rule[] = [
  agreement,
  cleanupRule,
  gravity,
  commitsRule,
  succeeded,
  unavailable,
  supported,
  commands,
  probeRule,
  ignoredRule,
  modelRule,
  logs,
];

const networkOf = ({ unit }: Receipt, { isolation }: AttemptRecord): AttemptRecord['isolation']['network'] =>
  unit.network === 'allow' ? 'open' : unit.network === 'deny' && isolation.level === 'strict' ? 'enforced' : 'declared';

/** Each attempt's evidence against its own verdict, and its name against its place among the candidates. */
export function checkAttempts(receipt: Receipt): ReceiptCheck {
  const { attempts, candidates } = receipt;
  if (attempts.length === 0) return notApplicable('attempts', 'no attempt was made');
  const problems = attempts.flatMap((attempt, i) => {
    const expected = `${String(i + 1).padStart(2, '0')}-${candidates[i] ?? '?'}`;
    const lost = attempt.code === 'CONTROLLER_LOST' && !isRecovered(receipt);
    return [
      attempt.attempt_id !== expected && `it is attempt ${i + 1}, and should be ${expected}`,
      attempt.profile !== candidates[i] &&
        `its profile is ${attempt.profile}, and candidate ${i + 1} is ${candidates[i] ?? 'none'}`,
      attempt.isolation.network !== networkOf(receipt, attempt) &&
        `its network is ${attempt.isolation.network}, and ${receipt.unit.network} under ${attempt.isolation.level} is ${networkOf(receipt, attempt)}`,
      lost && 'its controller was lost, and nobody has recovered the run',
      ...RULES.flatMap((rule) => rule(attempt)),
    ]
      .filter((problem) => problem !== false)
      .map((problem) => `${attempt.attempt_id}: ${problem}`);
  });
  return judged('attempts', problems, 'the evidence of each supports its state and code');
}
