/**
 * `agent-exec recover`: finishes runs whose agent-exec died. Says of each what it did and where the work is; a run that is
 * under way, or that cannot be judged from here, is left alone.
 */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { discoverRepository } from '../git/repository.ts';
import { EXIT } from '../model/codes.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import type { ProcessIdentity } from '../model/process-identity.ts';
import type { RecoveredRun } from '../model/recovery.ts';
import { err, ok, type Result, unreachable } from '../model/result.ts';
import { neutralise, printableJson } from '../receipt/neutralise.ts';
import { redactorFor } from '../run/credentials.ts';
import { type Recovered, type RecoverRequest, recoverRun } from '../run/recover.ts';
import { allRuns } from '../store/find-run.ts';
import type { RunDirectory } from '../store/run-directory.ts';
import { openRuns } from '../store/run-state.ts';
import { chooseRun, type NotChosen, sayNotChosen } from './chosen-run.ts';
import type { CliIo } from './io.ts';
import { type Explained, explainFindRun, explainRepository, explainStateRoot } from './problems.ts';
import { existingStateRoot } from './surroundings.ts';
import { VERSION } from './version.ts';

interface RecoverOptions {
  readonly stateDir?: string;
  readonly repo?: string;
  readonly assumeGone?: boolean;
  readonly withoutCommit?: boolean;
  readonly json?: boolean;
}

const AFTER_HELP = `
Examples:
  $ agent-exec recover            every run of yours whose agent-exec died
  $ agent-exec recover last
  $ agent-exec recover 20261130t1715 --repo ~/work/shop     the repository has moved since

Ends the processes that such a run left, puts its work into a quarantine commit, writes the receipt
(state failed-unknown, code CONTROLLER_LOST) and keeps the workspace. It may be repeated at any time.

Exit codes: 0 nothing is left to recover, 6 a run could not be recovered, or its work could not be
put into a commit (a person must look), 3 no such run, or no usable state root, 2 usage.`;

/** The command; its exit code goes through `io`. */
export function recoverCommand(io: CliIo): Command {
  const command = new Command('recover')
    .description('Finishes runs whose agent-exec was killed or whose machine went down: nothing of theirs is lost.')
    .argument('[run]', 'id, a unique beginning of one, or last (default: every unfinished run)')
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .option('--repo <path>', 'where the repository of the run is now, if it has moved')
    .option('--assume-gone', 'of a run that another container or host began: its agent-exec is gone, you are sure')
    .option('--without-commit', 'the repository cannot keep the work: finish all the same, it stays in its workspace')
    .option('--json', 'answer with one JSON object')
    .addHelpText('after', AFTER_HELP);
  return command.action(async (run: string | undefined, options: RecoverOptions) => {
    const isAboutOne = options.repo !== undefined || options.assumeGone === true || options.withoutCommit === true;
    if (run === undefined && isAboutOne) {
      command.error('error: --repo, --assume-gone and --without-commit are about one run: name it.', {
        exitCode: EXIT.usage,
      });
    }
    await recover(io, run, options);
  });
}

async function recover(io: CliIo, wanted: string | undefined, options: RecoverOptions): Promise<void> {
  const chosen = await chosenRuns(io, wanted, options);
  if (!chosen.ok) return sayNotChosen(io, 'recover', chosen.error);
  const movedTo = options.repo === undefined ? ok(null) : await repositoryAt(io, options.repo);
  if (!movedTo.ok) return sayNotChosen(io, 'recover', movedTo.error);
  const redactor = redactorFor([], io.env);
  const runs: RecoveredRun[] = [];
  let code: number = EXIT.success;
  for (const place of chosen.value) {
    const recovered = await fenced({
      place,
      around: { hostEnv: io.env, now: () => new Date(), toolVersion: VERSION },
      redactor,
      movedTo: movedTo.value,
      assumeGone: options.assumeGone === true,
      withoutCommit: options.withoutCommit === true,
    });
    runs.push(entryOf(place, recovered));
    if (needsAPerson(recovered)) code = EXIT.blocked;
  }
  io.exit(code);
  const answer = { schema: 'agent-exec-recovery/v1', runs } as const;
  await io.out(options.json === true ? `${printableJson(answer)}\n` : wordsOf(runs));
}

