/**
 * Which entries `allowed_paths` may hold (SPEC 4): repository-relative POSIX paths or globs that cannot name git's own
 * files, a secret, or anything outside. Every rule has its code; one entry may break several.
 */
import { isDotGit } from './git-names.ts';
import { simplestName } from './glob.ts';
import { quoted } from './quoted.ts';
import { isSecretPath } from './secret-paths.ts';

interface PathProblem {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** Linux refuses longer paths; a longer entry can match nothing. */
const MAX_PATH = 4096;

interface Rule {
  readonly code: string;
  readonly breaks: (entry: string, segments: readonly string[]) => boolean;
  readonly message: (shown: string) => string;
  readonly hint: string;
}

const RULES: readonly Rule[] = [
  {
    code: 'PATH_ABSOLUTE',
    breaks: (entry) => entry.startsWith('/') || /^[A-Za-z]:[/\\]/.test(entry),
    message: (shown) => `${shown} is an absolute path`,
    hint: 'Write the path relative to the top of the repository, such as "src/parser.ts".',
  },
  {
    code: 'PATH_EMPTY_SEGMENT',
    breaks: (entry, segments) => !entry.startsWith('/') && segments.includes(''),
    message: (shown) => `${shown} holds two slashes in a row`,
    hint: 'Write one slash between two names.',
  },
  {
    code: 'PATH_DOT_SEGMENT',
    breaks: (_, segments) => segments.includes('.') || segments.includes('..'),
    message: (shown) => `${shown} holds a "." or ".." segment`,
    hint: 'Name the place itself, relative to the top of the repository; "**" stands for the whole repository.',
  },
  {
    code: 'PATH_GIT',
    breaks: (entry, segments) => [...segments, ...simplestName(entry).split('/')].some(isDotGit),
    message: (shown) => `${shown} names git's own folder, or a name that some file systems take for it`,
    hint: 'No unit may change what git keeps for itself.',
  },
  {
    code: 'PATH_BACKSLASH',
    breaks: (entry) => entry.includes('\\'),
    message: (shown) => `${shown} holds a backslash`,
    hint: 'Separate names with "/"; a glob character is taken literally in brackets, such as "[*]".',
  },
  {
    code: 'PATH_CONTROL_CHARACTER',
    breaks: (entry) => /\p{Cc}/u.test(entry),
    message: (shown) => `${shown} holds a control character`,
    hint: 'Files with such names can be allowed through their directory or a glob.',
  },
  {
    code: 'PATH_SECRET',
    breaks: (entry) => isSecretPath(entry) || isSecretPath(simplestName(entry).replaceAll('*', '')),
    message: (shown) => `${shown} names a secret file`,
    hint: 'Secrets stay out of every unit; a file such as ".env.example" may be named.',
  },
];

/** What is wrong with one entry; empty where it is legal. */
export function allowedPathProblems(entry: string): readonly PathProblem[] {
  if (entry === '')
    return [
      { code: 'PATH_EMPTY', message: 'an allowed path is empty', hint: 'Use "**" to allow the whole repository.' },
    ];
  if (entry.length > MAX_PATH) {
    const message = `${quoted(entry)} is longer than ${MAX_PATH} characters`;
    return [{ code: 'PATH_TOO_LONG', message, hint: 'No file can have such a path.' }];
  }
  const segments = (entry.endsWith('/') ? entry.slice(0, -1) : entry).split('/');
  return RULES.filter((rule) => rule.breaks(entry, segments)).map((rule) => ({
    code: rule.code,
    message: rule.message(quoted(entry)),
    hint: rule.hint,
  }));
}
