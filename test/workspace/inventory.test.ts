import { createHash } from 'node:crypto';
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodePath } from '../../src/model/path.ts';
import { outOfScope, takeInventory } from '../../src/workspace/inventory.ts';
import { INVENTORY_LIMITS } from '../../src/workspace/limits.ts';
import {
  after,
  asNobody,
  codes,
  everything,
  lines,
  type Ready,
  ready,
  scopeOf,
  sh,
  stage,
  withSubmodule,
} from './fixture.ts';

const sample = await stage();
const fresh = (): Promise<Ready> => ready(sample);

test('every kind of difference, with mode, size, oid and binary', async () => {
  const on = await fresh();
  const inventory = await after(
    on,
    `echo b >> src/a.txt; rm docs/d.txt; rm link; ln -s docs link; chmod -x run.sh; printf 'x\\0y' > bin; mkdir -p empty/folder
     ln -s src/a.txt new-link; rm .gitignore; ln -s run.sh .gitignore; touch -d 1980-01-01 src/a.txt`,
  );
  expect(inventory.kind).toBe('taken');
  expect(lines(inventory)).toEqual([
    'T .gitignore 120000',
    'A bin 100644',
    'D docs/d.txt',
    'M link 120000',
    'A new-link 120000',
    'M run.sh 100644',
    'M src/a.txt 100644',
  ]);
  const byPath = new Map(inventory.changes.map((change) => [String(change.path), change]));
  expect(byPath.get('bin')).toMatchObject({
    size: 3,
    binary: true,
    oid: sh(on.repo, `printf 'x\\0y' | git hash-object --stdin`).trim(),
  });
  expect(byPath.get('src/a.txt')).toMatchObject({
    size: 4,
    binary: false,
    oid: sh(on.workspace.path, 'git hash-object src/a.txt').trim(),
  });
  expect(byPath.get('link')?.oid).toBe(sh(on.repo, 'printf docs | git hash-object --stdin').trim());
  expect(byPath.get('docs/d.txt')).toMatchObject({ size: null, oid: null, mode: null });
  expect(inventory.violations).toEqual([]);
});

test('what was only touched, rewritten equally or moved back is no change', async () => {
  const inventory = await after(
    await fresh(),
    `touch src/a.txt; cp src/a.txt t; mv t src/a.txt; mv docs d2; mv d2 docs; chmod 600 docs/d.txt; chmod 0640 docs/d.txt; cp run.sh r; chmod 711 r; mv r run.sh`,
  );
  expect(inventory).toMatchObject({ kind: 'taken', changes: [], violations: [], findings: [] });
});

test('a same-size edit with its old times set back is seen, also in the first tick', async () => {
  for (const wait of ['', 'sleep 0.1;']) {
    const on = await fresh();
    const inventory = await after(
      on,
      `${wait} touch -r src/a.txt ../stamp; printf 'z\\n' > src/a.txt; touch -r ../stamp src/a.txt`,
    );
    expect(lines(inventory)).toEqual(['M src/a.txt 100644']);
  }
});

test('a folder in a file place, a file in a folder place, a move: both sides', async () => {
  const inventory = await after(
    await fresh(),
    'rm src/a.txt; mkdir src/a.txt; echo x > src/a.txt/x; rm -r docs; echo y > docs; git mv run.sh moved.sh',
  );
  expect(lines(inventory)).toEqual([
    'A docs 100644',
    'D docs/d.txt',
    'A moved.sh 100755',
    'D run.sh',
    'D src/a.txt',
    'A src/a.txt/x 100644',
  ]);
  expect(outOfScope(inventory.changes, scopeOf(sample, 'docs', 'src/'))).toEqual(['docs', 'moved.sh', 'run.sh']);
});

