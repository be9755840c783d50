/** The block's values with their places: all that the later stages see of YAML. */
import type { Span } from './finding.ts';

export interface ScalarNode {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  readonly span: Span;
}
export interface ListNode {
  readonly kind: 'list';
  readonly items: readonly TreeNode[];
  readonly span: Span;
}
export interface Entry {
  readonly key: string;
  readonly keySpan: Span;
  readonly value: TreeNode;
}
/** Keys are unique and none of them is a name that JavaScript gives a meaning to. */
export interface MapNode {
  readonly kind: 'map';
  readonly entries: readonly Entry[];
  readonly span: Span;
}
/** Something was written here, a finding says why it cannot be read, and nothing more is to be said about it. */
export interface UnreadableNode {
  readonly kind: 'unreadable';
  readonly span: Span;
}
export type TreeNode = ScalarNode | ListNode | MapNode | UnreadableNode;

/** The member of a mapping by its key; undefined where the node is no mapping or has none. */
export const entryOf = (node: TreeNode | undefined, key: string): Entry | undefined =>
  node?.kind === 'map' ? node.entries.find((entry) => entry.key === key) : undefined;
