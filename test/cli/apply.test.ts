/**
 * `apply`: the change and nothing but the change gets into the checkout, staged; whatever is the user's own is refused
 * by name before anything is touched; and whatever interrupts it, doing it again ends well. Checked with plain git.
 */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ApplyReport, applyReport } from '../../src/model/apply.ts';
import { type Finished, World } from '../run/world.ts';
import { NEEDS_ROOT, smallDisk } from '../store/temporary.ts';

const CHANGE = 'cat >/dev/null; echo more >> src/a.txt; echo new > src/new.txt; rm src/old.txt';

/** A world in which a run has succeeded with `script`. `prepare` is called before the base is committed. */
async function worked(
  script = CHANGE,
  prepare: (world: World) => void = () => {},
  over: Readonly<Record<string, unknown>> = {},
  options: ConstructorParameters<typeof World>[0] = {},
): Promise<{ world: World; done: Finished; base: string; commit: string }> {
  const world = new World(options);
  world.write('src/old.txt', 'old\n');
  prepare(world);
  const base = world.configure({ one: { script } });
  const done = await world.run(over);
  expect(done.receipt.outcome, JSON.stringify(done.receipt.reason)).toBe('success');
  return { world, done, base, commit: done.summary.transport?.commit ?? '' };
}

interface Applied {
  readonly code: number | null;
  readonly report: ApplyReport;
  readonly stderr: string;
}

async function apply(world: World, ...args: string[]): Promise<Applied> {
  return applyRun(world, 'last', ...args);
}

async function applyRun(world: World, run: string, ...args: string[]): Promise<Applied> {
  const said = await world.cli(['apply', run, '--json', '--state-dir', world.state, ...args]);
  if (said.stdout === '') throw new Error(`no answer: exit ${said.code} ${said.stderr}`);
  const report = applyReport.parse(JSON.parse(said.stdout));
  expect(report.exit_code).toBe(said.code);
  return { code: said.code, report, stderr: said.stderr };
}

/** The tree that a commit of the index would have. */
const staged = (world: World): string => world.git('write-tree');
const treeOf = (world: World, rev: string): string => world.git('rev-parse', `${rev}^{tree}`);
const status = (world: World): string[] => world.git('status', '--porcelain').split('\n').filter(Boolean);
/** By content, not by what the index remembers of times and sizes. */
function checkoutTree(world: World): string {
  const env = { PATH: process.env.PATH, HOME: world.home, GIT_INDEX_FILE: join(world.folder, 'fresh.index') };
  const git = (...args: string[]) => execFileSync('git', ['-C', world.repo, ...args], { env, encoding: 'utf8' });
  git('add', '-A');
  return git('write-tree').trim();
}
const gitFolder = (world: World): string[] => readdirSync(world.git('rev-parse', '--absolute-git-dir'));

/** Index and checkout are the commit's, nothing is committed, and nothing of the work itself is left. */
function expectTaken(world: World, head: string, tree: string): void {
  expect(staged(world)).toBe(tree);
  expect(world.git('rev-parse', 'HEAD')).toBe(head);
  // No second column: the files are what the index says.
  expect(status(world).filter((line) => line[1] !== ' ')).toEqual([]);
  expectNothingLeft(world);
}
function expectNothingLeft(world: World): void {
  expect(gitFolder(world).filter((name) => name.includes('agent-exec-apply') || name === 'index.lock')).toEqual([]);
}

