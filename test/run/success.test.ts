/**
 * Success: the transport holds what the worker did in scope, byte for byte, and nothing else in the world has changed.
 * One worker makes every kind of change at once; a table then does the same small unit in every kind of repository.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AttemptRecord } from '../../src/model/receipt.ts';
import { type Finished, type RunOptions, type Tree, World } from './world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt';
const AGENT = 'agent-exec agent-exec@localhost';

/** Paths and contents are bytes, written as latin1. */
type Content = {
  readonly mode: '100644' | '100755' | '120000';
  readonly bytes: string;
  /** The worker copies this file of its workspace, which must have these bytes. */
  readonly from?: string;
};
type Contents = Readonly<Record<string, Content>>;
const file = (bytes: string): Content => ({ mode: '100644', bytes });
const program = (bytes: string): Content => ({ mode: '100755', bytes });
const copy = (from: string, bytes: string): Content => ({ ...file(bytes), from });
const link = (bytes: string): Content => ({ mode: '120000', bytes });
const EVERY_BYTE = String.fromCharCode(...Array(256).keys());

const BASE: Contents = {
  'src/binary.dat': file(EVERY_BYTE),
  'src/crlf.txt': file('one\r\ntwo\r\n'),
  'src/untouched-crlf.txt': file('one\r\ntwo\r\n'),
  'src/untouched.win': file('one\ntwo\n'),
  'src/untouched.c': file('$Id$\n'),
  'src/untouched.u16': file('text\n'),
  'src/untouched.big': file('not a pointer at all\r\n'),
  'src/gone.txt': file('gone\n'),
  'src/emptied.txt': file('full\n'),
  'src/becomes-program.sh': file('#!/bin/sh\n'),
  'src/becomes-plain.sh': program('#!/bin/sh\n'),
  'src/becomes-folder': file('a file\n'),
  'src/becomes-file/x.txt': file('x\n'),
  'src/becomes-file/y/z.txt': file('z\n'),
  'src/becomes-link': file('a file\n'),
  'src/link-becomes-file': link('a.txt'),
  'src/link-moves': link('a.txt'),
  'src/old\nline': file('old\n'),
  'src/old-\xff\xfe': file('old\n'),
  'src/ident.c': file('$Id$\n'),
};

/** What the worker leaves; null is a deletion. Everything of BASE that is not named stays. */
const WORK_DONE: Readonly<Record<string, Content | null>> = {
  'src/binary.dat': file(EVERY_BYTE + EVERY_BYTE),
  'src/new-binary.dat': file(`\0${EVERY_BYTE}`),
  'src/crlf.txt': file('one\r\ntwo\nthree\r\n'),
  'src/copy-of-crlf.txt': copy('src/untouched-crlf.txt', 'one\r\ntwo\r\n'),
  'src/copy-of.win': copy('src/untouched.win', 'one\ntwo\n'),
  'src/copy-of.c': copy('src/untouched.c', '$Id$\n'),
  'src/copy-of.u16': copy('src/untouched.u16', 'text\n'),
  'src/copy-of.big': copy('src/untouched.big', 'not a pointer at all\r\n'),
  'src/new.big': file('this would be a pointer if the filter ran\n'),
  'src/gone.txt': null,
  'src/emptied.txt': file(''),
  'src/empty-from-birth': file(''),
  'src/becomes-program.sh': program('#!/bin/sh\n'),
  'src/becomes-plain.sh': file('#!/bin/sh\n'),
  'src/new-program': program('#!/bin/sh\nexit 0\n'),
  'src/becomes-folder': null,
  'src/becomes-folder/inner/deep.txt': file('deep\n'),
  'src/becomes-file/x.txt': null,
  'src/becomes-file/y/z.txt': null,
  'src/becomes-file': file('a file now\n'),
  'src/becomes-link': link('a.txt'),
  'src/link-becomes-file': file('a.txt'),
  'src/link-moves': link('new.big'),
  'src/new-link': link('becomes-folder/inner'),
  'src/old\nline': null,
  'src/new\nline': file('newline\n'),
  'src/old-\xff\xfe': file('new\n'),
  'src/new-\xc3\x28': file('not UTF-8\n'),
  'src/quo"te\'s': file('quotes\n'),
  'src/back\\slash': file('backslash\n'),
  'src/-rf': file('dash\n'),
  'src/--': file('dashes\n'),
  'src/:(top,glob)*': file('magic\n'),
  'src/:!x': file('more magic\n'),
  'src/[a-z]?*': file('glob\n'),
  'src/\x1b[31mred\x07': file('escape\n'),
  'src/trailing ': file('space\n'),
  'src/ leading': file('space\n'),
  'src/tab\there': file('tab\n'),
  'src/.hidden/.deep': file('hidden\n'),
  'src/\xc3\xa9-nfc': file('composed\n'),
  'src/e\xcc\x81-nfd': file('decomposed\n'),
  'src/{workspace}': file('placeholder\n'),
  'src/ident.c': file('$Id: expanded by nobody $\n'),
};

