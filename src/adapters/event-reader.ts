/**
 * The common part of every event reader: lines in, observations and a report out. A format says only what its own events
 * mean. Total for any bytes, and of bounded memory: nothing of a line is kept but bounded texts and sums.
 */
import {
  type EventReader,
  FINAL_TEXT_BYTES,
  MAX_LINE,
  type Observation,
  type ReaderFacts,
  type Stream,
  type WorkerReport,
} from '../model/adapter.ts';
import { NO_USAGE, type Refusal } from '../model/observation.ts';
import { activityText, errorText, lastBytes } from './bounded-text.ts';
import { type JsonObject, parseLine } from './json-lines.ts';
import { eachLineWith, lineIn } from './lines.ts';
import { holdsMatch, jsonNames, lineStarts } from './marks.ts';
import { type Passed, type PassingEvents, putOff } from './passing-events.ts';
import type { Sentinel } from './sentinel.ts';
import { sentinelWatch } from './sentinel-watch.ts';

/** The report while it is being written. Only the functions of this module keep it within its bounds. */
export interface Draft {
  status: WorkerReport['status'];
  error: string | null;
  model: string | null;
  sessionId: string | null;
  usage: WorkerReport['usage'];
  finalText: string;
  refusal: Refusal | null;
  /** Some event that every complete run of the format has was seen. */
  resultSeen: boolean;
}

/** One format of events. */
export interface EventFormat {
  readonly sentinels: readonly Sentinel[];
  /** Names of which every event that means something has one, as a string or a key. Lines without any are never parsed. */
  readonly names: readonly string[];
  /** False where the format has no event that must come. */
  readonly promisesResult: boolean;
  /** An object on stdout. */
  onEvent(event: JsonObject, draft: Draft): readonly Observation[];
  /** A line that is no object: the CLI's own words around its events. On stdout asked only until events were seen. */
  onPlainLine?(line: string, stream: Stream, draft: Draft): readonly Observation[];
  /** How the lines begin that `onPlainLine` wants, beside those of sentinels. */
  readonly plainLines?: RegExp;
  /** The commonest events of a run, where many come to what the newest do. */
  readonly passing?: PassingEvents & { pass(passed: Passed, draft: Draft): void };
  /** Called once for each report, on a copy: what only the end of the output shows. */
  conclude?(draft: Draft): void;
}

export const NOTHING_SEEN: readonly Observation[] = [];
const ANY_LINE = /[^\n]/g;
const NEWLINE = 0x0a;
/** A longer block of one line is never made a string as a whole. */
const LONG_BLOCK = 128 * 1024;

export const activity = (text: string): readonly Observation[] => {
  const shown = activityText(text);
  return shown === '' ? NOTHING_SEEN : [{ kind: 'activity', text: shown }];
};
export const providerWait = (refusal: Refusal): readonly Observation[] => [{ kind: 'provider-wait', refusal }];

/** The worker reports that it failed. */
export function setError(draft: Draft, text: string, refusal: Refusal | null): void {
  draft.status = 'error';
  draft.error = errorText(text);
  draft.refusal = refusal;
}

/** The worker reports that all is well: what failed before was overcome. */
export function setSuccess(draft: Draft): void {
  draft.status = 'success';
  draft.error = null;
  draft.refusal = null;
}

export function setFinalText(draft: Draft, text: string): void {
  draft.finalText = lastBytes(text, FINAL_TEXT_BYTES);
}

const isTelling = ({ sessionId, model, status, resultSeen }: Draft): boolean =>
  resultSeen || sessionId !== null || model !== null || status !== null;

const bounded = (name: string | null): string | null => (name === null ? null : activityText(name));

/** Names come from the worker: they are kept as bounded as everything else. */
function boundNames(draft: Draft): void {
  draft.model = bounded(draft.model);
  draft.sessionId = bounded(draft.sessionId);
}

