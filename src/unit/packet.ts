/**
 * Reads a packet (SPEC 4): bytes, or the inline flags, become a unit that satisfies every rule, or all that is wrong with
 * them at once. Total: no bytes make it throw, and what it accepts needs no second look.
 */
import { createHash } from 'node:crypto';
import type { Diagnostic } from '../model/diagnostic.ts';
import { elementsOf, membersOf, rootStart, type Span, syntaxProblemOf } from '../model/json-text.ts';
import { err, ok, type Result } from '../model/result.ts';
import { type Unit, unit as unitSchema } from '../model/unit.ts';
import { FIELDS, type Finding, type Given, KEYS, type Place, type Report, type UnitLimits } from './fields.ts';
import { decodeText, type FileKind } from './file-text.ts';
import { nearest } from './nearest.ts';
import { diagnosticsOf } from './places.ts';
import { quoted } from './quoted.ts';

const MAX_FINDINGS = 100;
/** Whoever gives a ledger for a packet has one of these. */
const LEDGER_KEYS = ['milestones', 'milestone'];
const FORBIDDEN_KEYS = ['__proto__', 'constructor', 'prototype'];

class Findings {
  readonly all: Finding[] = [];
  readonly report: Report = (finding) => {
    if (this.all.length < MAX_FINDINGS) this.all.push(finding);
    return this.all.length < MAX_FINDINGS;
  };
}

const PACKET: FileKind = { prefix: 'UNIT', noun: 'packet', wanted: 'It must be one JSON object.' };

/** A parsed value beside its span; the two are walked in step. */
function givenIn(text: string, value: unknown, span: Span): Given {
  return {
    value,
    place: { kind: 'text', span },
    *elements() {
      const values: readonly unknown[] = Array.isArray(value) ? value : [];
      let index = 0;
      for (const element of elementsOf(text, span.start)) yield givenIn(text, values[index++], element);
    },
  };
}

/** The values by key, having reported what is wrong with the keys themselves. */
function readMembers(text: string, root: number, report: Report): Map<keyof Unit, Given> {
  const values = new Map<keyof Unit, Given>();
  const seen = new Set<string>();
  for (const { key, keySpan, valueSpan } of membersOf(text, root)) {
    const place: Place = { kind: 'text', span: keySpan };
    const known = KEYS.find((candidate) => candidate === key);
    let room = true;
    if (FORBIDDEN_KEYS.includes(key)) {
      const message = `${quoted(key)} is not allowed as a key`;
      room = report({ code: 'UNIT_KEY_FORBIDDEN', message, hint: 'Remove it.', place });
    } else if (seen.has(key)) {
      const hint = 'Keep one of them; JSON readers disagree on which one counts.';
      room = report({ code: 'UNIT_KEY_DUPLICATE', message: `the key ${quoted(key)} is given twice`, hint, place });
    } else if (known === undefined) {
      const near = nearest(key, KEYS);
      const hint = LEDGER_KEYS.includes(key)
        ? 'This is a ledger: give it with --ledger FILE --milestone ID.'
        : near === null
          ? `Known keys: ${KEYS.join(', ')}.`
          : `Did you mean ${quoted(near)}?`;
      room = report({ code: 'UNIT_KEY_UNKNOWN', message: `unknown key ${quoted(key)}`, hint, place });
    } else values.set(known, givenIn(text, JSON.parse(text.slice(valueSpan.start, valueSpan.end)), valueSpan));
    if (!room) break;
    seen.add(key);
  }
  return values;
}

/** Checks the values, and that none is missing; `whole` is the place of what is not there. */
function judge(values: ReadonlyMap<keyof Unit, Given>, whole: Place, limits: UnitLimits, report: Report): void {
  for (const key of KEYS) {
    const given = values.get(key);
    if (given !== undefined) FIELDS[key].check(given, report, limits);
    else if (FIELDS[key].required)
      report({ code: 'UNIT_KEY_MISSING', message: `the key ${quoted(key)} is missing`, hint: null, place: whole });
  }
}

/**
 * Reads the bytes of a packet; `file` is the name that diagnostics show. Errors are sorted by place, at most
 * {@link MAX_FINDINGS} of them.
 */
