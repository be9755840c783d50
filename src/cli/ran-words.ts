/** How a worker ran, in words: as what, within what, how it ended, what was left of it, and what it said of itself. */
import type { Isolation, Processes, Termination } from '../model/observation.ts';
import type { AttemptRecord } from '../model/receipt.ts';
import { unreachable } from '../model/result.ts';
import { told } from './told.ts';

/** Of an attempt whose process was started. */
export const ranWords = (attempt: AttemptRecord): string[] => [
  ...told('model', modelWords(attempt.model)),
  ...told('isolation', isolationWords(attempt.isolation)),
  ...told('ended', endWords(attempt.termination)),
  ...told('processes', processWords(attempt.processes)),
  ...told('said', reportWords(attempt)),
  ...told('usage', usageWords(attempt)),
];

/** The three of them are kept apart: asked for, sent, and what the worker says of itself. */
export function modelWords({ requested, resolved, reported }: AttemptRecord['model']): string {
  return [
    requested === null ? "none asked for: the CLI's own choice" : `asked for ${requested}`,
    ...(resolved === null || resolved === requested ? [] : [`resolved to ${resolved}`]),
    ...(reported === null ? [] : [`reported ${reported} (self-reported)`]),
  ].join(', ');
}

const LEVELS: Record<Isolation['level'], string> = {
  none: 'none: it could write everything that you can',
  guard: 'guard: it could not write your repository or the records of the run',
  strict: 'strict: it could write nothing but its workspace and its own state',
};
const NETWORKS: Record<Isolation['network'], string> = {
  enforced: 'network switched off',
  declared: 'network limited by word only',
  open: 'network open',
};

/** What the worker could reach. */
export const isolationWords = ({ level, mechanism, network }: Isolation): string =>
  `${LEVELS[level]}${mechanism === 'none' ? '' : ` (${mechanism})`}; ${NETWORKS[network]}`;

const STOPS: Record<Extract<Termination, { kind: 'stopped' }>['by'], string> = {
  'total-timeout': 'stopped, because its time was over',
  'idle-timeout': 'stopped, because it said nothing for too long',
  'provider-wait': 'stopped, because it waited for its provider for too long',
  cancel: 'stopped by you',
  finished: 'stopped after it had said that it was done',
};

/** How a worker's process came to its end. */
export function endWords(end: Termination): string {
  switch (end.kind) {
    case 'exited':
      return `exit code ${end.code}`;
    case 'signaled':
      return `killed by ${end.signal}`;
    case 'stopped':
      return `${STOPS[end.by]} (${end.signal}${end.code === null ? '' : `, exit code ${end.code}`})`;
    case 'not-started':
      return `no process was started (${end.error})`;
    default:
      return unreachable(end);
  }
}

const CONTAINED: Record<Processes['containment'], string> = {
  'pid-namespace': 'in a PID namespace, which ended with all that was in it',
  'session-sweep': 'searched for until none was found',
  none: 'not contained',
};

function processWords({ containment, escaped, killed, survivors }: Processes): string {
  const counts = [
    ...(escaped > 0 ? [`${escaped} had left its process group`] : []),
    ...(killed > 0 ? [`${killed} had to be ended`] : []),
    ...(survivors > 0 ? [`${survivors} MAY STILL BE THERE`] : []),
  ];
  return [CONTAINED[containment], ...counts].join('; ');
}

function reportWords({ reported }: AttemptRecord): string | null {
  if (reported.error !== null) return `error: ${reported.error} (self-reported)`;
  return reported.status === null ? null : `${reported.status} (self-reported)`;
}

function usageWords({ usage }: AttemptRecord): string | null {
  const counts = [
    [usage.input_tokens, 'tokens in'],
    [usage.output_tokens, 'out'],
    [usage.cache_read_tokens, 'from cache'],
    [usage.total_tokens, 'in all'],
  ].flatMap(([count, what]) => (count === null ? [] : [`${count} ${what}`]));
  const words = [...counts, ...(usage.cost_usd === null ? [] : [`${usage.cost_usd} USD`])];
  return words.length === 0 ? null : `${words.join(', ')} (self-reported)`;
}
