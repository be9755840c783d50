/** `agent-exec run`: one unit through the candidates of a role. Checks everything first, then acts, then answers. */
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { isIgnoredNow } from '../git/ignored-now.ts';
import { EXIT } from '../model/codes.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { Plan } from '../model/plan.ts';
import { ok, type Result, unreachable } from '../model/result.ts';
import type { Summary } from '../model/summary.ts';
import { RESULT_CONTRACTS } from '../model/worker-result.ts';
import { isInside } from '../process/mount-table.ts';
import { descriptorShortage } from '../process/shortage.ts';
import { neutralise } from '../receipt/neutralise.ts';
import type { Redactor } from '../receipt/redact.ts';
import { fitSummary, summarise } from '../receipt/summary.ts';
import { redactorFor } from '../run/credentials.ts';
import { type Prepared, type PrepareProblem, prepareRun } from '../run/prepare.ts';
import { runUnit } from '../run/run.ts';
import { checkReceiptPath, type ReceiptPathProblem } from '../store/receipt-path.ts';
import { newRunId } from '../store/run-directory.ts';
import { telemetryPath } from '../store/telemetry.ts';
import { diagnosticsText } from './diagnostics.ts';
import { dryRunJson, dryRunText } from './dry-run.ts';
import type { CliIo } from './io.ts';
import { resultAnswer } from './print-result.ts';
import { type Explained, explainBase, explainReceiptPath, explainRepository, explainStateRoot } from './problems.ts';
import { progressView, wordsBy } from './progress.ts';
import { commandsAfter, runAnswer } from './run-answer.ts';
import { listenForSignals } from './signals.ts';
import { stateRootFor, surroundingsOf } from './surroundings.ts';
import { unfinishedNote, unfinishedRuns } from './unfinished.ts';
import { type UnitOptions, unitSource } from './unit-source.ts';

interface RunOptions extends UnitOptions {
  readonly role: string;
  readonly base?: string;
  readonly verify?: boolean;
  readonly receipt?: string;
  readonly telemetry?: string;
  readonly stateDir?: string;
  readonly repo?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly print?: 'result';
  readonly quiet?: boolean;
}

/** Where the policy's own bound is not known yet. */
const DEFAULT_SUMMARY_BYTES = 4096;

const nonEmpty = (value: string): string => {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return value;
};

const AFTER_HELP = `
Examples:
  $ agent-exec run --role repair --goal "make npm test pass" --allow src/ \\
      --verify-cmd '["npm","test"]' --verify
  $ agent-exec run --role implementation --unit unit.json --json --receipt out/receipt.json
  $ make-unit | agent-exec run --role test --unit - --dry-run
  $ agent-exec run --role repair --ledger ledger.json --milestone m3 --blocker "$(tail -50 test.log)" \\
      --print result

Exit codes: 0 success, 1 a bug, 2 usage, 3 invalid configuration, 4 exhausted, 5 the host may do
the unit itself, 6 blocked (a person must look), 7 records not written, 129/130/143 cancelled.`;

/** The command; its exit code goes through `io`. */
export function runCommand(io: CliIo): Command {
  const command = new Command('run')
    .description('Hands one unit to the candidates of a role, in order, until one has done it provably.')
    .requiredOption('--role <name>', 'role of AGENT-EXECUTION.md', nonEmpty)
    .option('--unit <file>', 'packet (JSON); - reads stdin', nonEmpty)
    .option('--ledger <file>', 'ledger (JSON or JSON Lines), only read (default: AGENT_EXEC_LEDGER)', nonEmpty)
    .option('--milestone <id>', 'the milestone of the ledger whose unit is to be done', nonEmpty)
    .option('--blocker <text>', "what was seen to fail; goes into the context of the ledger's unit", nonEmpty)
    .option('--goal <text>', 'inline unit: what is wanted')
    .option('--allow <path...>', 'inline unit: paths that may change')
    .option('--verify-cmd <json...>', 'inline unit: commands, each as a JSON list')
    .option('--constraint <text...>', 'inline unit: constraints')
    .option('--timeout <seconds>', 'inline unit: time limit')
    .option('--unit-id <id>', 'inline unit: its id (default: from its content)')
    .option('--base <rev>', 'commit to start from (default: HEAD)')
    .option('--verify', "run the unit's verification on the finished commit")
    .option('--receipt <path>', 'write the receipt here too; must not exist')
    .option('--telemetry <path>', 'JSON Lines file (default: <git common dir>/agent-exec/calls.jsonl)', nonEmpty)
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .option('--repo <path>', 'repository (default: the one that encloses the current folder)')
    .option('--dry-run', 'print the plan and start nothing')
    .option('--json', 'answer with one JSON object')
    .addOption(
      new Option('--print <what>', "print only the worker's validated result, as JSON")
        .choices(['result'])
        .conflicts(['json', 'dryRun']),
    )
    .option('--quiet', 'no progress on stderr')
    .addHelpText('after', AFTER_HELP);
  return command.action(async (options: RunOptions) => {
    const usage = (message: string): never => command.error(`error: ${message}`, { exitCode: EXIT.usage });
    await run(io, options, usage);
  });
}

