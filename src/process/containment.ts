/**
 * Which means of isolation and containment this machine really offers. Nothing is believed from a version or a file's
 * presence: the very kind of command that will carry the worker is run once, and must keep its promise.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Unavailable } from '../model/adapter.ts';
import type { Isolation } from '../model/observation.ts';
import { err, ok, type Result } from '../model/result.ts';
import { bwrapCommand } from './bwrap.ts';
import { resolveMounts } from './mounts.ts';
import { isShortage, ShortageError } from './shortage.ts';

/**
 * How attempts are held on this machine. `program` and the other tools are absolute paths; `identity` is that of their
 * files when they were tried: what a worker puts in their place later is never started.
 */
export type Containment =
  | {
      readonly mechanism: 'bwrap';
      readonly level: 'guard' | 'strict';
      readonly program: string;
      readonly userNamespace: boolean;
      readonly identity: string;
    }
  | {
      readonly mechanism: 'unshare';
      readonly level: 'none';
      readonly program: string;
      readonly userNamespace: boolean;
      /** Makes the namespace end with the controller; null: a killed controller leaves it to `recover`. */
      readonly setpriv: string | null;
      readonly identity: string;
    }
  | {
      readonly mechanism: 'sweep';
      readonly level: 'none';
      /** Gives every process of the attempt an inherited mark; null: they are found by other traces only. */
      readonly prlimit: string | null;
      readonly identity: string;
    };

export interface ContainmentRequest {
  readonly wanted: 'auto' | 'none' | 'guard' | 'strict';
  readonly platform: NodeJS.Platform;
  /** The PATH in which bwrap, unshare, setpriv and prlimit are looked up; relative entries are ignored. */
  readonly path: string;
  /** An existing private folder for the trial; the host's TMPDIR may be anything. */
  readonly scratchParent: string;
}

const TRIAL_MS = 10_000;

/** The mechanism as the receipt names it. */
export const mechanismName = (containment: Containment): Isolation['mechanism'] =>
  containment.mechanism === 'sweep' ? 'none' : containment.mechanism;

/** The absolute path of an executable file on `path`, absolute entries only; null where there is none. */
export function lookUpTool(name: string, path: string): string | null {
  for (const folder of path.split(':')) {
    if (!isAbsolute(folder)) continue;
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return file;
    } catch {
      // Not here: the next folder is asked.
    }
  }
  return null;
}

/** The files as they are now; equal where nobody changed or replaced one. */
function identityOfTools(...tools: readonly (string | null)[]): string {
  const known = tools
    .filter((tool) => tool !== null)
    .map((tool) => {
      const stat = statSync(tool, { bigint: true, throwIfNoEntry: false });
      return stat === undefined ? 'absent' : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
    });
  return known.join(', ');
}

/** The tools of a containment that are not what they were, so that nothing may be started by them; null where all are. */
export function replacedTools(containment: Containment): string | null {
  const tools =
    containment.mechanism === 'bwrap'
      ? [containment.program]
      : containment.mechanism === 'unshare'
        ? [containment.program, containment.setpriv]
        : [containment.prlimit];
  if (identityOfTools(...tools) === containment.identity) return null;
  return tools.filter((tool) => tool !== null).join(' or ');
}

/** Runs a trial; null where it went well, else the first line of its complaint. */
function trial(command: readonly string[]): Promise<string | null> {
  const [program = '', ...args] = command;
  return new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      { cwd: '/', env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' }, timeout: TRIAL_MS, killSignal: 'SIGKILL' },
      (error, _, stderr) => {
        if (error === null) return resolve(null);
        // A machine without a descriptor left contains as well as any other: nothing weaker may stand in for it.
        if (isShortage(String(error.code))) return reject(new ShortageError(`${program}: ${error.message}`));
        if (error.killed === true) resolve(`no answer within ${TRIAL_MS / 1000} seconds`);
        else resolve(stderr.trim().split('\n', 1)[0] || `ended with ${String(error.code ?? error.signal)}`);
      },
    );
  });
}

/** True to its word: inside, the protected folder refuses writing and the opened one in it does not. */
const KEEPS_PROMISE = 'test -w "$1/open" && ! test -w "$1" && test "$(ls -d /proc/[0-9]* | wc -l)" -lt 20';

