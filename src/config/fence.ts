/**
 * Finds the one block of the Markdown file. CommonMark decides what is a fenced code block; this module decides whether
 * there is exactly one and keeps, for each of its lines, where in the file that line's text begins.
 */
import { fromMarkdown } from 'mdast-util-from-markdown';
import { type MarkdownNode, missingFence } from './fence-lookalike.ts';
import { errorAt, type Finding, type Span, spanOnLine } from './finding.ts';

export const INFO_STRING = 'agent-execution';

/** One line of the block, without the containers (quote marks, list indentation) it stands in. */
export interface BlockLine {
  readonly text: string;
  readonly line: number;
  /** Column of the text's first character in the file. */
  readonly column: number;
}

export interface Block {
  readonly opening: Span;
  readonly lines: readonly BlockLine[];
}

/** Quote and list marks, in all and on one line: Markdown parsers are slow on deep and long nesting. */
const MAX_MARKS = 2000;
const MAX_DEPTH = 20;
const MARK = /[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])(?=[ \t]|$))/y;

/** What happens inside lines does not move a block's borders; without it the parser is fast on any line. */
const INLINE = [
  'attention',
  'autolink',
  'characterEscape',
  'characterReference',
  'codeText',
  'hardBreakEscape',
  'htmlText',
  'labelEnd',
  'labelStartImage',
  'labelStartLink',
];

interface Fence extends Span {
  readonly startOffset: number;
  readonly endOffset: number;
}

/** The block to read (also where a finding says that it is badly fenced), or null where none can be read. */
export function findBlock(lines: readonly string[]): { readonly block: Block | null; readonly findings: Finding[] } {
  const nested = tooNested(lines);
  if (nested !== null) return { block: null, findings: [nested] };

  const markdown = parse(lines);
  const codes = codeNodes(markdown.tree);
  const named = codes.filter((node) => infoWords(node)[0] === INFO_STRING);
  const first = named[0];
  if (first === undefined) return { block: null, findings: [missingFence(lines, markdown.tree, codes)] };

  const findings: Finding[] = [];
  for (const node of named) findings.push(...badFence(node, lines, markdown.fences));
  for (const node of named.slice(1)) {
    findings.push(
      errorAt(
        'FENCE_REPEATED',
        openingSpan(node, lines),
        `a second ${INFO_STRING} block; the first is on line ${lineOf(first)}`,
        'Keep one block. To show an example, put it in a longer fence or give it another info string.',
      ),
    );
  }
  const fence = closingFence(first, markdown.fences);
  if (fence === null) return { block: null, findings };
  return {
    block: { opening: openingSpan(first, lines), lines: content(first, fence, lines, markdown.texts) },
    findings,
  };
}

function parse(lines: readonly string[]) {
  const fences: Fence[] = [];
  const texts = new Map<number, BlockLine>();
  const tree: MarkdownNode = fromMarkdown(lines.join('\n'), {
    extensions: [{ disable: { null: INLINE } }],
    mdastExtensions: [
      {
        enter: {
          codeFencedFence({ start, end }) {
            fences.push({
              line: start.line,
              column: start.column,
              endLine: end.line,
              endColumn: end.column,
              startOffset: start.offset,
              endOffset: end.offset,
            });
          },
          // The default pair collects the value without positions; here the text is kept by line instead.
          codeFlowValue(token) {
            const { line, column } = token.start;
            texts.set(line, { text: this.sliceSerialize(token), line, column });
          },
        },
        exit: { codeFlowValue() {} },
      },
    ],
  });
  return { tree, fences, texts };
}

