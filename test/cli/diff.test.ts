/**
 * `diff`: a program gets git's own bytes, a person their own pager, and nobody anything that a file, an attribute or a
 * driver of the repository wants to do to them. Real pseudo terminals come from `script`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { shownPatch } from '../../src/cli/patch-colours.ts';
import { type Finished, TOOL, World } from '../run/world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt; echo new > src/new.txt';

async function worked(
  script = WORK,
  prepare: (world: World) => void = () => {},
): Promise<{ world: World; done: Finished; commit: string }> {
  const world = new World();
  prepare(world);
  world.configure({ one: { script } }, ['fallback_to_host: never']);
  const done = await world.run();
  return { world, done, commit: done.summary.transport?.commit ?? '' };
}

const diff = (world: World, ...args: string[]) => world.cli(['diff', ...args, '--state-dir', world.state]);
/** As `world.cli`, with the bytes of stdout. */
function bytesOf(world: World, ...args: string[]): Buffer {
  const env = { PATH: process.env.PATH, HOME: world.home };
  const done = spawnSync(process.execPath, [TOOL, 'diff', ...args, '--state-dir', world.state], {
    cwd: world.repo,
    env,
  });
  expect(done.status, done.stderr.toString()).toBe(0);
  return done.stdout;
}

const hasScript = spawnSync('script', ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0;
/** What a terminal is sent. Its newlines are the terminal's own. */
function onTerminal(world: World, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const words = [process.execPath, TOOL, 'diff', 'last', '--state-dir', world.state, ...args].map(
    (word) => `'${word}'`,
  );
  const done = spawnSync('script', ['-qec', words.join(' '), '/dev/null'], {
    cwd: world.repo,
    env: { PATH: process.env.PATH, HOME: world.home, TERM: 'xterm', LANG: 'C.UTF-8', ...env },
    input: '',
  });
  expect(done.status).toBe(0);
  return done.stdout.toString('utf8').replaceAll('\r\n', '\n');
}

describe('to a program', () => {
  test("git's own bytes, binary files and odd bytes included, that apply to base as they are", async () => {
    const { world, done, commit } = await worked(
      `cat >/dev/null; printf 'x\\033[31m\\377\\r\\n' >> src/a.txt; head -c 3000 /dev/urandom > src/bin; ln -s a.txt src/link; chmod +x docs/d.txt; : > 'src/new
line'`,
      (made) => made.write('docs/.keep', ''),
    );
    // The mode of docs/d.txt is out of scope: the work is in quarantine.
    const quarantine = done.receipt.attempts[0]?.quarantine?.commit ?? '';
    expect(commit).toBe('');
    const patch = bytesOf(world, 'last');
    const base = done.receipt.repository.base;
    expect(patch).toEqual(
      world.gitBytes(
        '-c',
        'core.quotePath=false',
        'diff-tree',
        '-p',
        '--binary',
        '--full-index',
        '--no-renames',
        base,
        quarantine,
      ),
    );
    writeFileSync(join(world.folder, 'change.patch'), patch);
    world.git('apply', '--index', join(world.folder, 'change.patch'));
    expect(world.git('write-tree')).toBe(world.git('rev-parse', `${quarantine}^{tree}`));
  });

  test("whatever the user's settings are; a move is a removal and an addition", async () => {
    const { world } = await worked('cat >/dev/null; mv src/a.txt src/b.txt');
    const plain = bytesOf(world, 'last').toString();
    expect(plain).toContain('deleted file mode 100644');
    for (const [key, value] of [
      ['color.ui', 'always'],
      ['diff.noprefix', 'true'],
      ['diff.renames', 'copies'],
      ['core.pager', 'false'],
    ] as const)
      world.git('config', key, value);
    writeFileSync(join(world.home, '.gitconfig'), '[color]\n\tui = always\n[core]\n\tpager = false\n');
    expect(bytesOf(world, 'last').toString()).toBe(plain);
    expect(bytesOf(world, 'last', '--name-only').toString()).toBe('src/a.txt\nsrc/b.txt\n');
    expect(bytesOf(world, 'last', '--stat').toString()).toContain('2 files changed');
  });

  test('nothing that the repository names is run', async () => {
    const { world } = await worked('cat >/dev/null; echo more >> src/a.txt; echo "* diff=trap" > src/x.txt');
    const trap = (name: string): string => world.script(`trap-${name}`, `#!/bin/sh\n: > @D@/ran-${name}\ncat "$1"\n`);
    writeFileSync(join(world.repo, '.gitattributes'), '* diff=trap filter=trap\n');
    world.git('config', 'diff.external', trap('external'));
    world.git('config', 'diff.trap.command', trap('command'));
    world.git('config', 'diff.trap.textconv', trap('textconv'));
    world.git('config', 'filter.trap.smudge', trap('smudge'));
    world.git('config', 'core.fsmonitor', trap('fsmonitor'));
    world.git('config', 'core.hooksPath', world.folder);
    const env = { GIT_EXTERNAL_DIFF: trap('env'), GIT_TRACE: join(world.folder, 'ran-trace') };
    for (const args of [['last'], ['last', '--stat'], ['last', '--name-only']]) {
      const said = await world.cli(['diff', ...args, '--state-dir', world.state], { env });
      expect(said.stdout).toContain('src/a.txt');
      if (hasScript) onTerminal(world, args.slice(1).concat('--no-pager'), env);
      if (hasScript) onTerminal(world, args.slice(1), { ...env, PAGER: 'cat -v' });
    }
    expect(readdirSync(world.folder).filter((name) => name.startsWith('ran-'))).toEqual([]);
  });

  test('paths as git takes them, from where the command was called', async () => {
    const { world } = await worked();
    const names = async (cwd: string, ...paths: string[]): Promise<string> =>
      (await world.cli(['diff', 'last', '--name-only', '--state-dir', world.state, '--', ...paths], { cwd })).stdout;
    expect(await names(world.repo, 'src/new.txt')).toBe('src/new.txt\n');
    expect(await names(join(world.repo, 'src'), 'new.txt')).toBe('src/new.txt\n');
    expect(await names(world.repo, 'src', ':!src/new.txt')).toBe('src/a.txt\n');
    expect(await names(world.folder, 'src/new.txt')).toBe('src/new.txt\n');
  });

  test('a reader that goes away is no failure', async () => {
    const { world } = await worked('cat >/dev/null; head -c 3000000 /dev/urandom | base64 > src/big');
    const command = `'${process.execPath}' '${TOOL}' diff last --state-dir '${world.state}' | head -n 1; exit "\${PIPESTATUS[0]}"`;
    const done = spawnSync('bash', ['-c', command], { cwd: world.repo, encoding: 'utf8' });
    expect([done.status, done.stdout, done.stderr]).toEqual([0, 'diff --git a/src/big b/src/big\n', '']);
  });
});

describe('what is meant', () => {
  test('the transport; with --quarantine the quarantine; of several the last, and the others are named', async () => {
    const world = new World();
    const half = (word: string): string => `cat >/dev/null; echo ${word} >> src/a.txt; exit 3`;
    world.configure({ one: { script: half('first') }, two: { script: half('second') } }, ['fallback_to_host: never']);
    await world.run();
    const last = await diff(world, 'last');
    expect(last.stdout).toContain('+second');
    expect(last.stderr).toBe(
      'agent-exec diff: this is the quarantine of 02-two (failed-clean EXIT_NONZERO), not a success. Others have one too: --attempt 01-one.\n',
    );
    expect((await diff(world, 'last', '--attempt', '01-one')).stdout).toContain('+first');
    expect((await diff(world, 'last', '--attempt', '01')).stderr).not.toContain('Others');
    expect((await diff(world, 'last', '--attempt', 'nonesuch')).code).toBe(3);
    world.configure({ one: { script: half('first') }, two: { script: `${WORK}; mkdir build; echo c > build/c` } });
    await world.run();
    expect(await diff(world, 'last', '--name-only')).toMatchObject({ stdout: 'src/a.txt\nsrc/new.txt\n', stderr: '' });
    expect((await diff(world, 'last', '--name-only', '--quarantine')).stdout).toBe('build/c\nsrc/a.txt\nsrc/new.txt\n');
  });

  test('a run with neither: says so, where the work is, and exits 0', async () => {
    const { world } = await worked('exit 3');
    const nothing = await diff(world, 'last');
    expect(nothing).toMatchObject({ code: 0, stdout: '' });
    expect(nothing.stderr).toContain('no transport and no quarantine.\nNothing was changed');
  });

  test('elsewhere than in its repository, or in a clone that has the commit; else it is told where it was', async () => {
    const { world, done } = await worked();
    const run = done.receipt.run_id;
    const at = (cwd: string, ...args: string[]) =>
      world.cli(['diff', run, '--name-only', '--state-dir', world.state, ...args], { cwd });
    expect((await at(world.folder)).stdout).toBe('src/a.txt\nsrc/new.txt\n');
    const clone = join(world.folder, 'clone');
    execFileSync('git', ['clone', '-q', '--no-local', world.repo, clone]);
    expect((await at(clone)).stdout).toBe('src/a.txt\nsrc/new.txt\n');
    const told = await at(world.folder, '--repo', clone);
    expect(told).toMatchObject({ code: 3, stdout: '' });
    expect(told.stderr).toContain(`${clone} does not have it`);
    rmSync(world.repo, { recursive: true });
    expect((await at(world.folder)).code).toBe(3);
  });

  test('usage', async () => {
    const { world } = await worked();
    expect((await diff(world, 'last', '--stat', '--name-only')).code).toBe(2);
    expect((await diff(world)).code).toBe(2);
    expect((await diff(world, 'nonesuch')).code).toBe(3);
  });
});

describe.skipIf(!hasScript)('to a terminal', () => {
  const HOSTILE =
    "cat >/dev/null; printf '\\033]0;title\\007\\033[2J\\033[31mred\\033[0m \\302\\233 \\342\\200\\256 ok\\n@@ -1 +1 @@\\n' >> src/a.txt";

  test("the user's pager gets what git sends it, by GIT_PAGER, core.pager and PAGER", async () => {
    const { world } = await worked();
    const pager = (name: string): string => world.script(name, `#!/bin/sh\necho through ${name}\ncat\n`);
    expect(onTerminal(world, [], { PAGER: pager('by-pager') })).toMatch(/^through by-pager\n/);
    world.git('config', 'core.pager', pager('by-config'));
    expect(onTerminal(world, [], { PAGER: pager('by-pager') })).toMatch(/^through by-config\n/);
    const through = onTerminal(world, [], { GIT_PAGER: pager('by-git-pager') });
    expect(through).toMatch(/^through by-git-pager\n/);
    expect(through).toContain('\u001b[32m+');
    expect(onTerminal(world, [], { GIT_PAGER: pager('by-git-pager'), NO_COLOR: '1' })).not.toContain('\u001b');
    expect(onTerminal(world, ['--no-pager'], { PAGER: pager('by-pager') })).not.toContain('through');
  });

  test.each<[string, readonly string[], Readonly<Record<string, string>>]>([
    ['--no-pager', ['--no-pager'], {}],
    ['no pager at all', [], { PAGER: '' }],
    ['cat for a pager', [], { PAGER: 'cat' }],
  ])('%s: what a file holds is seen and does nothing', async (_title, args, env) => {
    const { world } = await worked(HOSTILE);
    const sent = onTerminal(world, args, env);
    expect(sent).toContain('\\x1b]0;title\\x07\\x1b[2J\\x1b[31mred');
    expect(sent.replace(/\u001b\[(?:0|1|31|32|36)m/g, '')).not.toMatch(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/,
    );
    expect(sent).toContain('\u001b[32m+@@ -1 +1 @@\u001b[0m');
    expect(onTerminal(world, [...args, '--stat'], env)).toContain('src/a.txt');
    expect(existsSync(join(world.repo, '.git/index.lock'))).toBe(false);
  });
});

describe('colours', () => {
  test('follow the hunk, not what a line looks like; without colour the text is the patch', () => {
    const patch = [
      'diff --git a/f b/f',
      '--- a/f',
      '+++ b/f',
      '@@ -1,2 +1,3 @@ context',
      ' same',
      '--- a/g',
      '+++ b/g',
      '+@@ -1 +1 @@',
      '\\ No newline at end of file',
      'diff --git a/h b/h',
      '',
    ].join('\n');
    expect(shownPatch(patch, false)).toBe(patch);
    const kinds = shownPatch(patch, true)
      .split('\n')
      .map((line) => /^\u001b\[(\d+)m/.exec(line)?.[1] ?? '-');
    expect(kinds).toEqual(['1', '1', '1', '36', '-', '31', '32', '32', '-', '1', '-']);
  });
});

test('nothing of the repository is changed by a look', async () => {
  const { world } = await worked();
  const before = world.canonical();
  await diff(world, 'last');
  if (hasScript) onTerminal(world, ['--no-pager']);
  expect(world.canonical()).toEqual(before);
  expect(readFileSync(join(world.repo, 'src/a.txt'), 'utf8')).toBe('a\n');
});
