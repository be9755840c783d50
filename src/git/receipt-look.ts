/**
 * Looks up what a receipt names. Only full object names, and refs that this tool itself composes, ever reach git; what a
 * name leads to is asked for its kind and size before anything of it is read.
 */
import type { CommitFacts, ObjectLook } from '../model/repository-look.ts';
import { git, tryGit } from './run.ts';

/** No commit that this tool makes is larger. */
const MAX_COMMIT_BYTES = 1024 * 1024;
const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** What each of these names is. Throws {@link GitError}. */
export async function lookAtObjects(gitDir: string, oids: readonly string[]): Promise<ReadonlyMap<string, ObjectLook>> {
  const wanted = [...new Set(oids)];
  if (wanted.some((oid) => !OID.test(oid))) throw new Error('not the full name of an object');
  const looks = new Map<string, ObjectLook>();
  if (wanted.length === 0) return looks;
  const input = (names: readonly string[]): Uint8Array => Buffer.from(names.map((name) => `${name}\n`).join(''));
  const kinds = await git({
    gitDir,
    args: ['cat-file', '--batch-check=%(objecttype) %(objectsize)'],
    input: input(wanted),
  });
  const commits: string[] = [];
  for (const [i, line] of kinds.toString('latin1').trimEnd().split('\n').entries()) {
    const oid = wanted[i] ?? '';
    const [, kind, size] = /^(\w+) (\d+)$/.exec(line) ?? [];
    looks.set(oid, kind === undefined ? { kind: 'missing' } : { kind: 'another-kind' });
    if (kind === 'commit' && Number(size) <= MAX_COMMIT_BYTES) commits.push(oid);
  }
  if (commits.length === 0) return looks;
  const output = await git({ gitDir, args: ['cat-file', '--batch'], input: input(commits) });
  let at = 0;
  for (const oid of commits) {
    const end = output.indexOf(10, at);
    const size = Number(/ commit (\d+)$/.exec(output.toString('latin1', at, end))?.[1]);
    if (end < 0 || Number.isNaN(size)) throw new Error('cat-file answered in an unknown form');
    looks.set(oid, commitFacts(oid, output.toString('utf8', end + 1, end + 1 + size)));
    at = end + 2 + size;
  }
  return looks;
}

function commitFacts(commit: string, text: string): CommitFacts {
  const header = text.slice(0, text.indexOf('\n\n')).split('\n');
  const values = (name: string): string[] =>
    header.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  const who = (name: string): string => (values(name)[0] ?? '').replace(/ -?\d+ [+-]\d+$/, '');
  return {
    kind: 'commit',
    commit,
    tree: values('tree')[0] ?? '',
    parents: values('parent'),
    author: who('author'),
    committer: who('committer'),
  };
}

/** A file of a commit, at most `limit` bytes; null where there is none, or a larger one. `path` is the program's own. */
export async function fileAt(gitDir: string, commit: string, path: string, limit: number): Promise<Buffer | null> {
  if (!OID.test(commit)) throw new Error('not the full name of an object');
  const entry = await tryGit({ gitDir, args: ['ls-tree', '-l', '-z', '--full-tree', commit, '--', path] });
  const [, oid, size] = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t/.exec(entry.stdout.toString('latin1')) ?? [];
  if (entry.code !== 0 || oid === undefined || Number(size) > limit) return null;
  const blob = await tryGit({ gitDir, args: ['cat-file', 'blob', oid] });
  return blob.code === 0 ? blob.stdout : null;
}

/**
 * The changed lines between two blobs with three lines around them, without where they stand; null where they are no
 * text, or git fails.
 */
export async function hunksBetween(gitDir: string, from: string, to: string): Promise<string | null> {
  if (!OID.test(from) || !OID.test(to)) throw new Error('not the full name of an object');
  const flags = [
    '--no-ext-diff',
    '--no-textconv',
    '--no-color',
    '--full-index',
    '--unified=3',
    '--inter-hunk-context=0',
  ];
  const output = await tryGit({ gitDir, args: ['diff', ...flags, from, to] });
  if (output.code !== 0) return null;
  const text = output.stdout.toString('latin1');
  const first = text.indexOf('\n@@ ');
  return first < 0 ? null : text.slice(first + 1).replace(/^@@ -[\d,]+ \+[\d,]+ @@.*$/gm, '@@');
}

/** Every ref of a run and what it holds. Throws {@link GitError}. */
export async function refsBelow(gitDir: string, runId: string): Promise<ReadonlyMap<string, string>> {
  const patterns = [`refs/agent-exec/${runId}/`, `refs/agent-exec-quarantine/${runId}/`];
  const listing = await git({ gitDir, args: ['for-each-ref', '--format=%(refname) %(objectname)', '--', ...patterns] });
  return new Map(
    listing
      .toString('utf8')
      .split('\n')
      .flatMap((line) => {
        const [ref, oid] = line.split(' ');
        return ref === undefined || oid === undefined ? [] : [[ref, oid] as const];
      }),
  );
}
