/** What supervision needs of a started attempt's processes, whichever way they are held. */
import type { Processes } from '../model/observation.ts';

export interface ProcessTree {
  /** Looks once, to know later who there was. */
  observe(): void;
  /** Tells the worker's own group to leave. False where nobody was there to be told. */
  terminate(): boolean;
  /** Ends the worker, and with a namespace everything. Does not wait. */
  kill(): void;
  /** After the worker left: ends everything else, waits until it is gone, within bounds, and says what could not be. */
  end(): Promise<Processes>;
}

/** Longest that the end of a tree is waited for. */
export const END_MS = 3000;
