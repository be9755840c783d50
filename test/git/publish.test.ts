import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pathsAtBase } from '../../src/git/base-tree.ts';
import { type BuildProblem, type BuiltCommit, buildCommit, treeDifference } from '../../src/git/build-commit.ts';
import type { CommitEntry } from '../../src/git/fast-import.ts';
import { createHostStore, type HostStore } from '../../src/git/host-store.ts';
import { deleteRef, moveRef, publish } from '../../src/git/publish.ts';
import { resolveBase } from '../../src/git/repository.ts';
import { decodePath, type RepoPath } from '../../src/model/path.ts';
import type { RepositoryFacts } from '../../src/model/plan.ts';
import type { Result } from '../../src/model/result.ts';
import {
  armRepository,
  Canary,
  makeRepository,
  openRepository,
  plainGit,
  type Repository,
  scratch,
} from './fixture.ts';

type Content = Record<string, { mode: string; bytes: Uint8Array | string } | null>;
const REF = 'refs/agent-exec/run/01-x';
const KEPT = 'refs/agent-exec-quarantine/run/01-x';

interface Bench {
  facts: RepositoryFacts;
  store: HostStore;
  base: string;
  baseTree: string;
}
async function bench(repository: Repository): Promise<Bench> {
  const facts = await repository.facts();
  const base = await resolveBase(facts, 'HEAD');
  if (!base.ok) throw new Error(base.error.kind);
  return { facts, store: await createHostStore(join(scratch(), 'store.git'), facts), ...base.value };
}

function build(on: Bench, content: Content, more: { parents?: string[]; entries?: CommitEntry[] } = {}) {
  const entries = Object.entries(content).map(
    ([path, file]): CommitEntry => ({
      path: path as RepoPath,
      mode: file?.mode ?? null,
      size: file === null ? null : Buffer.from(file.bytes).length,
      oid: null,
    }),
  );
  return buildCommit({
    store: on.store,
    base: on.base,
    baseTree: on.baseTree,
    entries,
    message: 'agent-exec: work\n',
    committedAtSeconds: 1_700_000_000,
    readContent: async function* (path) {
      yield Buffer.from(content[path]?.bytes ?? '');
    },
    ...more,
  });
}
function value<T, E>(result: Result<T, E>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}
const problemOf = (result: Result<BuiltCommit, BuildProblem>): BuildProblem | null => (result.ok ? null : result.error);
const file = (bytes: Uint8Array | string, mode = '100644') => ({ mode, bytes });

const ODD_NAMES = [
  'new\nline',
  '"quoted"',
  'back\\slash',
  '-dash',
  ' ',
  'tab\tx',
  'ü/日本',
  decodePath(Buffer.from([0x66, 0xff, 0xfe])),
  ':(glob)*',
  '#hash',
  'a b/ c',
  'git~1x',
  '.gitx/y',
  'trailing ',
];

