import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CanonicalLook, compareLooks, differsOutside, lookAtCanonical } from '../../src/git/canonical.ts';
import { obeyedOutside } from '../../src/git/configured-files.ts';
import { countDirtyPaths } from '../../src/git/dirty.ts';
import { otherWorktrees } from '../../src/git/linked-worktrees.ts';
import { decodePath } from '../../src/model/path.ts';
import type { RepositoryFacts } from '../../src/model/plan.ts';
import { armRepository, Canary, makeRepository, openRepository, type Repository, scratch } from './fixture.ts';

function populated(format: 'sha1' | 'sha256' = 'sha1'): Repository {
  const repository = makeRepository({ format });
  repository.write('.gitignore', 'ignored\n');
  repository.write('a', 'one\n');
  repository.write('dir/b', 'two\n');
  repository.write('gone', 'x');
  repository.link('link', 'a');
  repository.commit('one');
  repository.write('untracked', 'u');
  repository.git('branch', 'side');
  repository.git('tag', 'v1');
  return repository;
}
const look = (facts: RepositoryFacts, since?: CanonicalLook) =>
  lookAtCanonical(facts, { excludesFile: null, ...(since === undefined ? {} : { since }) });

function objectPath(repository: Repository, rev: string): string {
  const oid = repository.git('rev-parse', rev);
  return join(repository.dir, '.git/objects', oid.slice(0, 2), oid.slice(2));
}

function overwrite(path: string, text: string): void {
  chmodSync(path, 0o644);
  writeFileSync(path, text);
}

/** What is seen to differ after `act`, as `what path` lines. */
async function differences(repository: Repository, act: () => void): Promise<string[]> {
  const facts = await repository.facts();
  const before = await look(facts);
  expect(compareLooks(before, before)).toEqual([]);
  act();
  const after = await look(facts, before);
  return compareLooks(before, after).map(({ what, path }) => `${what} ${path.replace(`${repository.dir}/`, '')}`);
}

