/** Is one change another, moved to another place of the history? Compared by paths, modes and blobs, on both sides. */
import type { RepoPath } from '../model/path.ts';
import type { PathDifference } from '../model/repository-look.ts';

export type Sameness =
  | { readonly kind: 'same' }
  /** The same paths and modes; these have other blobs, whose changed lines may still be the same. */
  | { readonly kind: 'other-blobs'; readonly pairs: readonly BlobPair[] }
  | { readonly kind: 'differs'; readonly differences: readonly string[] };

/** The two sides of a path in the change that was asked for, and in the one that is looked at. */
export interface BlobPair {
  readonly path: RepoPath;
  readonly wanted: { readonly from: string; readonly to: string };
  readonly found: { readonly from: string; readonly to: string };
}

/** `wanted`: what a transport changes; `found`: what some other commit changes. */
export function compareChange(wanted: readonly PathDifference[], found: readonly PathDifference[]): Sameness {
  const left = new Map(found.map((difference) => [difference.path, difference]));
  const differences: string[] = [];
  const pairs: BlobPair[] = [];
  for (const one of wanted) {
    const other = left.get(one.path);
    left.delete(one.path);
    if (other === undefined) differences.push(`${one.path} is not changed by it`);
    else if (sidesOf(one) === sidesOf(other)) continue;
    else if (modesOf(one) !== modesOf(other))
      differences.push(`${one.path} goes ${modesOf(other)}, not ${modesOf(one)}`);
    else if (one.from === null || one.to === null || other.from === null || other.to === null)
      differences.push(`${one.path} ${one.to === null ? 'had' : 'has'} another content`);
    else {
      const oids = ({ from, to }: { from: { oid: string }; to: { oid: string } }) => ({ from: from.oid, to: to.oid });
      pairs.push({
        path: one.path,
        wanted: oids({ from: one.from, to: one.to }),
        found: oids({ from: other.from, to: other.to }),
      });
    }
  }
  for (const path of left.keys()) differences.push(`${path} is changed by it too`);
  if (differences.length > 0) return { kind: 'differs', differences };
  return pairs.length === 0 ? { kind: 'same' } : { kind: 'other-blobs', pairs };
}

const sidesOf = ({ from, to }: PathDifference): string => `${from?.mode} ${from?.oid} ${to?.mode} ${to?.oid}`;
const modesOf = ({ from, to }: PathDifference): string => `from ${from?.mode ?? 'nothing'} to ${to?.mode ?? 'nothing'}`;
