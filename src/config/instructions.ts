/** A role's instructions: Markdown that heads the prompt. What is not plain text with something to say is refused here. */
import { err, ok, type Result } from '../model/result.ts';

const DELIMITED = /^---[ \t]*\r?\n([\s\S]*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/m;
/**
 * Nothing, or the beginning of a YAML mapping behind comments. Not parsed: descriptions with a colon in them are common,
 * and no YAML, in what other tools read as frontmatter.
 */
const MAPPING = /^\s*$|^\s*(?:#[^\n]*\n\s*)*(?:\{|["']?[\w$][\w $.-]*["']?:(?:\s|$))/;

/**
 * Removes a leading YAML frontmatter block. A text between two thematic breaks is none: it holds no mapping, and would be
 * lost. One that is never closed is left as it is.
 */
export function withoutFrontmatter(markdown: string): string {
  const text = markdown.replace(/^\ufeff/, '');
  const [block, inside] = DELIMITED.exec(text) ?? [];
  if (block === undefined || inside === undefined || !text.startsWith(block) || !MAPPING.test(inside)) return text;
  return text.slice(block.length).replace(/^\s*\n/, '');
}

/** The instructions in the bytes of their file, without frontmatter; the error says what is wrong with the file, to follow its name. */
export function readInstructions(bytes: Uint8Array): Result<string, string> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // The decoder throws exactly where the bytes are not UTF-8.
    return err('is not UTF-8 text');
  }
  if (text.includes('\0')) return err('is binary, not Markdown');
  const instructions = withoutFrontmatter(text);
  return instructions.trim() === '' ? err('says nothing (frontmatter does not count)') : ok(instructions);
}
