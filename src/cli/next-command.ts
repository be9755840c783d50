/** Command lines that a person can copy from what we print, whatever is in a path. */

/** The word as a POSIX shell takes it to be one. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** `agent-exec …` for the same state root as the command that says so. */
export const nextCommand = (
  words: readonly string[],
  { stateDir }: { readonly stateDir?: string | undefined },
): string =>
  ['agent-exec', ...words, ...(stateDir === undefined ? [] : ['--state-dir', stateDir])].map(shellWord).join(' ');
