/**
 * Verifies one receipt: reads it strictly, lets receipt/ judge what it says of itself, looks up in the repository what it
 * says of that, and lets receipt/ judge the two together. Nothing is written, and nothing that a receipt says is run.
 */
import { join } from 'node:path';
import { parsePolicy } from '../config/policy.ts';
import { MAX_FILE_BYTES } from '../config/source-text.ts';
import { pathsAtBase } from '../git/base-tree.ts';
import { containedIn } from '../git/containing.ts';
import { changesBetween } from '../git/published.ts';
import { fileAt, lookAtObjects, refsBelow } from '../git/receipt-look.ts';
import { GitError } from '../git/run.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import type { PlanRecord } from '../model/plan-record.ts';
import type { Receipt } from '../model/receipt.ts';
import type { CheckName, ReceiptCheck, Requirement } from '../model/receipt-verify.ts';
import { lookKey, type NamedCommitLook, type RepositoryLook } from '../model/repository-look.ts';
import { err, ok, type Result } from '../model/result.ts';
import { digestOf } from '../receipt/canonical.ts';
import { judged, notChecked } from '../receipt/check.ts';
import { checkAttempts } from '../receipt/check-attempts.ts';
import { checkCandidates } from '../receipt/check-candidates.ts';
import {
  checkBase,
  checkQuarantine,
  checkScope,
  checkTransport,
  checkTransportChanges,
} from '../receipt/check-commits.ts';
import { checkConfig, checkUnit, type SeenConfig, type SeenUnit } from '../receipt/check-intent.ts';
import { checkHostFallback, checkOutcome } from '../receipt/check-outcome.ts';
import { checkChanges, checkRefs, checkTimes, commitsOf } from '../receipt/check-shape.ts';
import { receiptOf } from '../receipt/receipt.ts';
import { readStrictJson, utf8Text } from '../receipt/strict-json.ts';
import { allowedPathProblems } from '../unit/allowed-paths.ts';
import { compileScope } from '../unit/scope.ts';
import { CONFIG_FILE, configDigest, readConfigFile } from './config-file.ts';

export interface Verifying {
  /** Null: there is no repository to look in. */
  readonly facts: RepositoryFacts | null;
  readonly require: Requirement;
  /** Packets that were handed over; null where none was. */
  readonly units: readonly SeenUnit[] | null;
  /** The plan that a run wrote down, where it is still there. */
  readonly planOf: (runId: string) => Promise<PlanRecord | null>;
}

export interface Verified {
  /** Null where the bytes are no receipt. */
  readonly receipt: Receipt | null;
  readonly checks: readonly ReceiptCheck[];
}

export const isValid = ({ checks }: Verified): boolean => checks.every(({ result }) => result !== 'failed');

/** `error`: there is nothing to judge, in words. */
export async function verifyReceipt(bytes: Uint8Array, verifying: Verifying): Promise<Result<Verified, string>> {
  const text = utf8Text(bytes);
  if (!text.ok) return err(text.error.message);
  const data = readStrictJson(text.value);
  if (!data.ok && data.error.kind !== 'duplicate-member') return err(data.error.message);
  const parsed = data.ok ? receiptOf(data.value) : err(data.error.message);
  if (!parsed.ok) return ok({ receipt: null, checks: [judged('schema', [parsed.error], '')] });
  const receipt = parsed.value;
  const checks = [
    judged('schema', [], `a receipt of agent-exec ${receipt.tool.version}`),
    checkSeal(receipt),
    checkOutcome(receipt),
    checkAttempts(receipt),
    checkChanges(receipt),
    checkRefs(receipt),
    checkHostFallback(receipt),
    checkTimes(receipt),
    ...(await checkRepository(receipt, verifying)),
    checkUnit(receipt, verifying.units, await plannedUnit(receipt, verifying)),
    checkRequirement(receipt, verifying.require),
  ];
  return ok({ receipt, checks });
}

function checkSeal({ digest, ...unsealed }: Receipt): ReceiptCheck {
  const own = digestOf(unsealed);
  const problem = `its digest is ${digest}, and what it says has ${own}: it was changed after it was written`;
  return judged('digest', own === digest ? [] : [problem], digest);
}

function checkRequirement({ outcome }: Receipt, required: Requirement): ReceiptCheck {
  const problem = `the outcome is ${outcome}, and ${required} is required`;
  return judged(
    'require',
    required === 'any' || outcome === required ? [] : [problem],
    `${outcome}, as required (${required})`,
  );
}

async function plannedUnit(
  receipt: Receipt,
  { planOf }: Verifying,
): Promise<{ readonly record: PlanRecord; readonly digest: string } | null> {
  const record = await planOf(receipt.run_id);
  return record === null ? null : { record, digest: digestOf(record.unit) };
}