describe.each(['sha1', 'sha256'] as const)('%s', (format) => {
  test('a commit holds exactly the changes, byte for byte, and is published with base as its only parent', async () => {
    const repository = makeRepository({ format });
    repository.write('keep', 'k');
    repository.write('gone/deep', 'd');
    repository.write('edit', 'old\n');
    repository.write('mode', '#!/bin/sh\n');
    repository.write('swap', 'a file becomes a folder');
    repository.write('folder/one', '1');
    repository.write('folder/two', '2');
    const base = repository.commit();
    const before = snapshot(repository);
    const on = await bench(repository);
    const content: Content = {
      'gone/deep': null,
      edit: file('new\r\nline\r\n'),
      mode: file('#!/bin/sh\n', '100755'),
      swap: null,
      'swap/inside': file('now a folder'),
      'folder/one': null,
      'folder/two': null,
      folder: file('now a file'),
      link: file('../some where\n', '120000'),
      binary: file(Buffer.from([0, 255, 10, 13, 0])),
      empty: file(''),
      ...Object.fromEntries(ODD_NAMES.map((name, i) => [name, file(`${i}`)])),
    };
    const built = value(await build(on, content));
    const published = value(await publish({ ...on, built, ref: REF }));

    expect(published).toEqual({ ref: REF, commit: built.commit, tree: built.tree, parent: base });
    expect(repository.git('log', '-1', '--format=%P|%an|%ae|%cn|%ce|%at|%ct|%s', REF)).toBe(
      `${base}|agent-exec|agent-exec@localhost|agent-exec|agent-exec@localhost|1700000000|1700000000|agent-exec: work`,
    );
    const tree = await pathsAtBase(on.facts, REF);
    const expected = Object.entries(content).filter(([, entry]) => entry !== null);
    expect([...tree.entries.keys()].sort()).toEqual([...expected.map(([path]) => path), 'keep'].sort());
    for (const [path, entry] of expected) {
      const at = tree.entries.get(path as RepoPath);
      expect(at?.mode, path).toBe(entry?.mode);
      expect(plainGit(repository.dir, ['cat-file', 'blob', at?.oid ?? '']), path).toEqual(
        Buffer.from(entry?.bytes ?? ''),
      );
    }
    repository.git('fsck', '--strict');
    expect(snapshot(repository)).toEqual(before);
  });

  test('an empty base tree, and a commit that empties it', async () => {
    const repository = makeRepository({ format });
    repository.commit();
    const on = await bench(repository);
    const built = value(await build(on, { 'a/b': file('x') }));
    value(await publish({ ...on, built, ref: REF }));
    expect(repository.git('ls-tree', '-r', '--name-only', REF)).toBe('a/b');

    repository.git('checkout', '-q', '--detach', REF);
    const full = await bench(repository);
    const emptied = value(await build(full, { 'a/b': null }));
    value(await publish({ ...full, built: emptied, ref: KEPT }));
    expect(repository.git('ls-tree', '-r', KEPT)).toBe('');
  });

  test('property: what differs between base and the published commit is what was asked for', async () => {
    const name = fc.constantFrom('a', 'b', 'é', 'x y', '\n', '"', decodePath(Buffer.from([0xff])), '-', 'git~1');
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
    const content = fc.record({
      mode: fc.constantFrom('100644', '100755', '120000'),
      text: fc.string({ minLength: 1, maxLength: 3 }),
    });
    const tree = fc
      .uniqueArray(fc.tuple(path, content), { selector: ([at]) => at, maxLength: 12 })
      .map(withoutConflicts);
    await fc.assert(
      fc.asyncProperty(tree, tree, async (from, to) => {
        const repository = makeRepository({ format });
        repository.commit();
        const start = await bench(repository);
        const base = value(await build(start, asContent(new Map(), from)));
        value(await publish({ ...start, built: base, ref: REF }));
        const on = { ...start, base: base.commit, baseTree: base.tree };
        const wanted = asContent(from, to);
        const built = value(await build(on, wanted));
        const published = value(await publish({ ...on, built, ref: KEPT }));
        const seen = await treeDifference(on.facts.gitDir, base.commit, published.commit);
        expect(Object.fromEntries(seen.map((one) => [one.path, one.mode]))).toEqual(
          Object.fromEntries(Object.entries(wanted).map(([at, entry]) => [at, entry?.mode ?? null])),
        );
        const result = await pathsAtBase(on.facts, KEPT);
        expect([...result.entries.keys()].sort()).toEqual([...to.keys()].sort());
      }),
      { numRuns: 12 },
    );
  });
});

type Tree = Map<string, { mode: string; text: string }>;
/** Drops a path below which another path lies: a tree cannot hold both. */
function withoutConflicts(entries: [string, { mode: string; text: string }][]): Tree {
  const paths = entries.map(([path]) => path);
  return new Map(entries.filter(([path]) => !paths.some((other) => other.startsWith(`${path}/`))));
}
function asContent(from: Tree, to: Tree): Content {
  const content: Content = {};
  for (const path of from.keys()) if (!to.has(path)) content[path] = null;
  for (const [path, { mode, text }] of to) {
    const old = from.get(path);
    if (old?.mode !== mode || old.text !== text) content[path] = file(text, mode);
  }
  return content;
}

/** Everything of a repository that publication must leave alone. */
function snapshot(repository: Repository): unknown {
  const dir = join(repository.dir, '.git');
  return {
    index: readFileSync(join(dir, 'index')).toString('hex'),
    head: readFileSync(join(dir, 'HEAD'), 'utf8'),
    config: readFileSync(join(dir, 'config'), 'utf8'),
    refs: repository
      .git('for-each-ref')
      .split('\n')
      .filter((line) => !line.includes('refs/agent-exec')),
    logs: readdirSync(join(dir, 'logs'), { recursive: true }).sort(),
    files: readdirSync(dir).sort(),
  };
}