const asList = (contents: Readonly<Record<string, Content | null>>): string =>
  JSON.stringify(
    Object.entries(contents).map(([path, content]) => ({
      path: Buffer.from(path, 'latin1').toString('base64'),
      mode: content?.mode ?? null,
      from: content?.from ?? null,
      bytes: Buffer.from(content?.bytes ?? '', 'latin1').toString('base64'),
    })),
  );

/** Makes a list's contents below the current folder: first what goes, then what comes. */
const MAKER = `#!${process.execPath}
const fs = require('node:fs');
const path = require('node:path');
const all = JSON.parse(fs.readFileSync(process.argv[2] ?? '@D@/work.json', 'utf8'));
const raw = (text) => Buffer.from(text, 'base64');
for (const one of all) fs.rmSync(raw(one.path), { recursive: true, force: true });
for (const one of all) if (one.mode === null) {
  const folder = path.dirname(raw(one.path).toString('latin1'));
  if (folder.startsWith('src/') && fs.existsSync(folder) && fs.readdirSync(folder).length === 0) fs.rmSync(folder, { recursive: true });
}
for (const one of all) if (one.mode !== null) {
  const place = raw(one.path);
  fs.mkdirSync(place.subarray(0, place.lastIndexOf(47)), { recursive: true });
  if (one.mode === '120000') { fs.symlinkSync(raw(one.bytes), place); continue; }
  fs.writeFileSync(place, one.from === null ? raw(one.bytes) : fs.readFileSync(one.from));
  fs.chmodSync(place, one.mode === '100755' ? 0o755 : 0o644);
}
`;

/** The tree that a list's contents make of another tree. */
function expectedTree(world: World, base: Tree, done: Readonly<Record<string, Content | null>>): Tree {
  const tree: Record<string, Tree[string]> = { ...base };
  for (const [path, content] of Object.entries(done)) {
    delete tree[path];
    if (content === null) continue;
    const oid = execFileSync('git', ['-C', world.repo, 'hash-object', '--no-filters', '--stdin'], {
      input: Buffer.from(content.bytes, 'latin1'),
      encoding: 'utf8',
    }).trim();
    tree[path] = { mode: content.mode, oid };
  }
  return tree;
}

const attemptOf = (done: Finished): AttemptRecord => {
  const attempt = done.receipt.attempts.at(-1);
  if (attempt === undefined) throw new Error('no attempt');
  return attempt;
};

/** What holds of every success, whatever the repository. */
function expectSuccess(world: World, done: Finished, base: string): { readonly commit: string } {
  const attempt = attemptOf(done);
  expect(done.code, JSON.stringify(attempt, null, 1)).toBe(0);
  expect(done.receipt).toMatchObject({ outcome: 'success', exit_code: 0, reason: { code: 'OK' } });
  const { transport } = attempt;
  if (transport === null) throw new Error('no transport');
  expect(transport.ref).toBe(`refs/agent-exec/${done.receipt.run_id}/${attempt.attempt_id}`);
  expect(world.git('rev-parse', transport.ref)).toBe(transport.commit);
  expect(world.git('rev-list', '--parents', '-n1', transport.commit)).toBe(`${transport.commit} ${base}`);
  expect(world.git('rev-parse', `${transport.commit}^{tree}`)).toBe(transport.tree);
  expect(transport.parent).toBe(base);
  expect(done.receipt.repository.base).toBe(base);
  expect(world.people(transport.commit)).toBe(`${AGENT} / ${AGENT}`);
  expect(done.summary.transport).toEqual({ ref: transport.ref, commit: transport.commit });
  expect(attempt.cleanup).toEqual({
    exact: true,
    workspace_removed: true,
    worktree_unregistered: true,
    processes_gone: true,
    canonical_unchanged: true,
    retained_path: null,
  });
  expect(world.leftovers()).toEqual([]);
  return { commit: transport.commit };
}

/** What a finished run keeps: its records and the raw logs. */
const RECORDS = [
  'attempts/01-one/logs/stderr.log',
  'attempts/01-one/logs/stdout.log',
  'attempts/01-one/prompt.md',
  'journal.jsonl',
  'plan.json',
  'receipt.json',
];

