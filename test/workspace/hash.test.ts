import { lstatSync, openSync, symlinkSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { signatureOf } from '../../src/workspace/file-identity.ts';
import { hashFile, hashSymlink } from '../../src/workspace/hash.ts';
import { sh, tempDir } from './fixture.ts';

const signature = (path: string): string => signatureOf(lstatSync(path, { bigint: true }));

test('is what git hash-object says, in both formats, at every size around the buffer', async () => {
  const dir = tempDir();
  sh(dir, 'git init -q --object-format=sha1 one; git init -q --object-format=sha256 two');
  for (const size of [0, 1, 8000, 2 ** 20 - 1, 2 ** 20, 2 ** 20 + 1, 3 * 2 ** 20]) {
    const path = join(dir, `f${size}`);
    writeFileSync(path, Buffer.alloc(size, 'abc\n'));
    for (const [format, repo] of [
      ['sha1', 'one'],
      ['sha256', 'two'],
    ] as const) {
      const hashed = await hashFile(path, signature(path), format);
      const oid = sh(join(dir, repo), `git hash-object ${path}`).trim();
      expect(hashed).toMatchObject({ ok: true, value: { oid, size, binary: false } });
    }
  }
});

test('binary is a NUL within the first 8000 bytes', async () => {
  const path = join(tempDir(), 'f');
  for (const [at, binary] of [
    [0, true],
    [7999, true],
    [8000, false],
  ] as const) {
    const bytes = Buffer.alloc(9000, 'a');
    bytes[at] = 0;
    writeFileSync(path, bytes);
    expect(await hashFile(path, signature(path), 'sha1')).toMatchObject({ ok: true, value: { binary } });
  }
});

test('a file that is not the one looked at is not hashed', async () => {
  const dir = tempDir();
  const path = join(dir, 'f');
  writeFileSync(path, 'one');
  const before = signature(path);
  sh(dir, 'sleep 0.05; printf two > f');
  expect(await hashFile(path, before, 'sha1')).toEqual({ ok: false, error: 'changed while it was being read' });
  symlinkSync('f', join(dir, 'link'));
  expect(await hashFile(join(dir, 'link'), before, 'sha1')).toEqual({ ok: false, error: 'ELOOP' });
  sh(dir, 'mkfifo pipe');
  expect((await hashFile(join(dir, 'pipe'), before, 'sha1')).ok).toBe(false);
  expect(hashSymlink(path, 'sha1')).toEqual({ ok: false, error: 'EINVAL' });
});

test('a write of the same size during the reading is noticed', async () => {
  const path = join(tempDir(), 'f');
  writeFileSync(path, '');
  truncateSync(path, 8 * 2 ** 20);
  const reading = hashFile(path, signature(path), 'sha1');
  sh('/', 'sleep 0.05');
  writeSync(openSync(path, 'r+'), 'x', 5 * 2 ** 20);
  expect(await reading).toEqual({ ok: false, error: 'changed while it was being read' });
});