describe.each(['sha1', 'sha256'] as const)('a look at a %s repository sees', (format) => {
  test.each<[string, (r: Repository) => void, string[]]>([
    ['a commit', (r) => r.git('commit', '-q', '--allow-empty', '-m', 'x'), ['head HEAD', 'ref refs/heads/main']],
    ['another branch checked out', (r) => r.git('checkout', '-q', 'side'), ['head .git/HEAD']],
    ['HEAD detached in place', (r) => r.git('checkout', '-q', '--detach'), ['head .git/HEAD']],
    ['a new branch', (r) => r.git('branch', 'new'), ['ref refs/heads/new']],
    ['a deleted tag', (r) => r.git('tag', '-d', 'v1'), ['ref refs/tags/v1']],
    ['a symbolic ref', (r) => r.git('symbolic-ref', 'refs/heads/sym', 'refs/heads/side'), ['ref refs/heads/sym']],
    ['a broken ref', (r) => writeFileSync(join(r.dir, '.git/refs/heads/broken'), ''), ['unreadable ']],
    [
      'a replace ref',
      (r) => r.git('update-ref', `refs/replace/${r.git('rev-parse', 'HEAD')}`, 'HEAD^{tree}'),
      ['ref refs/replace/*'],
    ],
    ['a note', (r) => r.git('notes', 'add', '-m', 'x'), ['ref refs/notes/commits']],
    [
      'something staged',
      (r) => r.git('update-index', '--add', '--cacheinfo', `100644,${r.git('rev-parse', 'HEAD:a')},staged`),
      ['index staged'],
    ],
    ['assume-unchanged', (r) => r.git('update-index', '--assume-unchanged', 'a'), ['index a']],
    ['skip-worktree', (r) => r.git('update-index', '--skip-worktree', 'a'), ['index a']],
    ['intent-to-add', (r) => r.git('add', '-N', 'untracked'), ['index untracked']],
    ['a configuration key', (r) => r.git('config', 'x.y', 'z'), ['unreadable ', 'config .git/config']],
    [
      'an emptied configuration',
      (r) => writeFileSync(join(r.dir, '.git/config'), ''),
      ['unreadable ', 'config .git/config'],
    ],
    ['a new hook', (r) => r.write('.git/hooks/pre-commit', '#!/bin/sh\n', 0o755), ['hooks .git/hooks/pre-commit']],
    [
      'info/exclude',
      (r) => r.write('.git/info/exclude', 'untracked\n'),
      ['info .git/info/exclude', 'worktree untracked'],
    ],
    ['info/attributes', (r) => r.write('.git/info/attributes', '* filter=x\n'), ['info .git/info/attributes']],
    ['grafts', (r) => r.write('.git/info/grafts', '\n'), ['info .git/info/grafts']],
    [
      'alternates',
      (r) => r.write('.git/objects/info/alternates', '/x\n'),
      ['unreadable ', 'info .git/objects/info/alternates'],
    ],
    [
      'a worktree',
      (r) => r.git('worktree', 'add', '-q', '--detach', join(scratch(), 'w')),
      ['head .git/worktrees/w/HEAD', 'info .git/worktrees/w/gitdir', 'info .git/worktrees/w/commondir'],
    ],
    [
      'a merge in progress',
      (r) => r.write('.git/MERGE_HEAD', `${r.git('rev-parse', 'HEAD')}\n`),
      ['head .git/MERGE_HEAD'],
    ],
    ['a lock of the index', (r) => r.write('.git/index.lock', ''), ['info .git/index.lock']],
    ['a lock of HEAD', (r) => r.write('.git/HEAD.lock', ''), ['info .git/HEAD.lock']],
    ['a lock of a branch', (r) => r.write('.git/refs/heads/main.lock', ''), ['info .git/refs/heads/main.lock']],
    ['a lost object', (r) => rmSync(objectPath(r, 'HEAD:a')), ['info .git/objects/*']],
    ['an overwritten object', (r) => overwrite(objectPath(r, 'HEAD:a'), 'nonsense'), ['info .git/objects/*']],
    [
      'an overwritten object of the same size and times',
      (r) => {
        const path = objectPath(r, 'HEAD:a');
        const { size, atime, mtime } = statSync(path);
        overwrite(path, 'x'.repeat(size));
        utimesSync(path, atime, mtime);
      },
      ['info .git/objects/*'],
    ],
    ['changed content', (r) => r.write('a', 'changed\n'), ['worktree a']],
    ['a deleted file', (r) => rmSync(join(r.dir, 'gone')), ['worktree gone']],
    ['a changed untracked file', (r) => appendFileSync(join(r.dir, 'untracked'), 'x'), ['worktree untracked']],
    ['a new file', (r) => r.write('dir/new', 'x'), ['worktree dir/new']],
    ['a mode', (r) => chmodSync(join(r.dir, 'a'), 0o755), ['worktree a']],
    [
      'a link elsewhere',
      (r) => {
        unlinkSync(join(r.dir, 'link'));
        r.link('link', 'b');
      },
      ['worktree link'],
    ],
    [
      'a file become a folder',
      (r) => {
        rmSync(join(r.dir, 'a'));
        r.write('a/x', '');
      },
      ['worktree a', 'worktree a/x'],
    ],
    [
      'a name that is no text',
      (r) => r.write(decodePath(Buffer.from([0x66, 0xff, 10])), ''),
      ['worktree "f\\377\\012"'],
    ],
  ])('%s', async (_, act, expected) => {
    const repository = populated(format);
    const seen = await differences(repository, () => act(repository));
    expect(seen.map((line) => line.replace(/[0-9a-f]{40,}|(?<=objects\/)[0-9a-f]{2}\/[0-9a-f]+/, '*'))).toEqual(
      expected,
    );
  });
});

