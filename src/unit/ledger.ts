/**
 * Reads the unit of one milestone from a ledger (SPEC 9): bytes -> a unit that satisfies every rule, or what is wrong, with
 * its place in the ledger. Two forms, told apart by the text alone: one JSON object with `milestones.<id>.unit`, or JSON
 * Lines of which the last record of the milestone counts. A ledger is believed as a whole or not at all: a line that is
 * not JSON may have been the one that counts. Total: no bytes make it throw.
 */
import type { Diagnostic } from '../model/diagnostic.ts';
import { membersOf, rootStart, type Span, syntaxProblemOf } from '../model/json-text.ts';
import { LEDGER_SCHEMA } from '../model/ledger.ts';
import { err, ok, type Result } from '../model/result.ts';
import type { Unit } from '../model/unit.ts';
import { blockerProblems, withBlocker } from './blocker.ts';
import type { Finding, UnitLimits } from './fields.ts';
import { decodeText, type FileKind } from './file-text.ts';
import { nearest } from './nearest.ts';
import { readUnitAt } from './packet.ts';
import { diagnosticsOf } from './places.ts';
import { quoted } from './quoted.ts';

export interface LedgerSource {
  /** The name that diagnostics show. */
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly milestone: string;
  /** What was observed to fail; goes into the unit's context as data. */
  readonly blocker: string | null;
}

const LEDGER: FileKind = {
  prefix: 'LEDGER',
  noun: 'ledger',
  wanted: 'It must be {"milestones": {ID: {"unit": …}}}, or lines of {"milestone": ID, "unit": …}.',
};
/** Of the milestones that there are, in a message. */
const SHOWN_IDS = 20;

type Found<T> = Result<T, Finding>;
interface Value {
  readonly key: Span;
  readonly value: Span;
}

const wrong = (span: Span, code: string, message: string, hint: string | null = null): Found<never> =>
  err({ code, message, hint, place: { kind: 'text', span } });
const at = (start: number): Span => ({ start, end: start + 1 });
/** A place where something is missing, perhaps behind all of the text. */
const point = (start: number): Span => ({ start, end: start });

/** The members with these names, each at most once; JSON readers disagree on which of two counts. */
function pick<K extends string>(text: string, object: number, names: readonly K[]): Found<Partial<Record<K, Value>>> {
  const found = new Map<K, Value>();
  for (const { key, keySpan, valueSpan } of membersOf(text, object)) {
    const name = names.find((candidate) => candidate === key);
    if (name === undefined) continue;
    if (found.has(name)) {
      const hint = 'Keep one of them; JSON readers disagree on which one counts.';
      return wrong(keySpan, 'LEDGER_KEY_DUPLICATE', `the key ${quoted(name)} is given twice`, hint);
    }
    found.set(name, { key: keySpan, value: valueSpan });
  }
  return ok(Object.fromEntries(found) as Partial<Record<K, Value>>);
}

const isObject = (text: string, { start }: Span): boolean => text[start] === '{';
const textAt = (text: string, { start, end }: Span): unknown =>
  text[start] === '"' ? JSON.parse(text.slice(start, end)) : null;

function checkSchema(text: string, schema: Value | undefined): Found<null> {
  if (schema === undefined || textAt(text, schema.value) === LEDGER_SCHEMA) return ok(null);
  return wrong(schema.value, 'LEDGER_SCHEMA', `schema must be ${quoted(LEDGER_SCHEMA)}, where it is given`);
}

/** Where each record of a JSON Lines text begins, all of them known to be JSON; or the place that is not. */
function recordsIn(text: string): Found<readonly number[]> {
  const records: number[] = [];
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(start, text[end - 1] === '\r' ? end - 1 : end);
    if (line.trim() !== '') {
      const problem = syntaxProblemOf(line);
      if (problem !== null) {
        const hint = 'Every line must be one JSON value; a line that is torn may have been the one that counts.';
        return wrong(point(start + problem.at), 'LEDGER_NOT_JSON', `the line is not JSON: ${problem.message}`, hint);
      }
      records.push(start + rootStart(line));
    }
    start = end + 1;
  }
  return ok(records);
}

const firstLineIsJson = (text: string): boolean => {
  const start = rootStart(text);
  const end = text.indexOf('\n', start);
  return end >= 0 && syntaxProblemOf(text.slice(start, end)) === null;
};

type Form =
  | { readonly kind: 'document'; readonly root: number; readonly milestones: Value }
  | { readonly kind: 'lines'; readonly records: readonly number[] };

