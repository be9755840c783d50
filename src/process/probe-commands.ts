/**
 * Runs the helper commands of a probe, bounded, in a scratch directory with a scratch HOME and without credentials, and
 * collects what they print. Judges nothing.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { baseEnvironment } from '../adapters/environment.ts';
import type { Candidate, ProbeCommand, ProbeOutput, Unavailable } from '../model/adapter.ts';
import { err, ok, type Result } from '../model/result.ts';
import { type BoundedEnd, runBounded } from './bounded-command.ts';
import { type Executable, searchedFolders } from './executable.ts';
import type { ProbeCache } from './probe-cache.ts';
import { assertNoShortage } from './shortage.ts';
import { startsThroughShim } from './version-manager.ts';

export interface ProbeSurroundings {
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** An existing private folder for scratch directories; no component of its path begins with a dot. */
  readonly scratchParent: string;
  readonly cache: ProbeCache;
  /** Default 30 s for each helper command. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Value of AGENT_EXEC_ATTEMPT, by which a program that a killed controller leaves is found; none outside of a run. */
  readonly marker?: string;
}

/** Node CLIs take 1 to 3 s for their version, and ten times that on a machine under load; a healthy one must not look absent. */
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 256 * 1024;
interface Observed {
  readonly observed: Result<readonly ProbeOutput[], Unavailable>;
  readonly leftover: string | null;
}

/** Runs the commands, the version's first where the adapter has one, in a scratch directory that is gone afterwards. */
export async function observeProgram(
  candidate: Candidate,
  executable: Executable,
  commands: readonly ProbeCommand[],
  around: ProbeSurroundings,
): Promise<Observed> {
  if (commands.length === 0) return { observed: ok([]), leftover: null };
  const scratch = await mkdtemp(join(around.scratchParent, 'probe-'));
  const observed = await runCommands(candidate, executable, commands, scratch, around).catch(async (error: unknown) => {
    await removeScratch(scratch);
    throw error;
  });
  return { observed, leftover: await removeScratch(scratch) };
}

/** Help is not asked of a program whose version says that it is the wrong one. */
async function runCommands(
  candidate: Candidate,
  executable: Executable,
  commands: readonly ProbeCommand[],
  scratch: string,
  around: ProbeSurroundings,
): Promise<Result<readonly ProbeOutput[], Unavailable>> {
  const { probe } = candidate.adapter;
  const { timeoutMs = TIMEOUT_MS, signal } = around;
  const env = await probeEnvironment(candidate, executable, scratch, around);
  const outputs: ProbeOutput[] = [];
  for (const { args } of commands) {
    const where = { file: executable.path, args, cwd: join(scratch, 'work'), env };
    const end = await runBounded({ ...where, timeoutMs, maxBytes: MAX_BYTES, signal });
    if (end.kind === 'not-started') assertNoShortage(end.code, `${executable.path} could not be probed`);
    if (end.kind !== 'exited') return err(failureOf(end, executable, args, timeoutMs));
    outputs.push(end.output);
    if (probe.version !== null && outputs.length === 1 && !probe.readVersion(end.output).ok) break;
  }
  return ok(outputs);
}

/** Null where it is gone; its path where a program left something in it that cannot be removed. */
async function removeScratch(scratch: string): Promise<string | null> {
  try {
    await rm(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
    return null;
  } catch {
    // The answer to the probe stands all the same; the caller is told what is left.
    return scratch;
  }
}

async function probeEnvironment(
  candidate: Candidate,
  executable: Executable,
  scratch: string,
  around: ProbeSurroundings,
): Promise<Record<string, string>> {
  const [work, home, temporary] = ['work', 'home', 'tmp'].map((name) => join(scratch, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [work, home, temporary]) await mkdir(folder, { mode: 0o700 });
  const base = Object.entries(baseEnvironment(around.hostEnv));
  const keepsHome = startsThroughShim(executable);
  return {
    ...Object.fromEntries(keepsHome ? base : base.filter(([name]) => !name.startsWith('XDG_'))),
    ...candidate.adapter.environment,
    ...(keepsHome ? {} : { HOME: home }),
    TMPDIR: temporary,
    ...(around.marker !== undefined && { AGENT_EXEC_ATTEMPT: around.marker }),
    PATH: searchedFolders(around.hostEnv.PATH).join(':'),
  };
}

function failureOf(
  end: Exclude<BoundedEnd, { kind: 'exited' }>,
  { path }: Executable,
  args: readonly string[],
  timeoutMs: number,
): Unavailable {
  const command = [path, ...args].join(' ');
  switch (end.kind) {
    case 'not-started':
      return { code: 'SPAWN_FAILED', message: `${command} could not be started: ${end.error}.` };
    case 'timeout':
      return {
        code: 'INCOMPATIBLE',
        message: `${command} did not end within ${timeoutMs / 1000} s. Run it by hand to see why.`,
      };
    case 'flood':
      return {
        code: 'INCOMPATIBLE',
        message: `${command} printed more than ${MAX_BYTES / 1024} KiB. It is not the expected program.`,
      };
  }
}
