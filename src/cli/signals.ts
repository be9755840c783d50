/** SIGINT, SIGTERM and SIGHUP as one abort: the first one counts, later ones change nothing that is under way. */
import type { CancelSignal } from '../model/codes.ts';

const SIGNALS: readonly CancelSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** `say` is told once. `release` gives the signals back their default meaning. */
export function listenForSignals(say: (signal: CancelSignal) => void): { stop: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const handlers = SIGNALS.map((signal) => {
    const handler = (): void => {
      if (controller.signal.aborted) return;
      say(signal);
      controller.abort(signal);
    };
    process.on(signal, handler);
    return { signal, handler };
  });
  return {
    stop: controller.signal,
    release: () => {
      for (const { signal, handler } of handlers) process.off(signal, handler);
    },
  };
}
