import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removePrivateRepository, removeWorkspace } from '../../src/workspace/remove.ts';
import { removeTree } from '../../src/workspace/remove-tree.ts';
import { asNobody, ready, sh, stage, tempDir } from './fixture.ts';

const sample = await stage();
const isRoot = process.getuid?.() === 0;
const GONE = { workspaceRemoved: true, worktreeUnregistered: true, problem: null };

test('removes the worktree, its registration and then the repository, and nothing else', async () => {
  const { workspace } = await ready(sample);
  const attemptDir = join(workspace.privateGitDir, '..');
  sh(attemptDir, 'mkdir kept; echo k > kept/k');
  sh(
    workspace.path,
    `ln -s ../kept escape; ln -s ${sample.repo} canonical; mkdir deep; ln -s ../../kept deep/again; mkfifo pipe`,
  );
  expect(await removeWorkspace(workspace)).toEqual(GONE);
  expect(existsSync(workspace.path)).toBe(false);
  expect(readdirSync(attemptDir).sort()).toEqual(['kept', 'private.git']);
  expect(readFileSync(join(attemptDir, 'kept/k'), 'utf8')).toBe('k\n');
  expect(existsSync(join(sample.repo, 'src/a.txt'))).toBe(true);
  expect(sh(workspace.privateGitDir, 'git --git-dir . worktree list').trim().split('\n')).toHaveLength(1);
  expect(await removeWorkspace(workspace)).toEqual(GONE);
  expect(await removePrivateRepository(workspace)).toEqual({ removed: true, problem: null });
  expect(readdirSync(attemptDir)).toEqual(['kept']);
});

test('paths beyond PATH_MAX, depth without end, names of any bytes', async () => {
  const { workspace } = await ready(sample);
  sh(
    workspace.path,
    `( n=$(printf 'd%.0s' {1..250}); for i in {1..40}; do mkdir $n; cd $n; echo x > file; done )
     perl -e 'for (1..6000) { mkdir "x" or die $!; chdir "x" or die $! } open F, ">f"'
     printf x > $'bad\\377\\n"\\\\'; mkdir ./$'-rf \\377'; printf y > ./$'-rf \\377/*'`,
  );
  expect(await removeWorkspace(workspace)).toEqual(GONE);
  expect(readdirSync(join(workspace.privateGitDir, '..'))).toEqual(['private.git']);
});

test.skipIf(!isRoot)('folders without permissions, as their owner', async () => {
  const on = await ready(await stage());
  sh(
    on.workspace.path,
    `mkdir -p ro/inner none/inner nox wo; touch ro/f ro/inner/f none/inner/f nox/f wo/f; chmod 555 ro/inner ro; chmod 0 none; chmod 444 nox; chmod 222 wo
     n=$(printf 'd%.0s' {1..250}); for i in {1..20}; do mkdir $n; [ $i = 1 ] && top=$PWD/$n; cd $n; done; while [ "$PWD" != "$(dirname "$top")" ]; do chmod 555 .; cd ..; done
     chmod -R a-w "$OLDPWD" || true; chmod 555 ${on.workspace.path}`,
  );
  const removal = await asNobody(on, () => removeWorkspace(on.workspace));
  expect(removal).toEqual(GONE);
});

test.skipIf(!isRoot)('the attempt’s own folders closed by the worker, as their owner', async () => {
  for (const script of [
    'chmod 0 "$(git rev-parse --git-common-dir)/worktrees"',
    'chmod 0 ..',
    'chmod 555 ..',
    'chmod 0 .',
  ]) {
    const on = await ready(await stage());
    sh(on.workspace.path, script);
    expect(await asNobody(on, () => removeWorkspace(on.workspace)), script).toEqual(GONE);
  }
});

test.skipIf(!isRoot)('what belongs to somebody else stays and is named', async () => {
  const on = await ready(await stage());
  sh(on.workspace.path, 'mkdir -p theirs; touch theirs/file');
  const removal = await asNobody(on, async () => {
    process.seteuid?.(0);
    sh(on.workspace.path, 'chown 0:0 theirs theirs/file');
    process.seteuid?.(65534);
    return removeWorkspace(on.workspace);
  });
  expect(removal).toMatchObject({ workspaceRemoved: false, worktreeUnregistered: false });
  expect(removal.problem).toContain('theirs/file');
  expect(existsSync(join(on.workspace.path, 'theirs/file'))).toBe(true);
});

test('something else in the workspace’s place is not touched', async () => {
  const on = await ready(sample);
  sh(on.workspace.path, 'd=$PWD; cd ..; mv "$d" moved; mkdir "$d"; touch "$d/precious"');
  expect(await removeWorkspace(on.workspace)).toMatchObject({ workspaceRemoved: false, worktreeUnregistered: false });
  expect(existsSync(join(on.workspace.path, 'precious'))).toBe(true);

  const linked = await ready(sample);
  sh(linked.workspace.path, `d=$PWD; cd ..; mv "$d" moved; ln -s ${sample.repo} "$d"`);
  expect((await removeWorkspace(linked.workspace)).problem).toContain('not the workspace');
  expect(existsSync(join(sample.repo, 'src/a.txt'))).toBe(true);
});

test.skipIf(!isRoot)('a mount inside stops the removal before it starts', async () => {
  const dir = tempDir();
  mkdirSync(join(dir, 'root/a/mount point'), { recursive: true });
  sh(dir, 'mkdir theirs; touch theirs/precious root/a/f; mount --bind theirs "root/a/mount point"');
  try {
    expect((await removeTree(join(dir, 'root'))).join()).toContain('mount point');
    expect(readdirSync(join(dir, 'theirs'))).toEqual(['precious']);
    expect(readdirSync(join(dir, 'root/a'))).toEqual(['f', 'mount point']);
  } finally {
    sh(dir, 'umount "root/a/mount point"');
  }
  expect(await removeTree(join(dir, 'root'))).toEqual([]);
});

test.skipIf(!isRoot)('an immutable file is a problem', async () => {
  const { workspace } = await ready(sample);
  sh(workspace.path, 'mkdir hard; touch hard/file; chattr +i hard/file');
  try {
    const removal = await removeWorkspace(workspace);
    expect(removal).toMatchObject({ workspaceRemoved: false, worktreeUnregistered: false });
    expect(removal.problem).toContain('hard/file');
  } finally {
    sh(workspace.path, 'chattr -i hard/file');
  }
  expect(await removeWorkspace(workspace)).toEqual(GONE);
});

test('a registration the worker spoiled or removed', async () => {
  for (const script of [
    'rm -r "$(git rev-parse --git-dir)"',
    'chmod 0 "$(git rev-parse --git-dir)"',
    'rm .git',
    'rm -r "$(git rev-parse --git-common-dir)"',
  ]) {
    const { workspace } = await ready(sample);
    sh(workspace.path, script);
    expect(await removeWorkspace(workspace), script).toEqual(GONE);
  }
});