describe('a checkout that stands at base', () => {
  test('gets exactly the change, staged and not committed; again it is there already, committed too', async () => {
    const { world, base, commit } = await worked();
    const { code, report } = await apply(world);
    expect(code).toBe(0);
    expect(report).toMatchObject({ result: 'applied', head_moved: false, commit, base, overlaps: [], notes: [] });
    expect(report.paths).toEqual(['src/a.txt', 'src/new.txt', 'src/old.txt']);
    expect(report.next).toEqual(['git diff --staged', 'git commit']);
    expectTaken(world, base, treeOf(world, commit));
    expect(readFileSync(join(world.repo, 'src/a.txt'), 'utf8')).toBe('a\nmore\n');

    const before = world.canonical();
    expect((await apply(world)).report).toMatchObject({ result: 'already-applied', exit_code: 0 });
    expect(world.canonical()).toEqual(before);
    world.git('commit', '-q', '-m', 'taken');
    const later = await apply(world);
    expect(later.report).toMatchObject({ result: 'already-applied', exit_code: 0, paths: [], next: [] });
  });

  test('a dry run says so and touches nothing', async () => {
    const { world } = await worked();
    const before = world.canonical();
    const objects = world.git('count-objects', '-v');
    expect((await apply(world, '--dry-run')).report).toMatchObject({ result: 'would-apply', dry_run: true });
    expect(world.canonical()).toEqual(before);
    expect(world.git('count-objects', '-v')).toBe(objects);
    expectNothingLeft(world);
  });

  test.each([false, true])('modes, links, removals, swaps and odd names are exact (sha256: %s)', async (sha256) => {
    const odd = ['-dash', 'quo"te', 'new\nline', 'sp ace', ':colon', 'ünï', 'back\\slash', '*star'];
    const script = `#!/usr/bin/env python3
import os, sys
sys.stdin.read()
os.chmod('src/mode', 0o755)
os.remove('src/file-to-folder'); os.mkdir('src/file-to-folder'); open('src/file-to-folder/deep', 'w').write('d')
os.remove('src/folder-to-file/x'); os.remove('src/folder-to-file/sub/y'); os.rmdir('src/folder-to-file/sub')
os.rmdir('src/folder-to-file'); open('src/folder-to-file', 'w').write('f')
os.remove('src/file-to-link'); os.symlink('a.txt', 'src/file-to-link')
os.remove('src/link-to-file'); open('src/link-to-file', 'w').write('plain')
os.remove('src/emptied/only')
open('src/binary', 'wb').write(bytes(range(256)) * 40)
for name in ${JSON.stringify(odd)}: open('src/' + name, 'w').write(name)
open(b'src/\\xff\\xfe', 'wb').write(b'bytes')
`;
    const { world, base, commit } = await worked(
      script,
      (made) => {
        for (const path of ['src/mode', 'src/file-to-folder', 'src/file-to-link', 'src/emptied/only'])
          made.write(path, `${path}\n`);
        made.write('src/folder-to-file/x', 'x');
        made.write('src/folder-to-file/sub/y', 'y');
        symlinkSync('a.txt', join(made.repo, 'src/link-to-file'));
      },
      {},
      { sha256 },
    );
    const { report } = await apply(world);
    expect(report.result).toBe('applied');
    expectTaken(world, base, treeOf(world, commit));
    expect(lstatSync(join(world.repo, 'src/mode')).mode & 0o777).toBe(0o755);
    expect(readlinkSync(join(world.repo, 'src/file-to-link'))).toBe('a.txt');
    expect(lstatSync(join(world.repo, 'src/link-to-file')).isFile()).toBe(true);
    expect(existsSync(join(world.repo, 'src/emptied'))).toBe(false);
    expect(readFileSync(Buffer.concat([Buffer.from(`${world.repo}/src/`), Buffer.from([0xff, 0xfe])]), 'utf8')).toBe(
      'bytes',
    );
    expect(checkoutTree(world)).toBe(treeOf(world, commit));
  });
});

