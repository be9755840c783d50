import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { git } from '../../src/git/run.ts';
import { checkReceiptPath } from '../../src/store/receipt-path.ts';
import { bundled, outputOf, start } from './child.ts';
import { isRoot, NEEDS_ROOT, NOBODY, temporaryFolder } from './temporary.ts';

async function repository() {
  const folder = temporaryFolder();
  const worktree = join(folder, 'repo');
  await git({ gitDir: null, args: ['init', '-q', worktree] });
  const gitDir = join(worktree, '.git');
  writeFileSync(join(worktree, '.gitignore'), 'out/\n');
  writeFileSync(join(worktree, 'tracked.json'), '');
  mkdirSync(join(worktree, 'out'));
  writeFileSync(join(worktree, 'out', 'tracked.json'), '');
  await git({ gitDir, workTree: worktree, args: ['--work-tree', worktree, 'add', '-f', '.'] });
  const asked: string[] = [];
  const check = (path: string, cwd = folder) =>
    checkReceiptPath({
      path,
      cwd,
      worktree,
      gitDirectories: [gitDir],
      isIgnored: async (inside) => {
        asked.push(inside);
        return spawnSync('git', ['-C', worktree, 'check-ignore', '-q', '--', inside]).status === 0;
      },
    });
  return { folder, worktree, gitDir, check, asked };
}

test('a free name in an existing folder is taken, symlinks among its parents resolved', async () => {
  const { folder, check, asked } = await repository();
  mkdirSync(join(folder, 'real'));
  symlinkSync('real', join(folder, 'link'));
  expect(await check('link/receipt.json')).toEqual({ ok: true, value: join(folder, 'real', 'receipt.json') });
  expect(await check(join(folder, 'repo-receipt.json'))).toMatchObject({ ok: true });
  expect(await check('..receipt.json')).toMatchObject({ ok: true });
  expect(asked).toEqual([]);
  expect(readdirSync(folder).sort()).toEqual(['link', 'real', 'repo']);
});

describe('refused', () => {
  test('whatever exists, and nothing of it is touched', async () => {
    const { folder, check } = await repository();
    writeFileSync(join(folder, 'file'), 'x');
    mkdirSync(join(folder, 'folder'));
    symlinkSync('file', join(folder, 'link'));
    symlinkSync('nowhere', join(folder, 'dangling'));
    symlinkSync('folder', join(folder, 'folder-link'));
    spawnSync('mkfifo', [join(folder, 'pipe')]);
    for (const [name, what] of [
      ['file', 'file'],
      ['folder', 'folder'],
      ['folder/', 'folder'],
      ['.', 'folder'],
      ['link', 'symlink'],
      ['dangling', 'symlink'],
      ['folder-link', 'symlink'],
      ['pipe', 'special file'],
      ['/dev/null', 'special file'],
      ['/', 'folder'],
    ] as const) {
      expect(await check(name)).toMatchObject({ ok: false, error: { kind: 'exists', what } });
    }
  });

  test('a missing or impossible folder', async () => {
    const { folder, check } = await repository();
    writeFileSync(join(folder, 'file'), 'x');
    symlinkSync('nowhere', join(folder, 'dangling'));
    expect(await check('missing/receipt.json')).toMatchObject({
      error: { kind: 'parent-missing', parent: join(folder, 'missing') },
    });
    expect(await check('dangling/receipt.json')).toMatchObject({ error: { kind: 'parent-missing' } });
    expect(await check('missing/')).toMatchObject({ error: { kind: 'parent-missing' } });
    expect(await check('file/receipt.json')).toMatchObject({ error: { kind: 'parent-not-folder' } });
    expect(await check('')).toMatchObject({ error: { kind: 'empty' } });
    expect(await check('a\0b')).toMatchObject({ error: { kind: 'unusable' } });
    expect(await check('n'.repeat(300))).toMatchObject({ error: { kind: 'unusable', code: 'ENAMETOOLONG' } });
  });

  test('tracked and unignored places of the repository, however they are reached', async () => {
    const { folder, worktree, check } = await repository();
    symlinkSync('repo', join(folder, 'link'));
    for (const path of ['repo/receipt.json', 'link/receipt.json', join(worktree, 'receipt.json')]) {
      expect(await check(path)).toMatchObject({ error: { kind: 'not-ignored', inRepository: 'receipt.json' } });
    }
    expect(await check('receipt.json', worktree)).toMatchObject({ error: { kind: 'not-ignored' } });
    expect(await check('out/receipt.json', worktree)).toEqual({
      ok: true,
      value: join(worktree, 'out', 'receipt.json'),
    });
    // A tracked file below an ignored folder is not ignored, also while it is deleted from the worktree.
    spawnSync('rm', [join(worktree, 'out', 'tracked.json')]);
    expect(await check('out/tracked.json', worktree)).toMatchObject({ error: { kind: 'not-ignored' } });
  });

  test('the git directory, where a file could become a ref, a hook or a lock', async () => {
    const { gitDir, check, asked } = await repository();
    for (const path of ['refs/heads/receipt', 'hooks/pre-commit', 'index.lock', 'agent-exec']) {
      expect(await check(join(gitDir, path))).toMatchObject({ error: { kind: 'inside-git-directory' } });
    }
    mkdirSync(join(gitDir, 'agent-exec'));
    expect(await check(join(gitDir, 'agent-exec', 'receipt.json'))).toMatchObject({ ok: true });
    expect(asked).toEqual([]);
  });

  test('a folder that we cannot write', async (context) => {
    if (!isRoot) context.skip(NEEDS_ROOT);
    const folder = temporaryFolder();
    const script = bundled(`
      import { checkReceiptPath } from './receipt-path.ts';
      const isIgnored = async () => true;
      console.log(JSON.stringify(await checkReceiptPath({
        path: process.argv[2], cwd: '/', worktree: '/usr', gitDirectories: [], isIgnored })));`);
    const said = await outputOf(start(script, [join(folder, 'receipt.json')], { uid: NOBODY }));
    expect(JSON.parse(said)).toMatchObject({ error: { kind: 'not-writable', parent: folder, code: 'EACCES' } });
  });
});
