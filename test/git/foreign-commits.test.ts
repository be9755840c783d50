import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { buildCommit } from '../../src/git/build-commit.ts';
import { importForeignCommits } from '../../src/git/foreign-commits.ts';
import { createHostStore, type HostStore } from '../../src/git/host-store.ts';
import { publish } from '../../src/git/publish.ts';
import type { RepositoryFacts } from '../../src/model/plan.ts';
import {
  armRepository,
  Canary,
  makeRepository,
  openRepository,
  plainGit,
  type Repository,
  scratch,
} from './fixture.ts';

interface Scene {
  readonly canonical: Repository;
  readonly facts: RepositoryFacts;
  readonly base: string;
  readonly store: HostStore;
  /** The worker's worktree of its private repository. */
  readonly worker: Repository;
  readonly privateGitDir: string;
}
async function scene(format: 'sha1' | 'sha256' = 'sha1'): Promise<Scene> {
  const canonical = makeRepository({ format });
  canonical.write('a', 'base');
  const base = canonical.commit();
  const facts = await canonical.facts();
  const store = await createHostStore(join(scratch(), 'store.git'), facts);
  const { gitDir: privateGitDir } = await createHostStore(join(scratch(), 'private.git'), facts);
  const worker = openRepository(join(scratch(), 'workspace'));
  plainGit(privateGitDir, ['worktree', 'add', '-q', '--detach', worker.dir, base]);
  return { canonical, facts, base, store, worker, privateGitDir };
}
const take = (on: Scene, commits: string[], limitBytes?: number) =>
  importForeignCommits({ ...on, commits, ...(limitBytes === undefined ? {} : { limitBytes }) });
const holds = (store: HostStore, name: string): boolean => {
  try {
    plainGit(store.gitDir, ['rev-list', '--objects', '--quiet', name]);
    return true;
  } catch {
    return false;
  }
};
/** Where a loose object lies. */
const loose = (gitDir: string, oid: string): string => join(gitDir, 'objects', oid.slice(0, 2), oid.slice(2));

describe.each(['sha1', 'sha256'] as const)('%s', (format) => {
  test('commits, branches and stashes come whole and go into a published commit as further parents', async () => {
    const on = await scene(format);
    on.worker.write('a', 'one');
    const one = on.worker.commit('one');
    on.worker.git('checkout', '-q', '-b', 'side', on.base);
    on.worker.write('b', 'two');
    const two = on.worker.commit('two');
    on.worker.write('b', 'stashed');
    on.worker.git('stash', '-q');
    const stash = on.worker.git('rev-parse', 'stash');
    rmSync(join(on.privateGitDir, 'refs'), { recursive: true });
    rmSync(join(on.privateGitDir, 'HEAD'));

    expect(await take(on, [one, two, stash, one, on.base])).toEqual({
      imported: [one, two, stash, on.base],
      failed: [],
    });
    const baseTree = on.canonical.git('rev-parse', `${on.base}^{tree}`);
    const built = await buildCommit({
      store: on.store,
      base: on.base,
      baseTree,
      entries: [],
      message: 'kept\n',
      committedAtSeconds: 0,
      parents: [on.base, one, stash],
      readContent: async function* () {},
    });
    if (!built.ok) throw new Error(built.error.kind);
    const ref = 'refs/agent-exec-quarantine/r/a';
    expect(await publish({ ...on, built: built.value, ref })).toMatchObject({ ok: true });
    rmSync(on.privateGitDir, { recursive: true });
    rmSync(on.store.gitDir, { recursive: true });
    expect(on.canonical.git('log', '-1', '--format=%P', ref)).toBe(`${on.base} ${one} ${stash}`);
    expect(on.canonical.git('show', `${ref}^3:b`)).toBe('stashed');
    on.canonical.git('fsck', '--strict');
  });
});

