/**
 * Runs one of the host's own commands around a worker (setup and verification argv lists) under the same isolation,
 * limits and logs as the worker itself. Nobody reads its output line by line, so only time limits it.
 */
import { isAbsolute, resolve } from 'node:path';
import type { CommandResult } from '../model/observation.ts';
import { lookUpTool } from './containment.ts';
import { type SuperviseOutcome, type SuperviseRequest, supervise } from './supervise.ts';

export interface CommandRequest
  extends Omit<SuperviseRequest, 'executable' | 'args' | 'stdin' | 'lingerMs' | 'onOutput' | 'limits'> {
  /** A bare name is looked up on the environment's PATH; a path is taken from `cwd`. */
  readonly argv: readonly string[];
  readonly limits: Pick<SuperviseRequest['limits'], 'timeoutMs' | 'graceMs' | 'rawOutputBytes'>;
}

export interface CommandOutcome {
  readonly result: CommandResult;
  readonly outcome: SuperviseOutcome;
}

/** The program's absolute path; one that is not found keeps its name, and starting it then says what is wrong. */
function programPath(name: string, cwd: string, path: string): string {
  if (name.includes('/')) return isAbsolute(name) ? name : resolve(cwd, name);
  return lookUpTool(name, path) ?? resolve('/nonexistent', name);
}

/** Runs the command to its end. `ok` means exit 0 and nothing of it left alive. Never throws for what it does. */
export async function runCommand(request: CommandRequest): Promise<CommandOutcome> {
  const { argv, limits, ...rest } = request;
  const [name = '', ...args] = argv;
  const outcome = await supervise({
    ...rest,
    executable: programPath(name, request.cwd, request.environment.PATH ?? ''),
    args,
    stdin: { kind: 'null' },
    lingerMs: null,
    onOutput: null,
    limits: { ...limits, idleTimeoutMs: null, providerWaitMs: limits.timeoutMs },
  });
  const code = outcome.termination.kind === 'exited' ? outcome.termination.code : null;
  const ok = code === 0 && outcome.processes.survivors === 0;
  return { result: { argv: [...argv], code, ok, duration_ms: outcome.durationMs }, outcome };
}
