/**
 * One value, one text, one digest: canonical JSON (RFC 8785) and SHA-256 over it. RFC 8785 has no form for a lone
 * surrogate; such text comes only from hostile or damaged input, so it is written as a visible escape (`\ud800`) instead
 * of failing a run. A receipt file that holds one is refused when read (receipt.ts), so no two receipts share a digest.
 */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { mapStrings, nestsTooDeep } from './json-walk.ts';
import { wellFormed } from './neutralise.ts';

/** RFC 8785 text of a JSON value. Throws for what is no JSON value (`undefined`, NaN, a cycle, 200 levels): a broken invariant. */
export function canonicalJson(value: unknown): string {
  if (nestsTooDeep(value)) throw new Error('nested too deeply');
  const text = canonicalize(mapStrings(value, wellFormed, { keys: 'change', cutAt: Number.POSITIVE_INFINITY }));
  if (text === undefined) throw new Error('not a JSON value');
  return text;
}

/** `sha256:<hex>` over bytes as they are, or over the canonical JSON of any other value (a string counts as JSON, with its quotes). */
export function digestOf(value: unknown): string {
  const bytes = value instanceof Uint8Array ? value : Buffer.from(canonicalJson(value), 'utf8');
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
