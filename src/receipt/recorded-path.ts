/** Paths as records carry them, read back: what a recorded path can be, and whether it is this one. */
import { decodePath, hasInvalidUtf8, type RecordedPath, type RepoPath, recordPath } from '../model/path.ts';
import { REDACTED } from './redact.ts';

/** The form for people. */
export const displayOf = (path: RecordedPath): string => (typeof path === 'string' ? path : path.display);

/** True where a secret was taken out of it, so that it is a pattern and not a path. */
export const isRedacted = (path: RecordedPath): boolean => displayOf(path).includes(REDACTED);

/** The path itself; null where the record is none that this tool makes (bytes that are text, or another display). */
export function pathOf(recorded: RecordedPath): RepoPath | null {
  if (typeof recorded === 'string') return recorded as RepoPath;
  const path = decodePath(Buffer.from(recorded.bytes, 'base64'));
  const again = recordPath(path);
  return hasInvalidUtf8(path) &&
    typeof again !== 'string' &&
    again.display === recorded.display &&
    again.bytes === recorded.bytes
    ? path
    : null;
}

/** Whether a redacted path can be this one: what stands before and behind the secret is the same. */
export function mayBe(recorded: RecordedPath, path: RepoPath): boolean {
  const parts = displayOf(recorded).split(REDACTED);
  const shown = displayOf(recordPath(path));
  return shown.startsWith(parts[0] ?? '') && shown.endsWith(parts.at(-1) ?? '');
}
