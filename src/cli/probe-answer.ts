/** What `probe` prints, for people and for programs. Messages may hold a program's own words, so all of it is neutralised. */
import type { Candidate } from '../model/adapter.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { probeRecord } from '../process/probe.ts';
import type { ProbeAnswer } from '../process/probe-cache.ts';
import { neutralise, printableJson } from '../receipt/neutralise.ts';

export interface ProbedProfile {
  readonly candidate: Candidate;
  readonly answer: ProbeAnswer;
}

const HEAD = ['PROFILE', 'AVAILABLE', 'VERSION', 'EXECUTABLE'] as const;
const oneLine = (text: string): string => neutralise(text.trim().replace(/\s*[\r\n]+\s*/g, ' '));

/** A table, with the reason and its cure under each profile that cannot run. */
export function probeText(profiles: readonly ProbedProfile[], notes: readonly string[]): string {
  const rows = profiles.map(({ candidate, answer }) => {
    const { available, executable, version } = probeRecord(answer);
    return [candidate.profile, available ? 'yes' : 'no', oneLine(version ?? '-'), oneLine(executable ?? '-')];
  });
  const widths = HEAD.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  const lines = [line(HEAD)];
  profiles.forEach(({ answer: { unavailable } }, i) => {
    lines.push(line(rows[i] ?? []));
    if (unavailable !== null)
      lines.push(`${' '.repeat((widths[0] ?? 0) + 2)}${unavailable.code}: ${oneLine(unavailable.message)}`);
  });
  if (profiles.length === 0) lines.push('(the configuration has no profiles)');
  return `${[...lines, ...notes.map((note) => `note: ${oneLine(note)}`)].join('\n')}\n`;
}

/** One `agent-exec-probe/v1` object; `errors` is filled, and `profiles` empty, where there was nothing to probe. */
export function probeJson(
  profiles: readonly ProbedProfile[],
  notes: readonly string[],
  errors: readonly Diagnostic[],
): string {
  const answer = {
    schema: 'agent-exec-probe/v1',
    profiles: profiles.map(({ candidate, answer }) => ({
      profile: candidate.profile,
      adapter: candidate.adapter.name,
      ...probeRecord(answer),
    })),
    notes,
    errors,
  };
  return `${printableJson(answer, 2)}\n`;
}
