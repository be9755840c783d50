/**
 * Which of the plain lines of an output count (SPEC 8). Once events came on stdout, a plain line there is not the CLI's
 * own. Literals that other programs print too count only where the CLI is known: by name, or by its events.
 */
import type { ReaderFacts, Stream } from '../model/adapter.ts';
import type { Refusal } from '../model/observation.ts';
import { type Sentinel, sentinelReader } from './sentinel.ts';

export interface SentinelWatch {
  /** False where no line of the block, as a string of its bytes, can tell anything more. */
  isIn(bytes: string): boolean;
  read(stream: Stream, line: string): void;
  /** The first refusal that a plain line told. */
  told(): Refusal | null;
  /** The same, where it is believed. `isItsLog`: events of the format were seen. */
  believed(isItsLog: boolean): Refusal | null;
}

export function sentinelWatch(sentinels: readonly Sentinel[], { log, now }: ReaderFacts): SentinelWatch {
  // Of a merged log nothing tells where a line came from; what is printed on both is read as of the first.
  const placed = log?.isMerged === true ? sentinels.map(onFirst) : sentinels;
  const own = sentinelReader(placed.filter(({ isGeneral }) => isGeneral !== true));
  const general = sentinelReader(placed.filter(({ isGeneral }) => isGeneral === true));
  let ofOwn: Refusal | null = null;
  let ofGeneral: Refusal | null = null;
  return {
    isIn: (bytes) => (ofOwn === null && own.isIn(bytes)) || (ofGeneral === null && general.isIn(bytes)),
    read(stream, line) {
      ofOwn ??= own.by(stream, line, now);
      ofGeneral ??= general.by(stream, line, now);
    },
    told: () => ofOwn ?? ofGeneral,
    believed: (isItsLog) => ofOwn ?? (log?.isNamed === false && !isItsLog ? null : ofGeneral),
  };
}

const onFirst = (sentinel: Sentinel): Sentinel =>
  sentinel.streams.includes('stdout') ? { ...sentinel, streams: ['stdout'] } : sentinel;