export function parseUnit(
  source: { readonly file: string; readonly bytes: Uint8Array },
  limits: UnitLimits,
): Result<Unit, Diagnostic[]> {
  const { file } = source;
  const decoded = decodeText(PACKET, source);
  if (!decoded.ok) return decoded;
  const text = decoded.value;
  const failAt = (code: string, message: string, start: number, hint: string | null) =>
    err(diagnosticsOf(file, text, [{ code, message, hint, place: { kind: 'text', span: { start, end: start } } }]));

  const problem = syntaxProblemOf(text);
  if (problem !== null) return failAt('UNIT_NOT_JSON', `the packet is not JSON: ${problem.message}`, problem.at, null);
  const root = rootStart(text);
  if (text[root] !== '{') return failAt('UNIT_NOT_OBJECT', 'the packet must be one JSON object', root, null);

  return readUnitAt(file, text, root, limits);
}

/** As {@link parseUnit}, for the object that begins at `root` in a text of which that value is known to be JSON. */
export function readUnitAt(file: string, text: string, root: number, limits: UnitLimits): Result<Unit, Diagnostic[]> {
  const findings = new Findings();
  const values = readMembers(text, root, findings.report);
  judge(values, { kind: 'text', span: { start: root, end: root + 1 } }, limits, findings.report);
  if (findings.all.length > 0) return err(diagnosticsOf(file, text, findings.all));
  return ok(unitSchema.parse(Object.fromEntries([...values].map(([key, { value }]) => [key, value]))));
}

/** The inline form of a packet, as the command line gives it. */
export interface UnitFlags {
  readonly goal: string;
  readonly allow: readonly string[];
  /** Each one command, written as a JSON list of strings. */
  readonly verifyCmd?: readonly string[];
  readonly constraint?: readonly string[];
  /** Seconds, as typed; the policy's limit where it is left out. */
  readonly timeout?: string | undefined;
  readonly unitId?: string | undefined;
}

function givenBy(flag: string, value: unknown): Given {
  return {
    value,
    place: { kind: 'flag', flag },
    *elements() {
      for (const element of Array.isArray(value) ? value : []) yield givenBy(flag, element);
    },
  };
}

/** One `--verify-cmd`: the list it holds, or the text itself where it is not JSON, which the rules then explain. */
function readCommand(text: string): unknown {
  return syntaxProblemOf(text) === null ? JSON.parse(text) : text;
}

const contentId = (content: unknown): string =>
  `inline-${createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 12)}`;

/** The flag that gives a key; the other keys have fixed, legal values. */
const FLAG_OF: Partial<Record<keyof Unit, string>> = {
  unit_id: '--unit-id',
  goal: '--goal',
  allowed_paths: '--allow',
  verification: '--verify-cmd',
  constraints: '--constraint',
  timeout_seconds: '--timeout',
};

/** Makes a unit of the inline flags: network `allow`, cost `subscription`, the policy's timeout, an id from the content. */
export function unitFromFlags(flags: UnitFlags, limits: UnitLimits): Result<Unit, Diagnostic[]> {
  const timeout = flags.timeout ?? String(limits.timeoutSeconds);
  const content = {
    goal: flags.goal,
    allowed_paths: [...flags.allow],
    verification: (flags.verifyCmd ?? []).map(readCommand),
    constraints: [...(flags.constraint ?? [])],
    network: 'allow',
    external_cost: 'subscription',
    timeout_seconds: /^[0-9]{1,9}$/.test(timeout) ? Number(timeout) : timeout,
  };
  const unit = { unit_id: flags.unitId ?? contentId(content), ...content };
  const values = new Map<keyof Unit, Given>();
  for (const key of KEYS) if (key in unit) values.set(key, givenBy(FLAG_OF[key] ?? key, Reflect.get(unit, key)));
  const findings = new Findings();
  judge(values, { kind: 'flag', flag: 'flags' }, limits, findings.report);
  if (findings.all.length > 0) return err(diagnosticsOf('flags', '', findings.all));
  return ok(unitSchema.parse(unit));
}
