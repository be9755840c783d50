/**
 * Finds and judges the result that a role asks its workers for, in the worker's last message: bare, fenced or wrapped in
 * prose; the last one wins. Total and bounded: any text gives an answer, in time linear in its length.
 */
import type { Change, Finding, WorkerResultEvidence } from '../model/evidence.ts';
import type { WorkerResult } from '../model/result-contract.ts';
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
  /** The last of the outermost JSON objects that have the key. */
  readonly result: Readonly<Record<string, unknown>> | null;
  /** Behind it something begins like a result and cannot be read, or there is too much to look at. */
  readonly damagedBehind: string | null;
}

function lastResultIn(text: string): Found {
  let result: Record<string, unknown> | null = null;
  let damagedBehind: string | null = null;
  let budget = BUDGET;
  OPENING.lastIndex = 0;
  for (let opening = OPENING.exec(text); opening !== null; opening = OPENING.exec(text)) {
    if (budget <= 0) return { result, damagedBehind: 'holds too many unclosed braces to look for' };
    const { index: at } = opening;
    const { end, isClosed } = endOfObject(text, at);
    budget -= end - at;
    const value = !isClosed ? null : parsed(text.slice(at, end));
    if (value === null) {
      if (RESULT_KEY.test(text.slice(at, isClosed ? end : at + HEAD)))
        damagedBehind = 'ends with something that is not JSON where it should hold';
      continue;
    }
    OPENING.lastIndex = end;
    if (!Object.hasOwn(value, 'STATUS')) continue;
    result = value;
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

/** `contract` null: the role asks for nothing. */
export function judgeWorkerResult(contract: string | null, finalText: string): WorkerResultEvidence {
  if (contract === null) return { kind: 'not-required' };
  const { result, damagedBehind } = lastResultIn(finalText);
  if (damagedBehind !== null)
    return { kind: 'unparseable', message: `the worker's last message ${damagedBehind} a ${contract}` };
  if (result === null) return { kind: 'missing' };
  const judged = resultContract(contract).schema.safeParse(result);
  if (judged.success) return { kind: 'valid', status: judged.data.STATUS, value: judged.data };
  const issues = judged.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || 'result'} ${message}`);
  return { kind: 'invalid', message: `the worker's result is no valid ${contract}: ${issues.join('; ')}` };
}

/** Words of a claim that may be paths: no quotes, brackets, commas; a sentence's end and a leading `./` fall away. */
const pathsIn = (claim: string): string[] =>
  (claim.match(/[^\s`'"(){}[\],;:]+/g) ?? []).map((word) => word.replace(/^(?:\.\/)+/, '').replace(/(?<!\.)\.+$/, ''));

/** A name that no word of a claim can be. */
const ODD_NAME = /[\s`'"(){}[\],;:]|\.$/;

/** Absolute words, and odd names, that are compared one by one: nobody reads more, and a worker may write any number. */
const COMPARED = 1000;

/** Is this path named in the claims? Workers also name files by their place in the workspace. */
function namedIn(claims: readonly string[], count: number): (path: string) => boolean {
  const words = new Set(claims.flatMap(pathsIn));
  const absolute = [...words].filter((word) => word.startsWith('/')).slice(0, COMPARED);
  return (path) =>
    words.has(path) ||
    absolute.some((word) => word.endsWith(`/${path}`)) ||
    (count <= COMPARED && ODD_NAME.test(path) && claims.some((claim) => claim.includes(path)));
}

/** The file that a claim begins with, where it looks like one: `src/add.js: fixed the sign`, `{"path":"src/add.js"}`. */
const fileOf = (claim: string): string | null =>
  /^(?:\{"(?:path|file)":)?[`'"]?(?:\.\/)*((?:[\w@.+-]+\/)*[\w@+-][\w@.+-]*\.\w+)[`'"]?(?=[\s:,;}]|$)/.exec(
    claim.slice(0, 4200),
  )?.[1] ?? null;

/** Where the claimed changes and the observed ones disagree; notes, never a verdict. */
export function compareClaims(
  contract: string | null,
  result: WorkerResultEvidence,
  changes: readonly Change[],
): Finding[] {
  if (contract === null || result.kind !== 'valid') return [];
  const claims = resultContract(contract).claims(result.value as WorkerResult);
  const isClaimed = namedIn(claims, changes.length);
  const changed = new Set<string>(changes.map(({ path }) => path));
  const unclaimed = changes.map(({ path }) => path).filter((path) => !isClaimed(path));
  const unmade = claims.map(fileOf).filter((file) => file !== null && !changed.has(file));
  const findings: Finding[] = [];
  if (unclaimed.length > 0) {
    findings.push({ code: 'CHANGE_NOT_CLAIMED', message: 'changed, and not in the result', paths: unclaimed });
  }
  if (unmade.length > 0) {
    findings.push({
      code: 'CLAIM_NOT_CHANGED',
      message: `in the result, and not changed: ${unmade.join(', ')}`,
      paths: [],
    });
  }
  return findings;
}
