/** Bytes of the file -> its lines. Whatever is not UTF-8 text is refused with its position; nothing is replaced. */
import { err, ok, type Result } from '../model/result.ts';
import { errorAt, type Finding, spanOnLine } from './finding.ts';

/** Largest file that is read as configuration. */
export const MAX_FILE_BYTES = 256 * 1024;
/** Markdown and YAML parsers need more than linear time in the worst case; these bounds keep it near a second. */
const MAX_LINES = 2000;
const MAX_LINE_LENGTH = 8192;

const LINE_END = /\r\n|\n|\r/;

/** Lines without their ends (LF, CRLF or CR, as CommonMark has it) and without a byte order mark. */
export function readLines(bytes: Uint8Array): Result<readonly string[], Finding> {
  if (bytes.length > MAX_FILE_BYTES) {
    return err(
      errorAt(
        'FILE_TOO_LARGE',
        null,
        `the file has ${bytes.length} bytes, at most ${MAX_FILE_BYTES} are read`,
        SHORTEN,
      ),
    );
  }
  const text = new TextDecoder('utf-8').decode(bytes);
  const bad = firstUnreadable(text, bytes);
  if (bad !== null) return err(bad);
  const lines = text.split(LINE_END);
  if (lines.length > MAX_LINES) {
    return err(
      errorAt('FILE_TOO_LARGE', null, `the file has ${lines.length} lines, at most ${MAX_LINES} are read`, SHORTEN),
    );
  }
  const long = lines.findIndex((line) => line.length > MAX_LINE_LENGTH);
  if (long >= 0) {
    const message = `the line has ${lines[long]?.length} characters, at most ${MAX_LINE_LENGTH} are read`;
    return err(errorAt('LINE_TOO_LONG', spanOnLine(long + 1, MAX_LINE_LENGTH + 1, 1), message, SHORTEN));
  }
  return ok(lines);
}

const SHORTEN = 'Keep the policy and a short explanation here, and longer prose in another file.';

function firstUnreadable(text: string, bytes: Uint8Array): Finding | null {
  const nul = text.indexOf('\0');
  const invalid = text.includes('\ufffd') ? firstReplaced(text, bytes) : -1;
  if (invalid < 0 && nul < 0) return null;
  if (invalid >= 0 && (nul < 0 || invalid < nul)) {
    const wide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    const hint = wide ? 'This looks like UTF-16; save the file as UTF-8.' : 'Save the file as UTF-8.';
    return errorAt('INVALID_UTF8', placeOf(text, invalid), 'the file is not valid UTF-8 text', hint);
  }
  return errorAt('NUL_BYTE', placeOf(text, nul), 'the file holds a NUL byte', 'Save the file as plain UTF-8 text.');
}

/** Index of the first U+FFFD that stands for invalid bytes and is not itself written in the file; -1 if there is none. */
function firstReplaced(text: string, bytes: Uint8Array): number {
  let offset = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  let index = 0;
  for (const char of text) {
    if (char === '\ufffd' && !(bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd)) {
      return index;
    }
    const code = char.codePointAt(0) ?? 0;
    offset += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    index += char.length;
  }
  return -1;
}

function placeOf(text: string, index: number) {
  const before = text.slice(0, index).split(LINE_END);
  return spanOnLine(before.length, (before.at(-1) ?? '').length + 1, 1);
}