describe('what the transport holds', () => {
  test('every kind of change, exactly, in a repository that would convert and run whatever it can', async () => {
    const world = new World();
    // So that git takes the base as it is.
    writeFileSync(join(world.repo, '.git/info/attributes'), '* -text !eol !filter !ident !working-tree-encoding\n');
    world.write(
      '.gitattributes',
      [
        '* text=auto eol=lf',
        '*.win text eol=crlf',
        '*.c ident',
        '*.u16 working-tree-encoding=UTF-16',
        '*.big filter=lfs diff=lfs merge=lfs -text',
        '',
      ].join('\n'),
    );
    writeFileSync(join(world.folder, 'base.json'), asList(BASE));
    writeFileSync(join(world.folder, 'work.json'), asList(WORK_DONE));
    execFileSync(world.script('maker', MAKER), [join(world.folder, 'base.json')], { cwd: world.repo });
    const base = world.configure({ one: { script: MAKER } });
    for (const [path, { bytes, mode }] of Object.entries(BASE)) {
      expect(world.tree(base)[path], path).toEqual(expectedTree(world, {}, { [path]: { bytes, mode } })[path]);
    }
    rmSync(join(world.repo, '.git/info/attributes'));

    const canary = join(world.folder, 'canary');
    const trap = world.script('trap', '#!/bin/sh\necho "$0 $*" >> @D@/canary; cat\n');
    for (const key of ['clean', 'smudge', 'process']) world.git('config', `filter.lfs.${key}`, `${trap} ${key}`);
    world.git('config', 'filter.lfs.required', 'true');
    for (const key of ['diff.lfs.textconv', 'diff.external', 'core.fsmonitor', 'core.pager', 'gpg.program']) {
      world.git('config', key, trap);
    }
    world.git('config', 'commit.gpgSign', 'true');
    world.git('config', 'core.autocrlf', 'true');
    for (const hook of ['post-checkout', 'reference-transaction', 'pre-commit', 'post-commit', 'post-index-change']) {
      symlinkSync(trap, join(world.repo, '.git/hooks', hook));
    }

    const before = world.canonical();
    const done = await world.run();
    const { commit } = expectSuccess(world, done, base);
    expect(world.tree(commit)).toEqual(expectedTree(world, world.tree(base), WORK_DONE));
    expect(world.canonical()).toEqual(before);
    expect(existsSync(canary)).toBe(false);
    expect(done.receipt.repository.lfs).toBe(true);
    expect(done.receipt.findings.map(({ code }) => code)).toEqual(['USES_LFS']);
    expect(world.stateOf(done.receipt.run_id)).toEqual(RECORDS);

    // The receipt says the same as git.
    const diff = world.gitBytes('diff-tree', '-r', '-z', '--no-renames', '--no-abbrev', base, commit);
    const fields = diff.toString('latin1').split('\0');
    const told = attemptOf(done).changes.map(({ path, status, mode, oid, in_scope }) => {
      const bytes = typeof path === 'string' ? Buffer.from(path) : Buffer.from(path.bytes, 'base64');
      return [bytes.toString('latin1'), status, mode, oid, in_scope];
    });
    const seen = [];
    for (let i = 0; i + 1 < fields.length; i += 2) {
      const [, mode, , oid, status] = (fields[i] ?? '').split(' ');
      const isGone = status === 'D';
      seen.push([fields[i + 1], status, isGone ? null : mode, isGone ? null : oid, true]);
    }
    expect(told).toEqual(seen);
    expect(attemptOf(done).change_count).toBe(Object.keys(WORK_DONE).length);
    expect(done.stdout).not.toContain('\x1b');

    // The traps were live all the time.
    world.git('update-ref', 'refs/heads/other', base);
    expect(existsSync(canary)).toBe(true);
  });

  test('only the scope, named literally, through a folder, or by a glob', async () => {
    const world = new World();
    world.write('lib/one.ts', '1\n');
    world.write('lib/deep/two.ts', '2\n');
    const base = world.configure({
      one: { script: 'cat >/dev/null; echo x >> lib/one.ts; echo x >> lib/deep/two.ts; rm docs/d.txt; echo n > top' },
    });
    const done = await world.run({ allowed_paths: ['lib/**/*.ts', 'docs/d.txt', 'top'] });
    const { commit } = expectSuccess(world, done, base);
    expect(world.git('diff', '--name-status', base, commit).split('\n')).toEqual([
      'D\tdocs/d.txt',
      'M\tlib/deep/two.ts',
      'M\tlib/one.ts',
      'A\ttop',
    ]);
  });
});

