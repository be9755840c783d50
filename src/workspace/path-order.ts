/** The order of git's trees and of every list in a record: by bytes, which is not the order of JavaScript's strings. */
import { encodePath, type RepoPath } from '../model/path.ts';

/** The items in that order; the paths are encoded once each. */
export const inByteOrder = <T>(items: Iterable<T>, pathOf: (item: T) => RepoPath): T[] =>
  [...items]
    .map((item) => ({ item, bytes: encodePath(pathOf(item)) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ item }) => item);
