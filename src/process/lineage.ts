/**
 * Which processes belong to an attempt where no namespace says so. Pure: a table and what is already known go in, the
 * members come out. A member is the leader, a child of a member, anyone in a session that a member leads, and anyone
 * with a proof of its own (an inherited mark). Nobody older than the leader ever is.
 */
import type { ProcessEntry, ProcessTable } from './table.ts';

export interface Lineage {
  /** Start time before which nobody is a member. */
  readonly since: number;
  /** pid -> start time of everybody recognised so far, the dead included: their children are recognised by them. */
  readonly known: Map<number, number>;
  readonly sessions: Set<number>;
}

/** A lineage that begins with a leader which is alive or was just seen alive: its numbers are still its own. */
export const startLineage = (leader: Pick<ProcessEntry, 'pid' | 'started'>): Lineage => ({
  since: leader.started,
  known: new Map([[leader.pid, leader.started]]),
  sessions: new Set([leader.pid]),
});

/** A lineage whose leader is long gone: its session's number may be somebody else's by now, so only proofs count. */
export const orphanedLineage = (since: number): Lineage => ({ since, known: new Map(), sessions: new Set() });

function belongs(entry: ProcessEntry, table: ProcessTable, lineage: Lineage): boolean {
  const isKnown = (pid: number): boolean => {
    const other = table.get(pid);
    return other !== undefined && lineage.known.get(pid) === other.started;
  };
  if (isKnown(entry.pid) || isKnown(entry.parent)) return true;
  // A session outlives its leader; a *new* process with the leader's pid means that the number was handed out again.
  return lineage.sessions.has(entry.session) && (!table.has(entry.session) || isKnown(entry.session));
}

/** The members in `table`, zombies included; what was learned is added to `lineage`. */
export function findMembers(
  table: ProcessTable,
  lineage: Lineage,
  hasProof: (entry: ProcessEntry) => boolean,
): ProcessEntry[] {
  const members = new Map<number, ProcessEntry>();
  const add = (entry: ProcessEntry) => {
    members.set(entry.pid, entry);
    lineage.known.set(entry.pid, entry.started);
    if (entry.session === entry.pid) lineage.sessions.add(entry.pid);
  };
  const candidates = [...table.values()].filter((entry) => entry.started >= lineage.since);
  const spread = () => {
    for (let grew = true; grew; ) {
      grew = false;
      for (const entry of candidates) {
        if (members.has(entry.pid) || !belongs(entry, table, lineage)) continue;
        add(entry);
        grew = true;
      }
    }
  };
  spread();
  // Proofs are costly to read, so only those are asked whom nothing else explains.
  const proven = candidates.filter((entry) => !members.has(entry.pid) && hasProof(entry));
  for (const entry of proven) add(entry);
  if (proven.length > 0) spread();
  return [...members.values()];
}

/** Everybody below `root`, itself excluded. In a PID namespace orphans fall to its first process, so this is all of it. */
export function descendantsOf(table: ProcessTable, root: number): ProcessEntry[] {
  const below = new Set([root]);
  for (let grew = true; grew; ) {
    grew = false;
    for (const entry of table.values()) {
      if (below.has(entry.pid) || !below.has(entry.parent)) continue;
      below.add(entry.pid);
      grew = true;
    }
  }
  below.delete(root);
  return [...below].flatMap((pid) => table.get(pid) ?? []);
}
