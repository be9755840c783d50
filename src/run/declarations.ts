/**
 * Reads a file of declared delegations: what it declares, each with its place. A JSON list, an object with a list
 * `delegations`, one declaration, or JSON Lines. What each says is judged in receipt/; here is only told what stands where.
 */

import { elementsOf, membersOf, rootStart, type Span, syntaxProblemOf } from '../model/json-text.ts';
import { err, ok, type Result } from '../model/result.ts';
import { readStrictJson, utf8Text } from '../model/strict-json.ts';
import type { Declaration } from '../receipt/delegations.ts';
import { diagnosticsOf } from '../unit/places.ts';

/** Beyond it nobody has declared anything by hand. */
const MAX_DECLARATIONS = 10_000;
/** Members of a declaration: beside a list of declarations they would be one that nobody judges. */
const OF_A_DECLARATION = new Set(['role', 'transport', 'run_id', 'unit_id', 'script', 'command', 'argv']);

/** `file:line:column` and what is wrong there, in words. */
type Read<T> = Result<T, string>;

const placesIn = (text: string, starts: readonly number[]): { readonly line: number; readonly column: number }[] =>
  diagnosticsOf(
    '',
    text,
    starts.map((start) => ({
      code: '',
      message: '',
      hint: null,
      place: { kind: 'text', span: { start, end: start } },
    })),
  );

function wrongAt(file: string, text: string, start: number, why: string): Read<never> {
  const [place] = placesIn(text, [start]);
  return err(`${file}:${place?.line ?? 0}:${place?.column ?? 0}: ${why}`);
}

/** Every declaration of the file, in order; the error says where and why nothing of it can be read. */
export function readDeclarations(file: string, bytes: Uint8Array): Read<readonly Declaration[]> {
  const decoded = utf8Text(bytes);
  if (!decoded.ok) return err(`${file}: ${decoded.error.message}`);
  const text = decoded.value;
  const problem = syntaxProblemOf(text);
  const spans = problem === null ? spansIn(file, text) : ok(linesIn(text));
  if (!spans.ok) return spans;
  if (problem !== null && (spans.value.length < 2 || !spans.value.some((span) => isJson(text, span))))
    return wrongAt(file, text, problem.at, `it is neither JSON nor JSON Lines: ${problem.message}`);
  const { length } = spans.value;
  if (length > MAX_DECLARATIONS) return err(`${file}: ${length} declarations, more than ${MAX_DECLARATIONS}`);
  const places = placesIn(
    text,
    spans.value.map(({ start }) => start),
  );
  return ok(
    spans.value.map((span, i) => {
      const read = readStrictJson(text.slice(span.start, span.end));
      return {
        position: `declaration ${i + 1}`,
        line: places[i]?.line ?? 0,
        column: places[i]?.column ?? 0,
        said: read.ok ? ok(read.value) : err(read.error.message),
      };
    }),
  );
}

const isJson = (text: string, { start, end }: Span): boolean => syntaxProblemOf(text.slice(start, end)) === null;

/** Where the declarations stand in a text that is one JSON value. */
function spansIn(file: string, text: string): Read<readonly Span[]> {
  const root = rootStart(text);
  if (text[root] === '[') return ok([...elementsOf(text, root)]);
  const whole = { start: root, end: text.trimEnd().length };
  if (text[root] !== '{') return ok([whole]);
  const members = [...membersOf(text, root)];
  const list = members.find(({ key }) => key === 'delegations');
  if (list === undefined) return ok([whole]);
  if (text[list.valueSpan.start] !== '[')
    return wrongAt(file, text, list.valueSpan.start, 'delegations must be a list of declarations');
  const other = members.find(
    (member) => member !== list && (OF_A_DECLARATION.has(member.key) || member.key === list.key),
  );
  if (other !== undefined) {
    const why = `beside a list of delegations there may be no ${JSON.stringify(other.key)}; put it into the list`;
    return wrongAt(file, text, other.keySpan.start, why);
  }
  return ok([...elementsOf(text, list.valueSpan.start)]);
}

/** White space of JSON, and no other: a line with another is no JSON to some readers. */
const OUTER_SPACE = /^[ \t\r]+|[ \t\r]+$/g;

/** Where the lines of the text that are not blank begin and end. */
function linesIn(text: string): readonly Span[] {
  const spans: Span[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    const said = line.replace(OUTER_SPACE, '');
    const from = start + line.indexOf(said);
    if (said !== '') spans.push({ start: from, end: from + said.length });
    start += line.length + 1;
  }
  return spans;
}
