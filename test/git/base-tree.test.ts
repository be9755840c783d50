import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pathsAtBase, usesLfs } from '../../src/git/base-tree.ts';
import { decodePath, type RepoPath } from '../../src/model/path.ts';
import { makeRepository } from './fixture.ts';

test('every path at base with mode and blob, and which paths are folders', async () => {
  const repository = makeRepository();
  const odd = decodePath(Buffer.from('d/\xff\n', 'latin1'));
  repository.write('a', 'a');
  repository.write('run', '#!', 0o755);
  repository.write('d/e/f', 'f');
  repository.write(odd, 'odd');
  repository.link('link', 'd');
  repository.git('add', '-A');
  repository.git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`);
  repository.git('commit', '-q', '-m', 'x');
  const tree = await pathsAtBase(await repository.facts(), 'HEAD');
  expect(Object.fromEntries([...tree.entries].map(([path, { mode }]) => [path, mode]))).toEqual({
    a: '100644',
    run: '100755',
    'd/e/f': '100644',
    [odd]: '100644',
    link: '120000',
    sub: '160000',
  });
  expect(tree.entries.get('a' as RepoPath)?.oid).toBe(repository.git('rev-parse', 'HEAD:a'));
  expect(['d', 'd/', 'd/e', 'a', 'link', 'sub', 'd/e/f', '', 'x'].filter((path) => tree.isDirectory(path))).toEqual([
    'd',
    'd/',
    'd/e',
  ]);
});

test.each([
  ['*.bin filter=lfs diff=lfs merge=lfs -text\n', 'sub/.gitattributes', true],
  ['[attr]big filter=lfs\n', '.gitattributes', true],
  ['*.a text\n*.b\tfilter=lfs', '.gitattributes', true],
  ['# *.bin filter=lfs\n', '.gitattributes', false],
  ['*.bin -filter\n*.c filter=lfsx\n', '.gitattributes', false],
  ['*.bin filter=lfs\n', 'x.gitattributes', false],
])('Git LFS: %j in %s is %s', async (content, path, expected) => {
  const repository = makeRepository();
  repository.write(path, content);
  repository.write(join('other', '.gitattributes'), '');
  repository.commit();
  const facts = await repository.facts();
  expect(await usesLfs(facts, await pathsAtBase(facts, 'HEAD'))).toBe(expected);
});
