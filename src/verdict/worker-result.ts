/**
 * Finds and judges the result that a role asks its workers for, in the worker's last message: bare, fenced or wrapped in
 * prose; the last one wins. Total and bounded: any text gives an answer, in time linear in its length.
 */
import { FINAL_TEXT_BYTES } from '../model/adapter.ts';
import type { WorkerResultEvidence } from '../model/evidence.ts';
import { syntaxProblemOf } from '../model/json-text.ts';
import { readStrictJson } from '../model/strict-json.ts';
import { resultContract } from '../model/worker-result.ts';

/** Characters looked at in all; a text of nothing but opening braces would otherwise cost its square. */
const BUDGET = 8 * 1024 * 1024;

/** A piece of the text that opens like an object. */
interface Piece {
  readonly end: number;
  readonly isClosed: boolean;
  /** A key of its own, not of an object within it, is one of the contract's. */
  readonly isResult: boolean;
  /** Where the string begins in which the text ends; null where it ends in none. */
  readonly openString: number | null;
}

const COLON = /\s*:/y;

/** Whether the string that begins at `start` and ends before `end` is one of the keys, as a reader of JSON decodes it. */
function isKey(text: string, start: number, end: number, keys: ReadonlySet<string>): boolean {
  COLON.lastIndex = end;
  if (end - start > 256 || !COLON.test(text)) return false;
  try {
    return keys.has(JSON.parse(text.slice(start, end)));
  } catch {
    return false;
  }
}

/** Where the object that starts at `start` ends, or where it is clear that it does not. Braces inside strings do not count. */
function pieceAt(text: string, start: number, keys: ReadonlySet<string>): Piece {
  let depth = 0;
  let string: number | null = null;
  let isResult = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (string !== null) {
      if (char === '\\') at++;
      else if (char === '"') {
        isResult ||= depth === 1 && isKey(text, string, at + 1, keys);
        string = null;
      }
      // No string of JSON holds a line break as it is: a quote of prose ends the search here, not at the end of the text.
      else if (char === '\n') return { end: at, isClosed: false, isResult, openString: null };
    } else if (char === '"') string = at;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return { end: at + 1, isClosed: true, isResult, openString: null };
  }
  return { end: text.length, isClosed: false, isResult, openString: string };
}

/** The beginning of a number, a literal, or nothing. */
const CUT_SHORT = /^[\w.+-]{0,32}$/;

/** Where a piece that is not closed stops being the beginning of an object; the text's end where the text was cut there. */
function intactUntil(text: string, start: number, { openString }: Piece): number {
  const problem = syntaxProblemOf(text.slice(start));
  const until = start + (problem?.at ?? 0);
  const isCut = openString === null ? CUT_SHORT.test(text.slice(until)) : until >= openString;
  return isCut ? text.length : until;
}

/** Where a JSON object with keys, or an empty one, may begin; braces of prose and code mostly look otherwise. */
const OPENING = /\{(?=\s*["}])/g;
/** What stands behind these is a value of what they belong to. */
const BEFORE_A_VALUE = ['[', ':', ','];

interface Found {
  /** The last of the outermost JSON objects that have the key, as it stands in the text. */
  readonly result: string | null;
  /** Behind it something begins like a result and cannot be read, or there is too much to look at. */
  readonly damagedBehind: string | null;
}

/** Something that was to be a result, and is not JSON or not whole. */
interface Damage {
  /** What begins before is part of it. */
  readonly until: number;
  /** Nobody can say where it ends: a value behind `until` is part of it too. */
  readonly isOpen: boolean;
}

const DAMAGED = 'ends with something that is not JSON where it should hold';

/** A whole result makes up for a damaged one before it; never for one that it may be part of. */
function lastResultIn(text: string, keys: ReadonlySet<string>): Found {
  let result: string | null = null;
  let damage = null as Damage | null;
  let budget = BUDGET;
  OPENING.lastIndex = 0;
  for (let opening = OPENING.exec(text); opening !== null; opening = OPENING.exec(text)) {
    if (budget <= 0) return { result, damagedBehind: 'holds too many unclosed braces to look for' };
    const { index: at } = opening;
    const piece = pieceAt(text, at, keys);
    const { end, isClosed, isResult } = piece;
    budget -= end - at;
    const value = isClosed ? parsed(text.slice(at, end)) : null;
    if (value === null) {
      const until = isClosed ? end : intactUntil(text, at, piece);
      // Cut before its keys could tell, it may have been a result all the same.
      if (!isClosed && until === text.length) return { result, damagedBehind: DAMAGED };
      if (isResult)
        damage = { until: Math.max(until, damage?.until ?? 0), isOpen: !isClosed || damage?.isOpen === true };
      continue;
    }
    OPENING.lastIndex = end;
    if (!Object.hasOwn(value, 'STATUS')) continue;
    result = text.slice(at, end);
    const isValue = BEFORE_A_VALUE.includes(text.slice(0, at).trimEnd().slice(-1));
    const isPart = damage !== null && (at < damage.until || (damage.isOpen && isValue));
    if (!isPart) damage = null;
  }
  return { result, damagedBehind: damage === null ? null : DAMAGED };
}

/** `1e999` is read as infinity, which no record can hold. */
function finite(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('a number out of range');
  return value;
}

function parsed(piece: string): Record<string, unknown> | null {
  try {
    return JSON.parse(piece, finite) as Record<string, unknown>;
  } catch {
    // Not JSON: prose or code with braces.
    return null;
  }
}

/** A message of which only the end was kept may have held a result, so nobody can say that it held none. */
function missing(contract: string, finalText: string): WorkerResultEvidence {
  // Readers drop white space at the end of what they kept.
  const isCut = Buffer.byteLength(finalText) > FINAL_TEXT_BYTES - 1024;
  if (!isCut) return { kind: 'missing' };
  const kept = `${FINAL_TEXT_BYTES / 1024} KiB`;
  return {
    kind: 'unparseable',
    message: `the worker's last message is longer than the ${kept} that are kept of it, and they hold no ${contract}`,
  };
}

/** `contract` null: the role asks for nothing. */
export function judgeWorkerResult(contract: string | null, finalText: string): WorkerResultEvidence {
  if (contract === null) return { kind: 'not-required' };
  const { schema } = resultContract(contract);
  const { result, damagedBehind } = lastResultIn(finalText, new Set(Object.keys(schema.shape)));
  if (damagedBehind !== null)
    return { kind: 'unparseable', message: `the worker's last message ${damagedBehind} a ${contract}` };
  if (result === null) return missing(contract, finalText);
  // JSON.parse takes the last of two equal members, and another reader the first: READY for one, BLOCKED for the other.
  const read = readStrictJson(result);
  if (!read.ok)
    return { kind: 'invalid', message: `the worker's result is no valid ${contract}: ${read.error.message}` };
  const judged = schema.safeParse(read.value);
  if (judged.success) return { kind: 'valid', status: judged.data.STATUS, value: judged.data };
  const issues = judged.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || 'result'} ${message}`);
  return { kind: 'invalid', message: `the worker's result is no valid ${contract}: ${issues.join('; ')}` };
}