describe('work of the user that is in the way', () => {
  /** What the user has done since the run, and what must be named. */
  const WAYS: Record<string, { does: (world: World) => void; script?: string; overlaps: Record<string, string> }> = {
    'staged changes': {
      does: (world) => {
        world.write('src/a.txt', 'mine\n');
        world.git('add', 'src/a.txt');
      },
      overlaps: { 'src/a.txt': 'staged' },
    },
    'staged, and the file is back': {
      does: (world) => {
        world.write('src/a.txt', 'mine\n');
        world.git('add', 'src/a.txt');
        world.write('src/a.txt', 'a\n');
      },
      overlaps: { 'src/a.txt': 'staged' },
    },
    'unstaged changes': { does: (world) => world.write('src/a.txt', 'mine\n'), overlaps: { 'src/a.txt': 'unstaged' } },
    'a mode': {
      does: (world) => chmodSync(join(world.repo, 'src/a.txt'), 0o755),
      overlaps: { 'src/a.txt': 'unstaged' },
    },
    'a removed file': { does: (world) => rmSync(join(world.repo, 'src/a.txt')), overlaps: { 'src/a.txt': 'unstaged' } },
    'a change in a file that goes': {
      does: (world) => world.write('src/old.txt', 'mine\n'),
      overlaps: { 'src/old.txt': 'unstaged' },
    },
    'a change that git was told not to see': {
      does: (world) => {
        world.git('update-index', '--assume-unchanged', 'src/a.txt');
        world.write('src/a.txt', 'mine\n');
      },
      overlaps: { 'src/a.txt': 'unstaged' },
    },
    'an untracked file': {
      does: (world) => world.write('src/new.txt', 'mine\n'),
      overlaps: { 'src/new.txt': 'untracked' },
    },
    'an ignored file': {
      does: (world) => {
        writeFileSync(join(world.repo, '.git/info/exclude'), 'new.txt\n');
        world.write('src/new.txt', 'mine\n');
      },
      overlaps: { 'src/new.txt': 'ignored' },
    },
    'a folder with files, where a file goes': {
      does: (world) => world.write('src/new.txt/deep/mine', 'mine\n'),
      overlaps: { 'src/new.txt/deep/mine': 'untracked' },
    },
    'a file, where a folder goes': {
      script: 'cat >/dev/null; mkdir -p src/x/y; echo n > src/x/y/z',
      does: (world) => world.write('src/x', 'mine\n'),
      overlaps: { 'src/x': 'untracked' },
    },
    'a link, where a folder goes': {
      script: 'cat >/dev/null; mkdir -p src/x/y; echo n > src/x/y/z',
      does: (world) => {
        mkdirSync(join(world.folder, 'elsewhere'));
        symlinkSync(join(world.folder, 'elsewhere'), join(world.repo, 'src/x'));
      },
      overlaps: { 'src/x': 'untracked' },
    },
    'a repository of its own, where a folder goes': {
      script: 'cat >/dev/null; mkdir -p src/x/y; echo n > src/x/y/z',
      does: (world) => world.git('init', '-q', 'src/x'),
      overlaps: { 'src/x': 'untracked' },
    },
    'a merge that is not finished': {
      does: (world) => {
        world.git('checkout', '-q', '-b', 'side');
        world.write('src/a.txt', 'side\n');
        world.commit('side');
        world.git('checkout', '-q', 'main');
        world.write('src/a.txt', 'main\n');
        world.commit('main');
        try {
          world.git('merge', 'side');
        } catch {
          // A conflict, as wanted.
        }
        // As far as the commits go the change would fit.
        world.git('update-ref', 'refs/heads/main', 'HEAD~1');
      },
      overlaps: { 'src/a.txt': 'conflict' },
    },
  };

  test.each(Object.entries(WAYS))('%s: named, and nothing is touched', async (_title, { does, script, overlaps }) => {
    const { world } = await worked(script ?? CHANGE);
    does(world);
    const before = world.canonical();
    const objects = world.git('count-objects', '-v');
    for (const dry of [['--dry-run'], []]) {
      const { code, report } = await apply(world, ...dry);
      expect(code).toBe(6);
      expect(report).toMatchObject({ result: 'refused', reason: { code: 'OVERLAP' } });
      expect(Object.fromEntries(report.overlaps.map(({ path, kind }) => [path, kind]))).toEqual(overlaps);
      expect(report.next[0]).toBe('git stash --include-untracked');
    }
    expect(world.canonical()).toEqual(before);
    expect(world.git('count-objects', '-v')).toBe(objects);
    expectNothingLeft(world);
  });

  test('in words it names the paths on stderr', async () => {
    const { world } = await worked();
    world.write('src/a.txt', 'mine\n');
    const said = await world.cli(['apply', 'last', '--state-dir', world.state]);
    expect(said).toMatchObject({ code: 6, stdout: '' });
    expect(said.stderr).toMatch(/refused .*\n.*nothing was changed.*\n\s+unstaged\s+src\/a\.txt\n/);
  });

  test('elsewhere it stays as it was: staged, unstaged, untracked and half removed', async () => {
    const { world, base } = await worked(CHANGE, (made) => {
      for (const path of ['docs/staged', 'docs/unstaged', 'docs/gone']) made.write(path, 'as it was\n');
    });
    world.write('docs/staged', 'mine\n');
    world.git('add', 'docs/staged');
    world.write('docs/unstaged', 'mine\n');
    world.write('src/untracked', 'mine\n');
    rmSync(join(world.repo, 'docs/gone'));
    const before = status(world);
    expect((await apply(world)).report.result).toBe('applied');
    expect(world.git('rev-parse', 'HEAD')).toBe(base);
    expect(status(world).sort()).toEqual([...before, 'M  src/a.txt', 'A  src/new.txt', 'D  src/old.txt'].sort());
    for (const path of ['docs/staged', 'docs/unstaged', 'src/untracked'])
      expect(readFileSync(join(world.repo, path), 'utf8')).toBe('mine\n');
  });

  test("a lock of git's own is respected, and told", async () => {
    const { world } = await worked();
    writeFileSync(join(world.repo, '.git/index.lock'), '');
    const { code, report } = await apply(world);
    expect([code, report.reason.code]).toEqual([6, 'INDEX_LOCKED']);
    expect(report.reason.message).toContain(join(world.repo, '.git/index.lock'));
    expect(gitFolder(world)).toContain('index.lock');
    expect(status(world)).toEqual([]);
  });

  test('submodules: their links are never touched, and their state does not matter', async () => {
    const inner = new World();
    const tip = inner.commit();
    const { world, base } = await worked(CHANGE, (made) => {
      made.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.repo, 'lib');
    });
    writeFileSync(join(world.repo, 'lib/src/a.txt'), 'mine\n');
    expect((await apply(world)).report.result).toBe('applied');
    expect(world.git('rev-parse', 'HEAD')).toBe(base);
    expect(world.git('ls-files', '--stage', 'lib')).toBe(`160000 ${tip} 0\tlib`);
    expect(readFileSync(join(world.repo, 'lib/src/a.txt'), 'utf8')).toBe('mine\n');
  });
});

