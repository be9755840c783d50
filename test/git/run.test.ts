import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GitError, git, gitLine, splitNul, tryGit } from '../../src/git/run.ts';

test('runs git with bytes in and bytes out', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'ax-git-'));
  await git({ gitDir: null, args: ['init', '-q', '--bare', dir] });
  const oid = await gitLine({ gitDir: dir, args: ['hash-object', '-w', '--stdin'], input: Buffer.from([0xff, 0, 10]) });
  expect(oid).toMatch(/^[0-9a-f]{40}$/);
  expect(await git({ gitDir: dir, args: ['cat-file', 'blob', oid] })).toEqual(Buffer.from([0xff, 0, 10]));
});

test('a failure carries code and complaint', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'ax-git-'));
  expect((await tryGit({ gitDir: dir, args: ['rev-parse', 'HEAD'] })).code).toBe(128);
  await expect(git({ gitDir: dir, args: ['rev-parse', 'HEAD'] })).rejects.toThrow(GitError);
  await expect(git({ gitDir: dir, args: ['rev-parse', 'HEAD'] })).rejects.toThrow(/not a git repository/);
});

test('splits NUL-terminated records', () => {
  expect(splitNul(Buffer.from('a\0b\0')).map(String)).toEqual(['a', 'b']);
  expect(splitNul(Buffer.alloc(0))).toEqual([]);
});
