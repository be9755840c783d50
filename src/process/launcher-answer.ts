/**
 * Tells the launcher's own answer (bwrap, unshare and its init, prlimit) from the worker's: both arrive as one exit code and one
 * stderr.
 */
import { readBwrapStatus } from './bwrap.ts';
import type { LogCapture } from './capture.ts';
import type { Containment } from './containment.ts';
import type { Exit } from './ending.ts';
import type { LaunchRequest } from './launch.ts';
import { readComplaint, type StartError } from './start-error.ts';

/**
 * unshare 2.38 cannot die of KILL after its child did: it says so and answers 1. Everything else it passes on. The kernel
 * and this program both end workers by KILL.
 */
export function exitThrough(containment: Containment, exit: Exit, stderr: LogCapture): Exit {
  if (containment.mechanism !== 'unshare' || exit.code !== 1) return exit;
  const said = stderr.last().toString('latin1').trimEnd().split('\n').at(-1);
  return /^unshare: (sigprocmask|child exit)/.test(said ?? '') ? { code: null, signal: 'SIGKILL' } : exit;
}

/** The start error where the launcher ran and the worker never did; null where the worker ran. */
export function neverRan(
  request: Omit<LaunchRequest, 'hasInput'>,
  exit: Exit,
  status: string,
  logs: readonly [LogCapture, LogCapture],
): StartError | null {
  const { containment, executable, cwd } = request;
  const complaint = logs[1].head().toString('utf8');
  if (containment.mechanism === 'bwrap') {
    const ran = readBwrapStatus(status).exitCode !== null || exit.code === null || exit.code === 0;
    return ran ? null : readComplaint(complaint, executable, cwd);
  }
  if (containment.mechanism === 'sweep' && containment.prlimit === null) return null;
  // These launchers answer 126 or 127 and name the program on stderr; the worker itself has printed nothing then.
  if ((exit.code !== 126 && exit.code !== 127) || logs[0].head().length > 0) return null;
  const launcher = containment.mechanism === 'unshare' ? /^(unshare|sh): / : /^prlimit: /;
  const named =
    launcher.test(complaint) && complaint.includes(executable) && complaint.indexOf('\n') === complaint.length - 1;
  return named ? readComplaint(complaint, executable, cwd) : null;
}