const IN_REPOSITORY: readonly CheckName[] = [
  'base',
  'scope',
  'transport',
  'transport-changes',
  'quarantine',
  'config',
  'candidates',
];

async function checkRepository(receipt: Receipt, { facts }: Verifying): Promise<ReceiptCheck[]> {
  if (facts === null) return IN_REPOSITORY.map((check) => notChecked(check, 'there is no repository to look in'));
  try {
    return await lookInto(receipt, facts);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // Objects that are named and cannot be read prove nothing.
    const [first, ...others] = IN_REPOSITORY.map((check) => notChecked(check, 'git cannot read what is named'));
    return first === undefined ? [] : [judged(first.check, [error.message], ''), ...others];
  }
}

async function lookInto(receipt: Receipt, facts: RepositoryFacts): Promise<ReceiptCheck[]> {
  const look = await lookFor(receipt, facts);
  const illegal = receipt.unit.allowed_paths.flatMap((path) => allowedPathProblems(path).map(({ message }) => message));
  if (receipt.unit.allowed_paths.length === 0) illegal.push('unit.allowed_paths is empty, and no packet may be that');
  const configs = await configsOf(facts, look);
  return [
    checkBase(receipt, look),
    checkScope(receipt, look, illegal),
    checkTransport(receipt, look),
    checkTransportChanges(receipt, look),
    checkQuarantine(receipt, look),
    checkConfig(receipt, CONFIG_FILE, configs),
    checkCandidates(receipt, policyOf(configs.find(({ digest }) => digest === receipt.config.digest))),
  ];
}

async function lookFor(receipt: Receipt, facts: RepositoryFacts): Promise<RepositoryLook> {
  const { gitDir, objectFormat } = facts;
  const { base } = receipt.repository;
  const named = receipt.attempts.flatMap((attempt) => commitsOf(receipt, attempt));
  const [objects, refs] = await Promise.all([
    lookAtObjects(gitDir, [base, ...named.map(({ commit }) => commit.commit)]),
    refsBelow(gitDir, receipt.run_id),
  ]);
  const missing = { kind: 'missing' } as const;
  const atBase = objects.get(base) ?? missing;
  const changes = new Map<string, NamedCommitLook['changes']>();
  const commits = new Map<string, NamedCommitLook>();
  for (const {
    ref,
    commit: { commit },
  } of named) {
    const object = objects.get(commit) ?? missing;
    const refHolds = refs.get(ref) ?? null;
    const onBase = object.kind === 'commit' && object.parents[0] === base && atBase.kind === 'commit';
    if (onBase && !changes.has(commit)) changes.set(commit, await changesBetween(gitDir, base, commit));
    commits.set(lookKey(ref, commit), {
      object,
      refHolds,
      containedIn: onBase && refHolds === null ? await containedIn(gitDir, commit) : null,
      changes: changes.get(commit) ?? null,
    });
  }
  const known = new Set(named.map(({ ref }) => ref));
  const untold = [...refs.keys()].filter((ref) => !known.has(ref));
  return {
    objectFormat,
    base: atBase,
    commits,
    untold,
    allows: atBase.kind === 'commit' ? await scopeAt(receipt, facts) : null,
  };
}

async function scopeAt(receipt: Receipt, facts: RepositoryFacts): Promise<RepositoryLook['allows']> {
  const tree = await pathsAtBase(facts, receipt.repository.base);
  const scope = compileScope(receipt.unit.allowed_paths, (path) => tree.isDirectory(path));
  return (path) => scope.allows(path);
}

interface ReadConfig extends SeenConfig {
  readonly bytes: Uint8Array;
}

/**
 * The working copy's, which is what a run reads, and base's. Not the transport's: a worker that may change the file must
 * not thereby say which one counted.
 */
async function configsOf({ worktree, gitDir }: RepositoryFacts, { base }: RepositoryLook): Promise<ReadConfig[]> {
  const configs: ReadConfig[] = [];
  const add = (where: string, bytes: Uint8Array | null): void => {
    if (bytes !== null) configs.push({ where, bytes, digest: configDigest(bytes) });
  };
  const own = readConfigFile(join(worktree, CONFIG_FILE), CONFIG_FILE);
  add('the working copy', own.ok ? own.value : null);
  if (base.kind === 'commit') add('the base commit', await fileAt(gitDir, base.commit, CONFIG_FILE, MAX_FILE_BYTES));
  return configs;
}

function policyOf(config: ReadConfig | undefined) {
  if (config === undefined) return null;
  const parsed = parsePolicy({ file: CONFIG_FILE, bytes: config.bytes });
  return parsed.ok ? parsed.value.policy : null;
}
