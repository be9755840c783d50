/**
 * Finds and judges the result that a role asks its workers for, in the worker's last message: bare, fenced or wrapped in
 * prose; the last one wins. Total and bounded: any text gives an answer, in time linear in its length.
 */
import { FINAL_TEXT_BYTES } from '../model/adapter.ts';
import type { WorkerResultEvidence } from '../model/evidence.ts';
import { readStrictJson } from '../model/strict-json.ts';
import { resultContract } from '../model/worker-result.ts';

/** Characters looked at in all; a text of nothing but opening braces would otherwise cost its square. */
const BUDGET = 8 * 1024 * 1024;

/** Where the object that starts at `start` ends, or where it is clear that it does not. Braces inside strings do not count. */
function endOfObject(text: string, start: number): { readonly end: number; readonly isClosed: boolean } {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
      // No string of JSON holds a line break as it is: a quote of prose ends the search here, not at the end of the text.
      else if (char === '\n') return { end: at, isClosed: false };
    } else if (char === '"') inString = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return { end: at + 1, isClosed: true };
  }
  return { end: text.length, isClosed: false };
}

/** Where a JSON object with keys, or an empty one, may begin; braces of prose and code mostly look otherwise. */
const OPENING = /\{(?=\s*["}])/g;
/** What a result's own key looks like in a piece that is not JSON. */
const RESULT_KEY = /"STATUS"\s*:/;
/** Of a piece that never ends, as much is looked at for the key. */
const HEAD = 4096;

interface Found {
  /** The last of the outermost JSON objects that have the key, as it stands in the text. */
  readonly result: string | null;
  /** Behind it something begins like a result and cannot be read, or there is too much to look at. */
  readonly damagedBehind: string | null;
}

function lastResultIn(text: string): Found {
  let result: string | null = null;
  let damagedBehind: string | null = null;
  let budget = BUDGET;
  OPENING.lastIndex = 0;
  for (let opening = OPENING.exec(text); opening !== null; opening = OPENING.exec(text)) {
    if (budget <= 0) return { result, damagedBehind: 'holds too many unclosed braces to look for' };
    const { index: at } = opening;
    const { end, isClosed } = endOfObject(text, at);
    budget -= end - at;
    const piece = text.slice(at, end);
    const value = !isClosed ? null : parsed(piece);
    if (value === null) {
      if (RESULT_KEY.test(text.slice(at, isClosed ? end : at + HEAD)))
        damagedBehind = 'ends with something that is not JSON where it should hold';
      continue;
    }
    OPENING.lastIndex = end;
    if (!Object.hasOwn(value, 'STATUS')) continue;
    result = piece;
    damagedBehind = null;
  }
  return { result, damagedBehind };
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
  const { result, damagedBehind } = lastResultIn(finalText);
  if (damagedBehind !== null)
    return { kind: 'unparseable', message: `the worker's last message ${damagedBehind} a ${contract}` };
  if (result === null) return missing(contract, finalText);
  // JSON.parse takes the last of two equal members, and another reader the first: READY for one, BLOCKED for the other.
  const read = readStrictJson(result);
  if (!read.ok)
    return { kind: 'invalid', message: `the worker's result is no valid ${contract}: ${read.error.message}` };
  const judged = resultContract(contract).schema.safeParse(read.value);
  if (judged.success) return { kind: 'valid', status: judged.data.STATUS, value: judged.data };
  const issues = judged.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || 'result'} ${message}`);
  return { kind: 'invalid', message: `the worker's result is no valid ${contract}: ${issues.join('; ')}` };
}