/** What one run's directory holds must not keep the others from being recovered. */
async function fenced(
  request: RecoverRequest,
): Promise<Recovered | { readonly kind: 'failed'; readonly message: string }> {
  try {
    return await recoverRun(request);
  } catch (error) {
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}

/** The run that is meant, or every one with something to recover. `--repo` says where a run's repository is, not whose runs. */
async function chosenRuns(
  io: CliIo,
  wanted: string | undefined,
  { stateDir }: RecoverOptions,
): Promise<Result<readonly RunDirectory[], NotChosen>> {
  if (wanted !== undefined) {
    const chosen = await chooseRun(io, stateDir === undefined ? {} : { stateDir }, wanted);
    return chosen.ok ? ok([chosen.value.place]) : chosen;
  }
  const root = await existingStateRoot(io, stateDir);
  if (!root.ok) return root.error.kind === 'missing' ? ok([]) : unusable(explainStateRoot(root.error));
  const all = await allRuns(root.value);
  if (!all.ok) return unusable(explainFindRun(all.error));
  const chosen: RunDirectory[] = [];
  for await (const { phase, place } of openRuns(all.value)) {
    if (phase === 'unfinished' || phase === 'unknown') chosen.push(place);
  }
  return ok(chosen);
}

const unusable = (why: Explained): Result<never, NotChosen> => err({ ...why, exitCode: EXIT['invalid-config'] });

async function repositoryAt(io: CliIo, path: string): Promise<Result<RepositoryFacts, NotChosen>> {
  const found = await discoverRepository(resolve(io.cwd(), path), io.env);
  return found.ok ? found : unusable(explainRepository(found.error));
}

function entryOf({ runId }: RunDirectory, recovered: Awaited<ReturnType<typeof fenced>>): RecoveredRun {
  const none = { run_id: runId, outcome: null, reason: null, receipt: null, quarantine: [], retained: [] };
  const { kind } = recovered;
  switch (kind) {
    case 'recovered':
    case 'already-finished': {
      const { receipt, receiptPath } = recovered;
      return {
        run_id: runId,
        result: kind,
        message: kind === 'recovered' ? 'recovered' : 'was finished already: nothing to do',
        outcome: receipt.outcome,
        reason: receipt.reason,
        receipt: receiptPath,
        quarantine: receipt.attempts.flatMap(({ quarantine }) => quarantine?.ref ?? []),
        retained: receipt.attempts.flatMap(({ cleanup }) => cleanup.retained_path ?? []),
      };
    }
    case 'running':
      return { ...none, result: kind, message: `is under way (process ${pidOf(recovered.controller)}): left alone` };
    case 'controller-unknown':
      return {
        ...none,
        result: kind,
        message: `was begun in another container or on another host (${recovered.controller?.scope ?? '?'}, process ${pidOf(recovered.controller)}), where it may still be at work: left alone. If that is gone: agent-exec recover ${runId} --assume-gone`,
      };
    case 'busy':
      return { ...none, result: kind, message: `is being recovered by somebody else (${recovered.message})` };
    case 'unaccountable':
      return {
        ...none,
        result: kind,
        message: `has neither a readable plan nor a receipt, so nobody can say what it was. Look into its directory; remove it with agent-exec gc ${runId}`,
      };
    case 'not-kept':
      return {
        ...none,
        result: kind,
        message: `has work that its repository cannot keep now: ${recovered.message}. Nothing of it runs any more, and the work is in its workspace. When that is mended: agent-exec recover ${runId}; if the repository (${recovered.repository}) has moved: agent-exec recover ${runId} --repo PATH; to finish all the same: agent-exec recover ${runId} --without-commit`,
      };
    case 'failed':
      return { ...none, result: kind, message: `could not be recovered: ${recovered.message}` };
    case 'state-unwritable':
      return {
        ...none,
        result: kind,
        message: `cannot be written (${recovered.problem.message}). Free some space or make its directory writable, then try again`,
      };
    default:
      return unreachable(kind);
  }
}

const pidOf = (controller: ProcessIdentity | null): string => String(controller?.pid ?? 'unknown');

/** Something could not be ended or kept, or the run is still not finished. */
const needsAPerson = (recovered: Awaited<ReturnType<typeof fenced>>): boolean =>
  recovered.kind === 'recovered'
    ? !recovered.complete
    : recovered.kind !== 'already-finished' && recovered.kind !== 'running';

function wordsOf(runs: readonly RecoveredRun[]): string {
  if (runs.length === 0) return 'nothing to recover: every run is finished or under way\n';
  const lines = runs.flatMap((run) => [
    `${run.run_id} ${run.message}`,
    ...(run.reason === null ? [] : [`  ${run.outcome}  ${run.reason.code}: ${run.reason.message}`]),
    ...run.quarantine.map((ref) => `  kept     ${ref}`),
    ...run.retained.map((path) => `  kept     ${path}`),
    ...(run.receipt === null ? [] : [`  receipt  ${run.receipt}`]),
    ...(run.result === 'recovered' ? [`  next     agent-exec show ${run.run_id}`] : []),
  ]);
  return `${lines.map((line) => neutralise(line).replaceAll('\n', '\\n')).join('\n')}\n`;
}
