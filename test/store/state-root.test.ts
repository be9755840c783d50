import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openStateRoot, type StateRootRequest } from '../../src/store/state-root.ts';
import { bundled, outputOf, start } from './child.ts';
import { isRoot, NEEDS_ROOT, NOBODY, smallDisk, temporaryFolder, withUmask } from './temporary.ts';

const uid = process.getuid?.() ?? 0;
const openRoot = (over: Partial<StateRootRequest>) =>
  openStateRoot({ override: null, cwd: '/', uid, repositoryFolders: [], ...over });
const refused = async (override: string, over: Partial<StateRootRequest> = {}) => {
  const opened = await openRoot({ override, ...over });
  return opened.ok ? opened.value : opened.error;
};

test('a missing root is made with mode 0700 whatever the umask, and used again', async () => {
  const folder = temporaryFolder();
  for (const umask of [0, 0o277, 0o777]) {
    const path = join(folder, `root${umask}`);
    expect(await withUmask(umask, () => openRoot({ override: path }))).toEqual({ ok: true, value: path });
    expect(lstatSync(path).mode & 0o7777).toBe(0o700);
    expect(await openRoot({ override: path })).toEqual({ ok: true, value: path });
  }
});

test('many at once all get it', async () => {
  const path = join(temporaryFolder(), 'root');
  const opened = await Promise.all(Array.from({ length: 30 }, () => openRoot({ override: path })));
  expect(new Set(opened.map((result) => (result.ok ? result.value : result.error.kind)))).toEqual(new Set([path]));
});

test('relative paths start at the current folder; symlinks among the parents are resolved', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'real'));
  symlinkSync('real', join(folder, 'link'));
  expect(await openRoot({ override: 'link/root/', cwd: folder })).toEqual({
    ok: true,
    value: join(folder, 'real', 'root'),
  });
});

