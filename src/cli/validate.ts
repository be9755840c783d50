/** `agent-exec validate`: checks the configuration and says everything that is wrong with it. Contacts nobody. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { type ParsedPolicy, parsePolicy } from '../config/policy.ts';
import { EXIT } from '../model/codes.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { err, type Result } from '../model/result.ts';
import { printableJson } from '../receipt/neutralise.ts';
import { CONFIG_FILE, configDigest, fileFinding, readConfigFile } from '../run/config-file.ts';
import { repositoryReader } from '../run/repository-reader.ts';
import { countFindings, diagnosticsGithub, diagnosticsText, FORMATS, type Format } from './diagnostics.ts';
import { showable } from './excerpt.ts';
import { githubPath } from './github-path.ts';
import type { CliIo } from './io.ts';
import { type Explained, explainRepository } from './problems.ts';

/** The top of the worktree that encloses an absolute path, or null. */
export type FindRepository = (io: CliIo, start: string) => string | null | Promise<string | null>;

interface ValidateOptions {
  readonly repo?: string;
  readonly json?: boolean;
  readonly format?: Format;
}

const EXAMPLE = `
Example:
  $ agent-exec validate
  AGENT-EXECUTION.md: valid (4 roles, 7 profiles, sha256:…)

Exit codes: 0 valid (there may be warnings), 2 usage, 3 invalid or not readable.
Under GitHub Actions the findings are written as annotations unless a format is given.`;

/** The command; its exit code goes through `io`. */
export function validateCommand(io: CliIo, findRepository: FindRepository = nearestDotGit): Command {
  return new Command('validate')
    .description(`Checks ${CONFIG_FILE} and reports all findings at once.`)
    .argument('[file]', `file to check instead of the repository's ${CONFIG_FILE}`)
    .addOption(new Option('--repo <path>', 'repository (default: the one that encloses the current folder)'))
    .addOption(new Option('--format <format>', 'how findings are written').choices(FORMATS))
    .addOption(new Option('--json', 'the same as --format json').conflicts('format'))
    .addHelpText('after', EXAMPLE)
    .action(async (file: string | undefined, options: ValidateOptions) => {
      const subject = await locate(io, findRepository, file, options.repo);
      const checked = check(subject);
      await write(io, subject, checked, formatOf(io, options));
      io.exit(checked.result.ok ? EXIT.success : EXIT['invalid-config']);
    });
}

interface Subject {
  /** As diagnostics show it. */
  readonly shownAs: string;
  /** Absolute; null where no repository was found. */
  readonly path: string | null;
  /** What other files are read from; null where there is no repository. */
  readonly root: string | null;
  /** Set where `--repo` names no folder: a slip there must not check the repository around it instead. */
  readonly missing: Explained | null;
}

async function locate(
  io: CliIo,
  findRepository: FindRepository,
  file: string | undefined,
  repo: string | undefined,
): Promise<Subject> {
  const named = repo === undefined ? null : resolve(io.cwd(), repo);
  if (named !== null && !isFolder(named)) {
    const kind = existsSync(named) ? 'not-a-directory' : 'path-missing';
    const missing = explainRepository({ kind, path: named });
    return { shownAs: file ?? CONFIG_FILE, path: null, root: null, missing };
  }
  if (file === undefined) {
    const root = await findRepository(io, named ?? resolve(io.cwd(), '.'));
    return { shownAs: CONFIG_FILE, path: root === null ? null : join(root, CONFIG_FILE), root, missing: null };
  }
  const path = resolve(io.cwd(), file);
  const root = await findRepository(io, named ?? dirname(path));
  return { shownAs: file, path, root, missing: null };
}

interface Checked {
  readonly result: Result<ParsedPolicy, Diagnostic[]>;
  /** null where the file could not be read. */
  readonly digest: string | null;
}

function check({ shownAs, path, root, missing }: Subject): Checked {
  if (path === null) {
    const hint = 'Go into a repository, or name one with --repo, or name the file.';
    const finding =
      missing === null
        ? fileFinding(shownAs, 'NOT_A_REPOSITORY', 'there is no Git repository here to look in', hint)
        : fileFinding(shownAs, missing.code, missing.message, null);
    return { result: err([finding]), digest: null };
  }
  const read = readConfigFile(path, shownAs);
  if (!read.ok) return { result: err([read.error]), digest: null };
  const readFile = repositoryReader(root ?? dirname(path));
  return { result: parsePolicy({ file: shownAs, bytes: read.value, readFile }), digest: configDigest(read.value) };
}

function formatOf(io: CliIo, options: ValidateOptions): Format {
  if (options.json === true) return 'json';
  return options.format ?? (io.env.GITHUB_ACTIONS === 'true' ? 'github' : 'text');
}

async function write(io: CliIo, subject: Subject, { result, digest }: Checked, format: Format): Promise<void> {
  const findings = result.ok ? result.value.warnings : result.error;
  const summary = `${summaryLine(subject, result, digest)}\n`;
  switch (format) {
    case 'json': {
      const answer = { schema: 'agent-exec-validation/v1', ok: result.ok, file: subject.shownAs, digest, findings };
      return io.out(`${printableJson(answer, 2)}\n`);
    }
    case 'github':
      return io.out(diagnosticsGithub(findings, () => githubPath(io, subject.path, subject.shownAs)) + summary);
    case 'text': {
      const plain = (io.env.NO_COLOR ?? '') !== '' || io.env.TERM === 'dumb';
      const text = diagnosticsText(findings, { enabled: io.stdoutIsTerminal && !plain });
      return io.out(text === '' ? summary : `${text}\n${summary}`);
    }
  }
}

function summaryLine({ shownAs }: Subject, result: Result<ParsedPolicy, Diagnostic[]>, digest: string | null): string {
  const file = showable(shownAs);
  if (!result.ok) return `${file}: invalid (${countFindings(result.error)})`;
  const { policy, warnings } = result.value;
  const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
  const facts = [
    count(Object.keys(policy.roles).length, 'role'),
    count(Object.keys(policy.profiles).length, 'profile'),
  ];
  return `${file}: valid (${[...facts, ...(warnings.length > 0 ? [countFindings(warnings)] : []), digest].join(', ')})`;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Absent or not to be reached: no folder to start from.
    return false;
  }
}

/** The nearest folder at or above `start` with a `.git` as git takes it: a folder with a HEAD, or a linked worktree's file. */
function nearestDotGit(_io: CliIo, start: string): string | null {
  for (let folder = start; ; folder = dirname(folder)) {
    const git = join(folder, '.git');
    if (existsSync(join(git, 'HEAD')) || (existsSync(git) && statSync(git).isFile())) return folder;
    if (dirname(folder) === folder) return null;
  }
}
