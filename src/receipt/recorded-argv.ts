/** Command lines as records carry them. */
import { neutralise } from './neutralise.ts';
import { REDACTED } from './redact.ts';

/** Whether a recorded command is this one; a word from which a secret was taken out may be any. */
export const isSameArgv = (recorded: readonly string[], argv: readonly string[] | undefined): boolean =>
  recorded.length === argv?.length &&
  recorded.every((word, i) => word.includes(REDACTED) || word === neutralise(argv[i] ?? ''));
