/**
 * How a worker's process came to its end. Many things may happen at once (it exits, a deadline passes, the host cancels);
 * exactly one of them is the reason, the first, and what comes later never rewrites it.
 */
import { constants } from 'node:os';
import type { Termination } from '../model/observation.ts';
import { unreachable } from '../model/result.ts';

export type StopReason = Extract<Termination, { kind: 'stopped' }>['by'];

export type Ending =
  | { readonly phase: 'running' }
  | { readonly phase: 'stopping'; readonly by: StopReason; readonly signal: string }
  | { readonly phase: 'ended'; readonly termination: Termination };

/** How a process left: its code, or the signal that ended it. */
export type Exit = { readonly code: number; readonly signal: null } | { readonly code: null; readonly signal: string };

export type EndingEvent =
  /** Somebody decided that it must stop. `signal`: what it is told first; the host's own signal for `cancel`. */
  | { readonly kind: 'stop'; readonly by: StopReason; readonly signal: string }
  /** A stronger signal was needed. */
  | { readonly kind: 'escalate'; readonly signal: string }
  | { readonly kind: 'exit'; readonly exit: Exit }
  /** It never ran: the code of the error, such as ENOENT. */
  | { readonly kind: 'not-started'; readonly error: string }
  /** It did not even leave when killed; waiting ends here. */
  | { readonly kind: 'lost' };

export const RUNNING: Ending = { phase: 'running' };

/** The ending after one more event. Total; an ended one never changes. */
export function advance(ending: Ending, event: EndingEvent): Ending {
  if (ending.phase === 'ended') return ending;
  if (ending.phase === 'stopping') return advanceStopping(ending, event);
  switch (event.kind) {
    case 'stop':
      return { phase: 'stopping', by: event.by, signal: event.signal };
    case 'escalate':
      return ending;
    case 'exit':
      return ended(
        event.exit.signal === null
          ? { kind: 'exited', code: event.exit.code }
          : { kind: 'signaled', signal: event.exit.signal },
      );
    case 'not-started':
      return ended({ kind: 'not-started', error: event.error });
    case 'lost':
      return ended({ kind: 'signaled', signal: 'SIGKILL' });
    default:
      return unreachable(event);
  }
}

function advanceStopping(ending: Extract<Ending, { phase: 'stopping' }>, event: EndingEvent): Ending {
  const { by, signal } = ending;
  switch (event.kind) {
    case 'stop':
      return ending;
    case 'escalate':
      // The host's own signal stays named: the exit code of a cancelled run hangs on it.
      return by === 'cancel' ? ending : { ...ending, signal: event.signal };
    case 'exit':
      return ended({ kind: 'stopped', by, signal, code: event.exit.code });
    case 'not-started':
    case 'lost':
      return ended({ kind: 'stopped', by, signal, code: null });
    default:
      return unreachable(event);
  }
}

const ended = (termination: Termination): Ending => ({ phase: 'ended', termination });

const SIGNAL_NAMES = new Map<number, string>(
  Object.entries(constants.signals).map(([name, number]) => [number, name] as const),
);
// The table has aliases (SIGIOT, SIGPOLL, SIGUNUSED) after the usual names; the usual names win.
for (const name of ['SIGABRT', 'SIGIO', 'SIGSYS'] as const) SIGNAL_NAMES.set(constants.signals[name], name);

/**
 * The exit as the worker made it. An init (bwrap's, or the shell behind unshare) answers for a worker that died of signal
 * n with code 128 + n, which cannot be told from a worker that chose that code: it is read as the signal, the far more
 * frequent of the two.
 */
export function exitOf(code: number | null, signal: string | null, through: 'init' | 'direct'): Exit {
  if (code === null) return { code: null, signal: signal ?? 'SIGKILL' };
  const name = through === 'init' ? SIGNAL_NAMES.get(code - 128) : undefined;
  return name === undefined ? { code, signal: null } : { code: null, signal: name };
}