function formOf(text: string): Found<Form> {
  const problem = syntaxProblemOf(text);
  if (problem !== null && !firstLineIsJson(text))
    return wrong(point(problem.at), 'LEDGER_NOT_JSON', `the ledger is not JSON: ${problem.message}`, LEDGER.wanted);
  const records = problem === null ? ok([rootStart(text)]) : recordsIn(text);
  if (!records.ok) return records;
  for (const root of records.value) {
    if (text[root] !== '{') return wrong(at(root), 'LEDGER_NOT_OBJECT', 'this must be a JSON object', LEDGER.wanted);
    const members = pick(text, root, ['schema', 'milestones', 'milestone']);
    if (!members.ok) return members;
    const { schema, milestones, milestone } = members.value;
    if (milestones === undefined) continue;
    if (milestone !== undefined || records.value.length > 1) {
      const hint = 'Write one object with "milestones", or lines with "milestone".';
      return wrong(milestones.key, 'LEDGER_MIXED', 'the ledger mixes its two forms', hint);
    }
    const checked = checkSchema(text, schema);
    return checked.ok ? ok({ kind: 'document', root, milestones }) : checked;
  }
  return ok({ kind: 'lines', records: records.value });
}

/** `whole`: the place of what is not there. */
function unknown(wanted: string, known: ReadonlySet<string>, whole: Span): Found<never> {
  const ids = [...known];
  const near = nearest(wanted, ids.slice(0, 1000));
  const shown = ids.slice(0, SHOWN_IDS).map(quoted).join(', ');
  const more = ids.length > SHOWN_IDS ? ` and ${ids.length - SHOWN_IDS} more` : '';
  const hint =
    ids.length === 0
      ? `It has none. ${LEDGER.wanted}`
      : `${near === null ? '' : `Did you mean ${quoted(near)}? `}Its milestones: ${shown}${more}.`;
  return wrong(whole, 'LEDGER_MILESTONE_UNKNOWN', `the ledger has no milestone ${quoted(wanted)}`, hint);
}

function fromDocument(text: string, { milestones }: Form & { kind: 'document' }, wanted: string): Found<Value> {
  if (!isObject(text, milestones.value))
    return wrong(milestones.value, 'LEDGER_WRONG_TYPE', 'milestones must be an object of milestones by id');
  const known = new Set<string>();
  let found: Value | null = null;
  for (const { key, keySpan, valueSpan } of membersOf(text, milestones.value.start)) {
    if (key === wanted && found !== null) {
      const message = `the milestone ${quoted(key)} is given twice`;
      return wrong(keySpan, 'LEDGER_MILESTONE_REPEATED', message, 'Keep the one that holds.');
    }
    if (key === wanted) found = { key: keySpan, value: valueSpan };
    known.add(key);
  }
  return found === null ? unknown(wanted, known, milestones.key) : ok(found);
}

function fromLines(text: string, { records }: Form & { kind: 'lines' }, wanted: string): Found<Value> {
  const known = new Set<string>();
  let found: Value | null = null;
  for (const root of records) {
    const members = pick(text, root, ['milestone']);
    if (!members.ok) return members;
    const { milestone } = members.value;
    if (milestone === undefined) continue;
    const id = textAt(text, milestone.value);
    if (typeof id !== 'string') return wrong(milestone.value, 'LEDGER_WRONG_TYPE', 'milestone must be a string');
    if (id === wanted) found = { key: milestone.value, value: at(root) };
    known.add(id);
  }
  return found === null ? unknown(wanted, known, at(rootStart(text))) : ok(found);
}

/** Where the unit of the milestone begins. */
function unitStart(text: string, wanted: string): Found<number> {
  const form = formOf(text);
  if (!form.ok) return form;
  const found =
    form.value.kind === 'document' ? fromDocument(text, form.value, wanted) : fromLines(text, form.value, wanted);
  if (!found.ok) return found;
  const { key, value } = found.value;
  if (!isObject(text, value)) return wrong(value, 'LEDGER_WRONG_TYPE', `milestone ${quoted(wanted)} must be an object`);
  const members = pick(text, value.start, ['unit', 'schema']);
  if (!members.ok) return members;
  const { unit, schema } = members.value;
  const checked = form.value.kind === 'lines' ? checkSchema(text, schema) : ok(null);
  if (!checked.ok) return checked;
  if (unit === undefined) {
    const message = `the ${form.value.kind === 'lines' ? 'last record of ' : ''}milestone ${quoted(wanted)} has no unit`;
    return wrong(key, 'LEDGER_UNIT_MISSING', message, 'Give it one under "unit" (docs/packet.md).');
  }
  if (!isObject(text, unit.value)) return wrong(unit.value, 'LEDGER_WRONG_TYPE', 'unit must be an object');
  return ok(unit.value.start);
}

/** The unit of `source.milestone`. Errors are sorted by place; lines and columns are those of the ledger. */
export function unitFromLedger(source: LedgerSource, limits: UnitLimits): Result<Unit, Diagnostic[]> {
  const { file, milestone, blocker } = source;
  const decoded = decodeText(LEDGER, source);
  if (!decoded.ok) return decoded;
  const text = decoded.value;
  const start = unitStart(text, milestone);
  if (!start.ok) return err(diagnosticsOf(file, text, [start.error]));
  const unit = readUnitAt(file, text, start.value, limits);
  const problems = blocker === null ? [] : diagnosticsOf(file, '', blockerProblems(blocker));
  if (problems.length > 0) return err(unit.ok ? problems : [...problems, ...unit.error]);
  return unit.ok && blocker !== null ? ok(withBlocker(unit.value, blocker)) : unit;
}