async function tryBwrap(
  program: string,
  level: 'guard' | 'strict',
  userNamespace: boolean,
  scratchParent: string,
): Promise<string | null> {
  const scratch = realpathSync(mkdtempSync(join(scratchParent, 'agent-exec-trial-')));
  try {
    const open = join(scratch, 'open');
    mkdirSync(open);
    const command = bwrapCommand(
      {
        program,
        level,
        userNamespace,
        runningAsRoot: process.getuid?.() === 0,
        networkOff: level === 'strict',
        statusDescriptor: null,
        workspace: scratch,
        mounts: resolveMounts({ readOnly: [scratch], writable: [open] }, level),
      },
      ['/bin/sh', '-c', KEEPS_PROMISE, 'sh', scratch],
    );
    return await trial(command);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

export function unshareCommand(containment: Extract<Containment, { mechanism: 'unshare' }>): string[] {
  return [
    ...(containment.setpriv === null ? [] : [containment.setpriv, '--pdeathsig', 'KILL', '--']),
    containment.program,
    ...(containment.userNamespace ? ['--user', '--map-current-user'] : []),
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    '--',
  ];
}

/** Root usually needs no user namespace, and inside a container often nothing works without one. */
const userNamespaceForms = (): readonly boolean[] => (process.getuid?.() === 0 ? [false, true] : [true]);

async function findBwrap(
  path: string,
  level: 'guard' | 'strict',
  scratchParent: string,
): Promise<Result<Containment, string>> {
  const program = lookUpTool('bwrap', path);
  if (program === null) return err('bwrap is not on PATH');
  let complaint = '';
  for (const userNamespace of userNamespaceForms()) {
    const failed = await tryBwrap(program, level, userNamespace, scratchParent);
    if (failed === null) {
      return ok({ mechanism: 'bwrap', level, program, userNamespace, identity: identityOfTools(program) });
    }
    complaint ||= failed;
  }
  return err(`${program} does not work here: ${complaint}`);
}

async function findUnshare(path: string): Promise<Containment | null> {
  const program = lookUpTool('unshare', path);
  if (program === null) return null;
  for (const setpriv of new Set([lookUpTool('setpriv', path), null])) {
    for (const userNamespace of userNamespaceForms()) {
      const identity = identityOfTools(program, setpriv);
      const containment = { mechanism: 'unshare', level: 'none', program, userNamespace, setpriv, identity } as const;
      // A fresh /proc in a new PID namespace shows its first process as 1.
      const failed = await trial([...unshareCommand(containment), '/bin/sh', '-c', 'test $$ = 1 && test -d /proc/1']);
      if (failed === null) return containment;
    }
  }
  return null;
}

/** What there is when nothing else works: session, parentage and marks. */
async function sweeping(path: string): Promise<Containment> {
  const prlimit = lookUpTool('prlimit', path);
  const works =
    prlimit !== null && (await trial([prlimit, '--locks=1000000000000:', '--', '/bin/sh', '-c', ':'])) === null;
  const used = works ? prlimit : null;
  return { mechanism: 'sweep', level: 'none', prlimit: used, identity: identityOfTools(used) };
}

/**
 * Finds the strongest containment for what is wanted. `auto` is `guard` where bwrap works, else `none`; `guard` and
 * `strict` are an error where they are not possible, never something weaker.
 */
export async function detectContainment(request: ContainmentRequest): Promise<Result<Containment, Unavailable>> {
  const { wanted, platform, path, scratchParent } = request;
  if (wanted !== 'none') {
    const level = wanted === 'strict' ? 'strict' : 'guard';
    const found =
      platform === 'linux' ? await findBwrap(path, level, scratchParent) : err(`bwrap does not exist on ${platform}`);
    if (found.ok) return ok(found.value);
    if (wanted !== 'auto') {
      return err({
        code: 'ISOLATION_UNAVAILABLE',
        message:
          `isolation ${wanted} is not possible: ${found.error}. ` +
          'Install bubblewrap and allow unprivileged user namespaces, or set isolation to auto or none.',
      });
    }
  }
  if (platform !== 'linux') return ok({ mechanism: 'sweep', level: 'none', prlimit: null, identity: '' });
  return ok((await findUnshare(path)) ?? (await sweeping(path)));
}
