/**
 * Which new paths git would ignore, by the rules the host had before a worker ran: the base's own .gitignore files, the
 * repository's info/exclude and the host's core.excludesFile, laid out in a private folder that no worker can reach.
 */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { decodePath, encodePath, type RepoPath } from '../model/path.ts';
import type { RepositoryFacts } from '../model/plan.ts';
import { writeBareRepository } from './bare-repository.ts';
import { type BaseTree, filesNamed, readBlobs } from './base-tree.ts';
import type { Location } from './configured-files.ts';
import { GitError, type HostEnvironment, splitNul, tryGit } from './run.ts';

export interface IgnoreRules {
  readonly gitDir: string;
  readonly workTree: string;
}

/** The ignore file of the person at this machine, absolute, or null where there is none. */
export async function hostExcludesFile(facts: Location, hostEnv: HostEnvironment): Promise<string | null> {
  const configured = await tryGit({
    gitDir: facts.gitDir,
    workTree: facts.worktree,
    userConfig: hostEnv,
    args: ['config', '--path', '--get', 'core.excludesFile'],
  });
  const path =
    configured.code === 0 ? configured.stdout.toString('utf8').replace(/\n$/, '') : defaultExcludesFile(hostEnv);
  if (path === null || path === '') return null;
  return isAbsolute(path) ? path : join(facts.worktree, path);
}

function defaultExcludesFile(hostEnv: HostEnvironment): string | null {
  if (hostEnv.XDG_CONFIG_HOME) return join(hostEnv.XDG_CONFIG_HOME, 'git', 'ignore');
  return hostEnv.HOME ? join(hostEnv.HOME, '.config', 'git', 'ignore') : null;
}

/**
 * Copies the rules as they are now into `scratch`, an existing empty private folder. Call it before the worker starts.
 * `excludesFile` is what {@link hostExcludesFile} found.
 */
export async function copyIgnoreRules(options: {
  readonly facts: RepositoryFacts;
  readonly tree: BaseTree;
  readonly scratch: string;
  readonly excludesFile: string | null;
}): Promise<IgnoreRules> {
  const { facts, tree, scratch, excludesFile } = options;
  const rules = { gitDir: join(scratch, 'rules.git'), workTree: join(scratch, 'tree') };
  await mkdir(rules.gitDir);
  writeBareRepository(rules.gitDir, { objectFormat: 'sha1', alternates: [] });
  await mkdir(rules.workTree);
  const copy = async (from: string, to: string): Promise<void> => writeFile(to, await bytesIfPresent(from));
  await copy(join(facts.commonDir, 'info', 'exclude'), join(rules.gitDir, 'info', 'exclude'));
  if (excludesFile !== null) await copy(excludesFile, join(rules.gitDir, 'excludes'));

  const files = filesNamed(tree, '.gitignore');
  const contents = await readBlobs(
    facts.gitDir,
    files.map(([, { oid }]) => oid),
  );
  for (const [i, [path]] of files.entries()) {
    const target = Buffer.concat([Buffer.from(`${rules.workTree}/`), encodePath(path)]);
    const folder = encodePath(dirname(path) as RepoPath);
    await mkdir(Buffer.concat([Buffer.from(`${rules.workTree}/`), folder]), { recursive: true });
    await writeFile(target, contents[i] ?? '');
  }
  return rules;
}

async function bytesIfPresent(path: string): Promise<Buffer> {
  try {
    return (await stat(path)).isFile() ? await readFile(path) : Buffer.alloc(0);
  } catch {
    // As git does it: an ignore file that is absent, a folder or unreadable has no rules.
    return Buffer.alloc(0);
  }
}

/** Keeps a leading `:` from being read as pathspec magic; git gives every path back as it was asked. */
const PREFIX = Buffer.from('./');

/**
 * Those of `paths` that the rules ignore. Paths name files, not folders, and need not exist; they are repository-relative
 * and lie below no `.git`. Rules about folders apply through a path's parents.
 */
export async function checkIgnored(rules: IgnoreRules, paths: Iterable<RepoPath>): Promise<Set<RepoPath>> {
  const input: Buffer[] = [];
  for (const path of paths) input.push(PREFIX, encodePath(path), Buffer.of(0));
  if (input.length === 0) return new Set();
  const args = ['check-ignore', '-z', '--stdin', '--no-index'];
  const output = await tryGit({
    gitDir: rules.gitDir,
    workTree: rules.workTree,
    args,
    input: Buffer.concat(input),
    literalPathspecs: false,
    config: [
      ['core.excludesFile', join(rules.gitDir, 'excludes')],
      ['core.bare', 'false'],
    ],
  });
  // 1 says that none is ignored.
  if (output.code !== 0 && output.code !== 1) throw new GitError(args, output);
  return new Set(splitNul(output.stdout).map((path) => decodePath(path.subarray(PREFIX.length))));
}
