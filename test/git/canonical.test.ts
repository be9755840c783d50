import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CanonicalLook, compareLooks, lookAtCanonical } from '../../src/git/canonical.ts';
import { countDirtyPaths } from '../../src/git/dirty.ts';
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
    expect(seen.map((line) => line.replace(/[0-9a-f]{40,}/, '*'))).toEqual(expected);
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
    expect(seen).toEqual(['head HEAD']);
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
