/**
 * A tree held by nothing but knowledge: looked at while it runs, hunted down at its end. Invariant: a signal goes only to
 * a process that is proven to be of the attempt. What is still there at the end is counted, never hidden.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Processes } from '../model/observation.ts';
import { findMembers, type Lineage, startLineage } from './lineage.ts';
import { type ProcessEntry, readProcessTable, signalProcess } from './table.ts';
import { type AttemptTraces, proofIn } from './traces.ts';
import { END_MS, type ProcessTree } from './tree.ts';

/** One empty look proves nothing: a process that forks faster than we look was between two lives. */
const EMPTY_LOOKS = 5;
const LOOK_MS = 30;

export interface Swept {
  readonly killed: ReadonlySet<string>;
  readonly survivors: readonly ProcessEntry[];
}

const nameOf = (entry: ProcessEntry): string => `${entry.pid}@${entry.started}`;

/** Kills every member until several looks in a row find none, for at most {@link END_MS}. */
export async function sweep(lineage: Lineage, traces: AttemptTraces): Promise<Swept> {
  const killed = new Set<string>();
  const deadline = performance.now() + END_MS;
  let survivors: ProcessEntry[] = [];
  for (let empty = 0; empty < EMPTY_LOOKS && performance.now() < deadline; ) {
    const table = readProcessTable();
    survivors = findMembers(table, lineage, proofIn(table, traces)).filter((entry) => entry.alive);
    for (const entry of survivors) if (signalProcess(entry, 'SIGKILL')) killed.add(nameOf(entry));
    empty = survivors.length === 0 ? empty + 1 : 0;
    // Those just killed are seen dead at the next look, and a chain of forks is caught only by looking fast.
    await delay(survivors.length === 0 ? LOOK_MS : 1);
  }
  return { killed, survivors };
}

export function sweptTree(leader: ProcessEntry, traces: AttemptTraces): ProcessTree {
  const lineage = startLineage(leader);
  const escaped = new Set<string>();

  function observe(thoroughly = false): void {
    const table = readProcessTable();
    for (const entry of findMembers(table, lineage, thoroughly ? proofIn(table, traces) : () => false)) {
      if (entry.alive && entry.group !== leader.pid) escaped.add(nameOf(entry));
    }
  }
  function signalGroup(signal: NodeJS.Signals): boolean {
    try {
      // Only asked for while the leader has not been waited for, so the group's number is still its own.
      return process.kill(-leader.pid, signal);
    } catch {
      // ESRCH: the group is empty already.
      return false;
    }
  }
  return {
    observe: () => observe(),
    terminate() {
      observe();
      // A stopped process takes TERM only once it goes on.
      return signalGroup('SIGTERM') && signalGroup('SIGCONT');
    },
    kill: () => void signalGroup('SIGKILL'),
    async end(): Promise<Processes> {
      observe(true);
      const { killed, survivors } = await sweep(lineage, traces);
      return {
        containment: process.platform === 'linux' ? 'session-sweep' : 'none',
        escaped: escaped.size,
        killed: killed.size,
        survivors: survivors.length,
      };
    },
  };
}
