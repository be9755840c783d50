/** Syntax errors of the YAML parser in this program's words. The parser's own text may quote values, so it is not shown. */
import type { ErrorCode, YAMLError } from 'yaml';
import type { BlockText } from './block-text.ts';
import { errorAt, type Finding } from './finding.ts';

const WORDS: Partial<Record<ErrorCode, readonly [code: string, message: string, hint: string]>> = {
  BAD_INDENT: [
    'INDENTATION',
    'this line is not indented like its neighbours',
    'Every level is indented by two spaces.',
  ],
  TAB_AS_INDENT: ['TAB', 'tabs are not allowed', 'Indent with two spaces.'],
  MULTIPLE_DOCS: ['MULTI_DOCUMENT', 'a second document starts here', 'Keep one document, without --- and ....'],
  BAD_DIRECTIVE: ['DIRECTIVE', 'YAML directives are not allowed', 'Remove this line.'],
  BAD_DQ_ESCAPE: ['YAML_SYNTAX', 'this escape is not known', "Use single quotes, '…', for text with backslashes."],
  BAD_SCALAR_START: ['YAML_SYNTAX', 'a plain value may not start with this character', 'Put the value in quotes.'],
  MISSING_CHAR: [
    'YAML_SYNTAX',
    'a colon, comma, quote or bracket is missing here',
    'Write key: value, or [first, second].',
  ],
  MULTILINE_IMPLICIT_KEY: ['YAML_SYNTAX', 'a key must be on one line and followed by a colon', 'Write key: value.'],
  BLOCK_AS_IMPLICIT_KEY: ['YAML_SYNTAX', 'a second mapping starts on this line', 'Put text that holds ": " in quotes.'],
  KEY_OVER_1024_CHARS: ['YAML_SYNTAX', 'the key is too long', 'Write key: value.'],
  BLOCK_IN_FLOW: ['YAML_SYNTAX', 'a block list or mapping may not stand in brackets', 'Write [first, second].'],
};
const OTHER = ['YAML_SYNTAX', 'this is not valid YAML', 'Write key: value, or [first, second].'] as const;

/** The parser's error in our words, at its place in the file. */
export function syntaxFinding(error: YAMLError, block: BlockText): Finding {
  const [code, message, hint] = WORDS[error.code] ?? OTHER;
  const [start] = error.pos;
  const at = Math.min(start, Math.max(0, block.text.length - 1));
  return errorAt(code, block.span(at, at + 1), message, hint);
}
