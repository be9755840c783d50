/**
 * Ends what a dead controller left running. Works from what its journal holds: the attempt's marker, its workspace and
 * the worker's identity. Everything is found by traces alone, since whoever saw the tree grow is gone.
 */
import type { Processes } from '../model/observation.ts';
import type { ProcessIdentity } from '../model/process-identity.ts';
import { isFromEarlierBoot, lifeOf } from './identity.ts';
import { orphanedLineage, startLineage } from './lineage.ts';
import { sweep } from './sweep.ts';
import { tagOf } from './traces.ts';

export interface Leftovers {
  readonly marker: string;
  /** Canonical path of the attempt's workspace; null: no folder gives a process away. */
  readonly workspace: string | null;
  /** As reported by `onStarted`; null: the controller died before it could write it down. */
  readonly leader: ProcessIdentity | null;
}

/** Kills the attempt's processes until none is seen any more. A leader of an earlier boot left none. */
export async function endLeftovers(leftovers: Leftovers): Promise<Processes> {
  const { leader, marker, workspace } = leftovers;
  // Nothing lives through a boot, and start times of two boots cannot be compared.
  if (leader !== null && isFromEarlierBoot(leader)) return none();
  const lineage =
    leader !== null && lifeOf(leader) === 'alive' ? startLineage(leader) : orphanedLineage(leader?.started ?? 0);
  const { killed, survivors } = await sweep(lineage, { marker, workspace, tag: tagOf(marker) });
  return { ...none(), killed: killed.size, survivors: survivors.length };
}

const none = (): Processes => ({
  containment: process.platform === 'linux' ? 'session-sweep' : 'none',
  escaped: 0,
  killed: 0,
  survivors: 0,
});
