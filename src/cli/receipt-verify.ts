/**
 * `agent-exec receipt verify`: is what these receipts say true, as far as the repository can tell? For people and for CI:
 * every check of every receipt is told, and the exit code says whether all of them held.
 */
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { discoverRepository } from '../git/repository.ts';
import { GitError } from '../git/run.ts';
import { EXIT } from '../model/codes.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import type { Receipt } from '../model/receipt.ts';
import {
  type CarriedCommit,
  REQUIREMENTS,
  type ReceiptVerification,
  type Requirement,
  type VerifiedReceipt,
} from '../model/receipt-verify.ts';
import { err, ok, type Result } from '../model/result.ts';
import { digestOf } from '../receipt/canonical.ts';
import { shownText } from '../receipt/check.ts';
import type { SeenUnit } from '../receipt/check-intent.ts';
import { neutralise, printableJson } from '../receipt/neutralise.ts';
import { carriedCommit } from '../run/carried-commit.ts';
import { readRegularFile } from '../run/config-file.ts';
import { isValid, type Verified, type Verifying, verifyReceipt } from '../run/verify-receipt.ts';
import { parseUnit } from '../unit/packet.ts';
import { delegationAnswer } from './delegation-answer.ts';
import { FORMATS, type Format } from './diagnostics.ts';
import type { CliIo } from './io.ts';
import { explainBase, explainRepository } from './problems.ts';
import { keptRuns, type ReceiptSource, receiptSource } from './receipt-source.ts';
import { verificationGithub, verificationText } from './receipt-verify-words.ts';

interface VerifyOptions {
  readonly require: Requirement;
  readonly commit?: string;
  readonly delegations?: string;
  readonly unit?: readonly string[];
  readonly repo?: string;
  readonly stateDir?: string;
  readonly json?: boolean;
  readonly format?: Format;
}

const AFTER_HELP = `
Examples:
  $ agent-exec receipt verify receipt.json --require success
  $ agent-exec receipt verify last
  $ agent-exec receipt verify receipts/*.json --commit HEAD
  $ agent-exec receipt verify receipts/*.json --delegations delegations.json --json

A receipt is a file, - for standard input, or a run (its id, a unique beginning, or last).
--require: any (the default) asks for a valid record, whatever came of the run.
--commit: each receipt must be valid, and one of them must carry the commit: it is the transport,
makes exactly the same change elsewhere in the history (cherry-picked, rebased, squashed; a merge is
compared with its first parent), or the same patch where files have moved on; the answer says which.
--delegations: a JSON list of {"role", "transport", "run_id"}, one such object, or JSON Lines; each
must name "transport": "agent-exec" and the run_id of one of these receipts, valid and of that role.
Under GitHub Actions what fails is written as annotations unless a format is given.

Exit codes: 0 all valid, 6 something is not valid, 3 something cannot be read (no such file, not
JSON, no repository to look in, no such commit), 2 usage.`;

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

/** The command; its exit code goes through `io`. */
export function verifyCommand(io: CliIo): Command {
  return new Command('verify')
    .description('Checks receipts against themselves and against the repository.')
    .argument('<receipt...>', 'file, - or run')
    .addOption(new Option('--require <outcome>', 'the outcome each must have').choices(REQUIREMENTS).default('any'))
    .option('--commit <rev>', 'a commit that one of the receipts must carry')
    .option('--delegations <file>', 'declared delegations (JSON, JSON Lines) that must all count')
    .option('--unit <file>', 'packet that the unit must be; may be given several times', collect)
    .option('--repo <path>', 'repository (default: the one that encloses the current folder)')
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .addOption(new Option('--format <format>', 'how the answer is written').choices(FORMATS))
    .addOption(new Option('--json', 'the same as --format json').conflicts('format'))
    .addHelpText('after', AFTER_HELP)
    .action((wanted: readonly string[], options: VerifyOptions) => verify(io, wanted, options));
}