function tooNested(lines: readonly string[]): Finding | null {
  let marks = 0;
  for (const [index, line] of lines.entries()) {
    let depth = 0;
    MARK.lastIndex = 0;
    while (depth <= MAX_DEPTH && MARK.test(line)) depth += 1;
    marks += depth;
    const indent = line.search(/[^ \t]|$/);
    const deepByIndent = depth > 0 && indent > 2 * MAX_DEPTH && marks > MAX_DEPTH;
    if (depth > MAX_DEPTH || deepByIndent || marks > MAX_MARKS) {
      const message =
        marks > MAX_MARKS
          ? `the file has more than ${MAX_MARKS} list items and quote marks`
          : `lists or quotes are nested more than ${MAX_DEPTH} deep`;
      const hint = 'Keep the policy and a short explanation here, and longer prose in another file.';
      return errorAt('MARKDOWN_TOO_COMPLEX', spanOnLine(index + 1, 1, line.length), message, hint);
    }
  }
  return null;
}

/** All code blocks in document order, without recursion: the tree may be deep. */
function codeNodes(tree: MarkdownNode): MarkdownNode[] {
  const found: MarkdownNode[] = [];
  const open: MarkdownNode[] = [tree];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === 'code') found.push(node);
    for (const child of [...(node.children ?? [])].reverse()) open.push(child);
  }
  return found;
}

const lineOf = (node: MarkdownNode): number => node.position?.start.line ?? 1;

/** The words of a code block's info string; escapes and character references are read as CommonMark reads them. */
function infoWords(node: MarkdownNode): readonly string[] {
  const raw = [node.lang, node.meta].filter((word) => typeof word === 'string').join(' ');
  if (!/[&\\]/.test(raw)) return node.lang ? [node.lang, ...(node.meta ? [node.meta] : [])] : [];
  const read = fromMarkdown(`~~~${raw}\n~~~`).children[0];
  return read?.type === 'code' && read.lang ? [read.lang, ...(read.meta ? [read.meta] : [])] : [];
}

function openingSpan(node: MarkdownNode, lines: readonly string[]): Span {
  const start = node.position?.start ?? { line: 1, column: 1 };
  const text = (lines[start.line - 1] ?? '').slice(start.column - 1).trimEnd();
  return spanOnLine(start.line, start.column, text.length);
}

function closingFence(node: MarkdownNode, fences: readonly Fence[]): Fence | null {
  const start = node.position?.start.offset;
  const end = node.position?.end.offset;
  return fences.find((fence) => fence.endOffset === end && fence.startOffset !== start) ?? null;
}

function badFence(node: MarkdownNode, lines: readonly string[], fences: readonly Fence[]): Finding[] {
  const opening = openingSpan(node, lines);
  const text = (lines[opening.line - 1] ?? '').slice(opening.column - 1);
  const findings: Finding[] = [];
  if (text.startsWith('~')) {
    const message = `the ${INFO_STRING} block is fenced with tildes`;
    findings.push(errorAt('FENCE_TILDE', opening, message, 'Use three backticks before and after the block.'));
  }
  if (infoWords(node).length > 1) {
    const words = /^(?:`+|~+)[ \t]*\S+[ \t]*/.exec(text)?.[0].length ?? 0;
    // At least one character: CommonMark trims spaces and tabs only, so what `trimEnd` takes away may be the extra word.
    const span = spanOnLine(opening.line, opening.column + words, Math.max(1, text.trimEnd().length - words));
    const message = `extra words after the info string ${INFO_STRING}`;
    findings.push(errorAt('FENCE_EXTRA_WORDS', span, message, `Write nothing but ${INFO_STRING} after the backticks.`));
  }
  if (closingFence(node, fences) === null) {
    const marks = /^(?:`+|~+)/.exec(text)?.[0] ?? '```';
    const message = `the ${INFO_STRING} block is never closed`;
    findings.push(errorAt('FENCE_UNCLOSED', opening, message, `End it with a line that holds only ${marks}.`));
  }
  return findings;
}

function content(
  node: MarkdownNode,
  closing: Fence,
  lines: readonly string[],
  texts: ReadonlyMap<number, BlockLine>,
): BlockLine[] {
  const found: BlockLine[] = [];
  for (let line = lineOf(node) + 1; line < closing.line; line++) {
    const blank = { text: '', line, column: (lines[line - 1] ?? '').length + 1 };
    found.push(texts.get(line) ?? blank);
  }
  return found;
}