describe('HEAD has moved since base', () => {
  const LINES = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`);
  const lines = (world: World, over: Record<number, string>): void =>
    world.write('src/a.txt', LINES.map((line, i) => over[i + 1] ?? line).join(''));
  const FIRST = "cat >/dev/null; sed -i 's/^line 2$/theirs/' src/a.txt; echo new > src/new.txt";

  test('other lines of the same file: merged by git, as git itself would', async () => {
    const { world, commit } = await worked(FIRST, (made) => lines(made, {}));
    lines(world, { 18: 'ours\n' });
    world.write('docs/other', 'later\n');
    const head = world.commit('later');
    const { code, report } = await apply(world);
    expect([code, report.result, report.head_moved]).toEqual([0, 'applied', true]);
    const tree = world.git('merge-tree', '--write-tree', 'HEAD', commit);
    expectTaken(world, head, tree);
    expect(checkoutTree(world)).toBe(tree);
    expect(readFileSync(join(world.repo, 'src/a.txt'), 'utf8')).toContain('theirs\n');
    expect(world.git('fsck', '--no-dangling')).toBe('');
    expect(world.git('fsck', '--dangling')).toBe('');
  });

  test('to where base is no ancestor: the change alone comes, not what lies between', async () => {
    const { world } = await worked(FIRST, (made) => {
      lines(made, {});
      made.commit('first');
      made.write('docs/between', 'between\n');
    });
    world.git('checkout', '-q', '-B', 'main', 'HEAD~1');
    lines(world, { 18: 'ours\n' });
    const head = world.commit('elsewhere');
    expect((await apply(world)).report).toMatchObject({ result: 'applied', paths: ['src/a.txt', 'src/new.txt'] });
    expect(existsSync(join(world.repo, 'docs/between'))).toBe(false);
    expect(world.git('diff', '--cached', '--name-only', head).split('\n')).toEqual(['src/a.txt', 'src/new.txt']);
  });

  test.each<[string, (world: World) => void, readonly string[]]>([
    ['the same lines', (world) => lines(world, { 2: 'ours\n' }), ['src/a.txt']],
    ['a file that is gone', (world) => rmSync(join(world.repo, 'src/a.txt')), ['src/a.txt']],
    ['a new file of the same name', (world) => world.write('src/new.txt', 'ours\n'), ['src/new.txt']],
    [
      'a file that has another name now',
      (world) => renameSync(join(world.repo, 'src/a.txt'), join(world.repo, 'src/b.txt')),
      ['src/a.txt'],
    ],
    [
      'a folder that has another name now',
      (world) => renameSync(join(world.repo, 'src'), join(world.repo, 'lib')),
      ['src/a.txt'],
    ],
  ])('%s: refused with the paths, nothing is written, and a branch is the way', async (_title, moves, paths) => {
    const { world, commit } = await worked(FIRST, (made) => lines(made, {}));
    moves(world);
    world.commit('later');
    const before = world.canonical();
    const objects = world.git('count-objects', '-v');
    const { code, report } = await apply(world);
    expect([code, report.result, report.reason.code]).toEqual([6, 'refused', 'CONFLICT']);
    expect(report.conflicts).toEqual(paths);
    expect(world.canonical()).toEqual(before);
    expect(world.git('count-objects', '-v')).toBe(objects);
    expect(report.next[0]).toMatch(/--branch NAME/);
    expect((await apply(world, '--branch', 'taken')).report.result).toBe('branch-created');
    expect(world.git('rev-parse', 'taken')).toBe(commit);
  });

  test('HEAD has the same change by another way: nothing is to be done', async () => {
    const { world, commit } = await worked(FIRST, (made) => lines(made, {}));
    world.git('cherry-pick', commit);
    world.write('docs/more', 'more\n');
    world.commit('more');
    expect((await apply(world)).report).toMatchObject({ result: 'already-applied', paths: [] });
  });
});

describe("the user's own git settings", () => {
  test('filters and line endings apply to what is written, hooks and fsmonitor do not run', async () => {
    const ran = (world: World): string[] => readdirSync(world.folder).filter((name) => name.startsWith('ran-'));
    const { world, base, commit } = await worked(
      'cat >/dev/null; echo more >> src/a.txt; echo new > src/new.up; printf "*.own eol=lf\\n" > src/.gitattributes; echo w > src/x.own',
      (made) => {
        made.write('.gitattributes', '*.up filter=up\n*.txt text\n');
        made.write('src/.gitattributes', '*.own eol=crlf\n');
        made.git('config', 'filter.up.smudge', 'tr a-z A-Z');
        made.git('config', 'filter.up.clean', 'tr A-Z a-z');
      },
      { allowed_paths: ['src/', 'src/.gitattributes'] },
    );
    writeFileSync(join(world.home, '.gitconfig'), '[core]\n\tautocrlf = true\n');
    world.git('rm', '-q', '--cached', '-r', '.');
    world.git('reset', '-q', '--hard');
    expect(readFileSync(join(world.repo, 'src/a.txt'), 'utf8')).toBe('a\r\n');
    for (const hook of ['post-checkout', 'post-index-change', 'pre-commit', 'reference-transaction', 'post-applypatch'])
      writeFileSync(join(world.repo, '.git/hooks', hook), `#!/bin/sh\n: > ${world.folder}/ran-${hook}\n`, {
        mode: 0o755,
      });
    world.git('config', 'core.fsmonitor', world.script('monitor', '#!/bin/sh\n: > @D@/ran-monitor\nexit 1\n'));
    expect((await apply(world)).report).toMatchObject({ result: 'applied', notes: [] });
    expect(ran(world)).toEqual([]);
    world.git('config', '--unset', 'core.fsmonitor');
    expectTaken(world, base, treeOf(world, commit));
    expect(readFileSync(join(world.repo, 'src/a.txt'), 'utf8')).toBe('a\r\nmore\r\n');
    expect(readFileSync(join(world.repo, 'src/new.up'), 'utf8').trim()).toBe('NEW');
    // By the attributes that the change itself brings, not by those that it replaces.
    expect(readFileSync(join(world.repo, 'src/x.own'), 'utf8')).toBe('w\n');
  });

  test('a filter that fails: nothing was changed', async () => {
    const { world } = await worked('cat >/dev/null; echo more >> src/a.txt; echo x > src/new.up', (made) => {
      made.write('.gitattributes', '*.up filter=up\n');
    });
    world.git('config', 'filter.up.smudge', 'false');
    world.git('config', 'filter.up.required', 'true');
    const before = world.canonical();
    const { code, report } = await apply(world);
    expect([code, report.reason.code]).toEqual([6, 'FAILED']);
    expect(report.reason.message).toMatch(/^nothing was changed: .*filter/s);
    expect(world.canonical()).toEqual(before);
    expectNothingLeft(world);
  });

  test('what a sparse checkout leaves out stays out, in the index it is', async () => {
    const { world, base, commit } = await worked(
      'cat >/dev/null; echo more >> src/a.txt; echo m >> docs/d.txt',
      undefined,
      {
        allowed_paths: ['src/', 'docs/'],
      },
    );
    world.git('sparse-checkout', 'set', '--no-cone', '/src/', '/*.md', '/.gitignore');
    expect(existsSync(join(world.repo, 'docs'))).toBe(false);
    expect((await apply(world)).report.result).toBe('applied');
    expectTaken(world, base, treeOf(world, commit));
    expect(existsSync(join(world.repo, 'docs'))).toBe(false);
    expect((await apply(world)).report.result).toBe('already-applied');
  });
});

