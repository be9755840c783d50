/** What `probe` prints, for people and for programs. Messages may hold a program's own words, so all of it is neutralised. */
import type { Candidate } from '../model/adapter.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { ProbeReport } from '../model/probe.ts';
import { probeRecord } from '../process/probe.ts';
import type { ProbeAnswer } from '../process/probe-cache.ts';
import { printableJson } from '../receipt/neutralise.ts';
import { oneLine, tableLines } from './table.ts';

export interface ProbedProfile {
  readonly candidate: Candidate;
  readonly answer: ProbeAnswer;
}

const HEAD = ['PROFILE', 'AVAILABLE', 'VERSION', 'EXECUTABLE'] as const;

/** A table, with the reason and its cure under each profile that cannot run. */
export function probeText(profiles: readonly ProbedProfile[], notes: readonly string[]): string {
  const rows = profiles.map(({ candidate, answer }) => {
    const { available, executable, version, code, message } = probeRecord(answer);
    return {
      cells: [candidate.profile, available ? 'yes' : 'no', version ?? '-', executable ?? '-'],
      below: available ? [] : [`${code}: ${message}`],
    };
  });
  const lines = tableLines(HEAD, rows);
  if (profiles.length === 0) lines.push('(the configuration has no profiles)');
  return `${[...lines, ...notes.map((note) => `note: ${oneLine(note)}`)].join('\n')}\n`;
}

/** One `agent-exec-probe/v1` object; `errors` is filled, and `profiles` empty, where there was nothing to probe. */
export function probeJson(
  profiles: readonly ProbedProfile[],
  notes: readonly string[],
  errors: readonly Diagnostic[],
): string {
  const report: ProbeReport = {
    schema: 'agent-exec-probe/v1',
    profiles: profiles.map(({ candidate, answer }) => ({
      profile: candidate.profile,
      adapter: candidate.adapter.name,
      ...probeRecord(answer),
    })),
    notes: [...notes],
    errors: [...errors],
  };
  return `${printableJson(report, 2)}\n`;
}
