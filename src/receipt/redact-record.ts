/**
 * Redacts a whole record and keeps it a record. Every string goes through the redactor, so a field that someone adds is
 * redacted before anyone thinks of it. What the schema gives a fixed shape (digests, object ids, times, states, ids, ref
 * names) is made by the host and holds no free text: where a short secret happens to occur in one, the original comes
 * back, or a run whose API key is `ollama` could not write that its profile is `ollama`.
 */
import type { z } from 'zod';
import { type RecordedPath, type RepoPath, recordPath } from '../model/path.ts';
import { mapStrings } from './json-walk.ts';
import type { Redactor } from './redact.ts';

/** The redacted form of `record`, which must fit `schema` but for secrets. Throws where it does not: a broken invariant. */
export function redactRecord<T>(schema: z.ZodType<T>, record: T, redactor: Redactor): T {
  const redacted = mapStrings(record, redactor.text, {
    keys: 'keep',
    cutAt: Number.POSITIVE_INFINITY,
  });
  const first = schema.safeParse(redacted);
  if (first.success) return first.data;
  for (const { path } of first.error.issues) putBack(record, redacted, path);
  return schema.parse(redacted);
}

type Node = Record<PropertyKey, unknown>;

/** Restores one string. A member that is no string would bring more back than a host-made name, so it stays. */
function putBack(original: unknown, redacted: unknown, path: readonly PropertyKey[]): void {
  const name = path.at(-1);
  const parent = (root: unknown): Node | undefined =>
    path.slice(0, -1).reduce<unknown>((node, key) => (node as Node | undefined)?.[key], root) as Node | undefined;
  const target = parent(redacted);
  const value = name === undefined ? undefined : parent(original)?.[name];
  if (typeof value === 'string' && name !== undefined && target !== undefined) target[name] = value;
}

/** How a record carries a path that may hold a secret: its bytes are given only where they hold none. */
export function redactPath(path: RepoPath, redactor: Redactor): RecordedPath {
  const recorded = recordPath(path);
  const shown = typeof recorded === 'string' ? recorded : recorded.display;
  const redacted = redactor.text(shown);
  return redacted === shown ? recorded : redacted;
}