test.each([
  { what: 'changes', script: 'cat >/dev/null; echo more >> src/a.txt' },
  { what: 'removes', script: 'cat >/dev/null; rm src/a.txt' },
])('a local version that git was told to skip is refused where the change $what it', async ({ script }) => {
  const { world } = await worked(script);
  world.git('update-index', '--skip-worktree', 'src/a.txt');
  appendFileSync(join(world.repo, 'src/a.txt'), 'MINE\n');
  const { code, report } = await apply(world);
  expect([code, report.result, report.overlaps]).toEqual([6, 'refused', [{ path: 'src/a.txt', kind: 'unstaged' }]]);
  expect(readFileSync(join(world.repo, 'src/a.txt'), 'utf8')).toBe('a\nMINE\n');
});

test.each([
  { what: 'a file that the change changes', file: 'src/a.txt' },
  { what: 'a file where the change adds one', file: 'src/new.txt' },
])('what an editor writes meanwhile stays: $what', async ({ file }) => {
  const { world } = await worked(
    'cat >/dev/null; echo more >> src/a.txt; echo new > src/new.txt; echo x >> src/b.txt',
    (w) => w.write('src/b.txt', 'b\n'),
  );
  // The filter of another file is what an editor looks like that saves in the midst of it.
  const target = join(world.repo, file);
  world.git('config', 'filter.slow.clean', 'cat');
  world.git('config', 'filter.slow.smudge', `sh -c 'echo MINE >> ${target}; cat'`);
  mkdirSync(join(world.repo, '.git/info'), { recursive: true });
  writeFileSync(join(world.repo, '.git/info/attributes'), 'src/b.txt filter=slow\n');
  const { code } = await apply(world);
  expect(code).toBe(6);
  expect(readFileSync(target, 'utf8')).toContain('MINE');
});

