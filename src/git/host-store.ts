/**
 * A bare repository that only the host knows: commits are built and foreign objects are examined here. Its configuration
 * is its own, it has no hooks, no remotes and no refs of anybody, filters and conversions are off, and it borrows the
 * canonical objects, so that nothing reaches the canonical repository before it is published on purpose.
 */
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RepositoryFacts } from '../model/plan.ts';
import { quoteBytes } from './quote.ts';
import { git } from './run.ts';

export interface HostStore {
  readonly gitDir: string;
}

/** Bytes go in and out as they are; info/attributes beats every .gitattributes in the tree. */
export const RAW_ATTRIBUTES = '* -text !eol -ident !filter -diff -merge !working-tree-encoding\n';

/** Makes the store at `dir`, which must not exist or be empty. */
export async function createHostStore(dir: string, facts: RepositoryFacts): Promise<HostStore> {
  return createStore(dir, facts, [facts.objectsDir]);
}

/** A store that borrows from several object folders. The first one that has an object answers for it. */
export async function createStore(
  dir: string,
  facts: RepositoryFacts,
  objectFolders: readonly string[],
): Promise<HostStore> {
  await git({
    gitDir: null,
    args: ['init', '-q', '--bare', '--template=', `--object-format=${facts.objectFormat}`, dir],
  });
  await writeFile(join(dir, 'config'), configOf(facts.objectFormat));
  await mkdir(join(dir, 'info'), { recursive: true });
  await writeFile(join(dir, 'info', 'attributes'), RAW_ATTRIBUTES);
  await mkdir(join(dir, 'objects', 'info'), { recursive: true });
  await writeFile(join(dir, 'objects', 'info', 'alternates'), objectFolders.map(alternateLine).join(''));
  // A shallow clone lacks the parents of its oldest commits; without this list a walk would call that damage.
  if (facts.shallow) await copyFile(join(facts.commonDir, 'shallow'), join(dir, 'shallow'));
  return { gitDir: dir };
}

const configOf = (format: RepositoryFacts['objectFormat']): string =>
  [
    '[core]',
    `\trepositoryformatversion = ${format === 'sha256' ? 1 : 0}`,
    '\tbare = true',
    '\tfilemode = true',
    '\tsymlinks = true',
    '\tlogAllRefUpdates = false',
    ...(format === 'sha256' ? ['[extensions]', '\tobjectFormat = sha256'] : []),
    '',
  ].join('\n');

/** A line of info/alternates; a path with a newline would be two. */
const alternateLine = (folder: string): string =>
  `${folder.includes('\n') ? quoteBytes(Buffer.from(folder)) : folder}\n`;