test('index bits, intent-to-add, excludes, attributes and configuration hide nothing', async () => {
  const inventory = await after(
    await fresh(),
    `git update-index --skip-worktree docs/d.txt; git update-index --assume-unchanged src/a.txt; git config core.fileMode false
     git config core.trustctime false; git config core.checkStat minimal; echo '*' > "$(git rev-parse --git-path info/exclude)"
     echo evil >> docs/d.txt; echo evil >> src/a.txt; chmod -x run.sh; echo new > new; git add -fN new; echo '*' > src/.gitignore; echo hidden > src/hidden
     printf '* -diff\\n' > .gitattributes; git rm -q --cached link; git add -A -f; git config core.worktree /nonexistent`,
  );
  expect(lines(inventory)).toEqual(
    [
      'A .gitattributes 100644',
      'M docs/d.txt 100644',
      'A new 100644',
      'M run.sh 100644',
      'M src/.gitignore 100644',
      'M src/a.txt 100644',
      'A src/hidden 100644',
    ].map((line) => line.replace('M src/.gitignore', 'A src/.gitignore')),
  );
  expect(inventory.ignored).toEqual([]);
});

test('names of any bytes, in byte order', async () => {
  const names = [
    'nl\nname',
    'qu"ote',
    'back\\slash',
    '-dash',
    ':(top)magic',
    'bad\xffutf',
    ' lead',
    'trail ',
    'a -> b',
    'tab\there',
    '*',
    'esc\x1b[2Jx',
    '\xc3\xa9',
    '\xef\xbf\xbd',
    '\xf0\x9f\x98\x80',
    '\xed\xa0\x80',
  ];
  const on = await fresh();
  mkdirSync(join(on.workspace.path, 'odd'));
  for (const name of names) writeFileSync(Buffer.from(`${on.workspace.path}/odd/${name}`, 'latin1'), name);
  const { changes } = await after(on, 'true');
  const bytes = changes.map((change) => encodePath(change.path).toString('latin1'));
  expect(bytes).toEqual(
    names
      .map((name) => `odd/${name}`)
      .sort((a, b) => Buffer.compare(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'))),
  );
  for (const { path: at, oid } of changes) {
    const content = Buffer.from(encodePath(at).subarray(4).toString('latin1'));
    expect(oid).toBe(createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex'));
  }
});

test('ignored files: never tracked ones, in scope with content, elsewhere by size', async () => {
  const on = await ready(
    await stage(
      `printf '*.log\\nbuild/\\n!keep.log\\n' > .gitignore; mkdir src; echo t > src/tracked.log; git add -f src/tracked.log`,
    ),
  );
  const inventory = await after(
    on,
    'echo r > src/result.log; mkdir -p build/deep; echo bin > build/deep/out; echo k > keep.log; echo more >> src/tracked.log; ln -s /etc build/etc; echo k > build/x.pem',
    { scope: scopeOf(on, 'src/') },
  );
  expect(lines(inventory)).toEqual(['A keep.log 100644', 'M src/tracked.log 100644']);
  expect(inventory.ignored).toEqual([
    { path: 'build/deep/out', mode: '100644', size: 4, oid: null, inScope: false },
    { path: 'build/etc', mode: '120000', size: 4, oid: null, inScope: false },
    { path: 'build/x.pem', mode: '100644', size: 2, oid: null, inScope: false },
    {
      path: 'src/result.log',
      mode: '100644',
      size: 2,
      oid: sh(on.repo, 'echo r | git hash-object --stdin').trim(),
      inScope: true,
    },
  ]);
  expect(inventory.violations).toEqual([]);
  expect(codes(inventory.findings)).toEqual(['IGNORED_SYMLINK_ESCAPE build/etc', 'IGNORED_SECRET_FILE build/x.pem']);
});

test('pipes, sockets and set-id bits', async () => {
  const on = await fresh();
  const server = createServer().listen(join(on.workspace.path, 'sock'));
  await new Promise((resolve) => server.once('listening', resolve));
  const inventory = await after(
    on,
    'mkfifo src/pipe build.log; mkdir build; mkfifo build/pipe; chmod 4755 run.sh; echo s > sticky; chmod 1644 sticky; chmod 2755 docs; rm docs/d.txt; mkfifo docs/d.txt',
  );
  await new Promise((resolve) => server.close(resolve));
  expect(lines(inventory)).toEqual(['D docs/d.txt', 'A sticky 100644']);
  expect(codes(inventory.violations).sort()).toEqual(
    ['build.log', 'build/pipe', 'docs/d.txt', 'run.sh', 'sock', 'src/pipe', 'sticky'].map((at) => `SPECIAL_FILE ${at}`),
  );
});

test('symlinks that leave the workspace, however they do it', async () => {
  const on = await ready(
    await stage(
      'mkdir -p src deep/er/dir; echo a > src/a; echo a > deep/er/dir/a; ln -s /outside base-out; ln -s deep/er/dir d; ln -s base-out chained',
    ),
  );
  const inventory = await after(
    on,
    `ln -s /etc/passwd src/absolute; ln -s ../../x src/up; ln -s "$PWD/src/a" src/absolute-inside; ln -s ../base-out/secret src/through; ln -s d/../../../../x via-folder
     ln -s .git/config to-git; ln -s d/../../deep/er/x as-text; ln -s ../.GIT/hooks src/to-git; ln -s loop2 loop1; ln -s loop1 loop2
     ln -s missing/thing dangling; ln -s ../deep src/fine; ln -s d/a also-fine; ln -s . self; ln -s 'src/./../src//a' twisted`,
  );
  expect(inventory.violations).toHaveLength(1);
  expect(codes(inventory.violations)).toEqual(
    [
      'as-text',
      'src/absolute',
      'src/absolute-inside',
      'src/through',
      'src/to-git',
      'src/up',
      'to-git',
      'via-folder',
    ].map((at) => `SYMLINK_ESCAPE ${at}`),
  );
  expect(inventory.changes).toHaveLength(15);
});

test('secrets that are new', async () => {
  const on = await ready(await stage('echo A=1 > .env; mkdir src; echo a > src/a'));
  const inventory = await after(
    on,
    `echo A=2 > .env; echo B=1 > src/.env; echo key > src/server.key; echo x > .env.example
     printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\\nabc\\n' > src/innocent.txt; printf -- 'text\\n-----BEGIN RSA PRIVATE KEY-----\\n' > src/doc.txt; printf -- '-----BEGIN PRIVATE KEY-----\\n' >> src/a`,
  );
  expect(codes(inventory.violations).sort()).toEqual([
    'SECRET_FILE src/.env',
    'SECRET_FILE src/innocent.txt',
    'SECRET_FILE src/server.key',
  ]);
  expect(lines(inventory)).toContain('M .env 100644');
});

test('nested repositories are a violation and their files are kept', async () => {
  const inventory = await after(
    await fresh(),
    `git init -q nested; echo n > nested/n.txt; git init -q --bare bare.git; mkdir gitfile; echo 'gitdir: ../elsewhere' > gitfile/.git; echo g > gitfile/g
     mkdir -p src/.GIT; echo x > src/.GIT/config; mkdir build; git init -q build/ignored; mkdir split; echo 'ref: refs/heads/x' > split/HEAD; echo .. > split/commondir`,
  );
  expect(codes(inventory.violations).sort()).toEqual(
    ['bare.git', 'build/ignored/.git', 'gitfile/.git', 'nested/.git', 'split', 'src/.GIT'].map(
      (at) => `NESTED_REPOSITORY ${at}`,
    ),
  );
  const paths = lines(inventory);
  expect(paths).toContain('A nested/n.txt 100644');
  expect(paths).toContain('A bare.git/HEAD 100644');
  expect(paths.filter((line) => /\.git\//i.test(line) && !line.includes('bare.git'))).toEqual([]);
  const kept = inventory.findings.find(({ code }) => code === 'KEPT_IN_WORKSPACE');
  expect(kept?.paths).toEqual(expect.arrayContaining(['nested/.git/HEAD', 'src/.GIT/config', 'gitfile/.git']));
});

test('files hidden in the folder of an uninitialised submodule', async () => {
  const on = await ready(await withSubmodule());
  const inventory = await after(on, 'echo hidden > vendor/sub/z.txt; echo ok >> src/a.txt');
  expect(lines(inventory)).toEqual(['M src/a.txt 100644', 'D vendor/sub', 'A vendor/sub/z.txt 100644']);
  expect(codes(inventory.findings)).toEqual(['SUBMODULE_CONTENT vendor/sub']);
  expect(outOfScope(inventory.changes, scopeOf(on, 'src/'))).toEqual(['vendor/sub', 'vendor/sub/z.txt']);
  expect(lines(await after(await ready(on), 'rm -r vendor'))).toEqual(['D vendor/sub']);
  expect(lines(await after(await ready(on), 'rmdir vendor/sub; echo f > vendor/sub'))).toEqual(['T vendor/sub 100644']);
  expect(lines(await after(await ready(on), 'mkdir vendor/sub/empty'))).toEqual([]);
});

test('what setup wrote is where the worker starts from', async () => {
  const setup = `mkdir -p build/pkg; echo cache > build/pkg/c; echo lock > generated; echo by-setup >> src/a.txt; rm docs/d.txt; git init -q build/clone; chmod +x src/a.txt; ln -s /usr build/usr; mkfifo build/pipe`;
  const run = async (script: string) => after(await fresh(), script, { setup });
  expect(await run('true')).toMatchObject({ changes: [], ignored: [], violations: [], findings: [] });
  expect(await run('touch generated src/a.txt; cp generated g; mv g generated')).toMatchObject({
    changes: [],
    ignored: [],
  });
  const worked = await run(
    'sleep 0.1; echo w >> generated; echo w >> src/a.txt; echo w > docs/d.txt; echo w > build/pkg/c; echo n > build/n',
  );
  expect(lines(worked)).toEqual(['M docs/d.txt 100644', 'A generated 100644', 'M src/a.txt 100755']);
  expect(worked.ignored.map((file) => String(file.path))).toEqual(['build/n', 'build/pkg/c']);
  // Undoing setup's work leaves base, which no commit would show as a change.
  expect(lines(await run('git checkout -q -- src docs; rm generated'))).toEqual([]);
  expect(lines(await run('rm src/a.txt'))).toEqual(['D src/a.txt']);
});

test('hard links are told', async () => {
  const on = await fresh();
  linkSync(join(on.repo, 'src/a.txt'), join(on.workspace.path, 'src/linked'));
  const inventory = await after(on, 'ln docs/d.txt ../outside');
  expect(lines(inventory)).toEqual(['A src/linked 100644']);
  expect(codes(inventory.findings)).toEqual(['HARD_LINK docs/d.txt', 'HARD_LINK src/linked']);
});

test.skipIf(process.getuid?.() !== 0)('what cannot be read fails the inventory and keeps the rest', async () => {
  const on = await ready(await stage());
  sh(on.workspace.path, 'echo b > b; chmod 0 docs; echo s > src/s; chmod 0 src/s; echo t > src/t');
  const { workspace, baseline } = on;
  const ignored = async () => new Set<never>();
  // The repository's new owner changed every ctime; what counts here is what can be read.
  const inventory = await asNobody(on, () => takeInventory({ workspace, baseline, scope: everything, ignored }));
  if (inventory.kind !== 'failed') throw new Error(inventory.kind);
  expect(inventory.paths).toEqual(['docs', 'src/s']);
  expect(inventory.message).toBe('docs: EACCES; src/s: EACCES');
  expect(lines(inventory)).toEqual(['A b 100644', 'A src/t 100644']);
});

test('too large, too long, too many', async () => {
  const big = await after(
    await fresh(),
    'truncate -s 2G src/sparse; truncate -s 104857600 src/just; truncate -s 200M x.log; echo ok > ok',
    { scope: scopeOf(sample, 'src/') },
  );
  expect(big).toMatchObject({ kind: 'failed', paths: ['src/sparse'] });
  expect(lines(big)).toEqual(['A ok 100644', 'A src/just 100644']);
  expect(big.ignored).toMatchObject([{ path: 'x.log', size: 209715200, oid: null }]);

  const deep = await after(
    await fresh(),
    `echo ok > ok; n=$(printf 'd%.0s' {1..200}); for i in {1..25}; do mkdir $n; cd $n; done; echo lost > file`,
  );
  expect(deep.kind).toBe('failed');
  expect(deep.kind === 'failed' && deep.message).toContain('ENAMETOOLONG');
  expect(lines(deep)).toEqual(['A ok 100644']);

  const limits = { ...INVENTORY_LIMITS, entries: 20 };
  const many = await after(await fresh(), 'mkdir m; touch m/{1..50}', { limits });
  expect(many).toMatchObject({ kind: 'failed', message: 'more than 20 entries' });
  expect(lines(many).filter((line) => line.startsWith('D'))).toEqual([]);

  const sum = await after(await fresh(), 'printf 123456 > a; printf 123456 > b', {
    limits: { ...INVENTORY_LIMITS, hashedBytes: 10 },
  });
  expect(sum.kind).toBe('failed');
});

test('a workspace that was moved away or replaced is not inventoried', async () => {
  const moved = await fresh();
  expect(await after(moved, 'cd ..; mv repo elsewhere; mkdir repo; cp -r elsewhere/. repo')).toMatchObject({
    kind: 'failed',
    changes: [],
  });
  expect(await after(await fresh(), 'd=$PWD; cd ..; mv "$d" elsewhere; ln -s /etc "$d"')).toMatchObject({
    kind: 'failed',
    changes: [],
  });
  expect(await after(await fresh(), 'rm -rf "$PWD"')).toMatchObject({ kind: 'failed', changes: [] });
});

test('a file that is written while it is read fails the inventory', async () => {
  const on = await fresh();
  sh(on.workspace.path, 'truncate -s 90M growing');
  const { workspace, baseline, ignored } = on;
  const taking = takeInventory({ workspace, baseline, scope: everything, ignored });
  const writing = setInterval(() => sh(workspace.path, 'echo x >> growing'), 1);
  const inventory = await taking;
  clearInterval(writing);
  expect(inventory).toMatchObject({ kind: 'failed', paths: ['growing'] });
});

test('ignore rules that cannot be applied fail the inventory, and nothing is taken for ignored', async () => {
  const on = await fresh();
  sh(on.workspace.path, 'echo x > x.log');
  const { GitError } = await import('../../src/git/run.ts');
  const ignored = () =>
    Promise.reject(
      new GitError(['check-ignore'], { code: 128, stdout: Buffer.alloc(0), stderr: 'fatal', failure: null }),
    );
  const inventory = await takeInventory({ workspace: on.workspace, baseline: on.baseline, scope: everything, ignored });
  expect(inventory).toMatchObject({ kind: 'failed', ignored: [], changes: [{ path: 'x.log' }] });
});

test.skipIf(process.getuid?.() !== 0)('what is mounted inside is not looked at', async () => {
  const on = await fresh();
  sh(on.dir, `mkdir -p theirs; echo t > theirs/t; mount --bind theirs ${on.workspace.path}/docs`);
  try {
    const inventory = await after(on, 'echo n > new');
    expect(inventory).toMatchObject({ kind: 'failed', message: 'docs: is a mount point', paths: ['docs'] });
    expect(lines(inventory)).toEqual(['A new 100644']);
  } finally {
    sh(on.dir, `umount ${on.workspace.path}/docs`);
  }
});

test('a large file of base is no problem unless it changes', async () => {
  const on = await stage('truncate -s 101M large; mkdir src; echo a > src/a');
  expect(await after(await ready(on), 'touch large; echo b > src/a')).toMatchObject({
    kind: 'taken',
    changes: [{ path: 'src/a' }],
  });
  const changed = await after(await ready(on), 'printf x | dd of=large conv=notrunc status=none; echo b > src/a');
  expect(changed).toMatchObject({ kind: 'failed', paths: ['large'], changes: [{ path: 'src/a' }] });
  expect(lines(await after(await ready(on), 'rm large'))).toEqual(['D large']);
});
