import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../../src/git/run.ts';
import { takeBaseline } from '../../src/workspace/baseline.ts';
import { createWorkspace } from '../../src/workspace/create.ts';
import { after, lines, must, ready, sh, stage, survey, tempDir, withSubmodule } from './fixture.ts';

test('the worktree holds base, is detached, locked and clean, and git works in it', async () => {
  const { workspace, base, dir } = await ready(await stage());
  expect(readdirSync(workspace.path).sort()).toEqual(['.git', '.gitignore', 'docs', 'link', 'run.sh', 'src']);
  expect(workspace.path.startsWith(dir)).toBe(true);
  expect(lstatSync(join(workspace.path, 'run.sh')).mode & 0o111).not.toBe(0);
  expect(sh(workspace.path, 'git status --porcelain --ignored')).toBe('');
  expect(sh(workspace.path, 'git rev-parse HEAD').trim()).toBe(base);
  expect(sh(workspace.path, 'git symbolic-ref -q HEAD || echo detached').trim()).toBe('detached');
  expect(sh(workspace.path, 'git remote; git for-each-ref')).toBe('');
  expect(sh(workspace.path, 'git worktree list --porcelain')).toContain('locked');
  expect(sh(workspace.path, 'git log --oneline').split('\n')).toHaveLength(2);
});

test('the canonical repository is only read', async () => {
  const on = await stage();
  sh(
    on.repo,
    'git config core.hooksPath hooks; mkdir hooks; for h in post-checkout reference-transaction post-index-change; do printf "#!/bin/sh\\ntouch %s/canary\\n" "$PWD" > hooks/$h; chmod +x hooks/$h; done',
  );
  const before = sh(
    on.repo,
    'find . -type f -print0 | sort -z | xargs -0 sha256sum; find . -printf "%p %C@\\n" | sort',
  );
  await ready(on);
  expect(sh(on.repo, 'find . -type f -print0 | sort -z | xargs -0 sha256sum; find . -printf "%p %C@\\n" | sort')).toBe(
    before,
  );
  expect(sh(on.repo, 'git worktree list').trim().split('\n')).toHaveLength(1);
});

test('raw bytes: no conversion, no filter, nothing dirty at birth', async () => {
  const plain = await stage(`
    printf 'x\\r\\ny\\r\\n' > crlf.txt; printf '$Id$\\n' > ident.txt; printf 'lf\\n' > lf.txt; echo plain > f.flt
    printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:0\\nsize 1\\n' > big.bin; printf 'h\\303\\251\\n' > enc.txt
    printf '%s\\n' 'crlf.txt text' 'ident.txt ident' '*.bin filter=lfs' 'enc.txt working-tree-encoding=UTF-16' \\
      'lf.txt text eol=crlf' '*.flt filter=canary' > attributes`);
  sh(
    plain.repo,
    `git mv attributes .gitattributes; git commit -qm attributes; canary="touch ${plain.dir}/canary; cat"
    for driver in canary lfs; do for way in clean smudge; do git config filter.$driver.$way "$canary"; done; done
    git config filter.canary.required true; git config core.autocrlf true
    git config core.attributesFile ${plain.dir}/attributes; echo '* filter=canary' > ../attributes`,
  );
  const on = await survey(tempDir(), plain.repo);
  expect(existsSync(join(plain.dir, 'canary'))).toBe(false);
  const made = await ready(on);
  for (const file of ['crlf.txt', 'ident.txt', 'big.bin', 'enc.txt', 'lf.txt', 'f.flt']) {
    const blob = await git({ gitDir: on.facts.gitDir, args: ['cat-file', 'blob', `HEAD:${file}`] });
    expect(readFileSync(join(made.workspace.path, file)), file).toEqual(blob);
  }
  expect(sh(made.workspace.path, 'git status --porcelain')).toBe('');
  expect((await after(made, 'touch *')).changes).toEqual([]);
  expect(existsSync(join(plain.dir, 'canary'))).toBe(false);
  sh(on.repo, 'touch *; git status');
  expect(existsSync(join(plain.dir, 'canary')), 'the trap works').toBe(true);
});

