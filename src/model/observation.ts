/**
 * What was observed about a worker, in the very shapes the receipt carries (RECEIPT.md): observed facts have no opinion,
 * so they need no second form in memory. Times RFC 3339 UTC with milliseconds, sizes in bytes, durations in milliseconds.
 */
import * as z from 'zod';
import { REFUSAL_CODES } from './codes.ts';

export const time = z.iso.datetime({ precision: 3 });
export const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
export const oid = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
export const count = z.int().min(0);
/** Names made by the host or taken from the configuration: run ids, attempt ids, profiles, adapters, roles. */
export const identifier = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
/** Stable words of this tool: `TIMEOUT`, `CONFIG_CHANGED`. */
export const codeWord = z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/);
export const refName = z.string().regex(/^refs\/[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$/);

/** How the worker's process ended; exactly one, and the first reason wins. `code` of `stopped` is what it then exited with. */
export const termination = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('exited'), code: z.int() }),
  z.strictObject({ kind: z.literal('signaled'), signal: z.string() }),
  z.strictObject({
    kind: z.literal('stopped'),
    by: z.enum(['total-timeout', 'idle-timeout', 'provider-wait', 'cancel', 'finished']),
    signal: z.string(),
    code: z.int().nullable(),
  }),
  z.strictObject({ kind: z.literal('not-started'), error: z.string() }),
]);
export type Termination = z.infer<typeof termination>;

export const CONTAINMENTS = ['pid-namespace', 'session-sweep', 'none'] as const;
/**
 * `escaped`: live processes of the attempt found outside its process group; `killed`: those ended after the worker's own
 * exit or stop; `survivors`: those that could not be proven gone.
 */
export const processes = z.strictObject({
  containment: z.enum(CONTAINMENTS),
  escaped: count,
  killed: count,
  survivors: count,
});
export type Processes = z.infer<typeof processes>;

export const isolation = z.strictObject({
  level: z.enum(['none', 'guard', 'strict']),
  mechanism: z.enum(['bwrap', 'unshare', 'none']),
  /** `enforced`: the network is off; `declared`: the packet's wish was told to the worker and not enforced; `open`: allow. */
  network: z.enum(['enforced', 'declared', 'open']),
});
export type Isolation = z.infer<typeof isolation>;

export const refusal = z.strictObject({
  code: z.enum(REFUSAL_CODES),
  retry_after_seconds: z.number().min(0).nullable(),
  /** The line that says so, bounded and (in records) redacted. */
  line: z.string(),
  source: z.enum(['event', 'stderr', 'stdout']),
});
export type Refusal = z.infer<typeof refusal>;

export const usage = z.strictObject({
  input_tokens: count.nullable(),
  output_tokens: count.nullable(),
  cache_read_tokens: count.nullable(),
  total_tokens: count.nullable(),
  cost_usd: z.number().min(0).nullable(),
});
export type Usage = z.infer<typeof usage>;
export const NO_USAGE: Usage = {
  input_tokens: null,
  output_tokens: null,
  cache_read_tokens: null,
  total_tokens: null,
  cost_usd: null,
};

export const log = z.strictObject({
  stream: z.enum(['stdout', 'stderr']),
  path: z.string(),
  bytes_seen: count,
  bytes_kept: count,
  /** Over every byte seen, kept or not. */
  sha256: digest,
});
export type Log = z.infer<typeof log>;

/** One of the host's own commands around the worker: a setup or verification argv. `code` null: it never started or was killed. */
export const commandResult = z.strictObject({
  argv: z.array(z.string()),
  code: z.int().nullable(),
  ok: z.boolean(),
  duration_ms: count,
});
export type CommandResult = z.infer<typeof commandResult>;

export const probe = z.strictObject({
  available: z.boolean(),
  code: z.string().nullable(),
  message: z.string().nullable(),
  executable: z.string().nullable(),
  version: z.string().nullable(),
});
export type ProbeRecord = z.infer<typeof probe>;
