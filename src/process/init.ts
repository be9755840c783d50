/**
 * The first process of a namespace that unshare makes. The kernel shields the first one from signals: a worker in its
 * place could not die of a fault that it raises itself, and would seem to have ended well. So a shell stands there, runs
 * the worker as its child, takes in orphans, and ends as the worker ended, with 128 + n for signal n. bwrap brings an
 * init of its own.
 */

/** The system's own, never one of PATH: a worker may have put programs there. */
const SHELL = '/bin/sh';

/** What shells add to the environment of what they run. */
const ADDED = ['PWD', 'OLDPWD', 'SHLVL'];

/**
 * The command with an init before it. The worker's streams are those of the init, which reads and writes none of them:
 * what shells say of a child that a signal ended would look like the worker's own words.
 */
export function behindInit(command: readonly string[], environment: Readonly<Record<string, string>>): string[] {
  const added = ADDED.filter((name) => environment[name] === undefined);
  // The exit at the end keeps shells from putting the worker in their own place.
  const unset = added.length === 0 ? '' : `unset ${added.join(' ')}; `;
  const script = `${unset}exec 3>&2 2>/dev/null; (exec "$@" 2>&3 3>&-); exit $?`;
  return [SHELL, '-c', script, 'sh', ...command];
}