describe('buildCommit refuses', () => {
  const prepare = async (): Promise<Bench> => {
    const repository = makeRepository();
    repository.write('a', 'a');
    repository.write('d/e', 'e');
    repository.commit();
    return bench(repository);
  };

  test.each(['', '/a', 'a/', 'a//b', './a', 'a/../b', '..', '.git', '.git/x', 'x/.GIT/y', 'a\0b'])(
    'the path %j',
    async (path) => {
      expect(problemOf(await build(await prepare(), { [path]: file('x') }))).toEqual({
        kind: 'unrepresentable',
        paths: [path],
      });
    },
  );

  test('submodule links, folders, and a path named twice', async () => {
    const on = await prepare();
    for (const mode of ['160000', '040000', '100664', '0'])
      expect(problemOf(await build(on, { x: file('x', mode) })), mode).toMatchObject({ kind: 'unrepresentable' });
    const twice = { path: 'x' as RepoPath, mode: null, size: null, oid: null };
    expect(problemOf(await build(on, {}, { entries: [twice, twice] }))).toMatchObject({
      kind: 'unrepresentable',
      paths: ['x'],
    });
  });

  test('entries that do not describe a difference: nothing is silently added or dropped', async () => {
    const on = await prepare();
    expect(problemOf(await build(on, { a: file('a') }))).toEqual({ kind: 'not-exact', paths: ['a'] });
    expect(problemOf(await build(on, { absent: null }))).toEqual({ kind: 'not-exact', paths: ['absent'] });
    expect(problemOf(await build(on, { 'a/b': file('x') })), 'a file made way unasked').toEqual({
      kind: 'not-exact',
      paths: ['a'],
    });
    expect(problemOf(await build(on, { d: file('x') })), 'a folder made way unasked').toEqual({
      kind: 'not-exact',
      paths: ['d/e'],
    });
  });

  test('a blob other than the one that was inventoried', async () => {
    const on = await prepare();
    const entry = { path: 'n' as RepoPath, mode: '100644', size: 1, oid: 'f'.repeat(40) };
    expect(problemOf(await build(on, { n: file('x') }, { entries: [entry] }))).toEqual({
      kind: 'not-exact',
      paths: ['n'],
    });
  });

  test.each([
    ['longer', 1],
    ['shorter', 5],
  ])('contents that turn out %s than counted', async (_, size) => {
    const on = await prepare();
    const entry = { path: 'n' as RepoPath, mode: '100644', size, oid: null };
    expect(problemOf(await build(on, { n: file('xyz') }, { entries: [entry] }))).toMatchObject({
      kind: 'content-changed',
      paths: ['n'],
    });
  });

  test('contents that cannot be read', async () => {
    const on = await prepare();
    const entries = [{ path: 'n' as RepoPath, mode: '100644', size: 1, oid: null }];
    const result = await buildCommit({
      ...on,
      entries,
      message: 'x',
      committedAtSeconds: 0,
      // biome-ignore lint/correctness/useYield: it fails before the first piece
      readContent: async function* () {
        throw new Error('EIO');
      },
    });
    expect(problemOf(result)).toEqual({ kind: 'content-changed', paths: ['n'], message: 'EIO' });
  });

  test('a store that lost its objects', async () => {
    const on = await prepare();
    writeFileSync(join(on.store.gitDir, 'objects/info/alternates'), '');
    expect(problemOf(await build(on, { x: file('x') }))).toMatchObject({ kind: 'git-failed' });
  });
});

