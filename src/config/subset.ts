/**
 * YAML text -> tree, in the restricted subset: two-space block mappings, inline lists of scalars, block lists of such
 * lists, booleans, integers, null and single-line strings. Every construct outside it has a code of its own; the tree
 * holds whatever could still be read, so that independent problems are all found in one pass.
 */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLError,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { type BlockText, joinBlock } from './block-text.ts';
import { CONTROL, codePoint, INVISIBLE } from './characters.ts';
import type { Block } from './fence.ts';
import { errorAt, type Finding, quote, type Span } from './finding.ts';
import { readLexically } from './lexical.ts';
import { readPlain } from './scalar.ts';
import type { Entry, TreeNode } from './tree.ts';
import { syntaxFinding } from './yaml-errors.ts';

export interface SubsetReading {
  /** null where the block holds nothing that can be read. */
  readonly tree: TreeNode | null;
  /** By stage: characters and tokens, syntax, structure. A finding of an earlier stage explains later ones at its place. */
  readonly stages: readonly (readonly Finding[])[];
  /** Whether a key that the tree lacks may stand in a part of the text that could not be read. */
  readonly mayBeLost: (key: string) => boolean;
  /** Lines of the file with a syntax error: what else seems wrong there is its consequence. */
  readonly brokenLines: ReadonlySet<number>;
}

/** Names with a meaning of their own in JavaScript objects; no key of a policy needs them. */
const isUnsafeKey = (key: string): boolean => /^__.*__$/.test(key) || key === 'prototype' || key in Object.prototype;

