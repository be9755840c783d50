/**
 * Request -> plan, or every reason why there can be none. Reads the repository, its configuration and the packet; makes
 * nothing, starts nothing, and leaves nothing behind.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readInstructions } from '../config/instructions.ts';
import type { ReadFile } from '../config/path-rules.ts';
import { parsePolicy } from '../config/policy.ts';
import { type BaseTree, pathsAtBase } from '../git/base-tree.ts';
import {
  type BaseProblem,
  checkIndex,
  discoverRepository,
  type RepositoryProblem,
  resolveBase,
} from '../git/repository.ts';
import { type Policy, roleOf } from '../model/config.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Finding } from '../model/evidence.ts';
import type { RepoPath } from '../model/path.ts';
import type { Plan, RepositoryFacts } from '../model/plan.ts';
import { err, ok, type Result, unreachable } from '../model/result.ts';
import type { Unit } from '../model/unit.ts';
import { freezePlan } from '../plan/plan.ts';
import { digestOf } from '../receipt/canonical.ts';
import { type LedgerSource, unitFromLedger } from '../unit/ledger.ts';
import { parseUnit, type UnitFlags, unitFromFlags } from '../unit/packet.ts';
import { CONFIG_FILE, configDigest, readConfigFile } from './config-file.ts';
import { repositoryReader } from './repository-reader.ts';

export type UnitSource =
  | { readonly kind: 'packet'; readonly file: string; readonly bytes: Uint8Array }
  | { readonly kind: 'inline'; readonly flags: UnitFlags }
  /** `path`: the file itself, which no worker may write either. */
  | (LedgerSource & { readonly kind: 'ledger'; readonly path: string });

export interface RunRequest {
  readonly repoPath: string;
  readonly role: string;
  readonly unit: UnitSource;
  readonly base: string | null;
  readonly verify: boolean;
  readonly runId: string;
}

export type PrepareProblem =
  | { readonly kind: 'repository'; readonly problem: RepositoryProblem }
  | { readonly kind: 'base'; readonly problem: BaseProblem }
  | { readonly kind: 'config'; readonly findings: readonly Diagnostic[] }
  | { readonly kind: 'unknown-role'; readonly role: string; readonly known: readonly string[] }
  | { readonly kind: 'unit'; readonly findings: readonly Diagnostic[] };

export interface Prepared {
  readonly plan: Plan;
  readonly policy: Policy;
  readonly baseTree: BaseTree;
  readonly warnings: readonly Diagnostic[];
  readonly findings: readonly Finding[];
}

interface ReadConfig {
  readonly readFile: ReadFile;
  readonly policy: Policy;
  readonly warnings: readonly Diagnostic[];
  readonly bytes: Uint8Array;
}

function readConfig(repository: RepositoryFacts): Result<ReadConfig, PrepareProblem> {
  const bytes = readConfigFile(join(repository.worktree, CONFIG_FILE), CONFIG_FILE);
  if (!bytes.ok) return err({ kind: 'config', findings: [bytes.error] });
  const readFile = repositoryReader(repository.worktree);
  const parsed = parsePolicy({ file: CONFIG_FILE, bytes: bytes.value, readFile });
  if (!parsed.ok) return err({ kind: 'config', findings: parsed.error });
  return ok({ readFile, policy: parsed.value.policy, warnings: parsed.value.warnings, bytes: bytes.value });
}

const SYMLINK = '120000';

/** The host's working copy is what counts (SPEC 6.1); where base says something else, the receipt tells. */
function comparedWithBase(
  repository: RepositoryFacts,
  baseTree: BaseTree,
  code: 'CONFIG_DIFFERS_FROM_BASE' | 'INSTRUCTIONS_DIFFER_FROM_BASE',
  { path, bytes }: { readonly path: string; readonly bytes: Uint8Array },
): Finding[] {
  const atBase = baseTree.entries.get(path as RepoPath);
  const oid = createHash(repository.objectFormat).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
  // What a link of base led to would have to be followed in its tree; that it is the same link is not looked at either.
  if (atBase?.oid === oid || atBase?.mode === SYMLINK) return [];
  const message =
    atBase === undefined
      ? `${path} is in the working copy only, not in the base commit`
      : `${path} of the working copy differs from the base commit`;
  return [{ code, message, paths: [path as RepoPath] }];
}

/** What the configuration was found valid with. Throws where it was not: nothing is planned from such a file. */
function textOf(read: ReturnType<ReadFile>): string {
  const text = read.ok ? readInstructions(read.value) : read;
  if (!text.ok) throw new Error('the instructions were found usable, and are not');
  return text.value;
}

function readUnit(source: UnitSource, policy: Policy): Result<Unit, readonly Diagnostic[]> {
  const limits = { timeoutSeconds: policy.execution.timeout_seconds };
  switch (source.kind) {
    case 'packet':
      return parseUnit(source, limits);
    case 'inline':
      return unitFromFlags(source.flags, limits);
    case 'ledger':
      return unitFromLedger(source, limits);
    default:
      return unreachable(source);
  }
}

/** The frozen plan with what was read for it, or the first kind of thing that is wrong, with all its findings. */
export async function prepareRun(
  request: RunRequest,
  hostEnv: Readonly<Record<string, string | undefined>>,
): Promise<Result<Prepared, PrepareProblem>> {
  const found = await discoverRepository(request.repoPath, hostEnv);
  if (!found.ok) return err({ kind: 'repository', problem: found.error });
  const repository = found.value;
  const index = await checkIndex(repository);
  if (!index.ok) return err({ kind: 'repository', problem: index.error });
  const config = readConfig(repository);
  if (!config.ok) return config;
  const { policy, warnings, bytes, readFile } = config.value;
  const role = roleOf(policy, request.role);
  if (role === null) return err({ kind: 'unknown-role', role: request.role, known: Object.keys(policy.roles) });
  const unit = readUnit(request.unit, policy);
  if (!unit.ok) return err({ kind: 'unit', findings: unit.error });
  const resolved = await resolveBase(repository, request.base ?? 'HEAD');
  if (!resolved.ok) return err({ kind: 'base', problem: resolved.error });
  const { base, baseTree } = resolved.value;
  const instructions = role.instructions === null ? null : readFile(role.instructions);
  const plan = freezePlan({
    runId: request.runId,
    policy,
    role,
    unit: unit.value,
    repository,
    base,
    baseTree,
    instructions: instructions === null ? null : textOf(instructions),
    verify: request.verify,
    config: { path: CONFIG_FILE, digest: configDigest(bytes) },
    digestOf,
  });
  const tree = await pathsAtBase(repository, base);
  const findings = comparedWithBase(repository, tree, 'CONFIG_DIFFERS_FROM_BASE', { path: CONFIG_FILE, bytes });
  if (role.instructions !== null && instructions?.ok === true) {
    const file = { path: role.instructions, bytes: instructions.value };
    findings.push(...comparedWithBase(repository, tree, 'INSTRUCTIONS_DIFFER_FROM_BASE', file));
  }
  return ok({ plan, policy, baseTree: tree, warnings, findings });
}
