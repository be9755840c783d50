/** A look at a commit says what plain git says of it; a fresh repository has one commit and nothing of the user's in it. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lookAtCommit } from '../../src/git/commit-look.ts';
import { createFreshRepository } from '../../src/git/fresh-repository.ts';
import { plainGit, scratch } from './fixture.ts';

const git = (repo: string, ...args: string[]): string => plainGit(repo, args).toString('utf8').trimEnd();

describe('a fresh repository', () => {
  test('has one commit of exactly these files, on main, clean, without hooks', async () => {
    const repo = join(scratch(), 'probe');
    await createFreshRepository(repo, { 'README.md': '# A\n', '.gitignore': '*\n' });
    expect(git(repo, 'log', '--format=%an %s')).toBe('agent-exec A repository for one probe');
    expect(git(repo, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main');
    expect(git(repo, 'ls-tree', '-r', '--name-only', 'HEAD')).toBe('.gitignore\nREADME.md');
    expect(git(repo, 'show', 'HEAD:README.md')).toBe('# A');
    expect(git(repo, 'status', '--porcelain')).toBe('');
    expect(existsSync(join(repo, '.git/hooks'))).toBe(false);
    expect(git(repo, 'remote')).toBe('');
  });

  test('takes no place that is taken', async () => {
    const repo = join(scratch(), 'probe');
    await createFreshRepository(repo, { a: 'a\n' });
    await expect(createFreshRepository(repo, { a: 'b\n' })).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readdirSync(repo).sort()).toEqual(['.git', 'a']);
  });
});

describe('a look at a commit', () => {
  const REF = 'refs/agent-exec/run/one';
  async function committed(work: readonly string[]): Promise<{ repo: string; base: string; commit: string }> {
    const repo = join(scratch(), 'probe');
    await createFreshRepository(repo, { 'README.md': '# A\n', 'b.txt': 'b\n' });
    const base = git(repo, 'rev-parse', 'HEAD');
    execFileSync('/bin/sh', ['-ec', work.join('\n')], { cwd: repo });
    git(repo, 'add', '-A');
    git(repo, 'commit', '-q', '--allow-empty', '-m', 'work');
    const commit = git(repo, 'rev-parse', 'HEAD');
    git(repo, 'update-ref', REF, commit);
    return { repo, base, commit };
  }
  const look = ({ repo, base }: { repo: string; base: string }, ref = REF) =>
    lookAtCommit(join(repo, '.git'), { ref, base, path: 'm.txt' });

  test('names its parent, its paths and the bytes', async () => {
    const made = await committed([`printf 'a\\r\\n\\0b' > m.txt`, 'git mv b.txt c.txt']);
    expect(await look(made)).toEqual({
      commit: made.commit,
      parents: [made.base],
      changedPaths: ['b.txt', 'c.txt', 'm.txt'],
      file: { size: 5, bytes: Buffer.from('a\r\n\0b') },
    });
  });

  test.each([
    ['no such path', 'true'],
    ['a link', 'ln -s README.md m.txt'],
    ['a folder', 'mkdir m.txt; echo x > m.txt/x'],
  ])('%s is no file', async (_, work) => {
    expect(await look(await committed([work]))).toMatchObject({ file: null });
  });

  test.each([
    [4096, true],
    [4097, false],
    [64 * 1024 * 1024, false],
  ])('of %i bytes is read: %s', async (size, isRead) => {
    const seen = await look(await committed([`head -c ${size} /dev/zero > m.txt`]));
    expect(seen?.file?.size).toBe(size);
    expect(seen?.file?.bytes?.length ?? null).toBe(isRead ? size : null);
  });

  test('a merge has both parents, and a ref that is none is null', async () => {
    const made = await committed(['echo x > m.txt']);
    const { repo, base, commit } = made;
    const tree = git(repo, 'rev-parse', `${commit}^{tree}`);
    git(repo, 'update-ref', REF, git(repo, 'commit-tree', '-p', commit, '-p', base, '-m', 'merge', tree));
    expect(await look(made)).toMatchObject({ parents: [commit, base] });
    git(repo, 'update-ref', 'refs/agent-exec/run/tree', tree);
    for (const ref of ['refs/agent-exec/run/two', 'refs/agent-exec/run/tree', '--all'])
      expect(await look(made, ref)).toBeNull();
  });
});
