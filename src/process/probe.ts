/**
 * Finds out whether a candidate can run here: its executable is there and good, is the right program in a version that
 * fits, and its help shows every flag the run will use. Anything less is `unavailable` with a code, never a weaker way of
 * running. Contacts no provider: the program sees a scratch HOME and no credentials.
 */
import { createHash } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';
import type { AdapterProbe, Candidate, ProbeCommand, ProbeOutput, Unavailable } from '../model/adapter.ts';
import type { ProbeRecord } from '../model/observation.ts';
import { type Executable, findExecutable } from './executable.ts';
import type { ProbeAnswer } from './probe-cache.ts';
import { observeProgram, type ProbeSurroundings } from './probe-commands.ts';
import { startsThroughShim } from './version-manager.ts';

const AT_ONCE = 4;

/** Why a profile that its owner switched off may not run; null for one that is on. */
export const switchedOff = ({ enabled, profile }: Candidate): Unavailable | null =>
  enabled ? null : { code: 'DISABLED', message: `Profile ${profile} is switched off (enabled: false).` };

/** Looks the executable up and probes it. Rejects only where `signal` is aborted. */
export async function probeCandidate(candidate: Candidate, around: ProbeSurroundings): Promise<ProbeAnswer> {
  const none = { executable: null, version: null, leftover: null };
  const disabled = switchedOff(candidate);
  if (disabled !== null) return { ...none, unavailable: disabled };
  const { adapter } = candidate;
  const names = candidate.executable === null ? adapter.programs : [candidate.executable];
  const found = await findExecutable({ names, path: around.hostEnv.PATH });
  if (!found.ok) return { ...none, unavailable: found.error };
  const executable = found.value;
  const key = cacheKey(candidate, executable);
  return around.cache.shared(key, async () => {
    const remembered = await around.cache.get(key);
    if (remembered !== null) {
      const known = judge(adapter.probe, remembered, executable.path);
      if (known.unavailable === null) return { ...known, executable, leftover: null };
    }
    const { observed, leftover } = await observeProgram(candidate, executable, commandsOf(adapter.probe), around);
    if (!observed.ok) return { unavailable: observed.error, version: null, executable, leftover };
    const judged = judge(adapter.probe, observed.value, executable.path);
    // What a shim runs changes without the shim, so nothing is remembered of it.
    if (judged.unavailable === null && observed.value.length > 0 && !startsThroughShim(executable))
      await around.cache.put(key, observed.value);
    return { ...judged, executable, leftover };
  });
}

/** Probes all candidates, four at a time; answers stand in the order of the candidates. */
export async function probeAll(candidates: readonly Candidate[], around: ProbeSurroundings): Promise<ProbeAnswer[]> {
  const answers: ProbeAnswer[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < candidates.length) {
      const index = next++;
      answers[index] = await probeCandidate(candidates[index] as Candidate, around);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return answers;
}

/** The form in which records carry an answer. */
export const probeRecord = (answer: ProbeAnswer): ProbeRecord => ({
  available: answer.unavailable === null,
  code: answer.unavailable?.code ?? null,
  message: answer.unavailable?.message ?? null,
  executable: answer.executable?.path ?? null,
  version: answer.version,
});

/** Everything the answers depend on; a change of any of it is a new question. */
function cacheKey({ adapter }: Candidate, executable: Executable): string {
  const chain: unknown[] = [];
  for (let file: Executable | null = executable; file !== null; file = file.interpreter)
    chain.push(file.path, file.realPath, file.identity);
  return createHash('sha256')
    .update(JSON.stringify([adapter.name, adapter.environment, commandsOf(adapter.probe), chain]))
    .digest('hex');
}

/** The version's command where it is asked for; help only where some flag must be in it. */
const commandsOf = ({ version, help, requiredFlags }: AdapterProbe): ProbeCommand[] => [
  ...(version === null ? [] : [version]),
  ...(requiredFlags.length === 0 ? [] : help),
];

type Judged = Pick<ProbeAnswer, 'unavailable' | 'version'>;

/**
 * `outputs`: of the version command where the adapter has one, then of the help commands; `path`: what messages name.
 * The version is told also where the program does not fit.
 */
function judge(probe: AdapterProbe, outputs: readonly ProbeOutput[], path: string): Judged {
  const [first] = outputs;
  let version: string | null = null;
  if (probe.version !== null) {
    if (first === undefined) throw new Error('a version was asked for and nothing is known');
    const read = probe.readVersion(first);
    if (!read.ok) return { unavailable: read.error, version: null };
    version = read.value;
  }
  const help = outputs
    .slice(probe.version === null ? 0 : 1)
    .map(({ stdout, stderr }) => `${stdout}\n${stderr}`)
    .join('\n');
  const missing = missingFlags(help, probe.requiredFlags);
  if (missing.length === 0) return { unavailable: null, version };
  const message = `The help of ${path}${version === null ? '' : ` ${version}`} does not show ${missing.join(', ')}. Update the program.`;
  return { unavailable: { code: 'INCOMPATIBLE', message }, version };
}

/** The flags that `help` does not show as words of their own: `--model-x` does not show `--model`. */
export function missingFlags(help: string, flags: readonly string[]): string[] {
  const text = stripVTControlCharacters(help);
  const isWord = (char: string | undefined): boolean => char !== undefined && /[\w-]/.test(char);
  return flags.filter((flag) => {
    for (let at = text.indexOf(flag); at >= 0; at = text.indexOf(flag, at + 1))
      if (!isWord(text[at - 1]) && !isWord(text[at + flag.length])) return false;
    return true;
  });
}