interface Kind {
  readonly title: string;
  readonly options?: ConstructorParameters<typeof World>[0];
  /** Called when the first commit is there. Gives what differs from an ordinary run in an ordinary repository. */
  readonly prepare: (world: World) => {
    readonly run?: RunOptions;
    readonly base?: string;
    /** All folders of the canonical repository. */
    readonly folders?: readonly string[];
  };
  readonly check?: (world: World, done: Finished, commit: string) => void;
}

const HOSTILE_GIT: Readonly<Record<string, string>> = {
  GIT_DIR: '/nonexistent/git-dir',
  GIT_WORK_TREE: '/nonexistent/work-tree',
  GIT_INDEX_FILE: '/nonexistent/index',
  GIT_OBJECT_DIRECTORY: '/nonexistent/objects',
  GIT_COMMON_DIR: '/nonexistent/common',
  GIT_NAMESPACE: 'elsewhere',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'core.bare',
  GIT_CONFIG_VALUE_0: 'true',
  GIT_CONFIG_PARAMETERS: "'core.bare=true'",
  GIT_CEILING_DIRECTORIES: '/',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_ICASE_PATHSPECS: '1',
  GIT_DEFAULT_HASH: 'sha256',
  GIT_AUTHOR_NAME: 'somebody',
  GIT_COMMITTER_EMAIL: 'somebody@example.invalid',
  GIT_AUTHOR_DATE: 'nonsense',
  GIT_EXTERNAL_DIFF: '/nonexistent/diff',
  GIT_TRACE: '2',
};

const KINDS: readonly Kind[] = [
  { title: 'sha256 objects', options: { sha256: true }, prepare: () => ({}) },
  {
    title: 'a shallow clone',
    prepare: (world) => {
      const origin = world.repo;
      world.git('clone', '-q', '--depth', '1', `file://${origin}`, join(world.folder, 'shallow'));
      world.repo = join(world.folder, 'shallow');
      expect(world.git('rev-list', '--count', 'HEAD')).toBe('1');
      return { folders: [world.repo, origin] };
    },
  },
  {
    title: 'a clone that borrows its objects',
    prepare: (world) => {
      const origin = world.repo;
      world.git('clone', '-q', '--shared', origin, join(world.folder, 'shared'));
      world.repo = join(world.folder, 'shared');
      return { folders: [world.repo, origin] };
    },
  },
  {
    title: 'a linked worktree',
    prepare: (world) => {
      const main = world.repo;
      world.git('worktree', 'add', '-q', '-b', 'side', join(world.folder, 'linked'));
      world.repo = join(world.folder, 'linked');
      return { folders: [world.repo, main] };
    },
    check: (world, done) => {
      expect(done.receipt.repository.head_ref).toBe('refs/heads/side');
      expect(done.receipt.telemetry.path).toBe(join(world.folder, 'repo/.git/agent-exec/calls.jsonl'));
    },
  },
  {
    title: 'a detached HEAD',
    prepare: (world) => {
      world.git('checkout', '-q', '--detach');
      return {};
    },
    check: (_, done) => expect(done.receipt.repository.head_ref).toBeNull(),
  },
  {
    title: 'submodules, one of them not initialised',
    prepare: (world) => {
      const other = join(world.folder, 'other');
      execFileSync('git', ['init', '-q', other]);
      const identity = ['-c', 'user.name=o', '-c', 'user.email=o@o'];
      execFileSync('git', ['-C', other, ...identity, 'commit', '-q', '--allow-empty', '-m', 'other']);
      for (const path of ['sub/live', 'sub/dead']) {
        world.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other, path);
      }
      const base = world.commit('submodules');
      world.git('submodule', '--quiet', 'deinit', '-f', 'sub/dead');
      return { base };
    },
    check: (world, _, commit) => {
      const tree = world.tree(commit);
      expect([tree['sub/live']?.mode, tree['sub/dead']?.mode]).toEqual(['160000', '160000']);
    },
  },
  {
    title: 'packed refs and objects',
    prepare: (world) => {
      world.git('tag', 'v1');
      world.git('gc', '-q');
      return {};
    },
  },
  {
    title: 'a path with spaces, quotes, a newline and letters of two scripts',
    options: { repoName: ' my "répo"\n\'日本\' $(exit 1)%20 ' },
    prepare: () => ({}),
  },
  {
    title: 'a base that is not HEAD',
    prepare: (world) => {
      const base = world.git('rev-parse', 'HEAD');
      world.git('tag', '-a', '-m', 'first', 'v1');
      world.write('src/a.txt', 'not this\n');
      world.commit('later');
      return { base, run: { args: ['--base', 'v1'] } };
    },
    check: (world, done, commit) => {
      expect(done.receipt.repository.head).toBe(world.git('rev-parse', 'HEAD'));
      expect(world.git('show', `${commit}:src/a.txt`)).toBe('a\nmore');
    },
  },
  {
    title: 'a subfolder, and an environment full of GIT_ variables',
    prepare: (world) => ({ run: { cwd: join(world.repo, 'src'), env: HOSTILE_GIT } }),
  },
  {
    title: 'a checkout with staged, unstaged and untracked work of the host',
    prepare: (world) => {
      world.write('src/staged.txt', 'staged\n');
      world.write('src/a.txt', 'staged too\n');
      world.git('add', 'src');
      world.write('src/a.txt', 'not staged\n');
      world.write('src/untracked.txt', 'untracked\n');
      world.git('update-index', '--assume-unchanged', 'docs/d.txt');
      return {};
    },
    check: (world, done, commit) => {
      expect(done.receipt.repository.dirty_paths).toBe(3);
      expect(world.git('show', `${commit}:src/a.txt`)).toBe('a\nmore');
    },
  },
  {
    title: 'isolation none',
    prepare: (world) => ({ base: world.configure({ one: { script: WORK } }, ['isolation: none']) }),
    check: (_, done) => expect(attemptOf(done).isolation.level).toBe('none'),
  },
];

