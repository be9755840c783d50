/**
 * The rules for each key of a packet. They look at values that know their place, whether a place in a file or a flag, and
 * report every problem, up to a bound. The zod schema of model/unit.ts accepts whatever passes here.
 */

import type { Span } from '../model/json-text.ts';
import { kindOfJson } from '../model/strict-json.ts';
import { EXTERNAL_COSTS, MAX_ENTRIES, NETWORKS, UNIT_ID, type Unit } from '../model/unit.ts';
import { allowedPathProblems } from './allowed-paths.ts';
import { hasGlobCharacters } from './glob.ts';
import { nearest } from './nearest.ts';
import { quoted } from './quoted.ts';

/** Where a value was given: a span of the packet's text, or the name of a flag. */
export type Place = { readonly kind: 'text'; readonly span: Span } | { readonly kind: 'flag'; readonly flag: string };

export interface Given {
  readonly value: unknown;
  readonly place: Place;
  /** The elements of a list, in order. */
  elements(): Iterable<Given>;
}

export interface Finding {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly place: Place;
}

export interface UnitLimits {
  /** The policy's `timeout_seconds`, which no unit may exceed. */
  readonly timeoutSeconds: number;
}

/** Receives findings; answers false once there are enough of them. */
export type Report = (finding: Finding) => boolean;

interface Field {
  readonly required: boolean;
  check(given: Given, report: Report, limits: UnitLimits): void;
}

function wrongType(key: string, wanted: string, given: Given): Finding {
  const message = `${key} must be ${wanted}, not ${kindOfJson(given.value)}`;
  return { code: 'UNIT_WRONG_TYPE', message, hint: null, place: given.place };
}

/** Checks a string that a worker, a record or a command line must be able to carry. False where it is not one. */
function checkText(key: string, given: Given, report: Report): given is Given & { value: string } {
  const { value, place } = given;
  if (typeof value !== 'string') {
    report(wrongType(key, 'a string', given));
    return false;
  }
  if (value.includes('\0')) {
    const hint = 'No argument and no file name can hold it.';
    report({ code: 'UNIT_NUL', message: `${key} holds a NUL character`, hint, place });
    return false;
  }
  if (/\p{Cs}/u.test(value)) {
    const message = `${key} holds half of a surrogate pair (an escape such as \\ud800 by itself)`;
    report({ code: 'UNIT_NOT_TEXT', message, hint: 'It stands for no character; remove it.', place });
    return false;
  }
  return true;
}

/** Walks a list as long as there is room for findings. */
function checkList(
  key: string,
  of: string,
  given: Given,
  report: Report,
  checkElement: (element: Given, report: Report) => void,
): void {
  if (!Array.isArray(given.value)) {
    report(wrongType(key, `a list of ${of}`, given));
    return;
  }
  if (given.value.length > MAX_ENTRIES) {
    const message = `${key} has ${given.value.length} entries; at most ${MAX_ENTRIES} are read`;
    report({
      code: 'UNIT_LIST_TOO_LONG',
      message,
      hint: 'Split the unit, or use a directory or a glob.',
      place: given.place,
    });
    return;
  }
  let room = true;
  for (const element of given.elements()) {
    checkElement(element, (finding) => {
      room = report(finding);
      return room;
    });
    if (!room) return;
  }
}

/** In all globs of a unit: each is compiled, and each is tried on every path that changed. */
const MAX_GLOB_CHARACTERS = 65_536;

/** Walks the paths once: each is checked, and the globs among them together. */
function checkPaths(given: Given, report: Report): void {
  let globCharacters = 0;
  checkList('allowed_paths', 'paths', given, report, (path, reportPath) => {
    if (!checkText('an allowed path', path, reportPath)) return;
    for (const problem of allowedPathProblems(path.value)) reportPath({ ...problem, place: path.place });
    if (!hasGlobCharacters(path.value)) return;
    const before = globCharacters;
    globCharacters += path.value.length;
    if (before > MAX_GLOB_CHARACTERS || globCharacters <= MAX_GLOB_CHARACTERS) return;
    const message = `the globs of allowed_paths have more than ${MAX_GLOB_CHARACTERS} characters in all`;
    const hint = 'Name a directory, or use fewer globs.';
    reportPath({ code: 'UNIT_GLOBS_TOO_LONG', message, hint, place: path.place });
  });
}

