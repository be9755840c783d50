/**
 * What the subset forbids letter by letter, before any structure: tabs, control and direction characters, directives,
 * document marks, and every YAML token that makes a value differ from what is written. The answer carries a repaired
 * text of the same length, so that one bad character does not hide what follows.
 */
import { CST, Lexer } from 'yaml';
import type { BlockText } from './block-text.ts';
import { BIDIRECTIONAL, CONTROL, codePoint } from './characters.ts';
import { errorAt, type Finding } from './finding.ts';

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
const MAX_INDENT = 40;
const MAX_MARKS_ON_LINE = 4;

type Report = (start: number, length: number, code: string, message: string, hint: string) => void;

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

/** One finding of a kind for a line; the characters are replaced by spaces. */
function repairLines(text: string, report: Report): string {
  let offset = 0;
  const repaired = text.split('\n').map((line) => {
    const start = offset;
    offset += line.length + 1;
    if (/^(?:---|\.\.\.)(?:[ \t]|$)/.test(line)) {
      report(start, 3, 'MULTI_DOCUMENT', `the document mark ${line.slice(0, 3)} is not allowed`, 'Remove this line.');
      return ' '.repeat(line.length);
    }
    if (line.startsWith('%')) {
      report(start, line.length, 'DIRECTIVE', 'YAML directives are not allowed', 'Remove this line.');
      return ' '.repeat(line.length);
    }
    return repairCharacters(line, start, report);
  });
  return repaired.join('\n');
}

function repairCharacters(line: string, start: number, report: Report): string {
  const tab = line.indexOf('\t');
  if (tab >= 0) {
    report(start + tab, 1, 'TAB', 'tabs are not allowed', 'Indent with two spaces, separate with one.');
  }
  const control = CONTROL.exec(line);
  if (control !== null) {
    const name = codePoint(control[0]);
    const message = `the control character ${name} is not allowed`;
    report(start + control.index, control[0].length, 'CONTROL_CHARACTER', message, 'Remove it.');
  }
  const turned = BIDIRECTIONAL.exec(line);
  if (turned !== null) {
    const message = `the text-direction character ${codePoint(turned[0])} is not allowed`;
    const hint = 'It makes the line read differently from what it says; remove it.';
    report(start + turned.index, turned[0].length, 'INVISIBLE_CHARACTER', message, hint);
  }
  if (tab < 0 && control === null) return line;
  return line.replace(/\t/g, ' ').replace(new RegExp(CONTROL.source, 'gu'), ' ');
}

const SECOND_COLON = /^( *(?:[A-Za-z_][\w.-]*|"[^"]*"|'[^']*'): +[^\s'"[{#|>&*!%@`][^#]*?):(?= )/;

/** `key: text: more` would swallow the lines below it as a mapping of its own. */
function repairColons(text: string, report: (start: number) => void): string {
  let offset = 0;
  const lines = text.split('\n').map((line) => {
    const start = offset;
    offset += line.length + 1;
    const before = SECOND_COLON.exec(line)?.[1];
    if (before === undefined) return line;
    report(start + before.length);
    return `${before}_${line.slice(before.length + 1).replace(/:(?= )/g, '_')}`;
  });
  return lines.join('\n');
}

const VALUE_LINE = /^ *[^\s#:'"[\]{}|>-][^:'"[\]{}|>]*: +[^\s#'"[{|>&*!]/;
const KEY_LINE = /^ *["']?([A-Za-z_][^:#"']*)["']?:(?: |$)/;

/**
 * A key below and right of a `key: value` line. YAML reads both as one long key and loses the first with the second; so
 * the hanging line is reported where it stands and taken out.
 */
function removeHangingKeys(text: string, lostKeys: Set<string>, report: Report): string {
  let offset = 0;
  // The first key of all must not be indented further than a later one.
  let valueIndent: number | null = /^(?! |#)\S/m.test(text) ? 0 : null;
  const lines = text.split('\n').map((line) => {
    const start = offset;
    offset += line.length + 1;
    const indent = line.search(/[^ ]|$/);
    if (/^ *(?:#|$)/.test(line)) return line;
    const key = KEY_LINE.exec(line)?.[1];
    if (valueIndent !== null && indent > valueIndent && key !== undefined) {
      lostKeys.add(key);
      const message = 'this key is indented below a line that already has a value';
      report(
        start + indent,
        1,
        'INDENTATION',
        message,
        'Give it the indentation of its neighbours: two spaces a level.',
      );
      return ' '.repeat(line.length);
    }
    valueIndent = VALUE_LINE.test(line) ? indent : null;
    return line;
  });
  return lines.join('\n');
}

/** Reports forbidden tokens; answers whether the text is too deep to be parsed by recursion. */
function reportTokens(text: string, block: BlockText, report: Report): boolean {
  let offset = 0;
  let flow = 0;
  let marks = 0;
  let line = -1;
  let scalar = false;
  for (const token of new Lexer().lex(text)) {
    if (token === CST.DOCUMENT || token === CST.FLOW_END) continue;
    if (token === CST.SCALAR) {
      scalar = true;
      continue;
    }
    const type = scalar ? 'scalar' : CST.tokenType(token);
    const start = offset;
    offset += token.length;
    if (scalar && block.indentOf(start) > MAX_INDENT && /^ *$/.test(lineBefore(text, start))) {
      reportDepth(start, report);
      return true;
    }
    scalar = false;
    if (block.lineOf(start) !== line) {
      line = block.lineOf(start);
      marks = 0;
    }
    if (type === 'flow-seq-start' || type === 'flow-map-start') flow += 1;
    if (type === 'flow-seq-end' || type === 'flow-map-end') flow = Math.max(0, flow - 1);
    if (type === 'seq-item-ind' || type === 'explicit-key-ind') marks += 1;
    if (flow > MAX_FLOW_DEPTH || marks > MAX_MARKS_ON_LINE) {
      reportDepth(start, report);
      return true;
    }
    reportToken(type, token, start, text, report);
  }
  return false;
}

const lineBefore = (text: string, at: number): string => text.slice(text.lastIndexOf('\n', at - 1) + 1, at);

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
