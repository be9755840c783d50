/**
 * What the subset forbids letter by letter, before any structure: tabs, control and direction characters, directives,
 * document marks, and every YAML token that makes a value differ from what is written. The answer carries a repaired
 * text of the same length, so that one bad character does not hide what follows.
 */
import { CST, Lexer } from 'yaml';
import type { BlockText } from './block-text.ts';
import { errorAt, type Finding } from './finding.ts';
import { type Report, removeHangingKeys, repairColons, repairLines } from './line-repair.ts';

export interface LexicalReading {
  readonly findings: readonly Finding[];
  /** Same length and lines as the block's text. */
  readonly repaired: string;
  /** Lines of the block (from 0) on which the structure parser would only repeat a finding. */
  readonly spoiled: ReadonlySet<number>;
  /** True where the text is nested so deeply that its structure is not read at all. */
  readonly tooDeep: boolean;
  /** Keys whose lines the repaired text lacks. */
  readonly lostKeys: ReadonlySet<string>;
  /** Lines of the file whose value could only be guessed. */
  readonly brokenLines: ReadonlySet<number>;
}

const MAX_FLOW_DEPTH = 8;
const MAX_MARKS_ON_LINE = 4;
/** Pairs in one inline collection; none is legal, but a few must not hide what else is wrong. */
const MAX_FLOW_PAIRS = 100;

/** Total: any text gives findings and a repaired text. */
export function readLexically(block: BlockText): LexicalReading {
  const findings: Finding[] = [];
  const spoiled = new Set<number>();
  const report: Report = (start, length, code, message, hint) => {
    findings.push(errorAt(code, block.span(start, start + length), message, hint));
    spoiled.add(block.lineOf(start));
  };
  const clean = repairLines(block.text, report);
  const lostKeys = new Set<string>();
  const brokenLines = new Set<number>();
  const colons = repairColons(clean, (start) => {
    report(start, 1, 'YAML_SYNTAX', 'a second mapping starts on this line', 'Put text that holds ": " in quotes.');
    brokenLines.add(block.span(start, start).line);
  });
  const repaired = removeHangingKeys(colons, lostKeys, report);
  const tooDeep = reportTokens(repaired, block, report);
  return { findings, repaired, spoiled, tooDeep, lostKeys, brokenLines };
}

/** Reports forbidden tokens; answers whether the text is too deep to be parsed by recursion. */
function reportTokens(text: string, block: BlockText, report: Report): boolean {
  const depth = new DepthCount();
  let offset = 0;
  let scalar = false;
  for (const token of new Lexer().lex(text)) {
    if (token === CST.FLOW_END) depth.endFlow();
    if (token === CST.DOCUMENT || token === CST.FLOW_END) continue;
    if (token === CST.SCALAR) {
      scalar = true;
      continue;
    }
    const type = scalar ? 'scalar' : CST.tokenType(token);
    const start = offset;
    offset += token.length;
    scalar = false;
    if (depth.isTooDeep(type, block.lineOf(start))) {
      reportDepth(start, report);
      return true;
    }
    reportToken(type, token, start, text, report);
  }
  return false;
}

const BLANK: readonly (string | null)[] = ['space', 'newline', 'comment', 'byte-order-mark'];
/** Each of these can open a level of its own, also all on one line. */
const LEVEL_MARKS: readonly (string | null)[] = ['seq-item-ind', 'explicit-key-ind', 'map-value-ind'];

/** An upper bound of the nesting that the tokens seen so far can make. */
class DepthCount {
  #flow = 0;
  #line = -1;
  #marks = 0;
  #pairs = 0;

  /** A line that is not indented enough ends an inline collection that was never closed. */
  endFlow(): void {
    this.#flow = 0;
    this.#pairs = 0;
  }

  isTooDeep(type: string | null, line: number): boolean {
    if (BLANK.includes(type)) return false;
    if (line !== this.#line) this.#marks = 0;
    this.#line = line;
    if (type === 'flow-seq-start' || type === 'flow-map-start') this.#flow += 1;
    if (type === 'flow-seq-end' || type === 'flow-map-end') this.#flow = Math.max(0, this.#flow - 1);
    if (this.#flow === 0) this.#pairs = 0;
    if (LEVEL_MARKS.includes(type)) {
      if (this.#flow === 0) this.#marks += 1;
      else this.#pairs += 1;
    }
    const marks = this.#marks > MAX_MARKS_ON_LINE || this.#pairs > MAX_FLOW_PAIRS;
    return marks || this.#flow > MAX_FLOW_DEPTH;
  }
}

function reportDepth(start: number, report: Report): void {
  report(start, 1, 'NESTED_TOO_DEEP', 'the block is nested too deeply to be read', 'Three levels are all it needs.');
}

type Words = readonly [code: string, message: string, hint: string];
const FORBIDDEN: Readonly<Record<string, Words>> = {
  anchor: ['ANCHOR', 'anchors (&) are not allowed', 'Write the value out where it is used, or put the text in quotes.'],
  alias: ['ALIAS', 'aliases (*) are not allowed', 'Write the value out, or put the text in quotes.'],
  tag: ['TAG', 'tags (!) are not allowed', 'Remove the tag, or put the text in quotes.'],
  'block-scalar-header': [
    'BLOCK_SCALAR',
    'block scalars (| and >) are not allowed',
    'Write the text on one line, in quotes where it holds special characters.',
  ],
  'explicit-key-ind': ['EXPLICIT_KEY', 'explicit keys (?) are not allowed', 'Write key: value.'],
};

function reportToken(type: string | null, token: string, start: number, text: string, report: Report): void {
  if (type === 'flow-map-start') reportFlowMapping(start, text, report);
  const words = type === null ? undefined : FORBIDDEN[type];
  if (words !== undefined) report(start, token.length, ...words);
}

function reportFlowMapping(start: number, text: string, report: Report): void {
  const rest = text.slice(start, start + 80);
  if (/^\{ *\}/.test(rest)) return;
  const placeholder = /^\{(?:workspace|model|prompt|result)\}/.exec(rest)?.[0];
  const hint =
    placeholder === undefined
      ? 'Write one key: value a line, indented by two spaces.'
      : `A placeholder is text: put it in quotes, '${placeholder}'.`;
  report(start, 1, 'FLOW_MAPPING', 'inline mappings other than {} are not allowed', hint);
}
