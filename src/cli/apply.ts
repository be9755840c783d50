/**
 * `agent-exec apply`: takes over what a run has made, staged into the checkout or as a branch. What is applied is what
 * the receipt names and the repository still has; everything else is refused before anything is touched.
 */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { checkBranch, createBranch } from '../git/branch.ts';
import { holdsCommit, oidAt } from '../git/commit-at.ts';
import { discoverRepository } from '../git/repository.ts';
import { EXIT } from '../model/codes.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import type { Receipt } from '../model/receipt.ts';
import { printableJson } from '../receipt/neutralise.ts';
import { applyChange, pathsOutOfScope } from '../run/apply.ts';
import type { RunState } from '../store/run-state.ts';
import { type ApplyAnswer, applyText, branchAnswer, changeAnswer, type Taken, untaken } from './apply-answer.ts';
import { chooseRun, type NotChosen, sayNotChosen } from './chosen-run.ts';
import { type ApplyOptions, chooseWork } from './chosen-work.ts';
import type { CliIo } from './io.ts';
import { explainRepository } from './problems.ts';
import { listenForSignals } from './signals.ts';

const AFTER_HELP = `
Examples:
  $ agent-exec apply last                       into the checkout: staged, not committed
  $ agent-exec apply last --dry-run             would it fit?
  $ agent-exec apply last --branch fix-add      a branch at the transport commit instead
  $ agent-exec apply last --attempt 02-codex --quarantine    what an attempt left that did not succeed

Nothing is changed where a path of the change has uncommitted changes, or where HEAD has moved and git
cannot merge: both are told path by path. Your filters and line endings apply, your hooks do not run.

Exit codes: 0 done, or there already, 2 usage, 3 no such run, or not in this repository,
6 refused: uncommitted changes, a conflict, or nothing that could be applied.`;

/** The command; its exit code goes through `io`. */
export function applyCommand(io: CliIo): Command {
  return new Command('apply')
    .description("Puts a run's change into the checkout, staged and not committed, or makes a branch of it.")
    .argument('<run>', 'id, a unique beginning of one, or last')
    .option('--branch <name>', 'make this branch at the commit; checkout and index stay as they are')
    .option('--attempt <id>', 'of this attempt')
    .option('--quarantine', 'take over what was preserved of an attempt that did not succeed')
    .option('--dry-run', 'only say what would happen')
    .option('--repo <path>', 'the checkout (default: the enclosing one)')
    .option('--state-dir <dir>', 'private state root (default: AGENT_EXEC_STATE_DIR, /tmp/agent-exec-<uid>)')
    .option('--json', 'answer with one JSON object')
    .addHelpText('after', AFTER_HELP)
    .action((wanted: string, options: ApplyOptions) => apply(io, wanted, options));
}

async function apply(io: CliIo, wanted: string, options: ApplyOptions): Promise<void> {
  const chosen = await chooseRun(io, options, wanted);
  if (!chosen.ok) return sayNotChosen(io, 'apply', chosen.error);
  const answer = await taken(io, chosen.value, options);
  if ('exitCode' in answer) return sayNotChosen(io, 'apply', answer);
  io.exit(answer.report.exit_code);
  if (options.json === true) await io.out(`${printableJson(answer.report)}\n`);
  else if (answer.report.exit_code === EXIT.success) await io.out(applyText(answer));
  else io.note(applyText(answer));
}

async function taken(io: CliIo, run: RunState, options: ApplyOptions): Promise<ApplyAnswer | NotChosen> {
  const work = chooseWork(run, options);
  if (!work.ok) return work.error;
  if ('nothing' in work.value) return untaken(run.place.runId, options, work.value.nothing);
  const { receipt, attempt, published, source } = work.value;
  const found = await discoverRepository(resolve(io.cwd(), options.repo ?? '.'), io.env);
  if (!found.ok) return unusable(explainRepository(found.error).message);
  const facts = found.value;
  const { commit, ref } = published;
  const { base } = receipt.repository;
  if (!(await holdsCommit(facts.gitDir, commit)) || !(await holdsCommit(facts.gitDir, base)))
    return unusable(elsewhere(facts, run, commit));
  const what: Taken = { runId: run.place.runId, attempt, source, published, base, options, notes: [], outOfScope: [] };
  const at = await oidAt(facts.commonDir, ref);
  if (at !== null && at !== commit) return branchAnswer(what, { kind: 'ref-moved', ref, commit: at });
  const notes = at === null ? [`${ref} is not there any more; its commit ${commit} is, and is what was used`] : [];
  const outOfScope = source === 'quarantine' ? await outOfScopeOf(facts, receipt, commit) : [];
  return take(io, facts, { ...what, notes, outOfScope });
}

async function take(io: CliIo, facts: RepositoryFacts, what: Taken): Promise<ApplyAnswer> {
  const { options, published, base, runId } = what;
  const { branch: name } = options;
  if (name !== undefined) {
    const { commit } = published;
    const reason = `agent-exec apply ${runId}`;
    const made = await (options.dryRun === true
      ? checkBranch(facts, name)
      : createBranch(facts, io.env, { name, commit, reason }));
    return branchAnswer(what, made.ok ? { kind: 'made' } : made.error);
  }
  // What has begun is brought to its end: it takes a moment, and a checkout half changed helps nobody.
  const signals = listenForSignals((signal) => io.note(`${signal}: finishing what has begun\n`));
  try {
    const dryRun = options.dryRun === true;
    return changeAnswer(what, await applyChange({ facts, hostEnv: io.env, base, commit: published.commit, dryRun }));
  } finally {
    signals.release();
  }
}

const outOfScopeOf = (facts: RepositoryFacts, { repository, unit }: Receipt, commit: string) =>
  pathsOutOfScope(facts, { base: repository.base, commit, allowedPaths: unit.allowed_paths });

const unusable = (message: string): NotChosen => ({
  code: 'REPOSITORY_UNUSABLE',
  message,
  exitCode: EXIT['invalid-config'],
});

function elsewhere({ worktree }: RepositoryFacts, { place, plan }: RunState, commit: string): string {
  const made = plan === null ? '' : ` It was made in ${plan.repository.worktree}.`;
  return `${worktree} does not have commit ${commit} of run ${place.runId}, or not its base.${made} Go there, name a clone that has it with --repo, or fetch the commit first.`;
}
