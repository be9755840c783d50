import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { discoverRepository } from '../../src/git/repository.ts';
import { git, gitLine, tryGit } from '../../src/git/run.ts';
import { armRepository, Canary, makeRepository, plainGit, scratch } from './fixture.ts';

const saved = { ...process.env };
afterEach(() => {
  for (const name of Object.keys(process.env)) if (!(name in saved)) delete process.env[name];
  Object.assign(process.env, saved);
});

/** An environment and a home in which everything known to make git start a program or go elsewhere is set. */
function poison(canary: Canary): { home: string; elsewhere: string } {
  const elsewhere = join(scratch(), 'elsewhere.git');
  plainGit('/', ['init', '-q', '--bare', elsewhere]);
  const home = scratch();
  const hooks = join(home, 'hooks');
  mkdirSync(hooks);
  for (const hook of ['reference-transaction', 'post-index-change', 'post-checkout'])
    writeFileSync(join(hooks, hook), `#!/bin/sh\nexec ${canary.program(`home-${hook}`)}\n`, { mode: 0o755 });
  const config = [
    `[core]\n\thooksPath = ${hooks}\n\tfsmonitor = ${canary.program('home-fsmonitor')}\n\tpager = ${canary.program('home-pager')}`,
    `[filter "trap"]\n\tclean = ${canary.program('home-clean')}\n\tsmudge = ${canary.program('home-smudge')}`,
    `[gpg]\n\tprogram = ${canary.program('home-gpg')}\n[commit]\n\tgpgSign = true\n[alias]\n\trev-parse = !${canary.program('home-alias')}`,
    `[diff]\n\texternal = ${canary.program('home-diff')}\n[trace2]\n\teventTarget = ${canary.folder}/ran-trace2`,
    `[core]\n\tattributesFile = ${home}/attributes`,
  ].join('\n');
  writeFileSync(join(home, '.gitconfig'), config);
  writeFileSync(join(home, 'attributes'), '* filter=trap\n');
  Object.assign(process.env, {
    HOME: home,
    XDG_CONFIG_HOME: home,
    GIT_DIR: elsewhere,
    GIT_WORK_TREE: home,
    GIT_INDEX_FILE: join(home, 'index'),
    GIT_OBJECT_DIRECTORY: join(elsewhere, 'objects'),
    GIT_COMMON_DIR: elsewhere,
    GIT_NAMESPACE: 'n',
    GIT_CEILING_DIRECTORIES: '/',
    GIT_EXEC_PATH: canary.folder,
    GIT_TEMPLATE_DIR: home,
    GIT_EXTERNAL_DIFF: canary.program('env-external-diff'),
    GIT_SSH_COMMAND: canary.program('env-ssh'),
    GIT_ASKPASS: canary.program('env-askpass'),
    GIT_EDITOR: canary.program('env-editor'),
    GIT_PAGER: canary.program('env-pager'),
    PAGER: canary.program('env-pager2'),
    GIT_TRACE: join(canary.folder, 'ran-trace'),
    GIT_TRACE2_EVENT: join(canary.folder, 'ran-trace2-event'),
    GIT_CONFIG_PARAMETERS: `'core.fsmonitor=${canary.program('env-parameters')}'`,
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.fsmonitor',
    GIT_CONFIG_VALUE_0: canary.program('env-config'),
    GIT_GLOB_PATHSPECS: '1',
    GIT_AUTHOR_NAME: 'somebody',
    LC_ALL: 'de_DE.UTF-8',
  });
  return { home, elsewhere };
}

