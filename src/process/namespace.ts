/**
 * A tree held by a PID namespace. Its first process is its life: the kernel ends everybody when that one ends, and lets
 * it be gone only when nobody is left. So one process gone proves all of them gone, whatever they did to hide.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Processes } from '../model/observation.ts';
import { descendantsOf } from './lineage.ts';
import { isSame, type ProcessEntry, readProcess, readProcessTable, signalProcess } from './table.ts';
import { proofIn } from './traces.ts';
import { END_MS, type ProcessTree } from './tree.ts';

export interface NamespaceOptions {
  /** The launcher outside: bwrap or unshare. */
  readonly launcher: ProcessEntry;
  /** The launcher's word on the first process, where it gives one. */
  readonly firstPid: () => number | null;
  /** Value of AGENT_EXEC_ATTEMPT. */
  readonly marker: string;
}

const namespaceOf = (pid: number): string | null => {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    // Gone, or of another user and so not of the attempt.
    return null;
  }
};

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    // Gone: nothing more to know.
    return '';
  }
}

/** Number 1 in the innermost of several namespaces. */
const isFirst = (pid: number): boolean => /^NSpid:(\t\d+)+\t1$/m.test(statusOf(pid));

export function namespacedTree(options: NamespaceOptions): ProcessTree {
  const { launcher } = options;
  const escaped = new Set<string>();
  let first: ProcessEntry | null = null;
  let namespace: string | null = null;
  let worker: ProcessEntry | null = null;
  let lastSeen: readonly ProcessEntry[] = [];

  function learnFirst(): ProcessEntry | null {
    if (first !== null) return first;
    const told = options.firstPid();
    const found =
      told === null
        ? [...readProcessTable().values()].find((entry) => entry.parent === launcher.pid && isFirst(entry.pid))
        : readProcess(told);
    return found === undefined || found === null ? null : accept(found);
  }

  function accept(entry: ProcessEntry): ProcessEntry {
    first = entry;
    namespace = namespaceOf(entry.pid);
    return entry;
  }

  /**
   * A launcher that is killed between its fork and the child's own wish to die with it leaves a first process that has
   * another parent by now. It still has the attempt's variable: no program of the worker ran before.
   */
  function findOrphan(): ProcessEntry | null {
    const table = readProcessTable();
    const isOurs = proofIn(table, { marker: options.marker, workspace: null, tag: null });
    const orphans = [...table.values()].filter(
      (entry) => entry.alive && entry.started >= launcher.started && isFirst(entry.pid) && isOurs(entry),
    );
    const oldest = orphans.toSorted((a, b) => a.started - b.started || a.pid - b.pid)[0];
    return oldest === undefined ? null : accept(oldest);
  }

  /** Everybody in the namespace but its first process, which is only an init. */
  function members(): ProcessEntry[] {
    const root = learnFirst();
    if (root === null || !isSame(root)) return [];
    return descendantsOf(readProcessTable(), root.pid).filter((entry) => entry.alive);
  }

  function observe(): void {
    lastSeen = members();
    // The worker is the first one its init starts; nobody else is there before it.
    worker ??= lastSeen.toSorted((a, b) => a.started - b.started || a.pid - b.pid)[0] ?? null;
    for (const entry of lastSeen) {
      if (entry.group !== first?.group) escaped.add(`${entry.pid}@${entry.started}`);
    }
  }

  function kill(): void {
    const root = learnFirst();
    if (root !== null && signalProcess(root, 'SIGKILL')) return;
    // Nothing in there yet, or no more: the launcher's end is the end of the namespace.
    signalProcess(launcher, 'SIGKILL');
  }

  return {
    observe,
    terminate() {
      observe();
      // One by one: the group may hold the launcher too, which must live to tell how the worker ended.
      const group = lastSeen.filter((entry) => entry.group === first?.group);
      for (const entry of group) {
        signalProcess(entry, 'SIGTERM');
        // A stopped process takes TERM only once it goes on.
        signalProcess(entry, 'SIGCONT');
      }
      return group.length > 0;
    },
    kill,
    async end(): Promise<Processes> {
      const root = learnFirst() ?? findOrphan();
      const deadline = performance.now() + END_MS;
      if (root !== null) {
        for (let wait = 1; isSame(root) && performance.now() < deadline; wait = Math.min(2 * wait, 20)) {
          signalProcess(root, 'SIGKILL');
          await delay(wait);
        }
      }
      const left = root !== null && isSame(root) ? 1 + descendantsOf(readProcessTable(), root.pid).length : 0;
      return {
        containment: 'pid-namespace',
        escaped: escaped.size,
        killed: lastSeen.filter((entry) => entry.pid !== worker?.pid).length,
        survivors: Math.max(left, inhabitants(namespace).length),
      };
    },
  };
}

/** Live processes whose namespace is `namespace`: a second proof, by another way, that nobody is left. */
function inhabitants(namespace: string | null): number[] {
  if (namespace === null || namespace === namespaceOf(process.pid)) return [];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && namespaceOf(pid) === namespace && readProcess(pid)?.alive === true);
}
