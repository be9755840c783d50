/**
 * Finds and judges the result that a role asks its workers for, in the worker's last message: bare, fenced or wrapped in
 * prose; the last one wins. Total and bounded: any text gives an answer, in time linear in its length.
 */
import type { Change, Finding, WorkerResultEvidence } from '../model/evidence.ts';
import { type RepairResult, repairResult } from '../model/worker-result.ts';

/** Characters looked at in all; a text of nothing but opening braces would otherwise cost its square. */
const BUDGET = 8 * 1024 * 1024;

/** The end of the object that starts at `start`, or -1. Braces inside strings do not count. */
function endOfObject(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return -1;
}

interface Found {
  /** Outermost JSON objects, in order. */
  readonly objects: readonly Readonly<Record<string, unknown>>[];
  /** Something began like the result and could not be read. */
  readonly damaged: boolean;
}

function objectsIn(text: string): Found {
  const objects: Record<string, unknown>[] = [];
  let damaged = false;
  let budget = BUDGET;
  for (let at = text.indexOf('{'); at >= 0 && budget > 0; at = text.indexOf('{', at)) {
    const end = endOfObject(text, at);
    budget -= (end < 0 ? text.length : end) - at;
    const piece = end < 0 ? '' : text.slice(at, end);
    const value = parsed(piece);
    if (value === null) {
      damaged ||= /"STATUS"/.test(end < 0 ? text.slice(at, at + 4096) : piece);
      at += 1;
    } else {
      objects.push(value);
      at = end;
    }
  }
  return { objects, damaged };
}

function parsed(piece: string): Record<string, unknown> | null {
  if (piece === '') return null;
  try {
    return JSON.parse(piece) as Record<string, unknown>;
  } catch {
    // Not JSON: prose or code with braces.
    return null;
  }
}

/** `contract` null: the role asks for nothing. */
export function judgeWorkerResult(contract: string | null, finalText: string): WorkerResultEvidence {
  if (contract === null) return { kind: 'not-required' };
  const { objects, damaged } = objectsIn(finalText);
  const result = objects.findLast((object) => Object.hasOwn(object, 'STATUS'));
  if (result === undefined) {
    return damaged
      ? { kind: 'unparseable', message: `the worker's last message holds a ${contract} that is not JSON` }
      : { kind: 'missing' };
  }
  const judged = repairResult.safeParse(result);
  if (judged.success) return { kind: 'valid', status: judged.data.STATUS, value: judged.data };
  const issues = judged.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || 'result'} ${message}`);
  return { kind: 'invalid', message: `the worker's result is no valid ${contract}: ${issues.join('; ')}` };
}

const textOf = (item: RepairResult['CHANGES'][number]): string =>
  typeof item === 'string' ? item : JSON.stringify(item);
/** The file that a claim begins with, where it looks like one: `src/add.js: fixed the sign`. */
const fileOf = (text: string): string | null =>
  /^[`'"]?((?:[\w@.+-]+\/)*[\w@+-]+\.\w+)[`'"]?(?=[\s:,;]|$)/.exec(text)?.[1] ?? null;

/** Where the claimed changes and the observed ones disagree; notes, never a verdict. */
export function compareClaims(result: WorkerResultEvidence, changes: readonly Change[]): Finding[] {
  if (result.kind !== 'valid') return [];
  const claims = (result.value as RepairResult).CHANGES.map(textOf);
  const unclaimed = changes.filter(({ path }) => !claims.some((claim) => claim.includes(path))).map(({ path }) => path);
  const unmade = claims.map(fileOf).filter((file) => file !== null && !changes.some(({ path }) => path === file));
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
