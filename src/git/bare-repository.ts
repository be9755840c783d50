/**
 * A repository written by hand: the few files git needs to take a folder for one. Written instead of `git init` because
 * a template or an inherited setting then has no say, and because it costs no process. The invariant: it reads objects
 * through alternates only, has no refs, no remotes, no hooks, and checks files out as raw bytes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { quoteBytes } from './quote.ts';

/** Bytes go in and out as they are (docs/adr/0002-raw-bytes.md); info/attributes beats every .gitattributes in the tree. */
export const RAW_ATTRIBUTES = '* -text !eol -ident !filter -diff -merge !working-tree-encoding\n';

interface BareRepository {
  readonly objectFormat: 'sha1' | 'sha256';
  /** Absolute folders of other repositories whose objects are readable through this one. */
  readonly alternates: readonly string[];
  readonly exclude?: Uint8Array;
  readonly shallow?: Uint8Array;
  /** Of a repository that a worker gets: the run that made it, as a chain names it (docs/adr/0007-recursion.md). */
  readonly madeBy?: string;
}

/** Where {@link BareRepository.madeBy} is kept. */
export const MADE_BY = 'agent-exec.madeby';

/**
 * `bare = false` although it has no worktree of its own: linked worktrees share this file, and other readers of git
 * repositories take them for bare otherwise. Automatic gc and fsmonitor would leave processes behind.
 */
function config({ objectFormat, madeBy }: BareRepository): string {
  const core = ['bare = false', 'filemode = true', 'symlinks = true', 'logallrefupdates = true', 'fsmonitor = false'];
  return [
    '[core]',
    `repositoryformatversion = ${objectFormat === 'sha1' ? 0 : 1}`,
    ...core,
    ...(objectFormat === 'sha1' ? [] : ['[extensions]', `objectformat = ${objectFormat}`]),
    '[gc]',
    'auto = 0',
    '[maintenance]',
    'auto = false',
    ...(madeBy === undefined ? [] : ['[agent-exec]', `madeby = ${madeBy}`]),
  ]
    .map((line) => (line.startsWith('[') ? `${line}\n` : `\t${line}\n`))
    .join('');
}

/** A line of `info/alternates`: quoted only where the path itself holds a newline. */
const alternateLine = (path: string): string => `${path.includes('\n') ? quoteBytes(Buffer.from(path)) : path}\n`;

/** Writes the repository into `dir`, an empty folder. Throws the file system's error. */
export function writeBareRepository(dir: string, repository: BareRepository): void {
  for (const folder of ['objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads', 'refs/tags', 'info']) {
    mkdirSync(join(dir, folder), { mode: 0o700 });
  }
  writeFileSync(join(dir, 'HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(dir, 'config'), config(repository));
  writeFileSync(join(dir, 'objects/info/alternates'), repository.alternates.map(alternateLine).join(''));
  writeFileSync(join(dir, 'info/attributes'), RAW_ATTRIBUTES);
  if (repository.exclude !== undefined) writeFileSync(join(dir, 'info/exclude'), repository.exclude);
  if (repository.shallow !== undefined) writeFileSync(join(dir, 'shallow'), repository.shallow);
}
