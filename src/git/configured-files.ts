/** Which files a repository's configuration comes from, and which hooks folder it points to; only git can tell. */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { git, type HostEnvironment, splitNul } from './run.ts';

/** Where one repository lies, all absolute. */
export interface Location {
  readonly worktree: string;
  readonly gitDir: string;
  readonly commonDir: string;
  readonly objectsDir: string;
}

/** Every folder in which something of the repository lies, each once; the worktree is the first. */
export const repositoryFolders = ({ worktree, gitDir, commonDir, objectsDir }: Location): string[] => [
  ...new Set([worktree, gitDir, commonDir, objectsDir]),
];

export interface ConfiguredFiles {
  /** Included files among them, also those that do not exist. */
  readonly config: readonly string[];
  readonly hooks: string | null;
}

/**
 * Asks git with the repository's own configuration, and with `hostEnv` also with what the host's own git reads before it:
 * the user's and the system's files, whatever they include, and where they would be if they existed.
 */
export async function configuredFiles(location: Location, hostEnv: HostEnvironment | null): Promise<ConfiguredFiles> {
  const listing = await git({
    gitDir: location.gitDir,
    workTree: location.worktree,
    args: ['config', '-z', '--list', '--show-origin', '--show-scope'],
    ...(hostEnv !== null && { userConfig: hostEnv }),
  });
  const config = new Set<string>(hostEnv === null ? [] : userFiles(hostEnv));
  let hooks: string | null = null;
  const records = splitNul(listing).map((record) => record.toString('utf8'));
  for (let at = 0; at + 2 < records.length; at += 3) {
    const [scope, origin = '', setting = ''] = records.slice(at, at + 3);
    if (scope === 'command' || !origin.startsWith('file:')) continue;
    const file = resolve('/', origin.slice('file:'.length));
    config.add(file);
    const key = setting.slice(0, setting.indexOf('\n'));
    const value = expandHome(setting.slice(key.length + 1), hostEnv);
    // `~` of somebody who has no home: git gives up on it too.
    if (value === null) continue;
    // An included file that is absent is named too: it may appear.
    if (/^include(if\..*)?\.path$/s.test(key)) config.add(resolve(dirname(file), value));
    if (key === 'core.hookspath') hooks = isAbsolute(value) ? value : join(location.worktree, value);
  }
  return { config: [...config], hooks };
}

/**
 * What the host's git obeys and what lies outside of `folders`, as it exists now: configuration files and the hooks folder,
 * by their real paths. Something else at such a place, like a device, is left out.
 */
export async function obeyedOutside(
  location: Location,
  hostEnv: HostEnvironment,
  excludesFile: string | null,
  folders: readonly string[],
): Promise<string[]> {
  const { config, hooks } = await configuredFiles(location, hostEnv);
  const files = [...config, ...(excludesFile === null ? [] : [excludesFile])];
  const real = [
    ...files.flatMap((file) => existing(file, (stat) => stat.isFile())),
    ...(hooks === null ? [] : existing(hooks, (stat) => stat.isDirectory())),
  ];
  const isOutside = (path: string): boolean =>
    !folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
  return [...new Set(real)].filter(isOutside);
}

function existing(path: string, isWanted: (stat: ReturnType<typeof statSync> & object) => boolean): string[] {
  try {
    const real = realpathSync(path);
    return isWanted(statSync(real)) ? [real] : [];
  } catch {
    // Absent, or not reachable for us.
    return [];
  }
}

/** The files that the host's git reads where they exist. A worker may make one that did not. */
function userFiles({ HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM }: HostEnvironment): string[] {
  const xdg = XDG_CONFIG_HOME || (HOME ? join(HOME, '.config') : '');
  const files = [
    HOME ? join(HOME, '.gitconfig') : '',
    xdg === '' ? '' : join(xdg, 'git', 'config'),
    '/etc/gitconfig',
    // No git of this program heeds these, and the user's own does.
    GIT_CONFIG_GLOBAL ?? '',
    GIT_CONFIG_SYSTEM ?? '',
  ];
  return files.filter((file) => isAbsolute(file));
}

/** A path of the configuration as git reads it: `~` is HOME, `~name` the home of that user. */
function expandHome(value: string, hostEnv: HostEnvironment | null): string | null {
  const [, name, rest = ''] = /^~([^/]*)(.*)$/s.exec(value) ?? [];
  if (name === undefined) return value;
  const home = name === '' ? hostEnv?.HOME : homeOf(name);
  return home ? `${home}${rest}` : null;
}

function homeOf(name: string): string | undefined {
  try {
    const users = readFileSync('/etc/passwd', 'utf8').split('\n');
    return users.find((line) => line.startsWith(`${name}:`))?.split(':')[5];
  } catch {
    // No such list here: the user is not known.
    return undefined;
  }
}