function checkChoice(key: string, choices: readonly string[], given: Given, report: Report): void {
  const { value, place } = given;
  if (typeof value === 'string' && choices.includes(value)) return;
  const near = typeof value === 'string' ? nearest(value, choices) : null;
  const message = `${key} must be one of ${choices.map(quoted).join(', ')}`;
  const hint = near === null ? null : `Did you mean ${quoted(near)}?`;
  report({ code: 'UNIT_NOT_A_CHOICE', message, hint, place });
}

function checkTimeout(given: Given, report: Report, { timeoutSeconds }: UnitLimits): void {
  const { value, place } = given;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1) {
    const message = 'timeout_seconds must be a whole number of seconds, at least 1';
    report({ code: 'UNIT_TIMEOUT_INVALID', message, hint: null, place });
  } else if (value > timeoutSeconds) {
    const message = `timeout_seconds is ${value}, more than the policy's ${timeoutSeconds}`;
    const hint = `Give at most ${timeoutSeconds}, or raise execution.timeout_seconds in AGENT-EXECUTION.md.`;
    report({ code: 'UNIT_TIMEOUT_ABOVE_POLICY', message, hint, place });
  }
}

/** Every key a packet may have. A key added to the schema does not compile until it has a rule. */
export const FIELDS = {
  schema: {
    required: false,
    check: (given, report) => checkChoice('schema', ['agent-exec-unit/v1'], given, report),
  },
  unit_id: {
    required: true,
    check(given, report) {
      if (!checkText('unit_id', given, report) || UNIT_ID.test(given.value)) return;
      const message = `unit_id ${quoted(given.value)} is not a legal name`;
      const hint = 'Use 1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or a digit.';
      report({ code: 'UNIT_ID_INVALID', message, hint, place: given.place });
    },
  },
  goal: {
    required: true,
    check(given, report) {
      if (!checkText('goal', given, report) || given.value.trim() !== '') return;
      const hint = 'Say in a sentence what must be true when the work is done.';
      report({ code: 'UNIT_GOAL_EMPTY', message: 'goal is empty', hint, place: given.place });
    },
  },
  task: { required: false, check: (given, report) => void checkText('task', given, report) },
  context: { required: false, check: (given, report) => void checkText('context', given, report) },
  allowed_paths: {
    required: true,
    check(given, report) {
      if (Array.isArray(given.value) && given.value.length === 0) {
        const hint = 'Name what the unit may change; "**" allows the whole repository.';
        report({ code: 'UNIT_NO_ALLOWED_PATHS', message: 'allowed_paths is empty', hint, place: given.place });
      }
      checkPaths(given, report);
    },
  },
  verification: {
    required: true,
    check(given, report) {
      checkList('verification', 'commands', given, report, (command, reportCommand) => {
        const { value, place } = command;
        if (typeof value === 'string') {
          const hint = 'Write one string per argument, such as ["npm", "test"]; no shell reads it.';
          const message = 'a verification command must be a list of arguments, not one string';
          reportCommand({ code: 'UNIT_COMMAND_IS_STRING', message, hint, place });
          return;
        }
        checkList('a verification command', 'strings', command, reportCommand, (argument, reportArgument) => {
          checkText('a verification argument', argument, reportArgument);
        });
        if (Array.isArray(value) && (value.length === 0 || value[0] === '')) {
          const message = 'a verification command names no program';
          reportCommand({ code: 'UNIT_COMMAND_EMPTY', message, hint: 'Its first string is the program.', place });
        }
      });
    },
  },
  constraints: {
    required: true,
    check(given, report) {
      checkList('constraints', 'strings', given, report, (constraint, reportConstraint) => {
        checkText('a constraint', constraint, reportConstraint);
      });
    },
  },
  network: { required: true, check: (given, report) => checkChoice('network', NETWORKS, given, report) },
  external_cost: {
    required: true,
    check: (given, report) => checkChoice('external_cost', EXTERNAL_COSTS, given, report),
  },
  timeout_seconds: { required: true, check: checkTimeout },
} satisfies Record<keyof Unit, Field> as Readonly<Record<keyof Unit, Field>>;

export const KEYS = Object.keys(FIELDS) as (keyof Unit)[];