describe('interrupted', () => {
  test('by SIGKILL while git writes: nothing was changed, and the next one goes through', async () => {
    const { world, base, commit } = await worked(
      'cat >/dev/null; echo more >> src/a.txt; echo x > src/new.up',
      (made) => {
        made.write('.gitattributes', '*.up filter=up\n');
      },
    );
    // Says that it runs, and waits to be let go.
    const slow = world.script(
      'slow',
      '#!/bin/sh\necho $$ > @D@/slow.pid\nmv @D@/slow.pid @D@/slow-runs\nexec sleep 600\n',
    );
    world.git('config', 'filter.up.smudge', slow);
    const isThere = new Promise<void>((resolve) => {
      const watcher = watch(world.folder, () => {
        if (!existsSync(join(world.folder, 'slow-runs'))) return;
        watcher.close();
        resolve();
      });
    });
    const done = world.cli(['apply', 'last', '--state-dir', world.state], {
      onStart: (child) => void isThere.then(() => child.kill('SIGKILL')),
    });
    await done;
    expect(gitFolder(world).filter((name) => /agent-exec-apply|index\.lock/.test(name)).length).toBeGreaterThan(1);
    process.kill(Number(readFileSync(join(world.folder, 'slow-runs'), 'utf8')), 'SIGKILL');
    world.git('config', '--unset', 'filter.up.smudge');
    expect(status(world)).toEqual([]);
    expect((await apply(world)).report.result).toBe('applied');
    expectTaken(world, base, treeOf(world, commit));
  });

  test('half of it done, files before the index: the next one goes on', async () => {
    const { world, base, commit } = await worked(
      'cat >/dev/null; echo more >> src/a.txt; echo n > src/new.txt; rm src/old.txt; mkdir src/d; echo x > src/d/x; echo y > src/d/y',
    );
    // As an apply leaves it that was killed between two files: some as they will be, the index as it was.
    appendFileSync(join(world.repo, 'src/a.txt'), 'more\n');
    rmSync(join(world.repo, 'src/old.txt'));
    world.write('src/d/x', 'x\n');
    writeFileSync(join(world.repo, '.git/index.lock'), 'agent-exec apply\n');
    mkdirSync(join(world.repo, '.git/agent-exec-apply-x1y2z3/files/src'), { recursive: true });
    expect((await apply(world)).report.result).toBe('applied');
    expectTaken(world, base, treeOf(world, commit));
    expect(checkoutTree(world)).toBe(treeOf(world, commit));
  });

  const probe = smallDisk(4096);
  probe?.unmount();
  describe.skipIf(probe === null)(`by a full disk${probe === null ? ` (${NEEDS_ROOT})` : ''}`, () => {
    test('in the midst of the files: told how far it came, and the next one goes on', async () => {
      const big =
        'cat >/dev/null; for i in 1 2 3 4 5 6; do head -c 60000 /dev/urandom > src/big$i; done; echo more >> src/a.txt';
      const { world, commit } = await worked(big);
      const disk = smallDisk(256 * 1024);
      if (disk === null) throw new Error(NEEDS_ROOT);
      try {
        // A worktree on another disk than its git directory: files must be copied over.
        const linked = join(disk.path, 'linked');
        world.git('worktree', 'add', '-q', '--detach', linked, 'HEAD');
        world.repo = linked;
        const index = world.git('ls-files', '--stage');
        const { code, report } = await apply(world);
        expect([code, report.result]).toEqual([6, 'interrupted']);
        expect(report.reason.message).toMatch(/ENOSPC.*[1-6] of 7 paths are already/s);
        expect(world.git('ls-files', '--stage')).toBe(index);
        expect(readdirSync(join(linked, 'src')).filter((name) => name.includes('agent-exec'))).toEqual([]);
        expectNothingLeft(world);
        disk.grow();
        expect((await apply(world)).report.result).toBe('applied');
        expect(staged(world)).toBe(treeOf(world, commit));
        expect(checkoutTree(world)).toBe(treeOf(world, commit));
      } finally {
        disk.unmount();
      }
    });

    test('where git writes the files first: nothing was changed', async () => {
      const disk = smallDisk(700 * 1024);
      if (disk === null) throw new Error(NEEDS_ROOT);
      try {
        const { world, done, commit } = await worked(
          'cat >/dev/null; yes | head -c 3000000 > src/yes; echo more >> src/a.txt',
        );
        execFileSync('cp', ['-a', world.repo, join(disk.path, 'repo')]);
        world.repo = join(disk.path, 'repo');
        const before = world.canonical();
        // With some room, and with none at all.
        for (const roomKiB of [100, 0]) {
          const [free = ''] =
            execFileSync('df', ['--output=avail', '-k', disk.path], { encoding: 'utf8' }).match(/\d+/) ?? [];
          writeFileSync(join(disk.path, `filler-${roomKiB}`), Buffer.alloc((Number(free) - roomKiB) * 1024));
          const { code, report } = await applyRun(world, done.receipt.run_id);
          expect([code, report.reason.code], report.reason.message).toEqual([6, 'FAILED']);
          expect(report.reason.message).toMatch(/^nothing was changed: .*(ENOSPC|Is the disk full)/s);
          expect(world.canonical()).toEqual(before);
          expectNothingLeft(world);
        }
        disk.grow();
        expect((await applyRun(world, done.receipt.run_id)).report.result).toBe('applied');
        expect(staged(world)).toBe(treeOf(world, commit));
      } finally {
        disk.unmount();
      }
    });
  });

  test('by SIGKILL between two files: every one as before or as after, and in the end all of it', async () => {
    const many =
      'cat >/dev/null; mkdir -p src/many; for i in $(seq 800); do echo $i > src/many/$i; done; rm src/old.txt';
    const { world, base, commit } = await worked(many);
    const folder = join(world.repo, 'src/many');
    const written = (): string[] => (existsSync(folder) ? readdirSync(folder) : []);
    const counts: number[] = [];
    for (const enough of [1, 200, 400, 600]) {
      world.git('reset', '-q', '--hard');
      await world.cli(['apply', 'last', '--state-dir', world.state], {
        onStart: (child) => {
          const look = setInterval(() => {
            if (written().length >= enough) child.kill('SIGKILL');
          }, 1);
          child.once('exit', () => clearInterval(look));
        },
      });
      counts.push(written().length);
      for (const name of written()) expect(readFileSync(join(folder, name), 'utf8')).toBe(`${name}\n`);
      const { code, report } = await apply(world);
      expect([code, report.reason.code]).toEqual([0, expect.stringMatching(/^(OK|ALREADY_APPLIED)$/)]);
      expectTaken(world, base, treeOf(world, commit));
      expect(checkoutTree(world)).toBe(treeOf(world, commit));
    }
    expect(counts.some((count) => count > 0 && count < 800)).toBe(true);
  });

  test('two at once: one takes it, for the other it is there', async () => {
    const { world, base, commit } = await worked();
    const both = await Promise.all([apply(world), apply(world)]);
    expect(both.map(({ report }) => report.result).sort()).toEqual(['already-applied', 'applied']);
    expectTaken(world, base, treeOf(world, commit));
  });
});

