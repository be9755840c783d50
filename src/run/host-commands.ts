/**
 * The host's own commands around a worker (SPEC 6.10): setup before it and verification after it, without a shell, one by
 * one, under the worker's isolation, limits and logs, but without its credentials. The first failure ends the list.
 */
import { baseEnvironment } from '../adapters/environment.ts';
import type { CommandResult, Log, Processes } from '../model/observation.ts';
import { runCommand } from '../process/command.ts';
import type { Containment } from '../process/containment.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { AttemptPlaces } from './attempt-places.ts';
import type { Run } from './surroundings.ts';
import { isolationOf, mountsFor } from './worker.ts';

export interface HostCommands {
  readonly results: readonly CommandResult[];
  readonly logs: readonly Log[];
  readonly processes: Processes | null;
  /** The host stopped the run meanwhile. */
  readonly cancelled: boolean;
}

/** Two observations of processes as one, under one containment; `none` of the first says that nothing had been started. */
export function addProcesses(a: Processes, b: Processes | null): Processes {
  if (b === null) return a;
  return {
    containment: a.containment === 'none' ? b.containment : a.containment,
    escaped: a.escaped + b.escaped,
    killed: a.killed + b.killed,
    survivors: a.survivors + b.survivors,
  };
}

/** Runs the argv lists in order. `position` in the log's name counts from 1. */
export async function runHostCommands(request: {
  readonly run: Run;
  readonly step: 'setup' | 'verification-setup' | 'verification';
  readonly commands: readonly (readonly string[])[];
  readonly containment: Containment;
  readonly workspace: Workspace;
  readonly places: AttemptPlaces;
  readonly marker: string;
}): Promise<HostCommands> {
  const { run, step, containment, workspace, places } = request;
  const results: CommandResult[] = [];
  const logs: Log[] = [];
  let processes: Processes | null = null;
  for (const [position, argv] of request.commands.entries()) {
    const { result, outcome } = await runCommand({
      argv,
      cwd: workspace.path,
      environment: {
        ...baseEnvironment(run.around.hostEnv),
        TMPDIR: places.tmp,
        TERM: 'dumb',
        NO_COLOR: '1',
        CI: '1',
        AGENT_EXEC_CHAIN: run.chain,
      },
      containment,
      mounts: mountsFor(run, workspace, places, []),
      networkOff: isolationOf(run, containment).network === 'enforced',
      limits: run.plan.limits,
      logs: places.commandLogs(step, position + 1),
      marker: request.marker,
      stop: run.around.stop,
    });
    results.push(result);
    logs.push(...outcome.logs);
    processes = addProcesses(outcome.processes, processes);
    const cancelled = outcome.termination.kind === 'stopped' && outcome.termination.by === 'cancel';
    if (cancelled || !result.ok) return { results, logs, processes, cancelled };
  }
  return { results, logs, processes, cancelled: false };
}
