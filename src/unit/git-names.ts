/**
 * Which file names git, on any file system, takes for one of its own. A checkout on NTFS or HFS+ folds case, drops
 * trailing dots and spaces, reads `:` as a stream and ignores some code points, so `.GIT `, `git~1` and `.g\u200cit` all
 * reach `.git` there (git's own is_ntfs_dotgit and is_hfs_dotgit). The invariant: whatever git refuses, this recognises.
 */

/** The code points HFS+ ignores in names (git's utf8.c, next_hfs_char). */
const HFS_IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
/** A name as the most forgetful file system would compare it: NTFS drops a stream after a colon, trailing dots and spaces. */
function foldName(name: string): string {
  const stream = name.indexOf(':');
  let end = stream < 0 ? name.length : stream;
  const kept = (char: string | undefined) => char !== '.' && char !== ' ' && !(char ?? '').match(HFS_IGNORED);
  while (end > 0 && !kept(name[end - 1])) end--;
  return name.slice(0, end).replace(HFS_IGNORED, '').toLowerCase();
}

/** True where one path segment is `.git` on some file system. */
export function isDotGit(segment: string): boolean {
  const name = foldName(segment);
  return name === '.git' || name === 'git~1';
}

/** 8.3 short names that NTFS may give `.gitmodules` and `.gitattributes` (git's is_ntfs_dotgitmodules and siblings). */
const SHORT_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^(?:gitmod~[1-4]|gi7eba~[1-9]|gi7eb~[1-9][0-9])$/, '.gitmodules'],
  [/^(?:gitatt~[1-4]|gi7d29~[1-9]|gi7d2~[1-9][0-9])$/, '.gitattributes'],
];

/** The folded name, with a short name of a git file resolved to the file it stands for. */
export function gitName(segment: string): string {
  const name = foldName(segment);
  return SHORT_NAMES.find(([pattern]) => pattern.test(name))?.[1] ?? name;
}