test('sha256, shallow, linked worktree, alternates chain, sparse checkout and odd folder names', async () => {
  const sha256 = await ready(await stage(undefined, 'sha256'));
  expect(lines(await after(sha256, 'echo b >> src/a.txt'))).toEqual(['M src/a.txt 100644']);
  expect(sh(sha256.workspace.path, 'git status --porcelain')).toBe(' M src/a.txt\n');

  const on = await stage();
  sh(on.repo, 'echo 2 >> src/a.txt; git commit -qam second');
  const odd = 'odd\n "name"#';
  sh(on.dir, 'git clone -q --depth 1 "file://$PWD/repo" shallow 2>&1; git -C repo worktree add -q ../linked');
  sh(on.dir, `git clone -q --shared repo shared; git clone -q --shared shared $'odd\\n "name"#'`);
  const places = ['shallow', 'linked', 'shared', odd];
  for (const place of places) {
    const there = await survey(tempDir(), join(on.dir, place));
    const made = await ready(there);
    expect(sh(made.workspace.path, 'git status --porcelain; git log --oneline | wc -l').trim(), place).toBe(
      place === 'shallow' ? '1' : '2',
    );
  }
  sh(on.repo, 'git sparse-checkout set docs');
  expect(existsSync(join((await ready(await survey(tempDir(), on.repo))).workspace.path, 'src/a.txt'))).toBe(true);
});

test('submodules stay uninitialised, empty folders', async () => {
  const made = await ready(await withSubmodule());
  expect(readdirSync(join(made.workspace.path, 'vendor/sub'))).toEqual([]);
  expect(sh(made.workspace.path, 'git status --porcelain')).toBe('');
  expect((await after(made, 'true')).changes).toEqual([]);
});

test('what the host excludes is excluded for the worker', async () => {
  const on = await stage('echo a > a; echo secret-cache > .git/info/exclude');
  const { workspace } = await ready(on);
  expect(sh(workspace.path, 'touch secret-cache; git status --porcelain')).toBe('');
});

test('a missing object, an occupied folder and a hidden path are problems, and nothing is left behind', async () => {
  const on = await stage();
  const attemptDir = join(on.dir, 'attempt');
  mkdirSync(attemptDir);
  const request = { facts: on.facts, base: on.base, madeBy: 'run@0', attemptDir, name: '.repo.git' };
  const oid = sh(on.repo, 'git rev-parse HEAD:src/a.txt').trim();
  const object = join(on.facts.objectsDir, oid.slice(0, 2), oid.slice(2));
  sh(on.repo, `mv ${object} ${on.dir}/saved`);
  expect(await createWorkspace(request)).toMatchObject({ ok: false, error: { reason: 'checkout-failed' } });
  expect(readdirSync(attemptDir)).toEqual([]);

  sh(on.repo, `mv ${on.dir}/saved ${object}`);
  expect(must(await createWorkspace(request)).path).toBe(join(attemptDir, 'repo'));
  expect(await createWorkspace(request)).toMatchObject({ ok: false, error: { reason: 'checkout-failed' } });
  expect(existsSync(join(attemptDir, 'repo/src/a.txt'))).toBe(true);

  const hidden = join(on.dir, '.cache');
  mkdirSync(hidden);
  expect(await createWorkspace({ ...request, attemptDir: hidden })).toMatchObject({
    ok: false,
    error: { reason: 'path-refused' },
  });
  expect(readdirSync(hidden)).toEqual([]);
});

test('a checkout that is not base is told', async () => {
  const made = await ready(await stage());
  for (const damage of ['rm src/a.txt', 'touch src/extra', 'rm link; echo x > link', 'chmod -x run.sh']) {
    const fresh = await ready(made);
    sh(fresh.workspace.path, damage);
    expect(await takeBaseline(fresh.workspace, made.tree.entries), damage).toMatchObject({
      ok: false,
      error: { reason: 'not-base' },
    });
  }
});
