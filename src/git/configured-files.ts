/** Which files a repository's configuration comes from, and which hooks folder it points to; only git can tell. */
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { git, splitNul } from './run.ts';

/** Where one repository lies, all absolute. */
export interface Location {
  readonly worktree: string;
  readonly gitDir: string;
  readonly commonDir: string;
  readonly objectsDir: string;
}

export interface ConfiguredFiles {
  /** Included files among them, also those that do not exist. */
  readonly config: readonly string[];
  readonly hooks: string | null;
}

/** Asks git with the repository's own configuration; user and system configuration have no part in it. */
export async function configuredFiles(location: Location): Promise<ConfiguredFiles> {
  const listing = await git({
    gitDir: location.gitDir,
    workTree: location.worktree,
    args: ['config', '-z', '--list', '--show-origin', '--show-scope'],
  });
  const config = new Set<string>();
  let hooks: string | null = null;
  const records = splitNul(listing).map((record) => record.toString('utf8'));
  for (let at = 0; at + 2 < records.length; at += 3) {
    const [scope, origin = '', setting = ''] = records.slice(at, at + 3);
    if (scope === 'command' || !origin.startsWith('file:')) continue;
    const file = resolve('/', origin.slice('file:'.length));
    config.add(file);
    const key = setting.slice(0, setting.indexOf('\n'));
    const value = setting.slice(key.length + 1);
    // An included file that is absent is named too: it may appear.
    if (/^include(if\..*)?\.path$/s.test(key) && !value.startsWith('~')) config.add(resolve(dirname(file), value));
    if (key === 'core.hookspath') hooks = isAbsolute(value) ? value : join(location.worktree, value);
  }
  return { config: [...config], hooks };
}
