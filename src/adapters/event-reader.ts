/**
 * The common part of every event reader: lines in, observations and a report out. A format says only what its own events
 * mean. Total for any bytes, and of bounded memory: nothing of a line is kept but bounded texts and sums.
 */
import type { EventReader, Observation, ReaderFacts, Stream, WorkerReport } from '../model/adapter.ts';
import { NO_USAGE, type Refusal } from '../model/observation.ts';
import { activityText, errorText, FINAL_TEXT_BYTES, lastBytes } from './bounded-text.ts';
import { type JsonObject, parseLine } from './json-lines.ts';
import { linesOf } from './lines.ts';
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
  /** False where the format has no event that must come. */
  readonly promisesResult: boolean;
  /** An object on stdout. */
  onEvent(event: JsonObject, draft: Draft): readonly Observation[];
  /** A line that is no object: the CLI's own words around its events. On stdout asked only about lines of a sentinel. */
  onPlainLine?(line: string, stream: Stream, draft: Draft): readonly Observation[];
  /** Called once for each report, on a copy: what only the end of the output shows. */
  conclude?(draft: Draft): void;
}

export const NOTHING_SEEN: readonly Observation[] = [];
const NOTHING_IN_BLOCK = [NOTHING_SEEN];

/** A line that may hold an object, in a block. */
const OBJECT = /^[^\S\n]*\{/m;

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
  /** Events of the format were seen. */
  let isItsLog = false;
  const read = (stream: Stream, line: string): readonly Observation[] => {
    const event = stream === 'stdout' ? parse(line) : null;
    if (event !== null) {
      const seen = format.onEvent(event, draft);
      // Names come from the worker: keep them as bounded as everything else.
      draft.model = bounded(draft.model);
      draft.sessionId = bounded(draft.sessionId);
      isItsLog ||= seen.length > 0 || isTelling(draft);
      return seen;
    }
    if (isItsLog && stream === 'stdout') return NOTHING_SEEN;
    watch.read(stream, line);
    return format.onPlainLine?.(line, stream, draft) ?? NOTHING_SEEN;
  };
  return {
    read,
    readBlock(stream, block) {
      const holdsObject = block.includes('{') && OBJECT.test(block);
      const isNothing = stream === 'stdout' && !holdsObject && (isItsLog || !watch.isIn(block));
      return isNothing ? NOTHING_IN_BLOCK : linesOf(block).map((line) => read(stream, line));
    },
    refusalTold: () => draft.refusal ?? watch.told(),
    report() {
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