async function run(io: CliIo, options: RunOptions, usage: (message: string) => never): Promise<void> {
  const short = descriptorShortage();
  if (short !== null) return refuse(io, options, { code: 'RESOURCES_EXHAUSTED', message: short }, []);
  const unit = await unitSource(io, options);
  if (!unit.ok) {
    return unit.error.kind === 'usage' ? usage(unit.error.message) : refuse(io, options, unit.error.explained, []);
  }
  const prepared = await prepareRun(
    {
      repoPath: resolve(io.cwd(), options.repo ?? '.'),
      role: options.role,
      unit: unit.value,
      base: options.base ?? null,
      verify: options.verify === true,
      runId: newRunId(new Date()),
    },
    io.env,
  );
  if (!prepared.ok) return refuse(io, options, explainPrepare(prepared.error), findingsOf(prepared.error));
  const { plan } = prepared.value;
  if (prepared.value.warnings.length > 0 && options.quiet !== true) {
    io.note(diagnosticsText(prepared.value.warnings, { enabled: false }));
  }

  if (options.print === 'result' && plan.role.result === null) {
    return usage(
      `--print result: the role ${plan.role.name} asks its workers for no result. Give it one in AGENT-EXECUTION.md, such as result: ${RESULT_CONTRACTS[0]}.`,
    );
  }
  const receiptPath = await receiptPlace(io, options, prepared.value);
  if (!receiptPath.ok) return usage(explainReceiptPath(receiptPath.error).message);
  if (options.dryRun === true) {
    const show = options.json === true ? dryRunJson : dryRunText;
    return io.out(await show(plan, io.env, planRedactor(plan, io)));
  }
  const { repository } = plan;
  const stateRoot = await stateRootFor(io, options.stateDir, [
    repository.worktree,
    repository.gitDir,
    repository.commonDir,
  ]);
  if (!stateRoot.ok) return refuse(io, options, explainStateRoot(stateRoot.error), []);
  await execute(io, options, prepared.value, {
    stateRoot: stateRoot.value,
    receiptPath: receiptPath.value,
    ledger: unit.value.kind === 'ledger' ? unit.value.path : null,
  });
}

async function execute(
  io: CliIo,
  options: RunOptions,
  prepared: Prepared,
  places: { readonly stateRoot: string; readonly receiptPath: string | null; readonly ledger: string | null },
): Promise<void> {
  const { plan } = prepared;
  const redactor = planRedactor(plan, io);
  const view = progressView(io, options.quiet === true, wordsBy(redactor), () => performance.now());
  const signals = listenForSignals((signal) => {
    if (options.quiet !== true) io.note(`${signal}: stopping the worker and keeping its work\n`);
  });
  if (options.quiet !== true) {
    const unfinished = await unfinishedRuns(places.stateRoot, plan.repository.commonDir);
    if (unfinished.length > 0) io.note(unfinishedNote(unfinished));
  }
  if (plan.verify && plan.unit.verification.length === 0 && options.quiet !== true) {
    io.note('note: verification was asked for, and the unit names no verification command\n');
  }
  try {
    const done = await runUnit({
      plan,
      baseTree: prepared.baseTree,
      findings: prepared.findings,
      around: {
        ...surroundingsOf(io, signals.stop, view.report),
        alsoReadOnly: places.ledger === null ? [] : [places.ledger],
      },
      stateRoot: places.stateRoot,
      telemetryPath:
        options.telemetry === undefined
          ? telemetryPath(plan.repository.commonDir)
          : resolve(io.cwd(), options.telemetry),
      extraReceiptPath: places.receiptPath,
      redactor,
    });
    view.end();
    if (!done.ok) {
      const { path, problem } = done.error;
      if (problem.code === 'RESOURCES_EXHAUSTED') return await refuse(io, options, problem, []);
      const message = `${path} cannot be written: ${problem.message}. Free some space, or choose another state root with --state-dir.`;
      return await refuse(io, options, { code: 'STATE_ROOT_INVALID', message }, []);
    }
    const { receipt, receiptPath } = done.value;
    const steps = commandsAfter(receipt, {
      isStored: receiptPath !== null,
      stateDir: options.stateDir,
      elsewhere: isInside(io.cwd(), plan.repository.worktree) ? null : plan.repository.worktree,
    });
    const commands = steps.flatMap(({ command }) => command ?? []);
    const summary = summarise(receipt, receiptPath, commands);
    const limit = plan.limits.summaryBytes;
    io.exit(receipt.exit_code);
    if (options.print === 'result') {
      const { stdout, stderr } = resultAnswer(receipt, summary, limit);
      if (stdout !== '') await io.out(stdout);
      if (stderr !== '') io.note(stderr);
      return;
    }
    await io.out(options.json === true ? fitSummary(summary, limit) : runAnswer(summary, receipt, { limit, steps }));
  } finally {
    view.end();
    signals.release();
  }
}

