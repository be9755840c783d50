/** Where no block was found: points at the text that a person most likely meant as the block, and says why it is none. */
import { errorAt, type Finding, quote, spanOnLine } from './finding.ts';

/** What this folder reads of a Markdown tree. */
export interface MarkdownNode {
  readonly type: string;
  readonly position?: { readonly start: Point; readonly end: Point } | undefined;
  readonly children?: readonly MarkdownNode[];
  readonly lang?: string | null | undefined;
  readonly meta?: string | null | undefined;
}
interface Point {
  readonly line: number;
  readonly column: number;
  readonly offset?: number | undefined;
}

const FENCE_LINE = /^[ \t>*+\-\d.)]*?((?:`{1,}|~{1,})[ \t]*agent-execution\b)/;
const letters = (text: string): string => text.toLowerCase().replace(/[^a-z]/g, '');

const EXPECTED = 'Add a block that starts with a line ```agent-execution and ends with a line ```.';

/** The finding for a file without a block; at the look-alike's place where there is one. */
export function missingFence(lines: readonly string[], tree: MarkdownNode, codes: readonly MarkdownNode[]): Finding {
  const message = 'the file has no agent-execution block';
  for (const node of codes) {
    const lang = node.lang ?? '';
    if (!letters(lang).startsWith('agentexecution')) continue;
    const { line, column } = node.position?.start ?? { line: 1, column: 1 };
    const length = (lines[line - 1] ?? '').trimEnd().length - column + 1;
    const hint = `The info string here is ${quote(lang)}; it must be exactly agent-execution.`;
    return errorAt('FENCE_MISSING', spanOnLine(line, column, length), message, hint);
  }
  for (const [index, text] of lines.entries()) {
    const match = FENCE_LINE.exec(text);
    const mark = match?.[1];
    if (match === null || mark === undefined) continue;
    const span = spanOnLine(index + 1, match[0].length - mark.length + 1, mark.length);
    return errorAt('FENCE_MISSING', span, message, reason(innermost(tree, index + 1), mark));
  }
  return errorAt('FENCE_MISSING', null, message, EXPECTED);
}

function reason(type: string, mark: string, fenced = /^(?:`{3}|~{3})/.test(mark)): string {
  if (type === 'html') return 'This fence is inside an HTML block or comment, so it is not a block; move it out.';
  if (type === 'code') return 'This fence is inside another code block (a longer fence or indented code); move it out.';
  if (!fenced) return 'A fence needs at least three backticks.';
  return EXPECTED;
}

/** Type of the deepest block that covers the line. */
function innermost(tree: MarkdownNode, line: number): string {
  let node = tree;
  for (;;) {
    const inner: MarkdownNode | undefined = node.children?.find(
      ({ position }) => position && position.start.line <= line && line <= position.end.line,
    );
    if (inner === undefined) return node.type;
    node = inner;
  }
}