describe('the receipt and the repository', () => {
  test('a ref that somebody has moved is refused; one that is gone is not needed, which is said', async () => {
    const { world, done, base, commit } = await worked();
    const ref = done.summary.transport?.ref ?? '';
    world.git('update-ref', ref, base);
    for (const args of [[], ['--branch', 'taken']]) {
      const moved = await apply(world, ...args);
      expect([moved.code, moved.report.reason.code]).toEqual([6, 'REF_MOVED']);
    }
    expect(status(world)).toEqual([]);
    expect(world.git('for-each-ref', 'refs/heads/taken')).toBe('');
    world.git('update-ref', '-d', ref);
    const { report } = await apply(world);
    expect(report.result).toBe('applied');
    expect(report.notes).toEqual([`${ref} is not there any more; its commit ${commit} is, and is what was used`]);
  });

  test('a clone will do once it has the commit; without it, it is not the repository of the run', async () => {
    const { world, done, commit } = await worked();
    const clone = join(world.folder, 'clone');
    execFileSync('git', ['clone', '-q', '--no-local', world.repo, clone]);
    const there = await world.cli([
      'apply',
      done.receipt.run_id,
      '--json',
      '--repo',
      clone,
      '--state-dir',
      world.state,
    ]);
    expect(there).toMatchObject({ code: 3, stdout: '' });
    expect(there.stderr).toContain(`It was made in ${world.repo}`);
    execFileSync('git', ['-C', clone, 'fetch', '-q', 'origin', done.summary.transport?.ref ?? '']);
    const now = await world.cli(['apply', done.receipt.run_id, '--json', '--repo', clone, '--state-dir', world.state]);
    expect(now.code, now.stderr).toBe(0);
    world.repo = clone;
    expect(staged(world)).toBe(treeOf(world, commit));
  });

  test('no run, no repository, no transport, a run without changes: each says what it is', async () => {
    const { world } = await worked();
    expect((await world.cli(['apply', 'nonesuch', '--state-dir', world.state])).code).toBe(3);
    expect((await world.cli(['apply', 'last', '--state-dir', world.state], { cwd: world.folder })).code).toBe(3);
    expect((await world.cli(['apply', '--state-dir', world.state])).code).toBe(2);
    world.configure({ one: { script: 'cat >/dev/null; echo all is well' } }, [], ['expects: either']);
    expect((await world.run()).receipt.outcome).toBe('success');
    expect((await apply(world)).report).toMatchObject({ result: 'nothing-to-apply', exit_code: 0 });
    world.configure({ one: { script: 'cat >/dev/null; echo half >> src/a.txt; exit 3' } });
    const { receipt } = await world.run();
    const failed = await apply(world);
    expect([failed.code, failed.report.reason.code]).toEqual([6, 'NO_TRANSPORT']);
    expect(failed.report.next).toContain(
      `agent-exec apply ${receipt.run_id} --attempt 01-one --quarantine --state-dir ${world.state}`,
    );
  });

  test('a run that was killed is to be recovered first', async () => {
    const world = new World();
    world.configure({ one: { script: `cat >/dev/null; echo more >> src/a.txt; touch @D@/ready; exec sleep 600` } });
    const isReady = new Promise<void>((resolve) => {
      const watcher = watch(world.folder, () => {
        if (!existsSync(join(world.folder, 'ready'))) return;
        watcher.close();
        resolve();
      });
    });
    await world.cli(['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state], {
      onStart: (child) =>
        void isReady
          .then(() => apply(world))
          .then(({ code, report }) => expect([code, report.reason.code]).toEqual([6, 'RUN_NOT_FINISHED']))
          .finally(() => child.kill('SIGKILL')),
    });
    const dead = await apply(world);
    expect([dead.code, dead.report.reason.code]).toEqual([6, 'RUN_NOT_FINISHED']);
    expect(dead.report.next[0]).toMatch(/^agent-exec recover /);
    expect((await world.cli(['recover', '--state-dir', world.state])).code).toBe(0);
    const { report } = await apply(world, '--quarantine');
    expect(report).toMatchObject({ result: 'applied', source: 'quarantine', attempt_id: '01-one' });
    expect(readFileSync(join(world.repo, 'src/a.txt'), 'utf8')).toBe('a\nmore\n');
  });
});