/** Total: any block gives a tree or findings, mostly both. */
export function readSubset(block: Block): SubsetReading {
  const text = joinBlock(block.lines);
  const lexical = readLexically(text);
  if (lexical.tooDeep) return { tree: null, stages: [lexical.findings], mayBeLost: () => true, brokenLines: new Set() };

  const document = parseDocument(lexical.repaired, {
    version: '1.2',
    schema: 'failsafe',
    strict: true,
    uniqueKeys: false,
    merge: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const syntax = firstOnEachLine(document.errors, text)
    .filter((error) => !lexical.spoiled.has(text.lineOf(error.pos[0])))
    .map((error) => syntaxFinding(error, text));
  const damaged = document.errors.some(({ code }) => code !== 'TAG_RESOLVE_FAILED');
  const mayBeLost = (key: string): boolean => damaged || lexical.lostKeys.has(key);
  const brokenLines = new Set([...lexical.brokenLines, ...syntax.map(({ span }) => span?.line ?? 0)]);
  const root = document.contents;
  if (root === null || (isScalar(root) && root.source === '' && root.type === 'PLAIN')) {
    const empty = errorAt('EMPTY_BLOCK', block.opening, 'the block is empty', 'docs/configuration.md has an example.');
    const found = lexical.findings.length + syntax.length > 0;
    return { tree: null, stages: found ? [lexical.findings, syntax] : [[empty]], mayBeLost, brokenLines };
  }
  const walk = new Walk(text, lexical.repaired);
  const tree = walk.node(root, null);
  return { tree, stages: [lexical.findings, syntax, walk.findings], mayBeLost, brokenLines };
}

/**
 * The parser may complain several times about what one slip of the pen did to a line; and once it has lost the structure
 * it complains about every token that follows.
 */
function firstOnEachLine(errors: readonly YAMLError[], text: BlockText): YAMLError[] {
  const lines = new Set<number>();
  const lost = errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN');
  return (lost < 0 ? errors : errors.slice(0, lost + 1)).filter(({ pos }) => {
    const line = text.lineOf(pos[0]);
    return !lines.has(line) && lines.add(line);
  });
}

/** What follows a key whose colon stands on a later line. */
const COLON_BELOW = /^ *(?:#[^\n]*)?\n(?: *(?:#[^\n]*)?\n)* *:/;

/** One walk over the parsed document; collects findings as it goes. Depth is bounded by the lexical stage. */
class Walk {
  readonly findings: Finding[] = [];
  readonly #text: BlockText;
  readonly #source: string;

  constructor(text: BlockText, source: string) {
    this.#text = text;
    this.#source = source;
  }

  #report(code: string, span: Span, message: string, hint: string): void {
    this.findings.push(errorAt(code, span, message, hint));
  }

  #span(node: { range?: readonly [number, number, number] | null | undefined }): Span {
    const [start, end] = node.range ?? [0, 0, 0];
    const written = this.#source.slice(start, end).trimEnd();
    return this.#text.span(start, start + written.length);
  }

  /** `indent`: the column a block collection must start in; null at the top, where it is 0. */
  node(node: unknown, parent: number | null): TreeNode {
    if (isScalar(node)) return this.#scalar(node);
    if (isMap(node)) return this.#map(node, parent);
    if (isSeq(node)) return this.#list(node, parent);
    const span = isAlias(node) ? this.#span(node) : this.#text.span(0, 0);
    return { kind: 'unreadable', span };
  }

  #scalar(node: Scalar): TreeNode {
    const span = this.#span(node);
    if (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED') return { kind: 'unreadable', span };
    if (span.line !== span.endLine) {
      this.#report('MULTILINE_SCALAR', span, 'a value may not span lines', 'Write it on one line.');
      return { kind: 'unreadable', span };
    }
    const value = String(node.value ?? '');
    if (!this.#plainText(value, span)) return { kind: 'unreadable', span };
    if (node.type !== 'PLAIN') return { kind: 'scalar', value, span };
    const plain = readPlain(value);
    if (plain.kind === 'value') return { kind: 'scalar', value: plain.value, span };
    const hint = `Put it in quotes if it is text: '${value}'. Numbers are plain decimal integers, booleans true and false.`;
    this.#report('AMBIGUOUS_SCALAR', span, `${quote(value)} may be read as ${plain.looksLike}`, hint);
    return { kind: 'unreadable', span };
  }

  /** Whether a string holds only characters that can be seen for what they are; reports the first that is not. */
  #plainText(value: string, span: Span): boolean {
    const control = CONTROL.exec(value) ?? /\t/.exec(value);
    const invisible = INVISIBLE.exec(value);
    if (control !== null) {
      const message = `the value holds the control character ${codePoint(control[0])}`;
      this.#report('CONTROL_CHARACTER', span, message, 'Values are single lines of text.');
    } else if (invisible !== null) {
      const message = `the value holds the invisible or look-alike character ${codePoint(invisible[0])}`;
      this.#report('INVISIBLE_CHARACTER', span, message, 'Type the value again with plain characters.');
    } else if (value !== value.normalize('NFC')) {
      const message = 'the value is not in Unicode normal form C';
      this.#report('NOT_NFC', span, message, 'Type it again, or save the file with composed characters (NFC).');
    }
    return control === null && invisible === null && value === value.normalize('NFC');
  }

  #map(map: YAMLMap, parent: number | null): TreeNode {
    const span = this.#span(map);
    if (map.flow) return map.items.length === 0 ? { kind: 'map', entries: [], span } : { kind: 'unreadable', span };
    const indent = this.#indentation(map, parent, 'keys');
    const entries: Entry[] = [];
    const lines = new Map<string, number>();
    for (const pair of map.items) {
      const entry = this.#entry(pair, indent, lines);
      if (entry !== null) entries.push(entry);
    }
    return { kind: 'map', entries, span };
  }

  #entry(pair: Pair, indent: number, lines: Map<string, number>): Entry | null {
    const node = pair.key;
    if (!isScalar(node)) {
      const span = isMap(node) || isSeq(node) ? this.#span(node) : this.#text.span(0, 0);
      if (isMap(node) || isSeq(node))
        this.#report('EXPLICIT_KEY', span, 'a key must be a plain name', 'Write key: value.');
      return null;
    }
    const keySpan = this.#span(node);
    const key = this.#key(node, keySpan);
    const value =
      pair.value === null ? ({ kind: 'scalar', value: null, span: keySpan } as const) : this.node(pair.value, indent);
    this.#onOneLine(node, pair.value, keySpan);
    if (key === null) return null;
    const before = lines.get(key);
    if (before !== undefined) {
      this.#report(
        'DUPLICATE_KEY',
        keySpan,
        `${quote(key)} is given twice; first on line ${before}`,
        'Keep one of them.',
      );
      return null;
    }
    lines.set(key, keySpan.line);
    const empty = value.kind === 'scalar' && value.span.column === value.span.endColumn;
    return { key, keySpan, value: empty ? { ...value, span: keySpan } : value };
  }

  /** A key, its colon, and a value that is not a block of its own below it: YAML would take each on a line of its own. */
  #onOneLine(key: Scalar, value: unknown, keySpan: Span): void {
    const explicit = /\?[ \n]*$/.test(this.#source.slice(0, key.range?.[0]).slice(-80));
    if (!explicit && COLON_BELOW.test(this.#source.slice(key.range?.[1]))) {
      this.#report('YAML_SYNTAX', keySpan, 'a key must be on one line with its colon', 'Write key: value.');
      return;
    }
    const isPlainValue = isScalar(value) && value.source !== '' && value.type !== undefined;
    const isInline = (isSeq(value) || isMap(value)) && value.flow === true;
    if (!isPlainValue && !isInline) return;
    const span = this.#span(value);
    if (span.line === keySpan.endLine || explicit) return;
    const first = { ...span, endLine: span.line, endColumn: span.column + 1 };
    this.#report('MULTILINE_SCALAR', first, 'this value is not on the line of its key', 'Write key: value.');
  }

  #key(node: Scalar, span: Span): string | null {
    const key = String(node.value ?? '');
    if (key === '<<' && node.type === 'PLAIN') {
      this.#report('MERGE_KEY', span, 'merge keys (<<) are not allowed', 'Write the keys out.');
      return null;
    }
    if (isUnsafeKey(key)) {
      this.#report('UNSAFE_KEY', span, `the key ${quote(key)} is not allowed`, 'Use another name.');
      return null;
    }
    // A badly written name still is a name: what stands below it is read, so that nothing else seems to be missing.
    this.#scalar(node);
    return key;
  }

  #list(list: YAMLSeq, parent: number | null): TreeNode {
    const span = this.#span(list);
    if (list.flow) return this.#inlineList(list, span);
    this.#indentation(list, parent, 'list items');
    const items = list.items.map((item): TreeNode => {
      if (isSeq(item) && item.flow) {
        this.#besideDash(item);
        return this.#inlineList(item, this.#span(item));
      }
      if (isScalar(item)) return this.#scalar(item);
      const place = isMap(item) || isSeq(item) ? this.#span(item) : span;
      if (!isAlias(item) && !(isMap(item) && item.flow)) this.#blockList(place);
      return { kind: 'unreadable', span: place };
    });
    if (items.some((item) => item.kind === 'scalar')) this.#blockList(span);
    return { kind: 'list', items, span };
  }

  #besideDash(item: YAMLSeq): void {
    const start = item.range?.[0] ?? 0;
    if (this.#source.slice(start - this.#text.indentOf(start), start).trim() === '-') return;
    const span = this.#text.span(start, start + 1);
    this.#report('MULTILINE_LIST', span, 'this list is not on the line of its dash', 'Write - [first, second].');
  }

  #blockList(span: Span): void {
    const first = { ...span, endLine: span.line, endColumn: span.column + 1 };
    const hint = 'Write a list on one line: [first, second]. Only a list of such lists has one item a line.';
    this.#report('BLOCK_LIST', first, 'a block list may hold only inline lists', hint);
  }

  #inlineList(list: YAMLSeq, span: Span): TreeNode {
    if (span.line !== span.endLine) {
      const first = { ...span, endLine: span.line, endColumn: span.column + 1 };
      this.#report('MULTILINE_LIST', first, 'an inline list may not span lines', 'Write it on one line.');
    }
    const items = list.items.map((item): TreeNode => {
      if (isScalar(item)) return this.#scalar(item);
      if (isSeq(item)) {
        const place = this.#span(item);
        this.#report('NESTED_LIST', place, 'an inline list may hold only plain values', 'Take the inner list out.');
        return { kind: 'unreadable', span: place };
      }
      return this.#itemMapping(item, span);
    });
    return { kind: 'list', items, span };
  }

  /** `[a: b]` is a mapping without braces; one with braces was reported by its brace. */
  #itemMapping(item: unknown, list: Span): TreeNode {
    const span = isMap(item) || isAlias(item) ? this.#span(item) : list;
    const braced = isMap(item) && this.#source[item.range?.[0] ?? 0] === '{';
    if (isMap(item) && !braced) {
      this.#report('FLOW_MAPPING', span, 'a list item may not be a mapping', 'Put text that holds ": " in quotes.');
    }
    return { kind: 'unreadable', span };
  }

  /** Checks where a block collection starts and answers with that column; its children are measured from it. */
  #indentation(node: YAMLMap | YAMLSeq, parent: number | null, what: string): number {
    const start = node.range?.[0] ?? 0;
    const indent = this.#text.indentOf(start);
    const expected = parent === null ? 0 : parent + 2;
    if (indent !== expected) {
      const span = this.#text.span(start, start + 1);
      const message = `these ${what} are indented by ${indent} spaces instead of ${expected}`;
      this.#report('INDENTATION', span, message, 'Every level is indented by two spaces.');
    }
    return indent;
  }
}