describe('a look', () => {
  test('sees content put back under its old size and times', async () => {
    const repository = populated();
    const path = join(repository.dir, 'a');
    utimesSync(path, 1, 1);
    const seen = await differences(repository, () => {
      writeFileSync(path, 'ONE\n');
      utimesSync(path, 1, 1);
    });
    expect(seen).toEqual(['worktree a']);
  });

  test('sees a stash dropped and made again', async () => {
    const repository = populated();
    repository.write('a', 'stashed\n');
    repository.git('stash', '-q');
    expect(await differences(repository, () => repository.git('stash', 'drop', '-q'))).toEqual([
      'ref refs/stash',
      'ref .git/logs/refs/stash',
    ]);
  });

  test('sees the configuration that another file includes, also one that did not exist', async () => {
    for (const existed of [true, false]) {
      const repository = populated();
      repository.git('config', 'include.path', '../ignored');
      repository.git('config', 'includeIf.onbranch:side.path', 'other.cfg');
      if (existed) repository.write('ignored', '[x]\n');
      expect(await differences(repository, () => repository.write('ignored', '[y]\n'))).toEqual([
        'unreadable ',
        'config ignored',
      ]);
      expect(await differences(repository, () => repository.write('.git/other.cfg', '[y]\n'))).toEqual([
        'unreadable ',
        'config .git/other.cfg',
      ]);
    }
  });

  test('sees hooks in the folder that core.hooksPath names, ignored or not', async () => {
    const repository = populated();
    repository.git('config', 'core.hooksPath', 'ignored');
    repository.write('ignored/pre-commit', '#!/bin/sh\n');
    expect(await differences(repository, () => repository.write('ignored/pre-commit', '#!/bin/sh\nevil\n'))).toEqual([
      'hooks ignored/pre-commit',
    ]);
    expect(await differences(repository, () => chmodSync(join(repository.dir, 'ignored/pre-commit'), 0o755))).toEqual([
      'hooks ignored/pre-commit',
    ]);
  });

  test('sees what a hook that is a link points to', async () => {
    const repository = populated();
    const target = join(scratch(), 'hook');
    writeFileSync(target, 'a');
    mkdirSync(join(repository.dir, '.git/hooks'), { recursive: true });
    symlinkSync(target, join(repository.dir, '.git/hooks/pre-push'));
    expect(await differences(repository, () => writeFileSync(target, 'b'))).toEqual(['hooks .git/hooks/pre-push']);
  });

  test.each<[string, (r: Repository) => void]>([
    [
      'status refreshing the index',
      (r) => {
        utimesSync(join(r.dir, '.git/index'), 1, 1);
        r.git('status');
        r.git('update-index', '-q', '--refresh');
      },
    ],
    [
      'pack-refs and gc',
      (r) => {
        r.git('pack-refs', '--all');
        r.git('gc', '-q', '--prune=now');
      },
    ],
    [
      'reading',
      (r) => {
        readFileSync(join(r.dir, 'a'));
        utimesSync(join(r.dir, '.git/config'), 1, 1);
      },
    ],
    ['ignored files', (r) => r.write('ignored', 'x')],
    [
      'refs of agent-exec',
      (r) => {
        r.git('update-ref', 'refs/agent-exec/r/a', 'HEAD');
        r.git('update-ref', 'refs/agent-exec-quarantine/r/a', 'HEAD');
      },
    ],
    ['a fetch that brings nothing', (r) => r.write('.git/FETCH_HEAD', '')],
  ])('takes no harm from %s', async (_, act) => {
    const repository = populated();
    expect(await differences(repository, () => act(repository))).toEqual([]);
  });

  test('leaves out what only the host ignores', async () => {
    const repository = populated();
    const excludesFile = join(scratch(), 'ignore');
    writeFileSync(excludesFile, '.idea/\n');
    const facts = await repository.facts();
    const before = await lookAtCanonical(facts, { excludesFile });
    repository.write('.idea/workspace', 'x');
    expect(compareLooks(before, await lookAtCanonical(facts, { excludesFile, since: before }))).toEqual([]);
    expect(await countDirtyPaths(facts, excludesFile)).toBe(1);
    expect(await countDirtyPaths(facts, null)).toBe(2);
  });

  test('a linked worktree: its own HEAD, index and refs, and the shared ones', async () => {
    const main = populated();
    const linked = openRepository(join(scratch(), 'linked'));
    main.git('worktree', 'add', '-q', '--detach', linked.dir);
    main.git('config', 'extensions.worktreeConfig', 'true');
    const own = (path: string): string => path.replaceAll(main.dir, 'main');
    const seen = async (act: () => void): Promise<string[]> => (await differences(linked, act)).map(own);
    expect(await seen(() => linked.git('update-ref', 'refs/worktree/x', 'HEAD'))).toEqual(['ref refs/worktree/x']);
    expect(await seen(() => main.git('update-ref', 'refs/worktree/x', 'HEAD'))).toEqual([
      'ref main-worktree/refs/worktree/x',
    ]);
    expect(await seen(() => main.git('branch', 'new'))).toEqual(['ref refs/heads/new']);
    expect(await seen(() => linked.git('rm', '-q', '--cached', 'a'))).toEqual(['index a']);
    expect(await seen(() => linked.write('a', 'x'))).toEqual(['worktree a']);
    expect(await seen(() => main.write('a', 'x'))).toEqual([]);
    expect(await seen(() => linked.git('config', '--worktree', 'x.y', 'z'))).toEqual([
      'unreadable ',
      'config main/.git/worktrees/linked/config.worktree',
    ]);
    expect(await seen(() => writeFileSync(join(linked.dir, '.git'), 'gitdir: /x\n'))).toEqual(['info .git']);
  });

  test('takes in initialised submodules, and what appears in those that are not', async () => {
    const inner = populated();
    const middle = populated();
    middle.git('submodule', 'add', '-q', inner.dir, 'deep');
    middle.commit();
    const outer = populated();
    outer.git('submodule', 'add', '-q', middle.dir, 'sub');
    outer.git('submodule', 'update', '-q', '--init', '--recursive');
    outer.git('update-index', '--add', '--cacheinfo', `160000,${inner.git('rev-parse', 'HEAD')},empty`);
    outer.git('commit', '-q', '-m', 'links');
    mkdirSync(join(outer.dir, 'empty'));
    const deep = openRepository(join(outer.dir, 'sub/deep'));
    expect(await differences(outer, () => deep.write('a', 'changed'))).toEqual(['worktree sub/deep/a']);
    expect(await differences(outer, () => deep.write('new', 'x'))).toEqual(['worktree sub/deep/new']);
    expect(await differences(outer, () => deep.write('ignored', 'x'))).toEqual([]);
    expect(await differences(outer, () => deep.git('branch', 'b'))).toEqual(['ref sub/deep/refs/heads/b']);
    expect(await differences(outer, () => deep.git('config', 'x.y', 'z'))).toEqual([
      'unreadable ',
      'config .git/modules/sub/modules/deep/config',
    ]);
    expect(await differences(outer, () => outer.write('empty/x', ''))).toEqual(['worktree empty/x']);
    expect(await differences(outer, () => outer.write('empty/.git/HEAD', ''))).toEqual([
      'info empty/.git',
      'worktree empty/.git',
    ]);
    expect((await differences(outer, () => rmSync(join(outer.dir, 'sub'), { recursive: true })))[0]).toBe(
      'unreadable ',
    );
  });

  test('a repository that vanished, lost its objects or became unreadable is a difference', async () => {
    for (const act of [
      (r: Repository) => renameSync(join(r.dir, '.git'), join(r.dir, 'moved')),
      (r: Repository) => rmSync(join(r.dir, '.git/index')) ?? writeFileSync(join(r.dir, '.git/index'), 'garbage'),
      (r: Repository) => rmSync(join(r.dir, '.git/refs'), { recursive: true }),
      (r: Repository) => rmSync(r.dir, { recursive: true }),
    ]) {
      const repository = populated();
      expect((await differences(repository, () => act(repository)))[0]).toBe('unreadable ');
    }
    const repository = populated();
    const seen = await differences(repository, () => {
      rmSync(join(repository.dir, '.git/objects'), { recursive: true });
      mkdirSync(join(repository.dir, '.git/objects'));
    });
    expect(seen[0]).toBe('head HEAD');
    expect(seen.slice(1).every((line) => line.startsWith('info .git/objects/'))).toBe(true);
    expect(seen).toHaveLength(1 + 8);
  });

  test('once the configuration changed, git is not asked', async () => {
    const repository = populated();
    const facts = await repository.facts();
    const before = await look(facts);
    repository.git('config', 'core.fsmonitor', new Canary().program('x'));
    repository.write('a', 'changed');
    const after = await look(facts, before);
    expect(after.git).toEqual({ kind: 'not-asked' });
    expect(compareLooks(before, after)[0]?.detail).toContain('configuration changed');
  });

  test('many differences are the first fifty and a count', async () => {
    const repository = populated();
    const facts = await repository.facts();
    const before = await look(facts);
    for (let i = 0; i < 120; i++) repository.write(`many/${i}`, '');
    repository.git('branch', 'new');
    const found = compareLooks(before, await look(facts, before));
    expect(found).toHaveLength(51);
    expect(found[0]).toMatchObject({ what: 'ref', path: 'refs/heads/new' });
    expect(found[50]).toEqual({ what: 'worktree', path: '', detail: 'and 71 more differences' });
  });

  test('no program that the canonical repository configures runs, and nothing is written', async () => {
    const repository = populated();
    repository.write('.gitattributes', '* filter=trap diff=trap text\n');
    repository.git('add', '-A');
    repository.git('commit', '-q', '-m', 'x');
    const canary = new Canary();
    armRepository(repository, canary);
    repository.write('a', 'ONE\n');
    const facts = await repository.facts();
    const index = readFileSync(join(repository.dir, '.git/index'));
    const before = await look(facts);
    expect(compareLooks(before, await look(facts, before))).toEqual([]);
    expect(await countDirtyPaths(facts, null)).toBe(1);
    expect(readFileSync(join(repository.dir, '.git/index'))).toEqual(index);
    expect(canary.ran()).toEqual([]);
    expect(() => repository.git('status')).toThrow();
    expect(canary.ran(), 'the traps are armed').not.toEqual([]);
  });
});