describe('--branch', () => {
  test('makes a branch at the transport and touches nothing else', async () => {
    const { world, base, commit } = await worked();
    // Refs and reflogs of the branch are what is new.
    const before = Object.entries(world.canonical() as Record<string, string>);
    expect((await apply(world, '--branch', 'fix/add', '--dry-run')).report.result).toBe('would-create-branch');
    expect(Object.entries(world.canonical() as Record<string, string>)).toEqual(before);
    expect((await apply(world, '--branch', 'fix/add')).report).toMatchObject({
      result: 'branch-created',
      branch: 'fix/add',
    });
    expect(world.git('rev-parse', 'fix/add')).toBe(commit);
    expect(world.git('rev-parse', 'HEAD')).toBe(base);
    const after = Object.entries(world.canonical() as Record<string, string>);
    const added = after.filter(([path, is]) => !before.some(([known, was]) => known === path && was === is));
    expect(added.map(([path]) => path.slice(world.repo.length)).filter((path) => !path.includes('fix'))).toEqual([]);
    const again = await apply(world, '--branch', 'fix/add');
    expect([again.code, again.report.reason.code]).toEqual([6, 'BRANCH_EXISTS']);
    // A name that is another branch's folder.
    expect((await apply(world, '--branch', 'fix')).code).toBe(6);
  });

  test.each(['..', 'a..b', '-x', '@{-1}', 'HEAD', '@', 'a b', 'x.lock', 'a\nb'])('%j is no name', async (name) => {
    const { world } = await worked();
    world.git('checkout', '-q', '-b', 'other');
    world.git('checkout', '-q', 'main');
    const refs = world.git('for-each-ref');
    const { code, report } = await apply(world, `--branch=${name}`);
    expect([code, report.reason.code]).toEqual([2, 'BRANCH_INVALID']);
    expect(world.git('for-each-ref')).toBe(refs);
  });
});

describe('--quarantine', () => {
  test('takes over preserved work, and says what it is and what of it is out of scope', async () => {
    const world = new World();
    const base = world.configure({
      one: { script: 'cat >/dev/null; echo half >> src/a.txt; exit 3' },
      two: { script: 'cat >/dev/null; echo more >> src/a.txt; echo d >> docs/d.txt; mkdir build; echo c > build/c' },
    });
    const { receipt } = await world.run();
    expect(receipt.outcome).toBe('blocked');
    const several = await world.cli(['apply', 'last', '--quarantine', '--state-dir', world.state]);
    expect(several.code).toBe(2);
    expect(several.stderr).toContain('01-one, 02-two');
    const { code, report } = await apply(world, '--attempt', '02-two', '--quarantine');
    expect(code).toBe(0);
    expect(report.out_of_scope).toEqual(['build/c', 'docs/d.txt']);
    expect(report.notes[0]).toContain('quarantine of 02-two (scope-expansion PATH_OUT_OF_SCOPE), not a success');
    expect(report.notes[1]).toContain('2 path(s) outside allowed_paths: build/c docs/d.txt');
    expect(report.notes[2]).toContain('ignored');
    expectTaken(world, base, treeOf(world, receipt.attempts[1]?.quarantine?.commit ?? ''));
  });
});

test('the schema that is published fits what is said', async () => {
  const world = new World();
  const said = await world.cli(['schema', 'apply']);
  expect(JSON.parse(said.stdout)).toMatchObject({ $id: 'urn:agent-exec:agent-exec-apply/v1', type: 'object' });
});
