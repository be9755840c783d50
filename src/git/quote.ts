/**
 * Git's C-style quoting, in both directions in which this program needs it: writing any bytes into git's line formats
 * (fast-import, info/alternates), and showing a path on one line without losing a byte.
 */
import { encodePath, hasInvalidUtf8, type RepoPath } from '../model/path.ts';

/** The bytes in double quotes, in ASCII only; git reads them back exactly. */
export function quoteBytes(bytes: Uint8Array): string {
  let text = '"';
  for (const byte of bytes) {
    if (byte === 0x22 || byte === 0x5c) text += `\\${String.fromCharCode(byte)}`;
    else if (byte < 0x20 || byte > 0x7e) text += `\\${byte.toString(8).padStart(3, '0')}`;
    else text += String.fromCharCode(byte);
  }
  return `${text}"`;
}

/** Characters that break a line, end a quote, or change how a terminal shows what follows. */
const UNSHOWABLE = /[\u0000-\u001f\u007f-\u009f"\\\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

/** The path itself where it is plain text, otherwise its bytes in git's quotes: one line, and no two paths look alike. */
export const showPath = (path: RepoPath): string =>
  UNSHOWABLE.test(path) || hasInvalidUtf8(path) ? quoteBytes(encodePath(path)) : path;