describe('refused, and nothing is made or changed', () => {
  test('a symlink, dangling or not', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'mine'), { mode: 0o700 });
    symlinkSync('mine', join(folder, 'link'));
    symlinkSync('nowhere', join(folder, 'dangling'));
    for (const name of ['link', 'dangling']) {
      expect(await refused(join(folder, name))).toEqual({ kind: 'symlink', path: join(folder, name) });
    }
    expect(readdirSync(folder).sort()).toEqual(['dangling', 'link', 'mine']);
  });

  test('a file, or a file among the parents', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), '');
    expect(await refused(join(folder, 'file'))).toMatchObject({ kind: 'not-directory' });
    expect(await refused(join(folder, 'file', 'root'))).toMatchObject({ kind: 'not-directory' });
  });

  test.each([0o755, 0o770, 0o701, 0o777, 0o1777])('mode %o', async (mode) => {
    const path = join(temporaryFolder(), 'root');
    mkdirSync(path);
    chmodSync(path, mode);
    expect(await refused(path)).toEqual({ kind: 'open-permissions', path, mode });
    expect(lstatSync(path).mode & 0o7777).toBe(mode);
  });

  test('a folder of ours that we cannot write', async () => {
    const path = join(temporaryFolder(), 'root');
    mkdirSync(path);
    chmodSync(path, 0o500);
    expect(await refused(path)).toMatchObject({ kind: 'not-writable', path });
  });

  test("somebody else's folder", async (context) => {
    if (!isRoot) context.skip(NEEDS_ROOT);
    const path = join(temporaryFolder(), 'root');
    mkdirSync(path, { mode: 0o700 });
    chownSync(path, NOBODY, NOBODY);
    expect(await refused(path)).toEqual({ kind: 'foreign-owner', path, owner: NOBODY, uid });
  });

  test('a component that starts with a dot, also behind a symlink', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, '.hidden'));
    symlinkSync('.hidden', join(folder, 'plain'));
    expect(await refused(join(folder, '.root'))).toMatchObject({ kind: 'dot-component', component: '.root' });
    expect(await refused(join(folder, '.hidden', 'root'))).toMatchObject({ component: '.hidden' });
    expect(await refused(join(folder, 'plain', 'root'))).toMatchObject({ component: '.hidden' });
    expect(readdirSync(join(folder, '.hidden'))).toEqual([]);
    expect(await refused(join(folder, 'a', '..', 'root'))).toBe(join(folder, 'root'));
  });

  test('a missing parent: only the last component is made', async () => {
    const folder = temporaryFolder();
    expect(await refused(join(folder, 'a', 'b'))).toMatchObject({ kind: 'parent-missing', parent: join(folder, 'a') });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('below a folder that anyone may write and that has no sticky bit', async () => {
    const folder = temporaryFolder();
    const open = join(folder, 'open');
    mkdirSync(join(open, 'inner'), { recursive: true });
    chmodSync(open, 0o777);
    for (const path of [join(open, 'root'), join(open, 'inner', 'root')]) {
      expect(await refused(path)).toEqual({ kind: 'parent-unsafe', path, parent: open, mode: 0o777 });
    }
    chmodSync(open, 0o1777);
    expect(await refused(join(open, 'root'))).toBe(join(open, 'root'));
  });

  test('inside the repository, however it is spelt; a neighbour is fine', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'repo', 'src'), { recursive: true });
    mkdirSync(join(folder, 'repo-state'));
    symlinkSync('repo', join(folder, 'link'));
    const repositoryFolders = [join(folder, 'link')];
    for (const path of ['repo', 'repo/root', 'repo/src/root', 'link/root']) {
      expect(await refused(join(folder, path), { repositoryFolders })).toMatchObject({
        kind: 'inside-repository',
        repository: join(folder, 'repo'),
      });
    }
    expect(readdirSync(join(folder, 'repo', 'src'))).toEqual([]);
    expect(await refused(join(folder, 'repo-state', 'root'), { repositoryFolders })).toBe(
      join(folder, 'repo-state', 'root'),
    );
  });

  test('names that cannot be', async () => {
    const folder = temporaryFolder();
    expect(await refused('')).toMatchObject({ kind: 'empty' });
    expect(await refused(' ')).toMatchObject({ kind: 'empty' });
    for (const name of ['a\0b', 'a\nb', 'a\x1b[2Jb']) {
      expect(await refused(join(folder, name))).toMatchObject({ kind: 'control-characters' });
    }
    expect(await refused(`/${'long/'.repeat(200)}root`)).toMatchObject({ kind: expect.stringMatching(/missing|long/) });
    expect(await refused(join(folder, 'n'.repeat(300)))).toMatchObject({ kind: 'too-long' });
    const deep = join(folder, ...Array.from({ length: 5 }, () => 'd'.repeat(100)));
    mkdirSync(deep, { recursive: true });
    expect(await refused(join(deep, 'root'))).toMatchObject({ kind: 'too-long', limit: 512 });
    expect(readdirSync(folder)).toEqual(['d'.repeat(100)]);
  });

  test('where we may not make a folder', async (context) => {
    if (!isRoot) context.skip(NEEDS_ROOT);
    const folder = temporaryFolder();
    const script = bundled(`
      import { openStateRoot } from './state-root.ts';
      const [, , override] = process.argv;
      console.log(JSON.stringify(await openStateRoot({ override, cwd: '/', uid: ${NOBODY}, repositoryFolders: [] })));`);
    const said = await outputOf(start(script, [join(folder, 'root')], { uid: NOBODY }));
    expect(JSON.parse(said)).toMatchObject({ ok: false, error: { kind: 'not-writable', code: 'EACCES' } });
    chmodSync(folder, 0o1777);
    const made = await outputOf(start(script, [join(folder, 'root')], { uid: NOBODY, shellPrefix: 'umask 0777;' }));
    expect(JSON.parse(made)).toEqual({ ok: true, value: join(folder, 'root') });
    expect(lstatSync(join(folder, 'root')).mode & 0o7777).toBe(0o700);
    // And what nobody made, root refuses.
    expect(await refused(join(folder, 'root'))).toMatchObject({ kind: 'foreign-owner', owner: NOBODY });
  });

  test('a file system that is read-only', async (context) => {
    const disk = smallDisk(64 * 1024);
    if (disk === null) return context.skip(NEEDS_ROOT);
    try {
      const { spawnSync } = await import('node:child_process');
      mkdirSync(join(disk.path, 'root'), { mode: 0o700 });
      expect(spawnSync('mount', ['-o', 'remount,ro', disk.path]).status).toBe(0);
      for (const name of ['root', 'other']) {
        expect(await refused(join(disk.path, name))).toMatchObject({ kind: 'not-writable', code: 'EROFS' });
      }
    } finally {
      disk.unmount();
    }
  });
});

test('whoever only looks makes nothing, and needs no right to write', async () => {
  const path = join(temporaryFolder(), 'root');
  expect(await openRoot({ override: path, make: false })).toEqual({ ok: false, error: { kind: 'missing', path } });
  expect(readdirSync(join(path, '..'))).toEqual([]);
  mkdirSync(path);
  chmodSync(path, 0o500);
  expect(await openRoot({ override: path, make: false })).toEqual({ ok: true, value: path });
  chmodSync(path, 0o755);
  expect(await openRoot({ override: path, make: false })).toMatchObject({ error: { kind: 'open-permissions' } });
});

test('the default is one folder a user in /tmp', async () => {
  const opened = await openRoot({ uid: uid + 0, override: null });
  const shown = opened.ok ? opened.value : opened.error.path;
  expect(shown).toMatch(new RegExp(`/tmp/agent-exec-${uid}$`));
});
