import { chownSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { discoverRepository, resolveBase } from '../../src/git/repository.ts';
import { makeRepository, openRepository, plainGit, scratch } from './fixture.ts';

const NO_HOME = { HOME: '/nonexistent' };
const problem = async (path: string, env = NO_HOME): Promise<unknown> => {
  const found = await discoverRepository(path, env);
  return found.ok ? found.value : found.error;
};

describe('discoverRepository', () => {
  test.each(['repo', 'with space', 'ünï-日本', 'new\nline', 'ends with newline\n', ' -x', '"quoted"'])(
    'finds %j from a folder within it',
    async (name) => {
      const repository = makeRepository({ name });
      repository.write('a/b/c', 'x');
      const head = repository.commit();
      expect(await problem(join(repository.dir, 'a/b'))).toEqual({
        worktree: repository.dir,
        gitDir: join(repository.dir, '.git'),
        commonDir: join(repository.dir, '.git'),
        objectsDir: join(repository.dir, '.git/objects'),
        objectFormat: 'sha1',
        head,
        headRef: 'refs/heads/main',
        shallow: false,
      });
    },
  );

  test('a symlink to a folder leads to the real place', async () => {
    const repository = makeRepository();
    repository.write('a/b', 'x');
    repository.commit();
    const link = join(scratch(), 'link');
    symlinkSync(join(repository.dir, 'a'), link);
    expect(await problem(link)).toMatchObject({ worktree: repository.dir });
  });

  test('sha256, detached HEAD', async () => {
    const repository = makeRepository({ format: 'sha256' });
    const head = repository.commit();
    repository.git('checkout', '-q', '--detach');
    expect(await problem(repository.dir)).toMatchObject({ objectFormat: 'sha256', head, headRef: null });
  });

  test('a linked worktree shares the common folder and has a HEAD of its own', async () => {
    const repository = makeRepository();
    repository.write('a', '1');
    repository.commit();
    const linked = join(scratch(), 'linked');
    repository.git('worktree', 'add', '-q', '-b', 'side', linked);
    expect(await problem(linked)).toMatchObject({
      worktree: linked,
      gitDir: join(repository.dir, '.git/worktrees/linked'),
      commonDir: join(repository.dir, '.git'),
      objectsDir: join(repository.dir, '.git/objects'),
      headRef: 'refs/heads/side',
    });
  });

  test('a submodule is a repository, and so is a linked worktree of a bare one', async () => {
    const inner = makeRepository({ name: 'inner' });
    inner.write('f', 'x');
    inner.commit();
    const outer = makeRepository({ name: 'outer' });
    outer.git('submodule', 'add', '-q', inner.dir, 'sub');
    outer.commit();
    const sub = join(outer.dir, 'sub');
    expect(await problem(sub)).toMatchObject({ worktree: sub, gitDir: join(outer.dir, '.git/modules/sub') });

    const bare = join(scratch(), 'bare.git');
    plainGit('/', ['clone', '-q', '--bare', inner.dir, bare]);
    const linked = join(scratch(), 'linked');
    plainGit(bare, ['worktree', 'add', '-q', linked]);
    expect(await problem(linked)).toMatchObject({ worktree: linked, commonDir: bare });
  });

  test('a shallow clone says so', async () => {
    const repository = makeRepository();
    repository.commit('one');
    repository.commit('two');
    const clone = join(scratch(), 'clone');
    plainGit('/', ['clone', '-q', '--depth=1', pathToFileURL(repository.dir).href, clone]);
    expect(await problem(clone)).toMatchObject({ shallow: true, worktree: clone });
  });

  test('what is no place to work in is named', async () => {
    const plain = scratch();
    expect(await problem(plain)).toEqual({ kind: 'not-a-repository', path: plain });
    expect(await problem(join(plain, 'gone'))).toEqual({ kind: 'path-missing', path: join(plain, 'gone') });
    writeFileSync(join(plain, 'file'), '');
    expect(await problem(join(plain, 'file'))).toMatchObject({ kind: 'not-a-directory' });
    expect(await problem(join(plain, 'file', 'below'))).toMatchObject({ kind: 'not-a-directory' });
    expect(await problem('a\0b')).toMatchObject({ kind: 'unreadable' });

    const bare = join(plain, 'bare');
    plainGit(plain, ['init', '-q', '--bare', bare]);
    expect(await problem(bare)).toEqual({ kind: 'bare', gitDir: bare });

    const repository = makeRepository();
    expect(await problem(repository.dir)).toMatchObject({
      kind: 'unborn-head',
      headRef: 'refs/heads/main',
      worktree: repository.dir,
      gitDir: join(repository.dir, '.git'),
      commonDir: join(repository.dir, '.git'),
      objectsDir: join(repository.dir, '.git/objects'),
    });
    repository.commit();
    expect(await problem(join(repository.dir, '.git/refs'))).toMatchObject({ kind: 'no-worktree' });
    writeFileSync(join(repository.dir, '.git/config'), '[core\n');
    expect(await problem(repository.dir)).toMatchObject({
      kind: 'unreadable',
      message: expect.stringMatching(/config/),
    });
  });

  test('a HEAD whose commit is lost is damage, not an unborn branch', async () => {
    const repository = makeRepository();
    repository.commit();
    rmSync(join(repository.dir, '.git/objects'), { recursive: true });
    mkdirSync(join(repository.dir, '.git/objects'));
    expect(await problem(repository.dir)).toMatchObject({ kind: 'unreadable' });
    writeFileSync(join(repository.dir, '.git/refs/heads/main'), 'garbage\n');
    expect(await problem(repository.dir)).toMatchObject({ kind: 'unreadable' });
  });

  test.runIf(process.getuid?.() === 0)("another owner's repository needs the user's safe.directory", async () => {
    const repository = makeRepository();
    repository.commit();
    chownSync(repository.dir, 12345, 12345);
    chownSync(join(repository.dir, '.git'), 12345, 12345);
    expect(await problem(repository.dir)).toMatchObject({
      kind: 'dubious-ownership',
      message: expect.stringContaining('safe.directory'),
    });
    const home = scratch();
    writeFileSync(join(home, '.gitconfig'), `[safe]\n\tdirectory = ${repository.dir}\n`);
    expect(await problem(repository.dir, { HOME: home })).toMatchObject({ worktree: repository.dir });
  });

  test('git itself may be missing or too old', async () => {
    const path = process.env.PATH;
    const folder = scratch();
    try {
      process.env.PATH = folder;
      expect(await problem(folder)).toEqual({ kind: 'git-missing' });
      writeFileSync(join(folder, 'git'), '#!/bin/sh\necho git version 2.34.1\n', { mode: 0o755 });
      expect(await problem(folder)).toEqual({ kind: 'git-too-old', version: '2.34.1', minimum: '2.38.0' });
    } finally {
      process.env.PATH = path;
    }
  });
});

describe('resolveBase', () => {
  test('names, abbreviations and expressions give a commit and its tree', async () => {
    const repository = makeRepository();
    repository.write('a', '1');
    const first = repository.commit('one');
    repository.write('a', '2');
    repository.commit('two');
    repository.git('tag', '-a', 'v1', '-m', 'x', first);
    repository.git('branch', 'old', first);
    const facts = await repository.facts();
    const expected = { ok: true, value: { base: first, baseTree: repository.git('rev-parse', `${first}^{tree}`) } };
    for (const rev of [
      'HEAD~1',
      'v1',
      'old',
      'refs/heads/old',
      first,
      first.slice(0, 8),
      '@^',
      ':/one',
      first.toUpperCase(),
    ])
      expect(await resolveBase(facts, rev), rev).toEqual(expected);
  });

  test('everything else is a problem with a name', async () => {
    const repository = makeRepository();
    repository.write('a', '1');
    const head = repository.commit();
    repository.git('tag', 'twice');
    repository.git('commit', '-q', '--allow-empty', '-m', 'x');
    repository.git('branch', 'twice');
    const facts = await repository.facts();
    const kind = async (rev: string): Promise<string> => {
      const found = await resolveBase(facts, rev);
      return found.ok ? 'ok' : found.error.kind;
    };
    for (const rev of ['', '-x', '--all', 'a\nb', 'a\0b']) expect(await kind(rev), rev).toBe('refused');
    for (const rev of ['nope', '^HEAD', 'HEAD..HEAD', 'HEAD...HEAD', 'HEAD^@', 'f'.repeat(40), '../x', 'HEAD:a'])
      expect(['unknown', 'not-a-commit'], rev).toContain(await kind(rev));
    expect(await kind('HEAD^{tree}')).toBe('not-a-commit');
    expect(await kind('twice')).toBe('ambiguous');
    expect(await kind(head)).toBe('ok');
  });

  test('a partial clone that lacks objects of the base is told from a full one', async () => {
    const origin = makeRepository();
    origin.write('a', 'x'.repeat(100));
    origin.write('b', 'y');
    origin.commit();
    origin.git('config', 'uploadpack.allowFilter', 'true');
    const clone = openRepository(join(scratch(), 'clone'));
    plainGit('/', ['clone', '-q', '--no-checkout', '--filter=blob:none', pathToFileURL(origin.dir).href, clone.dir]);
    expect(await resolveBase(await clone.facts(), 'HEAD')).toMatchObject({
      ok: false,
      error: { kind: 'partial-clone-incomplete', missing: 2 },
    });
    clone.git('checkout', '-q', 'main');
    expect(await resolveBase(await clone.facts(), 'HEAD')).toMatchObject({ ok: true });
  });

  test('replace refs and grafts do not change what a base is', async () => {
    const repository = makeRepository();
    repository.write('a', '1');
    const first = repository.commit('one');
    repository.write('a', '2');
    const second = repository.commit('two');
    repository.git('replace', second, first);
    const facts = await repository.facts();
    const answer = await resolveBase(facts, second);
    const tree = plainGit(repository.dir, ['--no-replace-objects', 'rev-parse', `${second}^{tree}`])
      .toString()
      .trim();
    expect(answer).toEqual({ ok: true, value: { base: second, baseTree: tree } });
    expect(realpathSync(facts.worktree)).toBe(facts.worktree);
    expect(readFileSync(join(facts.gitDir, 'HEAD'), 'utf8')).toContain('main');
  });
});