describe('kinds of repositories', () => {
  test.concurrent.each(KINDS)('$title', async ({ options, prepare, check }) => {
    const world = new World(options);
    const first = world.configure({ one: { script: WORK } });
    const { run, base = first, folders = [world.repo] } = prepare(world);
    const before = world.canonical(...folders);
    const done = await world.run({}, run);
    const { commit } = expectSuccess(world, done, base);
    expect(world.git('diff', '--name-status', base, commit)).toBe('M\tsrc/a.txt');
    expect(world.git('show', `${commit}:src/a.txt`)).toBe('a\nmore');
    expect(world.canonical(...folders)).toEqual(before);
    expect(world.stateOf(done.receipt.run_id)).toEqual(RECORDS);
    check?.(world, done, commit);
  });
});

describe('around a success', () => {
  test('nothing that the worker started is left, whatever it did to be overlooked', async () => {
    const world = new World();
    // Durations that nobody else on this machine sleeps for.
    const [first = '', second = '', third = ''] = [1, 2, 3].map((n) => `${n}${String(Math.random()).slice(2, 9)}`);
    const leave = `(setsid env -i /bin/sleep ${first} &) ; (setsid sh -c "sleep ${second}; : @MARK@" &) ; sleep ${third} &`;
    world.configure({ one: { script: `${WORK}\nsh -c '${leave} : @MARK@'` } });
    const done = await world.run();
    expectSuccess(world, done, world.git('rev-parse', 'HEAD'));
    expect(attemptOf(done).processes).toMatchObject({
      survivors: 0,
      containment: expect.stringMatching(/^(pid-namespace|session-sweep)$/),
    });
    const sleeping = readdirSync('/proc').filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.some((word) => [first, second, third].includes(word));
      } catch {
        return false; // no process, or one that has just ended
      }
    });
    expect(sleeping).toEqual([]);
  });

  test('the default state root, the default receipt and the text answer', async () => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const done = await world.cli(['run', '--role', 'repair', '--unit', world.packet()]);
    expect(done.code).toBe(0);
    const path = /^receipt (.*)$/m.exec(done.stdout)?.[1] ?? '';
    const root = `/tmp/agent-exec-${process.getuid?.()}`;
    expect(dirname(dirname(path))).toBe(root);
    expect(done.stdout).toMatch(/^success\nwhy +OK: .*\ncommit +[0-9a-f]{40} refs\/agent-exec\//);
    expect(world.stateOf(path.split('/').at(-2) ?? '', root)).toEqual(RECORDS);
    rmSync(dirname(path), { recursive: true });
  });

  test.concurrent.each(['logs', 'private.git', '.dotted'])('a repository that is called %s', async (repoName) => {
    const world = new World({ repoName });
    const base = world.configure({ one: { script: `${WORK}; case "$PWD" in */.*) exit 9;; esac` } });
    expectSuccess(world, await world.run(), base);
  });
});