export function eventReader(format: EventFormat, facts: ReaderFacts = {}): EventReader {
  const draft: Draft = {
    status: null,
    error: null,
    model: null,
    sessionId: null,
    usage: NO_USAGE,
    finalText: '',
    refusal: null,
    resultSeen: false,
  };
  const parse = facts.parse ?? parseLine;
  const watch = sentinelWatch(format.sentinels, facts);
  const marks = jsonNames(format.names);
  const plainMarks = lineStarts(
    format.sentinels.map(({ start }) => start),
    format.plainLines,
  );
  const { passing } = format;
  const late = passing === undefined ? null : putOff(passing);
  /** Events of the format were seen. */
  let isItsLog = false;

  const readNow = (stream: Stream, line: string): readonly Observation[] => {
    const event = stream === 'stdout' ? parse(line) : null;
    if (event !== null) {
      const seen = format.onEvent(event, draft);
      boundNames(draft);
      isItsLog ||= seen.length > 0 || isTelling(draft);
      return seen;
    }
    if (isItsLog && stream === 'stdout') return NOTHING_SEEN;
    watch.read(stream, line);
    return format.onPlainLine?.(line, stream, draft) ?? NOTHING_SEEN;
  };

  /** Reads what was put off. Gives what of it was not shown yet: as one, or line by line where they had to be read so. */
  const catchUp = (): readonly (readonly Observation[])[] => {
    if (late === null || passing === undefined) return [];
    const passed = late.passed(parse);
    // Asked last: it marks the lines as shown, and where they are read one by one the marks say which are new.
    const seen = passed === null ? null : late.shown(parse);
    if (seen === null || passed === null) {
      const lines = late.lines();
      late.clear();
      const each = lines.map(({ line, isNew }) => ({ isNew, seen: readNow('stdout', line) }));
      return each.filter(({ isNew }) => isNew).map((one) => one.seen);
    }
    late.clear();
    if (passed.events.length > 0) passing.pass(passed, draft);
    boundNames(draft);
    return [seen];
  };

  const isPassing = (bytes: string, start: number): boolean => isItsLog && late?.isOne(bytes, start) === true;

  /**
   * Whether some line on stdout that is no event could tell anything. The watch is done with its first finds; a format
   * that reads plain lines wants every one of them, also the tenth that says it waits.
   */
  const holdsPlainLine = (bytes: string): boolean => {
    if (format.onPlainLine === undefined) return watch.isIn(bytes);
    plainMarks.lastIndex = 0;
    return plainMarks.test(bytes);
  };

  /** The lines of a block that mean something, by their places; false where there are others. */
  const eachTelling = (
    stream: Stream,
    block: Buffer,
    take: (start: number, end: number, passes: boolean) => void,
  ): boolean => {
    const isLong = block.length > LONG_BLOCK && !block.includes(NEWLINE);
    const bytes = block.toString('latin1', 0, isLong ? LONG_BLOCK : block.length);
    const sought = stream === 'stderr' ? plainMarks : !isItsLog && holdsPlainLine(bytes) ? ANY_LINE : marks;
    const passes = (start: number): boolean => stream === 'stdout' && isPassing(bytes, start);
    if (!isLong) return eachLineWith(bytes, sought, passes, (start, end) => take(start, end, passes(start)));
    // Where a plain line tells anything, it does so at its beginning.
    const tells = passes(0) || holdsMatch(sought === marks ? block : block.subarray(0, LONG_BLOCK), sought);
    if (tells) take(0, block.length, passes(0));
    return tells;
  };

  return {
    read(stream, line) {
      const before = catchUp().flat();
      const seen = readNow(stream, line);
      return before.length === 0 ? seen : [...before, ...seen];
    },
    readBlock(stream, block) {
      const told: (readonly Observation[])[] = [];
      const tell = (seen: readonly Observation[]): number => (seen.length > 0 ? told.push(seen) : 0);
      /** Some line showed nothing: that is a sign of life all the same. */
      let isQuiet = false;
      /** Lines of this block were put off and not told yet. */
      let isPutOff = false;
      const tellLate = (readings: readonly (readonly Observation[])[]): void => {
        for (const seen of readings) if (tell(seen) === 0 && isPutOff) isQuiet = true;
        isPutOff = false;
      };
      /** Passing lines that stand one behind the other, to be put off at once. */
      let begin = 0;
      let end = 0;
      const putOffLines = (): void => {
        const lines = block.subarray(begin, end);
        begin = end;
        if (late === null || lines.length === 0) return;
        if (!late.add(lines)) {
          tellLate(catchUp());
          late.add(lines);
        }
        isPutOff = true;
      };
      const allTell = eachTelling(stream, block, (start, stop, passes) => {
        if (passes && stop - start <= MAX_LINE) {
          if (begin === end || start !== end + 1) {
            putOffLines();
            begin = start;
          }
          end = stop;
          return;
        }
        putOffLines();
        tellLate(catchUp());
        if (tell(readNow(stream, lineIn(block, start, stop))) === 0) isQuiet = true;
      });
      putOffLines();
      const shown = late?.shown(parse) ?? null;
      tellLate(shown === null ? catchUp() : [shown]);
      if (isQuiet || !allTell || told.length === 0) told.push(NOTHING_SEEN);
      return told;
    },
    refusalTold: () => draft.refusal ?? watch.told(),
    report() {
      catchUp();
      const end = { ...draft };
      format.conclude?.(end);
      return {
        status: end.status,
        error: end.error,
        model: end.model,
        sessionId: end.sessionId,
        usage: end.usage,
        finalText: end.finalText,
        // A run that reports success got its answers, whatever was printed on the way.
        refusal: end.refusal ?? (end.status === 'success' ? null : watch.believed(isItsLog)),
        resultMissing: format.promisesResult && !end.resultSeen,
      };
    },
  };
}

const TELLING = ['command', 'cmd', 'file_path', 'filePath', 'path', 'pattern', 'query', 'url', 'description'] as const;

/** A tool call as progress: its name and the one argument that tells most. */
export function toolActivity(name: string, input: JsonObject): readonly Observation[] {
  for (const key of TELLING) {
    const value = input[key];
    const words = Array.isArray(value) ? value.filter((item) => typeof item === 'string').join(' ') : value;
    if (typeof words === 'string' && words !== '') return activity(`${name} ${words}`);
  }
  return activity(name);
}