async function receiptPlace(
  io: CliIo,
  options: RunOptions,
  { plan }: Prepared,
): Promise<Result<string | null, ReceiptPathProblem>> {
  if (options.receipt === undefined) return ok(null);
  const { worktree, gitDir, commonDir } = plan.repository;
  return checkReceiptPath({
    path: options.receipt,
    cwd: io.cwd(),
    worktree,
    gitDirectories: [gitDir, commonDir],
    isIgnored: (path) => isIgnoredNow(plan.repository, path, io.env),
  });
}

function explainPrepare(problem: PrepareProblem): Explained {
  switch (problem.kind) {
    case 'repository':
      return explainRepository(problem.problem);
    case 'base':
      return explainBase(problem.problem);
    case 'unknown-role':
      return {
        code: 'UNKNOWN_ROLE',
        message: `AGENT-EXECUTION.md has no role ${JSON.stringify(problem.role)}; its roles are ${problem.known.join(', ')}.`,
      };
    case 'config':
    case 'unit': {
      const [first] = problem.findings;
      const more = problem.findings.length - 1;
      const where =
        first === undefined ? '' : `${first.file}${first.line > 0 ? `:${first.line}:${first.column}` : ''}: `;
      return {
        code: first?.code ?? 'INVALID',
        message: `${where}${first?.message ?? 'invalid'}${more > 0 ? ` (and ${more} more findings)` : ''}`,
      };
    }
    default:
      return unreachable(problem);
  }
}

const findingsOf = (problem: PrepareProblem): readonly Diagnostic[] =>
  problem.kind === 'config' || problem.kind === 'unit' ? problem.findings : [];

const planRedactor = ({ candidates }: Plan, io: CliIo): Redactor =>
  redactorFor(
    candidates.map(({ adapter }) => adapter),
    io.env,
  );

/** Nothing was started: every finding on stderr, the bounded answer on stdout where a program reads it, exit 3. */
async function refuse(io: CliIo, options: RunOptions, why: Explained, findings: readonly Diagnostic[]): Promise<void> {
  io.exit(EXIT['invalid-config']);
  // There may be no plan yet to say whose credentials these are: a packet's line is shown with all that are known left out.
  const redactor = redactorFor([], io.env);
  const message = neutralise(redactor.text(why.message));
  io.note(
    findings.length > 0 ? redactor.text(diagnosticsText(findings, { enabled: false })) : `agent-exec: ${message}\n`,
  );
  if (options.json !== true) return;
  const summary: Summary = {
    schema: 'agent-exec-summary/v1',
    outcome: 'invalid-config',
    exit_code: EXIT['invalid-config'],
    reason: { code: why.code, message },
    run_id: null,
    receipt: null,
    role: options.role,
    unit_id: null,
    attempts: [],
    transport: null,
    quarantine: [],
    retained: [],
    next: [],
    change_count: 0,
    changed_paths: [],
    truncated: false,
    telemetry_logged: null,
    worker_result: null,
    host_fallback: null,
  };
  await io.out(fitSummary(summary, DEFAULT_SUMMARY_BYTES));
}