describe('countDirtyPaths', () => {
  test.each<[string, number, (r: Repository) => void]>([
    ['a clean worktree', 0, () => {}],
    ['a touched file', 0, (r) => utimesSync(join(r.dir, 'a'), 1, 1)],
    ['a file rewritten with what it held', 0, (r) => r.write('a', 'one\n')],
    ['changed content', 1, (r) => r.write('a', 'ONE\n')],
    ['a mode', 1, (r) => chmodSync(join(r.dir, 'a'), 0o755)],
    ['a deleted file', 1, (r) => rmSync(join(r.dir, 'a'))],
    ['a staged deletion', 1, (r) => r.git('rm', '-q', 'gone')],
    ['a file unstaged and left', 1, (r) => r.git('rm', '-q', '--cached', 'gone')],
    [
      'staged and changed again',
      1,
      (r) => {
        r.write('a', '2');
        r.git('add', 'a');
        r.write('a', '3');
      },
    ],
    [
      'untracked files, not ignored ones',
      2,
      (r) => {
        r.write('n/1', '');
        r.write('n/2', '');
        r.write('ignored', '');
      },
    ],
    [
      'a link elsewhere',
      1,
      (r) => {
        unlinkSync(join(r.dir, 'link'));
        r.link('link', 'b');
      },
    ],
    [
      'a skipped file',
      0,
      (r) => {
        r.git('update-index', '--skip-worktree', 'gone');
        rmSync(join(r.dir, 'gone'));
      },
    ],
  ])('%s: %i', async (_, expected, act) => {
    const repository = populated();
    rmSync(join(repository.dir, 'untracked'));
    act(repository);
    expect(await countDirtyPaths(await repository.facts(), null)).toBe(expected);
  });
});

