/** What gc removed and kept, in the same words whether it is done or would be. */
import type { GcEntry, GcReport, KeepReason } from '../model/gc.ts';
import type { GcDecision } from '../run/gc.ts';
import { oneLine } from './table.ts';

/** Why a run stays. One total table; what is not said here is in the entry's folders and refs. */
const REASONS: Record<KeepReason, string> = {
  running: 'it is under way',
  unfinished: 'it never ended: agent-exec recover first',
  'controller-unknown': 'it was begun in another container or on another host, where it may still be at work',
  unaccountable: 'neither its plan nor its receipt can be read: look into its directory, then name it',
  young: 'it has not ended long enough ago',
  workspace: 'its workspace is still there: look into it, then name the run',
  unmerged: 'its work is in no branch, tag or HEAD: take it over (agent-exec apply) and merge it, or name the run',
  'repository-unreadable': 'the repository that its refs are in cannot be read',
  'repository-missing':
    'its work is in commits of a repository that is not where it was: say where with --repo, or name the run',
  'not-a-folder': 'there is no folder of that name but something else, which nothing of ours has made',
  'its-run-stays': 'it is the repository of a live probe whose run stays',
  'not-removable': 'it could not be removed',
};

const GONE: Record<GcDecision['kind'], string> = {
  run: 'its directory',
  starting: 'the directory of a run that never began',
  live: 'the repository of a live probe',
  removing: 'what a gc that died has left of it',
};

/** The entry of a decision. */
export function gcEntry({ runId, kind, keep, folders, refs, repository }: GcDecision): GcEntry {
  const refsGone = refs.length === 0 ? '' : `, ${refs.length} ref(s)`;
  // Only of a run is the repository asked for; without one its refs are wherever it lives now.
  const lost = kind === 'run' && repository === null ? '; its repository is not where it was, no ref was touched' : '';
  const message =
    keep === null
      ? `${GONE[kind]}${refsGone}${lost}`
      : `${REASONS[keep.reason]}${keep.detail === '' ? '' : ` (${keep.detail})`}`;
  return {
    run_id: runId,
    kind,
    result: keep === null ? 'removed' : 'kept',
    reason: keep?.reason ?? null,
    message,
    folders: [...folders],
    refs: refs.map(({ ref, commit, containedIn }) => ({ ref, commit, contained_in: containedIn })),
  };
}

/** For people. Runs that are merely young are counted. */
export function gcText({ dry_run: dryRun, entries }: GcReport): string {
  const told = entries.filter(({ reason }) => reason !== 'young');
  const young = entries.length - told.length;
  const removed = entries.filter(({ result }) => result === 'removed').length;
  const lines = [
    ...(dryRun ? ['dry run, nothing is removed:'] : []),
    ...told.flatMap(linesOf),
    ...(young === 0 ? [] : [`kept    ${young} that have not ended long enough ago (--older-than)`]),
    `${removed} removed, ${entries.length - removed} kept`,
    ...(dryRun && removed > 0 ? ['next    the same without --dry-run'] : []),
  ];
  return `${lines.map(oneLine).join('\n')}\n`;
}

function linesOf({ run_id, result, message, refs, folders, reason }: GcEntry): string[] {
  const shownFolders = reason === 'workspace' ? folders : [];
  return [
    `${result.padEnd(7)} ${run_id} ${message}`,
    ...refs.map(
      ({ ref, commit, contained_in }) =>
        `        ${ref} ${commit.slice(0, 12)} ${contained_in === null ? 'in no branch' : `in ${contained_in}`}`,
    ),
    ...shownFolders.map((folder) => `        ${folder}`),
  ];
}
