/**
 * Finds known secret values in text, in the forms in which they leak: as they are, JSON-escaped (any mix of escapes, any
 * nesting), percent-encoded (also twice), as hex, and as base64 or base64url at any of the three alignments, also broken
 * over lines, each of these also of the value as JSON or a URL carries it. Linear in the text: a fixed number of substring searches, no pattern is built from a value.
 */
import type { TextRange } from './text-range.ts';

/** Shorter values would turn up in ordinary words, digests and ids. */
export const SHORTEST_SECRET = 6;
/** A line of a multi-line value (a key file, a credentials document) is searched by itself from this length on. */
const SHORTEST_LINE = 24;

/** `text` derived from another text, with the way back: `at(i)` is the place in the source that view index `i` came from. */
interface View {
  readonly text: string;
  at(index: number): number;
}

const unchanged = (text: string): View => ({ text, at: (index) => index });

/** The view in which every match of `pattern` is replaced by what `decode` makes of it. */
function rewritten(source: View, pattern: RegExp, decode: (match: RegExpExecArray) => string): View {
  const inView: number[] = [0];
  const inSource: number[] = [0];
  let text = '';
  let copied = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(source.text); match !== null; match = pattern.exec(source.text)) {
    text += source.text.slice(copied, match.index) + decode(match);
    copied = match.index + match[0].length;
    inView.push(text.length);
    inSource.push(copied);
  }
  text += source.text.slice(copied);
  return {
    text,
    at(index) {
      let low = 0;
      for (let high = inView.length; high - low > 1; ) {
        const middle = (low + high) >> 1;
        if ((inView[middle] ?? 0) <= index) low = middle;
        else high = middle;
      }
      return source.at((inSource[low] ?? 0) + index - (inView[low] ?? 0));
    },
  };
}

/** A run of backslashes and what it escapes (JSON in JSON doubles them), or a percent escape (`%25` nests likewise). */
const ESCAPE = /\\+u([0-9a-fA-F]{4})|\\+(["\\/bfnrt'])|%(?:25)*([0-9a-fA-F]{2})/g;
const SHORT_ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function unescaped([, unicode, short, percent]: RegExpExecArray): string {
  if (short !== undefined) return SHORT_ESCAPES[short] ?? short;
  return String.fromCharCode(Number.parseInt(unicode ?? percent ?? '', 16));
}

const LINE_BREAK = /[\r\n]+[ \t]*/g;

/** The middle of the base64 of `bytes` that does not depend on what stands before or after, for a start `shift` bytes into a group. */
function base64Core(bytes: Buffer, shift: number): string {
  const whole = Buffer.concat([Buffer.alloc(shift), bytes])
    .toString('base64')
    .replace(/=+$/, '');
  return whole.slice(Math.ceil((8 * shift) / 6), (shift + bytes.length) % 3 === 0 ? undefined : -1);
}

/** The value as it stands in a document that is encoded as a whole: in JSON (in JSON), in a URL, in a form. */
function carriedForms(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replace(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const url = encodeURIComponent(secret);
  const strict = url.replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
  const urls = [url, strict, strict.replaceAll('%20', '+')];
  return [
    ...[secret, json, ascii, json.replaceAll('/', '\\/'), JSON.stringify(json).slice(1, -1)],
    ...urls.flatMap((form) => [form, form.replace(/%../g, (code) => code.toLowerCase())]),
  ];
}

const encodedForms = (secret: string): string[] => [...new Set(carriedForms(secret))].flatMap(encodingsOf);

function encodingsOf(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  const base64 = [0, 1, 2].map((shift) => base64Core(bytes, shift));
  const base64url = base64.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'));
  return [bytes.toString('hex'), bytes.toString('hex').toUpperCase(), ...base64, ...base64url];
}

/** How often text may be escaped in different ways, one around the other; a run of one kind counts once. */
const DEEPEST_ESCAPES = 3;

const isEscaped = (text: string): boolean => text.includes('\\') || text.includes('%');

/** The view itself and what is left after each unescaping of it, as deep as there is something to unescape. */
function readings(view: View, depth: number): View[] {
  const views = [view];
  for (let last = view; views.length <= depth && isEscaped(last.text); views.push(last)) {
    last = rewritten(last, ESCAPE, unescaped);
  }
  return views;
}

/**
 * Forms that unescaping does not give back by itself: percent escapes of non-ASCII characters come back as their UTF-8
 * bytes, a form field has `+` for a space, and a value that itself looks escaped (`pass\new`) comes back unescaped.
 */
function plainForms(secret: string): string[] {
  const utf8 = Buffer.from(secret, 'utf8').toString('latin1');
  return [secret, utf8, utf8.replaceAll(' ', '+')]
    .flatMap((form) => readings(unchanged(form), DEEPEST_ESCAPES).map(({ text }) => text))
    .filter((form) => form.length >= SHORTEST_SECRET);
}

/** The values to search for: each secret, without outer white space too, and its long lines. */
function valuesOf(secrets: readonly string[]): string[] {
  const values = secrets.flatMap((secret) => {
    const text = secret.replace(/\p{Cs}/gu, '\uFFFD');
    const lines = text.includes('\n') ? text.split('\n').map((line) => line.trim()) : [];
    return [text, text.trim(), ...lines.filter((line) => line.length >= SHORTEST_LINE)];
  });
  return values.filter((value) => value.trim().length >= SHORTEST_SECRET);
}

/** A function that gives the places of all the secrets in a text, in no particular order, overlapping ones included. */
export function secretFinder(secrets: readonly string[]): (text: string) => TextRange[] {
  const values = valuesOf(secrets);
  const plain = [...new Set(values.flatMap(plainForms))];
  const encoded = [...new Set(values.flatMap(encodedForms))];
  const all = [...plain, ...encoded];
  if (all.length === 0) return () => [];

  // Letters and digits need no escape, so one level finds them; anything else may have been escaped by every layer.
  const depth = values.every((value) => /^[\w.~-]*$/.test(value)) ? 1 : DEEPEST_ESCAPES;

  return (text) => {
    const ranges: TextRange[] = [];
    const views = readings(unchanged(text), depth);
    for (const view of views) search(view, all, ranges);
    const last = views.at(-1) ?? unchanged(text);
    if (last.text.includes('\n'))
      search(
        rewritten(last, LINE_BREAK, () => ''),
        encoded,
        ranges,
      );
    return ranges;
  };
}

function search(view: View, needles: readonly string[], ranges: TextRange[]): void {
  for (const needle of needles) {
    let last: { start: number; end: number } | null = null;
    for (let at = view.text.indexOf(needle); at >= 0; at = view.text.indexOf(needle, at + 1)) {
      if (last !== null && at <= last.end) {
        last.end = at + needle.length;
      } else {
        if (last !== null) ranges.push({ start: view.at(last.start), end: view.at(last.end) });
        last = { start: at, end: at + needle.length };
      }
    }
    if (last !== null) ranges.push({ start: view.at(last.start), end: view.at(last.end) });
  }
}
