/** Whether a record's commit is still what the repository has: the object, and the ref that should hold it. */
import { git, tryGit } from './run.ts';

/** Whether the repository has the commit and its tree. */
export async function holdsCommit(gitDir: string, oid: string): Promise<boolean> {
  const args = ['cat-file', '-e', `${oid}^{commit}^{tree}`];
  return (await tryGit({ gitDir, args })).code === 0;
}

/** What the ref holds, without following it anywhere; null where there is no such ref. Throws {@link GitError}. */
export async function oidAt(gitDir: string, ref: string): Promise<string | null> {
  const listing = await git({ gitDir, args: ['for-each-ref', '--format=%(objectname) %(refname)', '--', ref] });
  for (const line of listing.toString('utf8').split('\n')) {
    const [oid, name] = line.split(' ');
    // A pattern also finds what lies below it.
    if (oid !== undefined && name === ref) return oid;
  }
  return null;
}
