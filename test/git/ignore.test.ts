import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pathsAtBase } from '../../src/git/base-tree.ts';
import { checkIgnored, copyIgnoreRules, hostExcludesFile, type IgnoreRules } from '../../src/git/ignore.ts';
import { decodePath, type RepoPath } from '../../src/model/path.ts';
import { makeRepository, type Repository, scratch } from './fixture.ts';

async function rulesOf(
  repository: Repository,
  env: Record<string, string> = { HOME: '/nonexistent' },
): Promise<IgnoreRules> {
  const facts = await repository.facts();
  const tree = await pathsAtBase(facts, 'HEAD');
  return copyIgnoreRules({ facts, tree, scratch: scratch(), excludesFile: await hostExcludesFile(facts, env) });
}
const ignored = async (rules: IgnoreRules, paths: string[]): Promise<string[]> => [
  ...(await checkIgnored(rules, paths as RepoPath[])),
];

test("git's own rules: folders, negations, nesting, anchors, odd names", async () => {
  const repository = makeRepository();
  const odd = decodePath(Buffer.from('build/\xff\n', 'latin1'));
  repository.write('.gitignore', 'build/\n*.log\n!keep.log\n/root\nsp\\ ace\n**/deep/x\nlock\\[1\\]\n');
  repository.write('sub/.gitignore', '!*.log\nown\n');
  repository.write('build-sub/.gitignore', '*\n!.gitignore\n');
  repository.link('linked/.gitignore', 'own');
  repository.commit();
  const rules = await rulesOf(repository);
  const yes = [
    'build/a',
    'build/a/b',
    odd,
    'x/build/y',
    'a.log',
    'new\n.log',
    'root',
    'sp ace',
    'p/deep/x',
    'sub/own',
    '.gitignore/x.log',
    `${'long/'.repeat(2000)}x.log`,
    'lock[1]',
    'build-sub/any',
    'x/y/z.log',
    ':(top)a.log',
    '-a.log',
    '"q".log',
  ];
  const no = [
    'build',
    'keep.log',
    'x/root',
    'sub/a.log',
    'own',
    'linked/own',
    '.git/x',
    'a/.git/y',
    'build-sub/.gitignore',
    'normal',
    'a.logs',
    '-x',
    ' ',
  ];
  expect((await ignored(rules, [...yes, ...no])).sort()).toEqual(yes.sort());
  expect(await ignored(rules, [])).toEqual([]);
  expect(await ignored(rules, no)).toEqual([]);
});

test('the rules are those of base and of the host, not those that come later', async () => {
  const repository = makeRepository();
  repository.write('.gitignore', 'base\n');
  repository.commit();
  mkdirSync(join(repository.dir, '.git/info'), { recursive: true });
  writeFileSync(join(repository.dir, '.git/info/exclude'), 'excluded\n');
  const home = scratch();
  writeFileSync(join(home, 'mine'), 'personal\n');
  writeFileSync(join(home, '.gitconfig'), '[core]\n\texcludesFile = ~/mine\n');
  const rules = await rulesOf(repository, { HOME: home });
  repository.write('.gitignore', '*\n');
  writeFileSync(join(repository.dir, '.git/info/exclude'), '*\n');
  writeFileSync(join(home, 'mine'), '*\n');
  expect((await ignored(rules, ['base', 'excluded', 'personal', 'other'])).sort()).toEqual([
    'base',
    'excluded',
    'personal',
  ]);
});

test('the places of the personal ignore file', async () => {
  const repository = makeRepository();
  repository.commit();
  const facts = await repository.facts();
  expect(await hostExcludesFile(facts, { HOME: '/h' })).toBe('/h/.config/git/ignore');
  expect(await hostExcludesFile(facts, { HOME: '/h', XDG_CONFIG_HOME: '/x' })).toBe('/x/git/ignore');
  expect(await hostExcludesFile(facts, {})).toBe(null);
  repository.git('config', 'core.excludesFile', 'rel/ignore');
  expect(await hostExcludesFile(facts, { HOME: '/h' })).toBe(join(repository.dir, 'rel/ignore'));
});

test('a hundred thousand paths', async () => {
  const repository = makeRepository();
  repository.write('.gitignore', 'node_modules/\n*.o\n');
  repository.commit();
  const rules = await rulesOf(repository);
  const paths = Array.from({ length: 100_000 }, (_, i) => `${i % 2 ? 'node_modules' : 'src'}/p${i % 997}/f${i}.js`);
  const started = performance.now();
  expect(await ignored(rules, paths)).toHaveLength(50_000);
  expect(performance.now() - started).toBeLessThan(10_000);
});
