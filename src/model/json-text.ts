/**
 * Where things stand in a JSON text. `JSON.parse` stays the judge of what a packet says; this module finds the place of
 * a syntax error, of each key of an object and of each element of a list, without recursion and without a tree, so that
 * neither depth nor size of a hostile text matters.
 */

/** A part of the text as offsets in UTF-16 code units, the end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

interface SyntaxProblem {
  readonly at: number;
  readonly message: string;
}

interface Member {
  readonly key: string;
  readonly keySpan: Span;
  readonly valueSpan: Span;
}

/** No packet nests deeper than three; the limit keeps `JSON.parse` from spending memory on a pile of brackets. */
const MAX_DEPTH = 100;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERAL = /(?:true|false|null)(?![\w$])/y;
const WORD = /[A-Za-z_$]/;
const HEX4 = /[0-9a-fA-F]{4}/y;
const SIMPLE_ESCAPES = '"\\/bfnrt';

/** The end of a sticky pattern's match at `at`, or -1. */
function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (let c = text.charCodeAt(at); c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09; c = text.charCodeAt(at)) at++;
  return at;
}

/** The end of the string that opens at `start`, or what is wrong inside it. */
function scanString(text: string, start: number): number | SyntaxProblem {
  for (let at = start + 1; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) return at + 1;
    if (c < 0x20) return { at, message: 'a string holds a raw line break or control character; write it as an escape' };
    if (c !== BACKSLASH) continue;
    const escaped = text[at + 1];
    if (escaped === 'u' && matchEnd(HEX4, text, at + 2) >= 0) at += 5;
    else if (escaped !== undefined && SIMPLE_ESCAPES.includes(escaped)) at += 1;
    else return { at, message: 'a string holds an escape that JSON does not know' };
  }
  return { at: start, message: 'a string is never closed' };
}

/** The end of the string, number or literal at `at`, or what is wrong with it. */
function scanScalar(text: string, at: number): number | SyntaxProblem {
  if (at >= text.length) return { at, message: 'the text ends where a value should stand' };
  if (text.charCodeAt(at) === QUOTE) return scanString(text, at);
  const number = matchEnd(NUMBER, text, at);
  if (number >= 0) return number;
  const literal = matchEnd(LITERAL, text, at);
  return literal >= 0 ? literal : { at, message: strayCharacter(text.charAt(at)) };
}

function strayCharacter(char: string): string {
  if (char === "'") return "JSON strings stand in double quotes, not in '";
  if (char === '/' || char === '#') return 'JSON has no comments';
  if (char === ',') return 'a value is missing before this comma';
  if (char === '}' || char === ']') return 'a value is missing here; JSON allows no comma after the last one';
  if (WORD.test(char)) return 'a bare word is not a JSON value; put it in quotes';
  return 'this cannot begin a JSON value';
}

/** The first place where `text` stops being JSON; null where it is JSON (and not absurdly deep). */
export function syntaxProblemOf(text: string): SyntaxProblem | null {
  const open: number[] = [];
  let at = 0;
  let next: 'value' | 'first-value' | 'key' | 'first-key' | 'separator' = 'value';
  for (;;) {
    at = skipSpace(text, at);
    const char = text.charCodeAt(at);
    if (next === 'separator') {
      const container = open[open.length - 1];
      if (container === undefined) return at === text.length ? null : { at, message: 'more text follows the value' };
      if (char === COMMA) next = container === OPEN_OBJECT ? 'key' : 'value';
      else if (char === (container === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST)) open.pop();
      else return { at, message: separatorProblem(at === text.length, container === OPEN_OBJECT ? '}' : ']') };
      at++;
    } else if ((next === 'first-key' && char === CLOSE_OBJECT) || (next === 'first-value' && char === CLOSE_LIST)) {
      open.pop();
      at++;
      next = 'separator';
    } else if (next === 'key' || next === 'first-key') {
      if (char !== QUOTE) return { at, message: keyProblem(text[at]) };
      const end = scanString(text, at);
      if (typeof end !== 'number') return end;
      at = skipSpace(text, end);
      if (text.charCodeAt(at) !== COLON) return { at, message: 'a colon is missing after this key' };
      at++;
      next = 'value';
    } else if (char === OPEN_OBJECT || char === OPEN_LIST) {
      if (open.length === MAX_DEPTH) return { at, message: `values are nested deeper than ${MAX_DEPTH}` };
      open.push(char);
      at++;
      next = char === OPEN_OBJECT ? 'first-key' : 'first-value';
    } else {
      const end = scanScalar(text, at);
      if (typeof end !== 'number') return end;
      at = end;
      next = 'separator';
    }
  }
}

const separatorProblem = (ended: boolean, close: string): string =>
  ended ? `the text ends before a ${close} closes what was opened` : `a comma or ${close} is missing here`;

function keyProblem(char: string | undefined): string {
  if (char === undefined) return 'the text ends where a key should stand';
  if (char === '}') return 'JSON allows no comma after the last member';
  if (char === '/' || char === '#') return 'JSON has no comments';
  return 'a key must stand in double quotes';
}

/** The end of the value at `start`, in a text known to be JSON. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const char = text.charCodeAt(at);
    if (char === OPEN_OBJECT || char === OPEN_LIST) {
      depth++;
      at++;
    } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) {
      depth--;
      at++;
    } else if (char === QUOTE || depth === 0) {
      const end = scanScalar(text, at);
      if (typeof end !== 'number') throw new Error(`not JSON at ${end.at}`);
      at = end;
    } else at++;
  } while (depth > 0);
  return at;
}

/** Where the one value of the text begins. */
export const rootStart = (text: string): number => skipSpace(text, 0);

/** The members of the object that begins at `object`, in the order and as often as they are written. The text is known to be JSON. */
export function* membersOf(text: string, object: number): Generator<Member> {
  let at = skipSpace(text, object + 1);
  while (text.charCodeAt(at) !== CLOSE_OBJECT) {
    const keySpan = { start: at, end: valueEnd(text, at) };
    const start = skipSpace(text, skipSpace(text, keySpan.end) + 1);
    const valueSpan = { start, end: valueEnd(text, start) };
    yield { key: JSON.parse(text.slice(keySpan.start, keySpan.end)), keySpan, valueSpan };
    at = skipSpace(text, valueSpan.end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
}

/** The spans of the elements of the list that begins at `list`. The text is known to be JSON. */
export function* elementsOf(text: string, list: number): Generator<Span> {
  let at = skipSpace(text, list + 1);
  while (text.charCodeAt(at) !== CLOSE_LIST) {
    const span = { start: at, end: valueEnd(text, at) };
    yield span;
    at = skipSpace(text, span.end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
}