describe('objects', () => {
  test.each<[string, (r: Repository) => void]>([
    ['a new one', (r) => r.git('commit-tree', '-m', 'x', 'HEAD^{tree}')],
    ['one written again, which gives it new times', (r) => r.git('hash-object', '-w', 'a')],
    ['gc, which packs them', (r) => r.git('gc', '-q')],
  ])('%s is no difference', async (_, act) => {
    const repository = populated();
    utimesSync(objectPath(repository, 'HEAD:a'), 1, 1);
    expect(await differences(repository, () => act(repository))).toEqual([]);
  });

  test('a pack that is written into is a difference, one with new times is not', async () => {
    const repository = populated();
    repository.git('gc', '-q');
    const folder = join(repository.dir, '.git/objects/pack');
    const pack = join(folder, readdirSync(folder).find((name) => name.endsWith('.pack')) ?? '');
    expect(await differences(repository, () => utimesSync(pack, 1, 1))).toEqual([]);
    const bytes = readFileSync(pack);
    bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40);
    const seen = await differences(repository, () => overwrite(pack, bytes.toString('latin1')));
    expect(seen).toContain(`info ${pack.replace(`${repository.dir}/`, '')}`);
  });

  test('an object that no ref names is missed where gc throws it away', async () => {
    const repository = populated();
    repository.git('gc', '-q');
    repository.write('loose', 'loose');
    const oid = repository.git('hash-object', '-w', 'loose');
    rmSync(join(repository.dir, 'loose'));
    const seen = await differences(repository, () => repository.git('gc', '-q', '--prune=now'));
    expect(seen).toContain(`info .git/objects/${oid.slice(0, 2)}/${oid.slice(2)}`);
  });
});