async function verify(io: CliIo, wanted: readonly string[], options: VerifyOptions): Promise<void> {
  const repository = await discoverRepository(resolve(io.cwd(), options.repo ?? '.'), io.env);
  const facts = repository.ok ? repository.value : null;
  const errors = repository.ok ? [] : [explainRepository(repository.error).message];
  const units = readUnits(io, options.unit, errors);
  const { planOf, receiptOf } = await keptRuns(io, options);
  const verifying: Verifying = { facts, require: options.require, units, planOf };

  const receipts: VerifiedReceipt[] = [];
  const paths = new Map<string, string | null>();
  const found: Verified[] = [];
  for (const name of wanted) {
    const source = await receiptSource(io, name, options);
    if (!source.ok && source.error.exitCode === EXIT.usage) {
      io.exit(EXIT.usage);
      io.note(`agent-exec receipt verify: ${neutralise(source.error.message)}\n`);
      return;
    }
    const entry = source.ok ? await verifiedEntry(source.value, verifying, found) : noEntry(name, source.error.message);
    receipts.push(entry);
    paths.set(entry.file, source.ok ? source.value.path : null);
  }
  const valid = found.flatMap((one) => (isValid(one) && one.receipt !== null ? [one.receipt] : []));
  const commit = await commitAnswer(options, facts, valid, errors);
  const keptRun = (runId: string) => verifiedKept(receiptOf(runId), verifying);
  const delegations = await delegationAnswer(io, options, found, keptRun, errors);
  const isInvalid =
    receipts.some(({ verdict }) => verdict === 'invalid') ||
    commit?.carries === 'differs' ||
    delegations?.entries.some(({ counts }) => !counts) === true;
  const isUnreadable = errors.length > 0 || receipts.some(({ verdict }) => verdict === 'unreadable');
  const exitCode = isInvalid ? EXIT.blocked : isUnreadable ? EXIT['invalid-config'] : EXIT.success;
  const answer: ReceiptVerification = {
    schema: 'agent-exec-receipt-verify/v1',
    ok: exitCode === EXIT.success,
    exit_code: exitCode,
    require: options.require,
    repository: facts?.worktree ?? null,
    receipts,
    commit,
    delegations,
    errors: errors.map(shownText),
  };
  io.exit(exitCode);
  await write(io, answer, paths, options);
}

async function verifiedEntry(
  { shownAs, bytes }: ReceiptSource,
  verifying: Verifying,
  found: Verified[],
): Promise<VerifiedReceipt> {
  const verified = await verifyReceipt(bytes, verifying);
  if (!verified.ok) return noEntry(shownAs, `${shownAs} cannot be read: ${verified.error}`);
  const { receipt, checks } = verified.value;
  const holds = isValid(verified.value);
  found.push(verified.value);
  return {
    file: shownText(shownAs),
    run_id: receipt?.run_id ?? null,
    outcome: receipt?.outcome ?? null,
    role: receipt?.role ?? null,
    unit_id: receipt === null ? null : shownText(receipt.unit.unit_id),
    verdict: holds ? 'valid' : 'invalid',
    checks: [...checks],
    error: null,
  };
}

/** What is found of the receipt that is kept of a run; null where none is. */
async function verifiedKept(kept: ReceiptSource | null, verifying: Verifying): Promise<Verified | null> {
  const verified =
    kept === null ? null : await verifyReceipt(kept.bytes, { ...verifying, require: 'any', units: null });
  return verified?.ok === true ? verified.value : null;
}

const noEntry = (name: string, error: string): VerifiedReceipt => ({
  file: shownText(name),
  ...{ run_id: null, outcome: null, role: null, unit_id: null, verdict: 'unreadable', checks: [] },
  error: shownText(error),
});

const MAX_PACKET_BYTES = 16 * 1024 * 1024;

/** The packets of `--unit`; null where none was asked for. One that cannot be read is an error. */
function readUnits(io: CliIo, files: readonly string[] | undefined, errors: string[]): readonly SeenUnit[] | null {
  if (files === undefined) return null;
  return files.flatMap((file) => {
    const bytes = file.includes('\0') ? err('ENOENT') : readRegularFile(resolve(io.cwd(), file), MAX_PACKET_BYTES);
    // The policy's own limit was applied when the run began.
    const unit = bytes.ok ? parseUnit({ file, bytes: bytes.value }, { timeoutSeconds: 86_400 }) : null;
    if (unit?.ok === true) return [{ where: file, unit: unit.value, digest: digestOf(unit.value) }];
    const why = bytes.ok ? (unit?.ok === false ? (unit.error[0]?.message ?? 'invalid') : 'invalid') : bytes.error;
    errors.push(`--unit ${file} is no packet that can be read: ${why}`);
    return [];
  });
}

async function commitAnswer(
  { commit: rev }: VerifyOptions,
  facts: RepositoryFacts | null,
  valid: readonly Receipt[],
  errors: string[],
): Promise<CarriedCommit | null> {
  if (rev === undefined || facts === null) return null;
  const carried = await lookingWithGit(() => carriedCommit(facts, rev, valid));
  if (!carried.ok) errors.push(carried.error);
  else if (!carried.value.ok) errors.push(explainBase(carried.value.error, '--commit').message);
  else return carried.value.value;
  return null;
}

async function lookingWithGit<T>(look: () => Promise<T>): Promise<Result<T, string>> {
  try {
    return ok(await look());
  } catch (error) {
    if (error instanceof GitError) return err(error.message);
    throw error;
  }
}

async function write(
  io: CliIo,
  answer: ReceiptVerification,
  paths: ReadonlyMap<string, string | null>,
  options: VerifyOptions,
): Promise<void> {
  const asked = options.json === true ? 'json' : options.format;
  switch (asked ?? (io.env.GITHUB_ACTIONS === 'true' ? 'github' : 'text')) {
    case 'json':
      return io.out(`${printableJson(answer, 2)}\n`);
    case 'github':
      return io.out(verificationGithub(io, answer, paths));
    case 'text':
      return io.out(verificationText(answer));
  }
}
