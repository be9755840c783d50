/**
 * Glob patterns over repository paths: `*` and `?` stay within a name and match dots, `**` as a whole name spans any
 * number of folders (at the end at least one name), `[a-z]` and `[!a-z]` are one character. Braces, extglobs, `!` and `#`
 * are ordinary characters. A byte that is not UTF-8 is one character.
 *
 * File names are the worker's choice, so a match must be cheap whatever the name: minimatch does not backtrack from
 * version 11 on; older ones need minutes for `*a*a*a*a*b` and a long name.
 */
import { Minimatch } from 'minimatch';

const OPTIONS = { dot: true, nobrace: true, noext: true, nonegate: true, nocomment: true, platform: 'linux' } as const;

export type Glob = (path: string) => boolean;

/** True where a pattern may match another path than its own text. */
export const hasGlobCharacters = (pattern: string): boolean => /[*?[]/.test(pattern);

/**
 * The pattern with every class as the first character it names, `.e[nN]v` as `.env`: what an entry is about, for rules
 * that look at its name. A class that excludes (`[!a]`), or names its characters by kind, says nothing of that sort.
 */
export const simplestName = (pattern: string): string => pattern.replace(/\[(?![!^]|\[:)([^/])[^\]/]*\]/gu, '$1');

/** Compiles one pattern without a trailing slash, of at most 64 KiB. */
export function compileGlob(pattern: string): Glob {
  const compiled = new Minimatch(pattern, OPTIONS);
  return (path) => compiled.match(path);
}