test('nothing in the environment, the home or the repository makes a call run a program or go elsewhere', async () => {
  const repository = makeRepository();
  repository.write('.gitattributes', '* filter=trap diff=trap text eol=crlf\n');
  repository.write('a', 'one\r\n');
  const head = repository.commit();
  const canary = new Canary();
  armRepository(repository, canary);
  poison(canary);

  const gitDir = join(repository.dir, '.git');
  const indexFile = join(scratch(), 'index');
  const at = { gitDir, workTree: repository.dir, indexFile };
  const found = await discoverRepository(repository.dir, process.env);
  expect(found).toMatchObject({ ok: true, value: { head, worktree: repository.dir, gitDir } });
  expect(await gitLine({ gitDir, args: ['rev-parse', 'HEAD'] })).toBe(head);
  await git({ ...at, args: ['read-tree', head] });
  await git({ ...at, args: ['ls-files', '--stage', '-v', '-z'] });
  await git({ ...at, args: ['ls-files', '--others', '--exclude-standard', '-z'] });
  await git({ ...at, args: ['diff-tree', '-r', '--raw', '-z', '4b825dc642cb6eb9a060e54bf8d69288fbee4904', head] });
  const commit = await gitLine({ ...at, args: ['commit-tree', `${head}^{tree}`, '-p', head, '-m', 'x'] });
  expect(await gitLine({ gitDir, args: ['log', '-1', '--format=%an', commit] })).toBe('agent-exec');
  await git({ gitDir, args: ['update-ref', 'refs/agent-exec/r/a', commit, ''] });
  expect((await tryGit({ gitDir, args: ['rev-parse', '--verify', 'nope'] })).stderr).toContain('Needed a single');
  expect((await tryGit({ gitDir, args: ['fetch', `ssh://127.0.0.1/x`] })).stderr).toContain(
    "transport 'ssh' not allowed",
  );

  const plain = join(scratch(), 'plain.git');
  await git({ gitDir: null, args: ['init', '-q', '--bare', plain] });
  await git({ gitDir: plain, workTree: repository.dir, indexFile: join(scratch(), 'i'), args: ['add', 'a'] });
  expect(canary.ran()).toEqual([]);
  const home = ['-c', `include.path=${process.env.HOME}/.gitconfig`, '-c', 'core.fsmonitor=false'];
  plainGit('/', [...home, `--git-dir=${plain}`, `--work-tree=${repository.dir}`, 'add', join(repository.dir, 'a')]);
  expect(canary.ran(), 'the home is armed').not.toEqual([]);
});

test('why there is no exit code is told', async () => {
  const slow = scratch();
  writeFileSync(join(slow, 'git'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  process.env.PATH = `${slow}:${saved.PATH}`;
  expect(await tryGit({ gitDir: null, args: [], timeoutMs: 50 })).toMatchObject({ code: null, failure: 'timed-out' });
  const dying = scratch();
  writeFileSync(join(dying, 'git'), '#!/bin/sh\nkill -TERM $$\n', { mode: 0o755 });
  process.env.PATH = dying;
  expect(await tryGit({ gitDir: null, args: [] })).toMatchObject({ code: null, failure: 'ended-by-signal' });
  process.env.PATH = scratch();
  expect(await tryGit({ gitDir: null, args: [] })).toMatchObject({ code: null, failure: 'not-found' });
});

describe('the git that is run', () => {
  const version = async () => (await tryGit({ gitDir: null, args: ['--version'] })).stdout.toString().trim();
  const fake = (folder: string, words: string) =>
    writeFileSync(join(folder, 'git'), `#!/bin/sh\necho ${words}\n`, { mode: 0o755 });

  test('is found once: what appears before it on PATH is never run', async () => {
    const [early, late] = [scratch(), scratch()];
    fake(late, 'first');
    process.env.PATH = `${early}:${late}:${saved.PATH}`;
    expect(await version()).toBe('first');
    fake(early, 'planted');
    expect(await version()).toBe('first');
  });

  test('that is a script finds no program of the same folder', async () => {
    const [folder, marked] = [scratch(), scratch()];
    writeFileSync(join(folder, 'git'), '#!/bin/sh\nhelper || ls / >/dev/null && echo script\n', { mode: 0o755 });
    for (const name of ['helper', 'ls'])
      writeFileSync(join(folder, name), `#!/bin/sh\n: > ${marked}/${name}\n`, { mode: 0o755 });
    process.env.PATH = `${folder}:${saved.PATH}`;
    expect(await version()).toBe('script');
    expect(readdirSync(marked)).toEqual([]);
  });

  test('is never one of a relative entry of PATH', async () => {
    const folder = scratch();
    fake(folder, 'good');
    process.env.PATH = `.:${relative('/', scratch())}:${folder}`;
    fake(scratch(), 'never');
    expect(await version()).toBe('good');
    process.env.PATH = relative('/', folder);
    expect(await tryGit({ gitDir: null, args: [] })).toMatchObject({ code: null, failure: 'not-found' });
  });

  test.each<[string, (folder: string) => void]>([
    ['overwritten', (folder) => fake(folder, 'planted')],
    [
      'replaced by a rename',
      (folder) => {
        const other = scratch();
        fake(other, 'planted');
        renameSync(join(other, 'git'), join(folder, 'git'));
      },
    ],
    ['removed', (folder) => rmSync(join(folder, 'git'))],
    [
      'in another folder of the same name',
      (folder) => {
        renameSync(folder, `${folder}.moved`);
        mkdirSync(folder);
        fake(folder, 'planted');
      },
    ],
  ])('is not run again once it was %s', async (_, act) => {
    const folder = join(scratch(), 'bin');
    mkdirSync(folder);
    fake(folder, 'first');
    process.env.PATH = folder;
    expect(await version()).toBe('first');
    act(folder);
    const output = await tryGit({ gitDir: null, args: ['--version'] });
    expect(output).toMatchObject({ code: null, failure: 'replaced' });
    expect(output.stderr).toContain(join(folder, 'git'));
  });
});
