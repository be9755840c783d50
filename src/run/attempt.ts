/**
 * One candidate's try, from the gate to the last verdict. Only order lives here: each stage observes, verdict/ judges,
 * and whatever was observed ends up in the evidence. Work is in a commit before anything is removed, and a workspace
 * whose story is not clean is not removed at all.
 */

import type { CanonicalLook } from '../git/canonical.ts';
import { checkIgnored } from '../git/ignore.ts';
import { replacedGit } from '../git/run.ts';
import type { Candidate } from '../model/adapter.ts';
import type { Evidence, Finding, Preservation } from '../model/evidence.ts';
import type { ProbeRecord } from '../model/observation.ts';
import type { RepoPath } from '../model/path.ts';
import { compareClaims } from '../verdict/claims.ts';
import { classify, type Verdict } from '../verdict/classify.ts';
import { judgeWorkerResult } from '../verdict/worker-result.ts';
import { type Baseline, retakeBaseline, takeBaseline } from '../workspace/baseline.ts';
import { createWorkspace } from '../workspace/create.ts';
import { outOfScope, takeInventory } from '../workspace/inventory.ts';
import { inspectPrivateRepository, recordPrivateRepository } from '../workspace/private-repository.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { type AttemptPlaces, makeAttemptPlaces } from './attempt-places.ts';
import { type AttemptStep, STARTED_NOTE, type WorkerBegun, type WorkerEnded } from './attempt-story.ts';
import { blankEvidence, cancelledEarly, NOT_PROBED, unavailableEvidence, undecided } from './blank-evidence.ts';
import { compareSince, distrustedGit, lookBefore } from './canonical-check.ts';
import { clearUnmade, keptAsItIs, removeAll } from './clean-up.ts';
import { type Admitted, admit } from './gate.ts';
import { addProcesses, runHostCommands } from './host-commands.ts';
import { journalled, stateLost } from './journalled.ts';
import { demote, preserve } from './preserve.ts';
import { linkOf } from './recursion.ts';
import { type Run, stoppedBy } from './surroundings.ts';
import { verifyTransport } from './verify.ts';
import { attemptMarker, isolationOf, prepareWorker, runWorker } from './worker.ts';

export interface AttemptResult {
  readonly candidate: Candidate;
  readonly evidence: Evidence;
  readonly verdict: Verdict;
  readonly probe: ProbeRecord;
  readonly argv: readonly string[];
  readonly environmentNames: readonly string[];
}

/** Everything that happened, judged. Throws only for a bug; then nothing was removed that was not first kept. */
export async function runAttempt(run: Run, candidate: Candidate): Promise<AttemptResult> {
  const blank = blankEvidence(run, candidate);
  const unstarted = (evidence: Evidence, probe: ProbeRecord): AttemptResult => ({
    candidate,
    evidence,
    verdict: classify(evidence),
    probe,
    argv: [],
    environmentNames: [],
  });
  run.around.progress({ kind: 'phase', attemptId: candidate.attemptId, phase: 'probe' });
  let admitted: Awaited<ReturnType<typeof admit>>;
  try {
    admitted = await admit(run, candidate);
  } catch (error) {
    if (stoppedBy(run.around.stop) !== null) return unstarted(cancelledEarly(blank), NOT_PROBED);
    return unstarted(undecided(blank, stateLost(error).message), NOT_PROBED);
  }
  if (!admitted.ok) {
    const { unavailable, probe, model } = admitted.error;
    return unstarted(unavailableEvidence({ ...blank, model }, unavailable), probe);
  }
  if (stoppedBy(run.around.stop) !== null) return unstarted(cancelledEarly(blank), admitted.value.probe);
  return new Attempt(run, admitted.value, blank).go();
}

/** The commits that hold the work; null where it is not all in commits. */
const keptIn = (preservation: Preservation) =>
  preservation.kind === 'kept'
    ? { transport: preservation.transport, quarantine: preservation.quarantine }
    : preservation.kind === 'nothing'
      ? { transport: null, quarantine: null }
      : null;

