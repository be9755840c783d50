/**
 * Looks up in the repository what a receipt says of it, and lets receipt/ judge the two together. Nothing is written, and
 * nothing that a receipt says is run.
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
import type { Receipt } from '../model/receipt.ts';
import type { CheckName, ReceiptCheck } from '../model/receipt-verify.ts';
import { lookKey, type NamedCommitLook, type RepositoryLook } from '../model/repository-look.ts';
import { judged, notChecked } from '../receipt/check.ts';
import { checkCandidates } from '../receipt/check-candidates.ts';
import {
  checkBase,
  checkQuarantine,
  checkScope,
  checkTransport,
  checkTransportChanges,
} from '../receipt/check-commits.ts';
import { checkConfig, type SeenConfig } from '../receipt/check-intent.ts';
import { commitsOf } from '../receipt/check-shape.ts';
import { allowedPathProblems } from '../unit/allowed-paths.ts';
import { compileScope } from '../unit/scope.ts';
import { CONFIG_FILE, configDigest, readConfigFile } from './config-file.ts';

const IN_REPOSITORY: readonly CheckName[] = [
  'base',
  'scope',
  'transport',
  'transport-changes',
  'quarantine',
  'config',
  'candidates',
];

/** The checks for which a repository is needed; `facts` null: there is none. */
export async function checkInRepository(receipt: Receipt, facts: RepositoryFacts | null): Promise<ReceiptCheck[]> {
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
