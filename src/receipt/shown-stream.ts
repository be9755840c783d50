/**
 * A stream of any length made fit for a terminal, with constant memory: secrets taken out, everything else made harmless.
 * Text is given out only when enough of what follows is known, so that a secret which lies across two pieces, or across
 * lines, is taken out as a whole.
 */
import { neutralise, wellFormed } from './neutralise.ts';
import { REDACTED, type Redactor } from './redact.ts';
import { replaceRanges, type TextRange } from './text-range.ts';

/** Worked on at once, in UTF-16 code units. */
const WINDOW = 512 * 1024;
/** No secret is looked for that is longer; so many bytes before a place are context enough for {@link shownStream}. */
export const LONGEST_SECRET = 64 * 1024;

export interface ShownStream {
  /** More bytes of the stream; what can be shown by now. */
  push(bytes: Uint8Array): string;
  /** The stream rests: its whole lines, but for what may be the beginning of a secret. */
  rest(): string;
  /** The stream is over: all that is left. */
  end(): string;
}

/** `context`: bytes right before the stream, which are not shown but may hold the beginning of a secret. */
export function shownStream(redactor: Redactor, context: Uint8Array = new Uint8Array()): ShownStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let pending = decoder.decode(context, { stream: true });
  /** Characters of `pending` that are context. */
  let skip = pending.length;
  /** A secret that is longer than a window goes on. */
  let dropping = false;

  function take(text: string): void {
    pending += text;
    if (!dropping) return;
    const end = pending.search(/[^\w+/=.~%\\-]/);
    dropping = end < 0;
    pending = end < 0 ? '' : pending.slice(end);
  }

  function show(limit: number): string {
    const places = redactor.places(pending);
    const cut = beforeSecrets(pending, limit, places);
    if (cut <= skip) return pending.length < WINDOW ? '' : drop(places);
    const shown = visible(pending.slice(0, cut), skip, places);
    pending = pending.slice(cut);
    skip = 0;
    return shown;
  }

  /** A window that is full of one secret. */
  function drop(places: readonly TextRange[]): string {
    const end = afterSecrets(skip, places);
    dropping = end >= pending.length;
    pending = pending.slice(end);
    skip = 0;
    return REDACTED;
  }

  return {
    push(bytes) {
      take(decoder.decode(bytes, { stream: true }));
      let shown = '';
      while (pending.length >= WINDOW) shown += show(lineEnd(pending, pending.length - LONGEST_SECRET));
      return shown;
    },
    rest: () => (pending.includes('\n', skip) ? show(pending.lastIndexOf('\n') + 1) : ''),
    end() {
      take(decoder.decode());
      const shown = visible(pending, skip, redactor.places(pending));
      pending = '';
      skip = 0;
      return shown;
    },
  };
}

/** `text` from `skip` on; a secret that began before is shown as one. No place reaches beyond the text. */
function visible(text: string, skip: number, places: readonly TextRange[]): string {
  const from = skip === 0 ? 0 : afterSecrets(skip, places);
  const within = places
    .filter(({ start, end }) => start >= from && end <= text.length)
    .map(({ start, end }) => ({ start: start - from, end: end - from }));
  const redacted = (from > skip ? REDACTED : '') + replaceRanges(text.slice(from), within, REDACTED);
  // A line end of DOS is one.
  return neutralise(wellFormed(redacted).replaceAll('\r\n', '\n'));
}

/** The end of the last line before `limit`; where there is none, `limit` itself, never within a character. */
function lineEnd(text: string, limit: number): number {
  const newline = text.lastIndexOf('\n', limit - 1);
  if (newline >= 0) return newline + 1;
  return /[\uDC00-\uDFFF]/.test(text.charAt(limit)) ? limit - 1 : limit;
}

/** `limit`, or the beginning of the secrets that reach beyond it, or that may go on where the text ends. */
function beforeSecrets(text: string, limit: number, places: readonly TextRange[]): number {
  let cut = limit;
  for (const { start, end } of [...places].sort((a, b) => b.end - a.end)) {
    if (start < cut && (end > cut || end >= text.length - 1)) cut = start;
  }
  return cut;
}

/** `from`, or the end of the secrets that it lies in. */
function afterSecrets(from: number, places: readonly TextRange[]): number {
  let end = from;
  for (const place of [...places].sort((a, b) => a.start - b.start)) {
    if (place.end > end && (place.start < end || place.start === 0)) end = place.end;
  }
  return end;
}
