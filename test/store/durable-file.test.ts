import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeDurably } from '../../src/store/durable-file.ts';
import { bundled, outputOf, start } from './child.ts';
import { isRoot, NEEDS_ROOT, NOBODY, smallDisk, temporaryFolder, withUmask } from './temporary.ts';

const mode = (path: string): number => statSync(path).mode & 0o7777;

test('writes bytes or text, mode 0600 whatever the umask', async () => {
  const folder = temporaryFolder();
  for (const umask of [0, 0o022, 0o277, 0o777]) {
    const path = join(folder, `f${umask}`);
    expect(await withUmask(umask, () => writeDurably(path, 'text'))).toEqual({ ok: true, value: undefined });
    expect([readFileSync(path, 'utf8'), mode(path)]).toEqual(['text', 0o600]);
  }
  const path = join(folder, 'bytes');
  await writeDurably(path, new Uint8Array([0, 255, 10]), { mode: 0o444 });
  expect([[...readFileSync(path)], mode(path)]).toEqual([[0, 255, 10], 0o444]);
});

describe('an existing name', () => {
  test('is replaced, without touching what a link points to', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), 'old');
    writeFileSync(join(folder, 'target'), 'kept');
    symlinkSync('target', join(folder, 'link'));
    expect((await writeDurably(join(folder, 'file'), 'new')).ok).toBe(true);
    expect((await writeDurably(join(folder, 'link'), 'new')).ok).toBe(true);
    expect(['file', 'target', 'link'].map((name) => readFileSync(join(folder, name), 'utf8'))).toEqual([
      'new',
      'kept',
      'new',
    ]);
    expect(readdirSync(folder).sort()).toEqual(['file', 'link', 'target']);
  });

  test('of any kind stops an exclusive write', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), 'old');
    mkdirSync(join(folder, 'folder'));
    symlinkSync('nowhere', join(folder, 'dangling'));
    for (const name of ['file', 'folder', 'dangling']) {
      const written = await writeDurably(join(folder, name), 'new', { exclusive: true });
      expect(written).toMatchObject({ ok: false, error: { code: 'EEXIST' } });
    }
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('old');
    expect(readdirSync(folder).sort()).toEqual(['dangling', 'file', 'folder']);
    expect((await writeDurably(join(folder, 'free'), 'new', { exclusive: true })).ok).toBe(true);
    expect([readFileSync(join(folder, 'free'), 'utf8'), statSync(join(folder, 'free')).nlink]).toEqual(['new', 1]);
    expect(readdirSync(folder)).toHaveLength(4);
  });

  test('only one of many exclusive writers wins', async () => {
    const path = join(temporaryFolder(), 'once');
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => writeDurably(path, `writer ${i}`, { exclusive: true })),
    );
    const winners = results.flatMap((result, i) => (result.ok ? [`writer ${i}`] : []));
    expect(winners).toEqual([readFileSync(path, 'utf8')]);
  });
});

describe('a failure is an answer and leaves nothing', () => {
  test('a folder in the way, a missing folder, a name that is too long', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'folder'));
    const codeOf = async (path: string) => {
      const written = await writeDurably(path, 'x');
      return written.ok ? 'ok' : written.error.code;
    };
    expect(await codeOf(join(folder, 'folder'))).toBe('EISDIR');
    expect(await codeOf(join(folder, 'missing', 'file'))).toBe('ENOENT');
    expect(await codeOf(join(folder, 'n'.repeat(300)))).toBe('ENAMETOOLONG');
    expect(readdirSync(folder)).toEqual(['folder']);
  });

  test('a read-only folder', async (context) => {
    if (!isRoot) context.skip(NEEDS_ROOT);
    const folder = temporaryFolder();
    const script = bundled(`
      import { writeDurably } from './durable-file.ts';
      console.log(JSON.stringify(await writeDurably(process.argv[2] + '/file', 'x')));`);
    const said = await outputOf(start(script, [folder], { uid: NOBODY }));
    expect(JSON.parse(said)).toMatchObject({ ok: false, error: { code: 'EACCES' } });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('a full disk: the old file stays whole', async (context) => {
    const disk = smallDisk(64 * 1024);
    if (disk === null) return context.skip(NEEDS_ROOT);
    try {
      const path = join(disk.path, 'file');
      expect((await writeDurably(path, 'old')).ok).toBe(true);
      for (const exclusive of [false, true]) {
        const target = exclusive ? `${path}2` : path;
        const written = await writeDurably(target, Buffer.alloc(200 * 1024), { exclusive });
        expect(written).toMatchObject({ ok: false, error: { code: 'ENOSPC' } });
      }
      expect(readFileSync(path, 'utf8')).toBe('old');
      expect(readdirSync(disk.path)).toEqual([basename(path)]);
    } finally {
      disk.unmount();
    }
  });

  test('a write that the system cuts short', async () => {
    const folder = temporaryFolder();
    const script = bundled(`
      import { writeDurably } from './durable-file.ts';
      console.log(JSON.stringify(await writeDurably(process.argv[2] + '/file', Buffer.alloc(100_000))));`);
    const said = await outputOf(start(script, [folder], { shellPrefix: 'ulimit -f 4;' }));
    expect(JSON.parse(said)).toMatchObject({ ok: false, error: { code: 'EFBIG' } });
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('a bug is thrown, not returned', async () => {
  await expect(writeDurably(join(temporaryFolder(), 'x'), undefined as never)).rejects.toThrow();
});
