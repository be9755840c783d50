/**
 * Repository paths are bytes on Linux, not text. Inside the program a path is a string in which every byte that is not
 * valid UTF-8 stands as a lone surrogate U+DC80..U+DCFF (the scheme of PEP 383), so that equality, prefixes and globs
 * work on ordinary strings and nothing is lost: `encodePath(decodePath(bytes))` is `bytes` for any bytes
 * (docs/adr/0004-paths.md).
 */
import * as z from 'zod';

/** A repository-relative POSIX path in the lossless form above. */
export type RepoPath = string & { readonly __brand: 'RepoPath' };

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const LONE = /[\uDC80-\uDCFF]/;
const LONE_ALONE = /(?<![\uD800-\uDBFF])[\uDC80-\uDCFF]/;

/** Length in bytes of the valid UTF-8 sequence at `at`, or 0. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  try {
    strictUtf8.decode(bytes.subarray(at, at + length));
    return length;
  } catch {
    return 0;
  }
}

/** Bytes as the system gives them -> the lossless form. */
export function decodePath(bytes: Uint8Array): RepoPath {
  try {
    return strictUtf8.decode(bytes) as RepoPath;
  } catch {
    let text = '';
    for (let at = 0; at < bytes.length; ) {
      const length = sequenceLength(bytes, at);
      text += length
        ? strictUtf8.decode(bytes.subarray(at, at + length))
        : String.fromCharCode(0xdc00 + (bytes[at] ?? 0));
      at += length || 1;
    }
    return text as RepoPath;
  }
}

/** The lossless form -> the bytes for a system call. */
export function encodePath(path: RepoPath): Buffer {
  if (!LONE.test(path)) return Buffer.from(path, 'utf8');
  const parts: Buffer[] = [];
  for (const char of path) {
    const code = char.charCodeAt(0);
    parts.push(
      char.length === 1 && code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(char, 'utf8'),
    );
  }
  return Buffer.concat(parts);
}

/** True where the path cannot be written as UTF-8 text. */
export const hasInvalidUtf8 = (path: RepoPath): boolean => LONE_ALONE.test(path);

/** How a record carries a path: text, or its bytes beside an escaped display form. */
export const recordedPath = z
  .union([z.string(), z.strictObject({ bytes: z.base64(), display: z.string() })])
  .meta({ id: 'path', description: 'A repository-relative path; bytes where it is not valid UTF-8.' });
export type RecordedPath = z.infer<typeof recordedPath>;

/** The form in which records carry the path. */
export function recordPath(path: RepoPath): RecordedPath {
  if (!hasInvalidUtf8(path)) return path;
  const display = path.replace(
    new RegExp(LONE_ALONE.source, 'g'),
    (c) => `\\x${(c.charCodeAt(0) - 0xdc00).toString(16)}`,
  );
  return { bytes: encodePath(path).toString('base64'), display };
}