describe('publish', () => {
  test('a ref that exists stays as it is, also where it is a folder of refs', async () => {
    const repository = makeRepository();
    const base = repository.commit();
    const on = await bench(repository);
    const built = value(await build(on, { a: file('a') }));
    repository.git('update-ref', REF, base);
    expect(await publish({ ...on, built, ref: REF })).toMatchObject({
      ok: false,
      error: { kind: 'ref-exists', ref: REF },
    });
    expect(repository.git('rev-parse', REF)).toBe(base);
    repository.git('update-ref', '-d', REF);
    repository.git('update-ref', `${REF}/below`, base);
    expect(await publish({ ...on, built, ref: REF })).toMatchObject({ ok: false, error: { kind: 'ref-exists' } });
  });

  test('a symbolic ref planted under the name leads nowhere', async () => {
    const repository = makeRepository();
    const base = repository.commit();
    const on = await bench(repository);
    const built = value(await build(on, { a: file('a') }));
    repository.git('symbolic-ref', REF, 'refs/heads/main');
    expect(await publish({ ...on, built, ref: REF })).toMatchObject({ ok: false, error: { kind: 'ref-exists' } });
    expect(repository.git('rev-parse', 'main')).toBe(base);
    repository.git('symbolic-ref', REF, 'refs/heads/unborn');
    await publish({ ...on, built, ref: REF });
    expect(repository.git('for-each-ref', 'refs/heads', '--format=%(refname)')).toBe('refs/heads/main');
  });

  test('moving and deleting demand the commit that is known', async () => {
    const repository = makeRepository();
    const base = repository.commit();
    const on = await bench(repository);
    const built = value(await build(on, { a: file('a') }));
    const published = value(await publish({ ...on, built, ref: REF }));

    const stale = { ...published, commit: base };
    expect(await moveRef(on.facts, stale, KEPT)).toMatchObject({ ok: false, error: { kind: 'ref-moved' } });
    expect(repository.git('for-each-ref', '--format=%(refname)', 'refs/agent-exec*/**')).toBe(REF);
    const moved = value(await moveRef(on.facts, published, KEPT));
    expect(moved).toEqual({ ...published, ref: KEPT });
    expect(repository.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/agent-exec*/**')).toBe(
      `${KEPT} ${built.commit}`,
    );
    repository.git('update-ref', REF, base);
    expect(await moveRef(on.facts, { ...published, commit: base }, KEPT), 'target taken').toMatchObject({
      ok: false,
      error: { kind: 'ref-exists' },
    });
    expect(repository.git('rev-parse', REF)).toBe(base);

    expect(await deleteRef(on.facts, { ...moved, commit: base })).toMatchObject({
      ok: false,
      error: { kind: 'ref-moved' },
    });
    value(await deleteRef(on.facts, moved));
    expect(repository.git('for-each-ref', '--format=%(refname)', 'refs/agent-exec*/**')).toBe(REF);
  });

  test('only refs of agent-exec are ever written', async () => {
    const repository = makeRepository();
    repository.commit();
    const on = await bench(repository);
    const built = value(await build(on, { a: file('a') }));
    for (const ref of ['refs/heads/main', 'HEAD', 'refs/agent-exec/../heads/x', 'refs/agent-exec/x'])
      await expect(publish({ ...on, built, ref }), ref).rejects.toThrow();
  });

  test('many objects arrive as one pack, and survive gc through their ref alone', async () => {
    const repository = makeRepository();
    repository.commit();
    const on = await bench(repository);
    const content = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`d${i % 7}/f${i}`, file(`${i}`)]));
    const built = value(await build(on, content));
    value(await publish({ ...on, built, ref: REF }));
    expect(
      readdirSync(join(repository.dir, '.git/objects/pack')).filter((name) => name.endsWith('.pack')),
    ).toHaveLength(1);
    repository.git('gc', '-q', '--prune=now');
    repository.git('fsck', '--strict');
    expect(repository.git('ls-tree', '-r', '--name-only', REF).split('\n')).toHaveLength(300);
    expect(readdirSync(on.store.gitDir).filter((name) => name.startsWith('publish-'))).toEqual([]);
  });

  test('a shallow clone and a linked worktree as canonical repository', async () => {
    const origin = makeRepository();
    origin.write('a', '1');
    origin.commit('one');
    origin.write('a', '2');
    origin.commit('two');
    const clone = openRepository(join(scratch(), 'clone'));
    plainGit('/', ['clone', '-q', '--depth=1', pathToFileURL(origin.dir).href, clone.dir]);
    const linked = openRepository(join(scratch(), 'linked'));
    clone.git('worktree', 'add', '-q', linked.dir);
    for (const [repository, ref] of [
      [clone, REF],
      [linked, KEPT],
    ] as const) {
      const on = await bench(repository);
      const built = value(await build(on, { a: null, b: file('b') }));
      value(await publish({ ...on, built, ref }));
      expect(clone.git('ls-tree', '-r', '--name-only', ref)).toBe('b');
    }
    expect(existsSync(join(clone.dir, '.git/shallow'))).toBe(true);
  });

  test('submodule links at base stay, and may be deleted', async () => {
    const inner = makeRepository();
    const commit = inner.commit();
    const repository = makeRepository();
    repository.write('a', 'a');
    repository.git('update-index', '--add', '--cacheinfo', `160000,${commit},sub`);
    repository.git('add', 'a');
    repository.git('commit', '-q', '-m', 'x');
    const on = await bench(repository);
    value(await publish({ ...on, built: value(await build(on, { a: file('b') })), ref: REF }));
    expect(repository.git('ls-tree', REF, 'sub')).toBe(`160000 commit ${commit}\tsub`);
    value(await publish({ ...on, built: value(await build(on, { sub: null })), ref: KEPT }));
    expect(repository.git('ls-tree', '--name-only', KEPT)).toBe('a');
  });

  test('object folders with odd names are borrowed from', async () => {
    for (const name of ['new\nline', '"q"', '#c', 'a:b', 'ü \\']) {
      const repository = makeRepository({ name });
      repository.commit();
      const on = await bench(repository);
      const built = value(await build(on, { a: file('a') }));
      expect(await publish({ ...on, built, ref: REF }), name).toMatchObject({ ok: true });
    }
  });

  test('no program that the canonical repository configures runs', async () => {
    const repository = makeRepository();
    repository.write('.gitattributes', '* filter=trap diff=trap merge=trap text eol=crlf\n');
    repository.write('a', 'a\r\n');
    repository.commit();
    const canary = new Canary();
    armRepository(repository, canary);
    const on = await bench(repository);
    const built = value(await build(on, { a: file('b\r\n'), '.gitattributes': null }));
    const published = value(await publish({ ...on, built, ref: REF }));
    const moved = value(await moveRef(on.facts, published, KEPT));
    expect(
      plainGit(repository.dir, ['-c', 'core.hooksPath=/dev/null', 'cat-file', 'blob', `${KEPT}:a`]).toString(),
    ).toBe('b\r\n');
    value(await deleteRef(on.facts, moved));
    expect(canary.ran()).toEqual([]);
    expect(() => repository.git('commit', '--allow-empty', '-m', 'x'), 'the traps are armed').toThrow();
    expect(canary.ran()).not.toEqual([]);
  });

  test('a commit the store does not hold, and a repository that lacks the base, get no ref', async () => {
    const repository = makeRepository();
    repository.write('a/b', 'a');
    repository.write('c/d', 'c');
    repository.commit();
    const on = await bench(repository);
    const built = value(await build(on, { 'c/e': file('b') }));
    const unknown = { commit: 'f'.repeat(40), tree: built.tree };
    expect(await publish({ ...on, built: unknown, ref: REF })).toMatchObject({
      ok: false,
      error: { kind: 'git-failed' },
    });
    const other = makeRepository();
    other.commit();
    expect(await publish({ ...on, facts: await other.facts(), built, ref: REF })).toMatchObject({
      ok: false,
      error: { kind: 'git-failed' },
    });
    for (const one of [repository, other]) expect(one.git('for-each-ref', 'refs/agent-exec')).toBe('');
  });

  const canMount = process.getuid?.() === 0 && tryMount(scratch());
  test.runIf(canMount)('a full and a read-only disk are values', async () => {
    const repository = makeRepository();
    repository.write('a', 'a');
    repository.commit();
    const place = scratch();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'none', place]);
    try {
      plainGit('/', ['clone', '-q', repository.dir, join(place, 'repo')]);
      const on = await bench(openRepository(join(place, 'repo')));
      const built = value(await build(on, { big: file(randomBytes(4 * 1024 * 1024)) }));
      expect(await publish({ ...on, built, ref: REF })).toMatchObject({ ok: false, error: { kind: 'disk-full' } });
      const small = value(await build(on, { small: file('x') }));
      execFileSync('mount', ['-o', 'remount,ro', place]);
      expect(await publish({ ...on, built: small, ref: REF })).toMatchObject({
        ok: false,
        error: { kind: 'read-only' },
      });
    } finally {
      execFileSync('umount', [place]);
    }
  });
});

/** True where this machine lets tests make a file system of their own. */
function tryMount(place: string): boolean {
  const mounted = spawnSync('mount', ['-t', 'tmpfs', 'none', place]).status === 0;
  return mounted && spawnSync('umount', [place]).status === 0;
}