describe('a hostile private repository', () => {
  test('runs nothing, whatever its configuration and hooks say', async () => {
    const on = await scene();
    on.worker.write('a', 'one');
    const one = on.worker.commit('one');
    const canary = new Canary();
    armRepository(on.worker, canary);
    writeFileSync(join(on.privateGitDir, 'shallow'), `${one}\n`);
    expect(await take(on, [one])).toEqual({ imported: [one], failed: [] });
    expect(canary.ran()).toEqual([]);
    expect(holds(on.store, one)).toBe(true);
    expect(readdirSync(on.store.gitDir).filter((name) => name.startsWith('foreign-'))).toEqual([]);
  });

  test('a damaged commit fails alone', async () => {
    const on = await scene();
    on.worker.write('a', 'good');
    const good = on.worker.commit('good');
    on.worker.write('a', 'bad');
    const bad = on.worker.commit('bad');
    const blob = loose(on.privateGitDir, on.worker.git('rev-parse', `${bad}:a`));
    chmodSync(blob, 0o600);
    writeFileSync(blob, 'garbage');
    const answer = await take(on, [good, bad]);
    expect(answer.imported).toEqual([good]);
    expect(answer.failed).toMatchObject([{ commit: bad }]);
    expect(holds(on.store, bad)).toBe(false);
  });

  test('an object under another object’s name is not believed', async () => {
    const on = await scene();
    on.worker.write('a', 'honest');
    const commit = on.worker.commit();
    const target = loose(on.privateGitDir, on.worker.git('rev-parse', `${commit}:a`));
    const other = on.worker.git('hash-object', '-w', join(on.worker.dir, '.git'));
    chmodSync(target, 0o600);
    writeFileSync(target, readFileSync(loose(on.privateGitDir, other)));
    expect((await take(on, [commit])).failed).toMatchObject([{ commit }]);
    expect(holds(on.store, commit)).toBe(false);
  });

  test('what is missing, no commit, or no name at all is told', async () => {
    const on = await scene();
    on.worker.write('a', 'x');
    const commit = on.worker.commit();
    const blob = on.worker.git('rev-parse', `${commit}:a`);
    const names = ['f'.repeat(40), blob, 'HEAD', '--all', '', `${commit}\n^x`];
    const answer = await take(on, [...names, commit]);
    expect(answer.imported).toEqual([commit]);
    expect(answer.failed.map((one) => one.commit).sort()).toEqual([...names].sort());
    rmSync(join(on.privateGitDir, 'objects'), { recursive: true });
    const gone = await take({ ...on, store: await createHostStore(join(scratch(), 's'), on.facts) }, [commit]);
    expect(gone).toMatchObject({ imported: [], failed: [{ commit }] });
  });

  test('a tree that a checkout must refuse stays outside', async () => {
    const on = await scene();
    const blob = plainGit(on.privateGitDir, ['hash-object', '-w', '--stdin'], Buffer.from('x')).toString().trim();
    const raw = Buffer.concat([Buffer.from('100644 .git\0'), Buffer.from(blob, 'hex')]);
    const tree = plainGit(on.privateGitDir, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], raw)
      .toString()
      .trim();
    const commit = on.worker.git('commit-tree', tree, '-p', on.base, '-m', 'evil');
    expect((await take(on, [commit])).failed).toMatchObject([{ commit, reason: expect.stringMatching(/\.git|fsck/) }]);
  });

  test('more than the limit is refused', async () => {
    const on = await scene();
    on.worker.write('big', randomBytes(50_000));
    const commit = on.worker.commit();
    expect((await take(on, [commit], 1000)).failed).toMatchObject([
      { commit, reason: expect.stringContaining('larger') },
    ]);
    expect(await take(on, [commit])).toEqual({ imported: [commit], failed: [] });
  });

  test('in a shallow clone, work on top of another branch is whole where the clone ends', async () => {
    const origin = makeRepository();
    origin.write('a', '1');
    origin.commit();
    origin.git('branch', 'side');
    origin.write('a', '2');
    origin.commit();
    origin.git('checkout', '-q', 'side');
    origin.write('b', '3');
    const side = origin.commit();
    origin.git('checkout', '-q', 'main');
    const canonical = openRepository(join(scratch(), 'clone'));
    const from = pathToFileURL(origin.dir).href;
    plainGit('/', ['clone', '-q', '--depth=1', '--no-single-branch', from, canonical.dir]);
    const facts = await canonical.facts();
    const store = await createHostStore(join(scratch(), 'store.git'), facts);
    const { gitDir: privateGitDir } = await createHostStore(join(scratch(), 'private.git'), facts);
    const tree = plainGit(privateGitDir, ['rev-parse', `${side}^{tree}`])
      .toString()
      .trim();
    const commit = plainGit(privateGitDir, ['commit-tree', tree, '-p', side, '-m', 'x']).toString().trim();
    expect(await importForeignCommits({ store, facts, privateGitDir, base: facts.head, commits: [commit] })).toEqual({
      imported: [commit],
      failed: [],
    });
  });

  test('a history of its own is taken too', async () => {
    const on = await scene();
    on.worker.git('checkout', '-q', '--orphan', 'alone');
    on.worker.write('a', 'alone');
    const commit = on.worker.commit();
    expect(await take(on, [commit])).toEqual({ imported: [commit], failed: [] });
  });

  test('caches that lie are not read, and a fifo in an object’s place does not hang for ever', async () => {
    const on = await scene();
    on.worker.write('a', 'x');
    const commit = on.worker.commit();
    on.worker.git('branch', 'keep');
    on.worker.git('commit-graph', 'write', '--reachable');
    const graph = join(on.privateGitDir, 'objects/info/commit-graph');
    const bytes = readFileSync(graph);
    const [tree, baseTree] = [commit, on.base].map((name) => on.worker.git('rev-parse', `${name}^{tree}`));
    bytes.write(baseTree ?? '', bytes.indexOf(Buffer.from(tree ?? '', 'hex')), 'hex');
    chmodSync(graph, 0o600);
    writeFileSync(graph, bytes);
    mkdirSync(join(on.privateGitDir, 'objects/ff'), { recursive: true });
    const fifo = loose(on.privateGitDir, 'f'.repeat(40));
    execFileSync('mkfifo', [fifo]);
    const answer = await importForeignCommits({ ...on, commits: [commit, 'f'.repeat(40)], timeoutMs: 500 });
    expect(answer).toMatchObject({ imported: [commit], failed: [{ commit: 'f'.repeat(40) }] });
  });
});
