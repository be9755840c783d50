import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
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
  writeFileSync(join(slow, 'git'), '#!/bin/sh\nkill -TERM $$\n', { mode: 0o755 });
  expect(await tryGit({ gitDir: null, args: [] })).toMatchObject({ code: null, failure: 'ended-by-signal' });
  process.env.PATH = scratch();
  expect(await tryGit({ gitDir: null, args: [] })).toMatchObject({ code: null, failure: 'not-found' });
});
