/** Rules for values that name files and programs. */
import { err, type Result } from '../model/result.ts';
import { errorAt, type Finding, quote, warningAt } from './finding.ts';
import { readInstructions } from './instructions.ts';
import type { AdapterView, ProfileView, RoleView, Text } from './view.ts';

/** Why a file of the repository cannot be read; `why` follows its name. */
export type Unread = { readonly kind: 'missing' } | { readonly kind: 'unusable'; readonly why: string };
/** Reads a repository-relative file. */
export type ReadFile = (path: string) => Result<Uint8Array, Unread>;

const BARE_NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;
const ABSOLUTE_PATH = /^(?:\/[\p{L}\p{M}\p{N}._+@,=:-]+)+$/u;
const METACHARACTER = /[`$;|&<>(){}[\]*?!#~'"\\%^\s]/;
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/;

/** `executable`: a bare name looked up on PATH, or an absolute path; never relative to the repository. */
export function executableForm({ executable }: ProfileView): Finding[] {
  if (executable === null || executable.value === '') return [];
  const { value, span } = executable;
  const shell = METACHARACTER.exec(value);
  if (shell !== null) {
    const message = `executable holds the character ${quote(shell[0])}`;
    const hint = 'Name one program, without arguments or shell syntax; arguments belong into a custom adapter.';
    return [errorAt('EXECUTABLE_METACHARACTER', span, message, hint)];
  }
  if (BARE_NAME.test(value)) return [];
  if (ABSOLUTE_PATH.test(value) && !DOT_SEGMENT.test(value)) return [];
  const message = `executable ${quote(value)} is neither a bare name nor a plain absolute path`;
  const hint = 'Write a program name that is looked up on PATH, or an absolute path without . and .. segments.';
  return [errorAt('EXECUTABLE_NOT_ABSOLUTE', span, message, hint)];
}

/** Why a path is not a plain path below the repository's root; null where it is one. */
function pathProblem(path: string): string | null {
  if (path.includes('\\')) return 'holds a backslash';
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'is absolute';
  if (path.startsWith('~')) return 'starts with ~';
  const segments = path.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    return 'has empty, . or .. segments';
  }
  if (segments.some((segment) => segment.toLowerCase() === '.git')) return 'leads into .git';
  return null;
}

const PATH_HINT = 'Write a path from the repository root, such as agents/repair.md.';

const whyUnread = (problem: Unread): string => (problem.kind === 'missing' ? 'is not there' : problem.why);

/** `instructions`: a Markdown file of the repository that says something. */
export function instructionsFile({ instructions }: RoleView, readFile: ReadFile | undefined): Finding[] {
  if (instructions === null || instructions.value === '') return [];
  const { value, span } = instructions;
  const problem = pathProblem(value);
  if (problem !== null)
    return [errorAt('INSTRUCTIONS_PATH', span, `instructions path ${quote(value)} ${problem}`, PATH_HINT)];
  if (!value.endsWith('.md')) {
    return [errorAt('INSTRUCTIONS_PATH', span, `instructions path ${quote(value)} does not end in .md`, PATH_HINT)];
  }
  if (readFile === undefined) return [];
  const read = readFile(value);
  if (!read.ok && read.error.kind === 'missing') {
    const hint = 'Add the file, or remove the key.';
    return [errorAt('INSTRUCTIONS_MISSING', span, `there is no file ${quote(value)} in the repository`, hint)];
  }
  const text = read.ok ? readInstructions(read.value) : err(whyUnread(read.error));
  if (text.ok) return [];
  const hint = 'It must be a Markdown file of the repository, in UTF-8, of at most 256 KiB.';
  return [errorAt('INSTRUCTIONS_UNUSABLE', span, `${quote(value)} ${text.error}`, hint)];
}

/** `refusal_prefixes` name a source that still holds each of them. */
export function refusalSource(adapter: AdapterView, readFile: ReadFile | undefined): Finding[] {
  const { refusalSource: source, refusalPrefixes, refusalPrefixesSpan } = adapter;
  if (source === null || source.value === '') {
    if (refusalPrefixesSpan === null) return [];
    const message = 'refusal_prefixes without refusal_source: nobody notices when the CLI changes its words';
    const hint = 'Name the file of the repository that holds these literals with refusal_source.';
    return [warningAt('REFUSAL_SOURCE_UNNAMED', refusalPrefixesSpan, message, hint)];
  }
  const problem = pathProblem(source.value);
  if (problem !== null) {
    const message = `refusal_source ${quote(source.value)} ${problem}`;
    return [errorAt('REFUSAL_SOURCE_PATH', source.span, message, 'Write a path from the repository root.')];
  }
  if (refusalPrefixesSpan === null) {
    const message = 'refusal_source needs refusal_prefixes';
    return [errorAt('REFUSAL_PREFIXES_REQUIRED', source.span, message, 'Add the literals, or remove the key.')];
  }
  if (readFile === undefined) return [];
  const read = readFile(source.value);
  if (!read.ok) {
    const message =
      read.error.kind === 'missing'
        ? `there is no file ${quote(source.value)} in the repository`
        : `${quote(source.value)} ${read.error.why}`;
    const hint = 'Name the regular file, of at most 256 KiB and inside the repository, that holds the literals.';
    return [errorAt('REFUSAL_SOURCE_MISSING', source.span, message, hint)];
  }
  // Sources need not be UTF-8; the literals are, and stand in them as they are.
  return sentinelDrift(refusalPrefixes, source, new TextDecoder().decode(read.value));
}

function sentinelDrift(prefixes: readonly Text[], source: Text, text: string): Finding[] {
  return prefixes
    .filter((prefix) => !text.includes(prefix.value))
    .map(({ value, span }) => {
      const message = `${quote(value)} is no longer in ${quote(source.value)}`;
      const hint = 'The program says it differently now: take the new wording from the file.';
      return errorAt('SENTINEL_DRIFT', span, message, hint);
    });
}

/** Refusal prefixes are matched at the start of a line, so each must be able to stand there. */
export function refusalPrefixForm({ refusalPrefixes }: AdapterView): Finding[] {
  return refusalPrefixes
    .filter(({ value }) => value !== '' && (value !== value.trimStart() || value.trim().length < 4))
    .map(({ value, span }) => {
      const hint =
        'Give at least four characters, and none of them a leading space: it is matched at the start of a line.';
      return errorAt(
        'REFUSAL_PREFIX',
        span,
        `the refusal prefix ${quote(value)} would match too much or nothing`,
        hint,
      );
    });
}

/** Each prefix is looked for in a whole file. */
const MAX_REFUSAL_PREFIXES = 200;

/** No CLI has as many words for its refusals; reports the first prefix of the policy that is one too many. */
export function refusalPrefixCount(adapters: readonly AdapterView[]): Finding[] {
  const extra = adapters.flatMap(({ refusalPrefixes }) => refusalPrefixes)[MAX_REFUSAL_PREFIXES];
  if (extra === undefined) return [];
  const message = `there are more than ${MAX_REFUSAL_PREFIXES} refusal prefixes`;
  return [
    errorAt('REFUSAL_PREFIX', extra.span, message, 'Keep the starts of lines that the CLI prints; few are enough.'),
  ];
}

/** Literals of a list that may hold each value once. */
export function repeated(texts: readonly Text[], code: string, what: string): Finding[] {
  const seen = new Set<string>();
  return texts.flatMap(({ value, span }) => {
    if (seen.has(value)) return [errorAt(code, span, `${what} ${quote(value)} is listed twice`, 'Keep the first.')];
    seen.add(value);
    return [];
  });
}
