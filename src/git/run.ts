/**
 * The only caller of git. Every call starts from an empty environment, names its repository explicitly and switches off
 * whatever could run a program or a prompt: hooks, fsmonitor, signing, pagers, replace refs, grafts, optional locks,
 * lazy fetches and every transport. Nothing is discovered and no user or system configuration is read; the two calls
 * that must read it (discovery, for `safe.directory`; the host's ignore file) say so with `userConfig`. What the host asks
 * for in its own checkout (`apply`, `diff`) says so with `asHost`.
 * The program itself is chosen in `program.ts`.
 * Git gets a session of its own, so that a Ctrl-C meant for agent-exec does not end git halfway through a write.
 */

import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { execa } from 'execa';
import { complaint } from './complaint.ts';
import { gitProgram, replacedProgram } from './program.ts';

export interface GitCall {
  /** Absolute git directory; null for the few commands that need none. */
  readonly gitDir: string | null;
  /** Where objects are read and written instead of `gitDir`'s own. */
  readonly objectsDir?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  readonly args: readonly string[];
  readonly input?: Uint8Array | AsyncIterable<Uint8Array>;
  /** A file read as stdin, for input that must not pass through memory. */
  readonly inputFile?: string;
  /** A file that takes stdout; `stdout` of the answer is then empty. */
  readonly outputFile?: string;
  /** Default 120 s; git on a huge repository is slow, git on a hung disk never answers. */
  readonly timeoutMs?: number;
  /** Further configuration, as `[key, value]`; beats every file. */
  readonly config?: readonly (readonly [string, string])[];
  /** Only `check-ignore`, which refuses to run with them, turns literal pathspecs off. */
  readonly literalPathspecs?: false;
  /** The host's environment, of which the places of user and system configuration are taken and nothing else. */
  readonly userConfig?: HostEnvironment;
  /**
   * The host's environment, where git does what the host asked for in the host's own checkout: their configuration,
   * filters, attributes and merge drivers apply and find their programs. Hooks and fsmonitor stay off.
   */
  readonly asHost?: HostEnvironment;
}

export type HostEnvironment = Readonly<Record<string, string | undefined>>;

export interface GitOutput {
  /** The exit code; null where git was ended by a signal, timed out or could not be started. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
  /** Why there is no exit code; null where there is one. */
  readonly failure:
    | 'not-found'
    | 'replaced'
    | 'not-started'
    | 'timed-out'
    | 'output-too-large'
    | 'ended-by-signal'
    | null;
}

/** A git command that had to succeed did not: the message carries its words and its own complaint, on one line. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly args: readonly string[];
  readonly output: GitOutput;

  constructor(args: readonly string[], output: GitOutput) {
    const doing = `git ${args.slice(0, 3).join(' ')} failed (${output.code ?? 'no exit code'}): `;
    super(complaint(output.stderr, 'without a word', doing));
    this.args = args;
    this.output = output;
  }
}

const CONFIG: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.logAllRefUpdates', 'false'],
  ['core.sparseCheckout', 'false'],
  ['core.splitIndex', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.quotePath', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['commit.gpgSign', 'false'],
  ['advice.graftFileDeprecated', 'false'],
  ['protocol.allow', 'never'],
];

export const IDENTITY = { NAME: 'agent-exec', EMAIL: 'agent-exec@localhost' } as const;

const NO_USER_CONFIG: Readonly<Record<string, string>> = {
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};

/** Where git finds the user's own configuration. */
function userConfigPlaces(host: HostEnvironment): Record<string, string> {
  const places: Record<string, string> = {};
  for (const name of ['HOME', 'XDG_CONFIG_HOME']) {
    const value = host[name];
    if (value !== undefined) places[name] = value;
  }
  return places;
}

/** Where git is looked up. */
export const gitPath = (): string => process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin';

/** The file of git, or of what it runs in its name, that is not what it was at first; null where all is. */
export function replacedGit(): string | null {
  const program = gitProgram(gitPath());
  return program === null ? null : replacedProgram(program);
}

/** What stays off even where git acts for the host. */
const HOST_CONFIG: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.quotePath', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.graftFileDeprecated', 'false'],
];
/** Of the host's GIT_* variables: where its configuration is, and its pager. Others name repositories, programs, traces. */
const HOST_VARIABLES = [
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  'GIT_CONFIG_NOSYSTEM',
  'GIT_ATTR_NOSYSTEM',
  'GIT_PAGER',
];

/** All of the host's environment but what would lead git to another repository. */
function hostEnvironment(host: HostEnvironment): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(host)) {
    if (value !== undefined && (!name.startsWith('GIT_') || HOST_VARIABLES.includes(name))) env[name] = value;
  }
  return {
    ...env,
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_GRAFT_FILE: '/dev/null',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
  };
}

/** The environment of every host git call. */
function environment(call: GitCall, helpers: string | null): Record<string, string> {
  const env = call.asHost === undefined ? sealedEnvironment(call, helpers) : hostEnvironment(call.asHost);
  if (call.literalPathspecs !== false) env.GIT_LITERAL_PATHSPECS = '1';
  const config = [...(call.asHost === undefined ? CONFIG : HOST_CONFIG), ...(call.config ?? [])];
  env.GIT_CONFIG_COUNT = String(config.length);
  config.forEach(([key, value], i) => {
    env[`GIT_CONFIG_KEY_${i}`] = key;
    env[`GIT_CONFIG_VALUE_${i}`] = value;
  });
  if (call.gitDir !== null) env.GIT_DIR = call.gitDir;
  if (call.objectsDir !== undefined) env.GIT_OBJECT_DIRECTORY = call.objectsDir;
  if (call.workTree !== undefined) env.GIT_WORK_TREE = call.workTree;
  if (call.indexFile !== undefined) env.GIT_INDEX_FILE = call.indexFile;
  return env;
}

