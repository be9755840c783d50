/**
 * The refusal predicate over a kept log (SPEC 8): the very readers that a run has, one for each adapter that is asked.
 * A log is one CLI's output. Which stream a line came from it may not tell, so then each line is read as both: events and
 * a CLI's own plain lines are looked for on different streams, and nothing is told twice.
 */
import type { Adapter, EventReader, Stream, WorkerReport } from '../model/adapter.ts';
import type { Refusal } from '../model/observation.ts';
import { parseLine } from './json-lines.ts';
import { refusalAtEnd, waitingSaid } from './provider-wait.ts';
import { builtInAdapter, builtInAdapters } from './registry.ts';

export interface LogRefusal {
  /** The name of the adapter whose reader fired. */
  readonly adapter: string;
  readonly refusal: Refusal;
  /** 1-based; null where no single line shows it (the end of the log does). */
  readonly lineNumber: number | null;
}

export interface RefusalLog {
  /** The next line, cut as `EventReader` wants it. */
  read(line: string): void;
  /** What the lines so far show as a whole log. */
  refusal(): LogRefusal | null;
}

export interface LogFacts {
  /** Null: the lines of both, in whatever order. */
  readonly stream: Stream | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const BOTH: readonly Stream[] = ['stdout', 'stderr'];

/** One adapter's reading of the log. */
interface Reading {
  readonly adapter: string;
  readonly reader: EventReader;
  waiting: Refusal | null;
  told: Refusal | null;
  /** A line of JSON meant something to it. */
  sawEvent: boolean;
}

interface End {
  readonly adapter: string;
  readonly report: WorkerReport;
  readonly refusal: Refusal | null;
  /** The log holds events of its format. */
  readonly isItsLog: boolean;
}

/** Some of their words begin what others say too, and cursor's events have claude's shape. */
const ASKED_LAST: readonly string[] = ['antigravity', 'cursor'];

/** The built-in adapters, for a log of which nobody knows the CLI. */
export const adaptersInTurn: readonly Adapter[] = [
  ...builtInAdapters.filter(({ name }) => !ASKED_LAST.includes(name)),
  ...ASKED_LAST.flatMap((name) => builtInAdapter(name) ?? []),
];

/** Asks `adapters`; of several that fire the first one's answer stands. */
export function refusalLog(adapters: readonly Adapter[], { stream, now }: LogFacts): RefusalLog {
  const streams = stream === null ? BOTH : [stream];
  const parse = parsedOnce();
  const log = { isNamed: adapters.length === 1, isMerged: stream === null };
  const readings: readonly Reading[] = adapters.map((adapter) => ({
    adapter: adapter.name,
    reader: adapter.reader({ now, parse, log }),
    waiting: null,
    told: null,
    sawEvent: false,
  }));
  /** Where a refusal was told first. */
  const lineOf = new WeakMap<Refusal, number>();
  let lineNumber = 0;

  function follow(reading: Reading, from: Stream, line: string): void {
    const observations = reading.reader.read(from, line);
    const said = waitingSaid(observations);
    if (said === 'works') reading.waiting = null;
    else if (said !== null) reading.waiting = said;
    if (said !== null && said !== 'works') lineOf.set(said, lineNumber);
    if (said !== null && !reading.sawEvent && from === 'stdout') reading.sawEvent = parse(line) !== null;
    const told = reading.reader.refusalTold();
    if (told === reading.told) return;
    reading.told = told;
    if (told !== null && !lineOf.has(told)) lineOf.set(told, lineNumber);
  }

  return {
    read(line) {
      lineNumber++;
      // It means nothing in any format, and a log may be full of them.
      if (line === '') return;
      for (const reading of readings) for (const from of streams) follow(reading, from, line);
    },
    refusal() {
      for (const { adapter, refusal } of itsOwn(readings.map(endOf))) {
        if (refusal !== null) return { adapter, refusal, lineNumber: lineOf.get(refusal) ?? null };
      }
      return null;
    },
  };
}

function endOf({ adapter, reader, waiting, sawEvent }: Reading): End {
  const report = reader.report();
  // A log does not say whether its CLI was stopped: one that reports how it ended had stopped waiting before.
  const refusal = refusalAtEnd(report, report.status === null ? waiting : null);
  return { adapter, report, refusal, isItsLog: sawEvent || readItsEvents(report) };
}

/**
 * Those whose log it is: the ones that read events of theirs, for another CLI's plain lines are somebody's text then; of
 * several that read the same event as the end, those that also found its usage, if any did. All, where there is no event.
 */
function itsOwn(ends: readonly End[]): readonly End[] {
  const itsOwn = ends.filter(({ isItsLog }) => isItsLog);
  if (itsOwn.length === 0) return ends;
  const isUncounted = ({ report }: End): boolean => report.status !== null && report.usage.input_tokens === null;
  const isCounted = ({ report }: End): boolean => report.status !== null && report.usage.input_tokens !== null;
  return itsOwn.some(isCounted) ? itsOwn.filter((end) => !isUncounted(end)) : itsOwn;
}

const readItsEvents = (report: WorkerReport): boolean =>
  !report.resultMissing || report.sessionId !== null || report.model !== null || report.refusal?.source === 'event';

function parsedOnce(): typeof parseLine {
  let last: string | null = null;
  let parsed: ReturnType<typeof parseLine> = null;
  return (line) => {
    if (line !== last) {
      parsed = parseLine(line);
      last = line;
    }
    return parsed;
  };
}