describe('what the host’s git reads beside the repository', () => {
  const home = (): { HOME: string } => ({ HOME: scratch() });
  const differing = async (repository: Repository, hostEnv: { HOME: string }, act: () => void) => {
    const facts = await repository.facts();
    const before = await lookAtCanonical(facts, { excludesFile: null, hostEnv });
    act();
    const after = await lookAtCanonical(facts, { excludesFile: null, hostEnv, since: before });
    return compareLooks(before, after).map(({ what, path }) => `${what} ${path.replace(hostEnv.HOME, '~')}`);
  };

  test.each(['.gitconfig', '.config/git/config'])('a new ~/%s', async (name) => {
    const hostEnv = home();
    const file = join(hostEnv.HOME, name);
    const act = () => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, '[core]\n\tfsmonitor = x\n');
    };
    expect(await differing(populated(), hostEnv, act)).toEqual(['unreadable ', `config ~/${name}`]);
  });

  test('what it includes, by ~ and by a relative path, absent files among them', async () => {
    const hostEnv = home();
    const inHome = (name: string) => join(hostEnv.HOME, name);
    writeFileSync(inHome('.gitconfig'), '[include]\n\tpath = ~/one\n\tpath = two\n');
    writeFileSync(inHome('two'), '[includeIf "gitdir:/nowhere/"]\n\tpath = ~/three\n');
    for (const name of ['one', 'two', 'three']) {
      const seen = await differing(populated(), hostEnv, () => appendFileSync(inHome(name), '[x]\n\ty = z\n'));
      expect(seen).toEqual(['unreadable ', `config ~/${name}`]);
    }
  });

  test('~ in the repository’s own configuration, for hooks too', async () => {
    const hostEnv = home();
    const repository = populated();
    repository.git('config', 'core.hooksPath', '~/hooks');
    repository.git('config', 'include.path', '~/included');
    mkdirSync(join(hostEnv.HOME, 'hooks'));
    const planted = () => writeFileSync(join(hostEnv.HOME, 'hooks/pre-commit'), '#!/bin/sh\n');
    expect(await differing(repository, hostEnv, planted)).toEqual(['hooks ~/hooks/pre-commit']);
    const included = () => writeFileSync(join(hostEnv.HOME, 'included'), '');
    expect(await differing(repository, hostEnv, included)).toEqual(['unreadable ', 'config ~/included']);
  });

  test('exists outside of the repository as files and folders that can be protected', async () => {
    const hostEnv = home();
    const repository = populated();
    writeFileSync(join(hostEnv.HOME, '.gitconfig'), `[core]\n\thooksPath = /dev/null\n[include]\n\tpath = ~/absent\n`);
    const facts = await repository.facts();
    // The system's own configuration may exist on this machine.
    const outside = async (excludesFile: string) =>
      (await obeyedOutside(facts, hostEnv, excludesFile, [facts.worktree])).filter((path) => !path.startsWith('/etc/'));
    expect(await outside('/dev/null')).toEqual([join(hostEnv.HOME, '.gitconfig')]);
    repository.git('config', 'core.hooksPath', '~/hooks');
    mkdirSync(join(hostEnv.HOME, 'hooks'));
    writeFileSync(join(hostEnv.HOME, 'ignore'), '');
    expect(await outside(join(hostEnv.HOME, 'ignore'))).toEqual(
      ['.gitconfig', 'ignore', 'hooks'].map((name) => join(hostEnv.HOME, name)),
    );
  });

  test('the host’s own ignore file', async () => {
    const facts = await populated().facts();
    const excludesFile = join(scratch(), 'ignore');
    const before = await lookAtCanonical(facts, { excludesFile });
    writeFileSync(excludesFile, '*\n');
    const after = await lookAtCanonical(facts, { excludesFile, since: before });
    expect(compareLooks(before, after)).toContainEqual({ what: 'info', path: excludesFile, detail: 'created' });
  });
});