/** The stages of an attempt that has a workspace; `#evidence` only ever grows. */
class Attempt {
  readonly #run: Run;
  readonly #admitted: Admitted;
  #evidence: Evidence;
  #workspace: Workspace | null = null;
  #findings: Finding[] = [];
  #argv: readonly string[] = [];
  #environmentNames: readonly string[] = [];

  constructor(run: Run, admitted: Admitted, blank: Evidence) {
    this.#run = run;
    this.#admitted = admitted;
    this.#evidence = { ...blank, model: admitted.model };
  }

  get #attemptId(): string {
    return this.#admitted.candidate.attemptId;
  }

  #learn(more: Partial<Evidence>): void {
    this.#evidence = { ...this.#evidence, ...more };
  }

  #phase(phase: 'workspace' | 'setup' | 'worker' | 'inspection' | 'verification' | 'cleanup'): void {
    this.#run.around.progress({ kind: 'phase', attemptId: this.#attemptId, phase });
  }

  /** A step with an effect, in the journal before and after. */
  #step<T>(
    step: AttemptStep,
    data: Readonly<Record<string, unknown>>,
    action: () => Promise<T>,
    outcome?: (result: T) => Readonly<Record<string, unknown>>,
  ): Promise<T> {
    return journalled(this.#run.journal, step, this.#attemptId, data, action, outcome);
  }

  #result(): AttemptResult {
    const verdict = classify(this.#evidence);
    return {
      candidate: this.#admitted.candidate,
      evidence: this.#evidence,
      verdict: { ...verdict, findings: [...verdict.findings, ...this.#findings] },
      probe: this.#admitted.probe,
      argv: this.#argv,
      environmentNames: this.#environmentNames,
    };
  }

  async go(): Promise<AttemptResult> {
    try {
      await this.#stages();
    } catch (error) {
      // Whatever failed then: git was not run any more, so nothing else can be found out or kept.
      const replaced = this.#workspace === null ? null : replacedGit();
      if (replaced === null) this.#giveUp(stateLost(error).message);
      else {
        const { problem, ...evidence } = distrustedGit(replaced, this.#evidence);
        this.#learn(evidence);
        this.#giveUp(problem);
      }
    }
    return this.#result();
  }

  async #stages(): Promise<void> {
    const { plan, directory, baseTree } = this.#run;
    this.#phase('workspace');
    const places = await makeAttemptPlaces(directory, this.#attemptId);
    const made = await this.#step(
      'workspace',
      { directory: places.directory },
      () =>
        createWorkspace({
          facts: plan.repository,
          base: plan.base,
          madeBy: linkOf(plan.runId, plan.base),
          attemptDir: places.directory,
          name: plan.repository.worktree.split('/').at(-1) ?? '',
        }),
      (answer) => ({ workspace: answer.ok ? answer.value : null }),
    );
    if (made.ok) this.#workspace = made.value;
    const baseline = made.ok ? await takeBaseline(made.value, baseTree.entries) : made;
    if (!made.ok || !baseline.ok) {
      const message = made.ok ? (baseline as { error: { message: string } }).error.message : made.error.message;
      const workspace = made.ok ? made.value : null;
      await this.#cleanUp(workspace, places, `no workspace could be made that holds base: ${message}`);
      return;
    }
    await this.#work(made.value, places, baseline.value);
  }

  #workerBegun(): WorkerBegun {
    const { probe, model, containment } = this.#admitted;
    const isolation = isolationOf(this.#run, containment);
    return { argv: [...this.#argv], environment_names: [...this.#environmentNames], isolation, probe, model };
  }

  /** The run's own records cannot be written any more: everything stays as it is. */
  #giveUp(problem: string): void {
    const processesGone = this.#evidence.processes.survivors === 0;
    this.#learn({ cleanup: keptAsItIs(this.#workspace, { processesGone, problem }) });
  }

  async #work(workspace: Workspace, places: AttemptPlaces, checkedOut: Baseline): Promise<void> {
    const { plan, around } = this.#run;
    const prepared = await prepareWorker(this.#run, this.#admitted, workspace, places);
    if (!prepared.ok) {
      this.#evidence = unavailableEvidence(this.#evidence, prepared.error);
      await this.#cleanUp(workspace, places, null);
      return;
    }
    const { invocation, environment } = prepared.value;
    this.#argv = [this.#admitted.executable.path, ...invocation.shownArgs];
    this.#environmentNames = Object.keys(environment).sort();
    this.#learn({
      preservation: { kind: 'pending' },
      cleanup: { kind: 'pending' },
      canonical: { differences: [], workerCouldWrite: this.#admitted.containment.level === 'none' },
    });

    const before = await lookBefore(this.#run, this.#admitted.containment.level);
    const baseline = await this.#setUp(workspace, places, checkedOut);
    const untouched = await recordPrivateRepository(workspace);
    if (baseline !== null && stoppedBy(around.stop) === null) {
      this.#phase('worker');
      await this.#step(
        'worker',
        this.#workerBegun(),
        async () => {
          let noted: Promise<unknown> = Promise.resolve();
          const { outcome, report } = await runWorker(
            this.#run,
            this.#admitted,
            prepared.value,
            workspace,
            places,
            (leader) => {
              noted = this.#run.journal.note(STARTED_NOTE, this.#attemptId, { leader });
            },
          );
          await noted;
          if (outcome.logError !== null) {
            this.#findings.push({
              code: 'LOG_INCOMPLETE',
              message: `a log could not be written: ${outcome.logError}`,
              paths: [],
            });
          }
          this.#learn({
            termination: outcome.termination,
            processes: addProcesses(outcome.processes, this.#evidence.processes),
            logs: [...outcome.logs, ...this.#evidence.logs],
            report,
            workerResult: judgeWorkerResult(plan.role.result, report.finalText),
          });
          return outcome;
        },
        ({ termination, processes, logs }): WorkerEnded => ({ termination, processes, logs: [...logs] }),
      );
    } else if (stoppedBy(around.stop) !== null) this.#evidence = cancelledEarly(this.#evidence);

    this.#phase('inspection');
    await this.#compareCanonical(before);
    await this.#inspect(workspace, baseline ?? checkedOut, untouched);
    await this.#keep(workspace);
    await this.#verify(places, before);
    await this.#cleanUp(workspace, places, null);
    await this.#demoteUnlessSuccess();
  }

  /** Runs the setup commands; null where one failed or the run is being stopped. */
  async #setUp(workspace: Workspace, places: AttemptPlaces, checkedOut: Baseline): Promise<Baseline | null> {
    const { plan } = this.#run;
    if (plan.setup.length === 0) return checkedOut;
    this.#phase('setup');
    const setup = await this.#step('setup', {}, () =>
      runHostCommands({
        run: this.#run,
        step: 'setup',
        commands: plan.setup,
        containment: this.#admitted.containment,
        workspace,
        places,
        marker: attemptMarker(this.#run, this.#attemptId),
      }),
    );
    this.#learn({
      setup: setup.results,
      processes: addProcesses(this.#evidence.processes, setup.processes),
      logs: setup.logs,
      termination: { kind: 'not-started', error: 'SETUP_FAILED' },
    });
    if (setup.cancelled || setup.results.some(({ ok }) => !ok)) return null;
    const retaken = await retakeBaseline(workspace, checkedOut, (paths) => this.#ignored(paths));
    if (retaken.ok) return retaken.value;
    this.#learn({
      setup: [...setup.results.slice(0, -1), ...setup.results.slice(-1).map((last) => ({ ...last, ok: false }))],
    });
    this.#findings.push({ code: 'SETUP_FAILED', message: retaken.error.message, paths: [] });
    return null;
  }

  #ignored(paths: readonly RepoPath[]): Promise<ReadonlySet<RepoPath>> {
    return checkIgnored(this.#run.ignoreRules, paths);
  }

  async #compareCanonical(before: CanonicalLook): Promise<void> {
    this.#learn({ canonical: await compareSince(this.#run, this.#admitted.containment.level, before) });
  }

  async #inspect(
    workspace: Workspace,
    baseline: Baseline,
    untouched: Awaited<ReturnType<typeof recordPrivateRepository>>,
  ): Promise<void> {
    const { scope } = this.#run;
    const { violations, commits, findings } = await inspectPrivateRepository(workspace, untouched);
    this.#findings.push(...findings);
    const inventory = await takeInventory({ workspace, baseline, scope, ignored: (paths) => this.#ignored(paths) });
    this.#learn({
      privateRepository: { violations, commits },
      inventory,
      outOfScope: inventory.kind === 'none' ? [] : outOfScope(inventory.changes, scope),
    });
    if (inventory.kind !== 'none')
      this.#findings.push(...compareClaims(this.#run.plan.role, this.#evidence.workerResult, inventory.changes));
  }

  async #keep(workspace: Workspace): Promise<void> {
    const { inventory, privateRepository } = this.#evidence;
    if (inventory.kind === 'none') return;
    const verdict = classify(this.#evidence);
    const kept = await this.#step(
      'preserve',
      { state: verdict.state },
      () =>
        preserve({
          run: this.#run,
          attemptId: this.#attemptId,
          workspace,
          inventory,
          commits: privateRepository.commits,
          success: verdict.state === 'success',
          verdict: `${verdict.state} ${verdict.code}`,
        }),
      ({ preservation }) => keptIn(preservation) ?? {},
    );
    this.#findings.push(...kept.findings);
    this.#learn({ preservation: kept.preservation });
  }

  async #verify(places: AttemptPlaces, before: CanonicalLook): Promise<void> {
    const { plan } = this.#run;
    const { preservation } = this.#evidence;
    const transport = preservation.kind === 'kept' ? preservation.transport : null;
    if (!plan.verify || transport === null || plan.unit.verification.length === 0) {
      if (plan.verify && classify(this.#evidence).state === 'success') {
        const why = transport === null ? 'there is no change to verify' : 'the unit names no verification command';
        this.#findings.push({ code: 'NOT_VERIFIED', message: `verification was asked for, and ${why}`, paths: [] });
      }
      return;
    }
    this.#phase('verification');
    const verified = await this.#step('verification', { commit: transport.commit }, () =>
      verifyTransport(this.#run, this.#attemptId, transport, this.#admitted.containment, places),
    );
    this.#learn({
      verification: verified.results,
      processes: addProcesses(this.#evidence.processes, verified.processes),
      logs: [...this.#evidence.logs, ...verified.logs],
      cancelledAfterwards: verified.cancelled,
    });
    if (verified.problem !== null && preservation.kind === 'kept') {
      this.#learn({ preservation: { ...preservation, kind: 'failed', message: verified.problem } });
    }
    await this.#compareCanonical(before);
  }

  /** Removes what may be removed; says what could not be. */
  async #cleanUp(workspace: Workspace | null, places: AttemptPlaces, trouble: string | null): Promise<void> {
    this.#phase('cleanup');
    const processesGone = this.#evidence.processes.survivors === 0;
    const { state } = classify({ ...this.#evidence, cleanup: { kind: 'pending' } });
    if (workspace === null) {
      this.#learn({ cleanup: await clearUnmade(places, trouble, processesGone) });
    } else if (state === 'scope-expansion' || state === 'failed-unknown' || trouble !== null) {
      this.#learn({ cleanup: keptAsItIs(workspace, { processesGone, problem: trouble }) });
    } else {
      await this.#step('cleanup', { workspace: workspace.path }, async () => {
        this.#learn({ cleanup: await removeAll(workspace, places, processesGone) });
      });
    }
  }

  /** A transport stands for a success. What turned out not to be one keeps its commit, in the quarantine. */
  async #demoteUnlessSuccess(): Promise<void> {
    const { preservation } = this.#evidence;
    if (preservation.kind !== 'kept' && preservation.kind !== 'failed') return;
    const { transport, quarantine } = preservation;
    if (transport === null || classify(this.#evidence).state === 'success') return;
    const demoted = await this.#step('demote', { ref: transport.ref }, () =>
      demote(this.#run.plan, this.#attemptId, transport, quarantine),
    );
    if (typeof demoted === 'string') {
      this.#learn({ preservation: { kind: 'failed', message: demoted, transport, quarantine } });
    } else {
      this.#learn({ preservation: { ...preservation, transport: null, quarantine: demoted } });
    }
  }
}
