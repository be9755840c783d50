/**
 * The anchored half of the refusal predicate (SPEC 8): a literal at the start of a line, after nothing but colour escapes
 * and carriage returns, on the stream where that CLI prints its own errors. The same words anywhere else are nothing.
 */
import type { Stream } from '../model/adapter.ts';
import type { RefusalCode } from '../model/codes.ts';
import type { Refusal } from '../model/observation.ts';
import { lineStarts } from './marks.ts';
import { providerCode, refusal, refusalCode } from './refusal.ts';

export interface Sentinel {
  readonly start: string;
  /** Words that the line must hold as well. */
  readonly holds?: string;
  readonly streams: readonly Stream[];
  /**
   * A fixed code; or the line tells it: where it tells none, `read` means that this is another error, `read-provider` that
   * the provider failed unless the request was bad, and `read-or-provider` that it refused for a reason of its own
   * (`PROVIDER_ERROR`), whatever the line says. `other`: the line is another error, whatever literal would take it next.
   */
  readonly code: RefusalCode | 'read' | 'read-provider' | 'read-or-provider' | 'other';
  /** Other programs begin a line like that too: it tells nothing in a log of which nobody knows the CLI. */
  readonly isGeneral?: true;
}

const COLOURS = /^(?:\r|\u001b\[[0-9;:]*m)+/;
const ANY_COLOUR = /\u001b\[[0-9;:]*m/g;

const RETURN = 0x0d;
const ESCAPE = 0x1b;

/** The line without the colour escapes before its first character. */
export function uncoloured(line: string): string {
  const first = line.charCodeAt(0);
  return first === RETURN || first === ESCAPE ? line.replace(COLOURS, '') : line;
}

function codeOf(code: Exclude<Sentinel['code'], 'other'>, text: string): RefusalCode | null {
  if (code === 'read') return refusalCode(null, text);
  if (code === 'read-provider') return providerCode(null, text);
  return code === 'read-or-provider' ? (refusalCode(null, text) ?? 'PROVIDER_ERROR') : code;
}

/** `sentinelRefusal` for many lines, of which most are none: one pattern of all literals tells that at once. */
export interface SentinelReader {
  /** False where no line of the block, as a string of its bytes, begins with a literal. */
  isIn(bytes: string): boolean;
  by(stream: Stream, line: string, now?: () => number): Refusal | null;
}

export function sentinelReader(sentinels: readonly Sentinel[]): SentinelReader {
  if (sentinels.length === 0) return { isIn: () => false, by: () => null };
  const literals = sentinels.map(({ start }) => start.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|');
  const atStart = new RegExp(`^(?:${literals})`);
  const inBlock = lineStarts(sentinels.map(({ start }) => start));
  return {
    isIn(bytes) {
      inBlock.lastIndex = 0;
      return inBlock.test(bytes);
    },
    by: (stream, line, now) => (atStart.test(uncoloured(line)) ? sentinelRefusal(sentinels, stream, line, now) : null),
  };
}

/** The refusal that this line is, or null. */
export function sentinelRefusal(
  sentinels: readonly Sentinel[],
  stream: Stream,
  line: string,
  now?: () => number,
): Refusal | null {
  const start = uncoloured(line);
  for (const sentinel of sentinels) {
    if (!sentinel.streams.includes(stream) || !start.startsWith(sentinel.start)) continue;
    const text = start.slice(0, 8192).replace(ANY_COLOUR, '');
    if (sentinel.holds !== undefined && !text.includes(sentinel.holds)) continue;
    if (sentinel.code === 'other') return null;
    const code = codeOf(sentinel.code, text);
    if (code !== null) return refusal(code, text, stream, now);
  }
  return null;
}