describe('where nothing kept a worker from writing', () => {
  const differing = async (repository: Repository, act: () => void, folders: string[] = []) => {
    const facts = await repository.facts();
    const options = { excludesFile: null, writable: { otherWorktrees: await otherWorktrees(facts) } };
    expect(options.writable.otherWorktrees).toEqual(folders);
    const before = await lookAtCanonical(facts, options);
    expect(compareLooks(before, await lookAtCanonical(facts, { ...options, since: before }))).toEqual([]);
    act();
    return compareLooks(before, await lookAtCanonical(facts, { ...options, since: before })).map(
      ({ what, path, detail }) => `${what} ${path} ${detail}`,
    );
  };

  test('ignored files and names in ignored folders are looked at', async () => {
    const repository = populated();
    repository.write('.gitignore', 'ignored\nbuild/\n*.log\n');
    repository.write('build/known', 'x');
    repository.write('build/deep/known', 'x');
    repository.write('one.log', 'x');
    expect(await differing(repository, () => repository.write('ignored', 'x'))).toEqual(['worktree ignored created']);
    expect(await differing(repository, () => repository.write('one.log', 'xy'))).toEqual([
      'worktree one.log size 1 -> 2',
    ]);
    expect(await differing(repository, () => repository.write('build/new', 'x'))).toEqual([
      'worktree build/new created',
    ]);
    expect(await differing(repository, () => rmSync(join(repository.dir, 'build'), { recursive: true }))).toEqual(
      expect.arrayContaining(['worktree build/ deleted', 'worktree build/known deleted']),
    );
    repository.write('build/deep/known', 'x');
    // Caches and builds are written all day.
    expect(await differing(repository, () => repository.write('build/deep/new', 'x'))).toEqual([]);
  });

  test('another worktree is looked at, from whichever side', async () => {
    const main = populated();
    const dir = join(scratch(), 'linked');
    main.git('worktree', 'add', '-q', '-b', 'linked', dir);
    const linked = openRepository(dir);
    main.git('worktree', 'add', '-q', '--detach', join(main.dir, '../gone'));
    rmSync(join(main.dir, '../gone'), { recursive: true });
    const seen = (act: () => void) => differing(main, act, [dir]);
    expect(await seen(() => linked.write('a', 'x'))).toEqual([`worktree ${dir}/a size 4 -> 1`]);
    expect(await seen(() => linked.write('new', 'x'))).toEqual([`worktree ${dir}/new created`]);
    expect(await seen(() => linked.git('rm', '-q', '--cached', 'a'))).toEqual([
      expect.stringMatching(`^index ${dir}/a `),
    ]);
    expect(await seen(() => linked.git('checkout', '-q', '--detach'))).toEqual([
      `head ${main.dir}/.git/worktrees/linked/HEAD changed`,
    ]);
    expect(await seen(() => main.git('branch', 'new'))).toEqual([expect.stringMatching('^ref refs/heads/new ')]);
    expect(await seen(() => writeFileSync(join(dir, '.git'), 'gitdir: /x\n'))).toEqual([`info ${dir}/.git changed`]);
    writeFileSync(join(dir, '.git'), `gitdir: ${main.dir}/.git/worktrees/linked\n`);
    expect(await differing(linked, () => main.write('a', 'y'), [main.dir])).toEqual([
      `worktree ${main.dir}/a size 4 -> 1`,
    ]);
  });
});

describe('what a worker could have done where the repository was read-only for it', () => {
  const couldHave = async (repository: Repository, act: () => void) => {
    const facts = await repository.facts();
    const options = { excludesFile: null, readOnly: true };
    const before = await lookAtCanonical(facts, options);
    act();
    const after = await lookAtCanonical(facts, { ...options, since: before });
    return differsOutside([facts.worktree, facts.gitDir], before, after);
  };

  test.each<[string, (r: Repository) => string]>([
    ['a file of the checkout', (r) => join(r.dir, 'a')],
    ['an object', (r) => objectPath(r, 'HEAD:dir/b')],
    ['the configuration', (r) => join(r.dir, '.git/config')],
  ])('%s: only by another name of it', async (_, place) => {
    const repository = populated();
    const path = place(repository);
    const spoil = () => overwrite(path, 'spoilt');
    expect(await couldHave(repository, spoil)).toBe(false);
    const other = populated();
    linkSync(place(other), join(scratch(), 'twin'));
    expect(await couldHave(other, () => overwrite(place(other), 'spoilt'))).toBe(true);
  });

  test('not another file in its place, and not its removal', async () => {
    const repository = populated();
    linkSync(join(repository.dir, 'a'), join(scratch(), 'twin'));
    expect(
      await couldHave(repository, () => {
        repository.write('b', 'new');
        renameSync(join(repository.dir, 'b'), join(repository.dir, 'a'));
      }),
    ).toBe(false);
    linkSync(join(repository.dir, 'gone'), join(scratch(), 'twin'));
    expect(await couldHave(repository, () => rmSync(join(repository.dir, 'gone')))).toBe(false);
  });
});