/** Nothing of the host's but, where the call asks for it, the places of its configuration. */
function sealedEnvironment(call: GitCall, helpers: string | null): Record<string, string> {
  return {
    // For a git that is a script: the system's programs, and none of a folder that a worker may have filled.
    PATH: '/usr/bin:/bin',
    ...(helpers === null ? {} : { GIT_EXEC_PATH: helpers }),
    LC_ALL: 'C.UTF-8',
    ...(call.userConfig === undefined ? NO_USER_CONFIG : userConfigPlaces(call.userConfig)),
    GIT_ATTR_NOSYSTEM: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_GRAFT_FILE: '/dev/null',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_PAGER: 'cat',
    GIT_TRACE2: '0',
    GIT_TRACE2_EVENT: '0',
    GIT_TRACE2_PERF: '0',
    GIT_AUTHOR_NAME: IDENTITY.NAME,
    GIT_AUTHOR_EMAIL: IDENTITY.EMAIL,
    GIT_COMMITTER_NAME: IDENTITY.NAME,
    GIT_COMMITTER_EMAIL: IDENTITY.EMAIL,
  };
}

/** Runs git and answers with whatever it did; never throws for an exit code. */
export async function tryGit(call: GitCall): Promise<GitOutput> {
  const program = gitProgram(gitPath());
  if (program === null) return notRun('not-found', 'there is no git in any absolute folder of PATH');
  const replaced = replacedProgram(program);
  if (replaced !== null)
    return notRun(
      'replaced',
      `${replaced} is not the program any more that it was when this run began; it was not run`,
    );
  try {
    return await start(program, call);
  } catch (error) {
    if (error instanceof TypeError && error.message.includes('stdio is not iterable')) {
      return notRun(
        'not-started',
        'git could not be started: too many open files (EMFILE). Raise the limit (ulimit -n).',
      );
    }
    throw error;
  }
}

/**
 * Without a descriptor left Node gives a child without streams, on which execa throws before it listens; the child's own
 * 'error' would then end this process, in the middle of a run. Whoever starts a child hears of it in its own way.
 */
subscribe('child_process', (message) => void (message as { process: ChildProcess }).process.on('error', () => {}));

async function start(program: NonNullable<ReturnType<typeof gitProgram>>, call: GitCall): Promise<GitOutput> {
  const result = await execa(program.file, call.args, {
    cwd: '/',
    env: environment(call, program.helpers),
    // Git takes its own name for a command where that begins with "git-".
    argv0: 'git',
    extendEnv: false,
    encoding: 'buffer',
    stripFinalNewline: false,
    reject: false,
    detached: true,
    maxBuffer: 2 ** 30,
    timeout: call.timeoutMs ?? 120_000,
    killSignal: 'SIGKILL',
    stdin: call.inputFile !== undefined ? { file: call.inputFile } : (call.input ?? 'ignore'),
    stdout: call.outputFile !== undefined ? { file: call.outputFile } : 'pipe',
  });
  // Git's own answer is worth nothing where what it said could not be kept: a full disk below `outputFile`.
  const code = result.failed && result.exitCode === 0 ? null : (result.exitCode ?? null);
  return {
    code,
    stdout: Buffer.from(result.stdout ?? []),
    stderr: Buffer.from(result.stderr ?? []).toString('utf8') || (result.originalMessage ?? ''),
    failure: code !== null ? null : failureOf(result),
  };
}

const notRun = (failure: NonNullable<GitOutput['failure']>, stderr: string): GitOutput => ({
  code: null,
  stdout: Buffer.alloc(0),
  stderr,
  failure,
});

function failureOf(result: {
  readonly code?: string | undefined;
  readonly timedOut: boolean;
  readonly isMaxBuffer: boolean;
  readonly isTerminated: boolean;
}): NonNullable<GitOutput['failure']> {
  if (result.timedOut) return 'timed-out';
  if (result.isMaxBuffer) return 'output-too-large';
  if (result.isTerminated) return 'ended-by-signal';
  return result.code === 'ENOENT' ? 'not-found' : 'not-started';
}

/**
 * Runs git with this process's own streams, for what a person looks at: a pager can only read its keys in the session of
 * the terminal. `cwd`: where relative paths of the arguments start. Answers with the exit code, null where a signal ended
 * git, or with why it was not started.
 */
export async function showGit(call: GitCall, cwd: string): Promise<{ readonly code: number | null } | string> {
  const program = gitProgram(gitPath());
  if (program === null) return 'there is no git in any absolute folder of PATH';
  const result = await execa(program.file, call.args, {
    cwd,
    env: environment(call, program.helpers),
    argv0: 'git',
    extendEnv: false,
    reject: false,
    stdio: 'inherit',
  });
  if (result.exitCode === undefined && !result.isTerminated)
    return result.originalMessage ?? 'git could not be started';
  return { code: result.exitCode ?? null };
}

/** Runs git where failure is not an answer. Throws {@link GitError}. */
export async function git(call: GitCall): Promise<Buffer> {
  const output = await tryGit(call);
  if (output.code !== 0) throw new GitError(call.args, output);
  return output.stdout;
}

/** The output of {@link git} as one line of text. */
export const gitLine = async (call: GitCall): Promise<string> => (await git(call)).toString('utf8').trimEnd();

/** Splits `-z` output into its records; a trailing NUL makes no empty record. */
export function splitNul(output: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0, at);
    records.push(output.subarray(at, end < 0 ? output.length : end));
    at = end < 0 ? output.length : end + 1;
  }
  return records;
}
