/** Real repositories for tests, made with a plain git that knows nothing of the code under test. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { discoverRepository } from '../../src/git/repository.ts';
import { encodePath, type RepoPath } from '../../src/model/path.ts';
import type { RepositoryFacts } from '../../src/model/plan.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ax-git-')));
  folders.push(folder);
  return folder;
}

const ENV = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'host',
  GIT_AUTHOR_EMAIL: 'host@localhost',
  GIT_COMMITTER_NAME: 'host',
  GIT_COMMITTER_EMAIL: 'host@localhost',
};

export function plainGit(cwd: string, args: readonly string[], input?: Uint8Array): Buffer {
  return execFileSync('git', ['-c', 'protocol.file.allow=always', '-c', 'init.defaultBranch=main', ...args], {
    cwd,
    env: ENV,
    input,
    maxBuffer: 2 ** 28,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

export interface Repository {
  readonly dir: string;
  git(...args: string[]): string;
  /** Writes a file; names are bytes where they are no text. */
  write(path: string | RepoPath, content: string | Uint8Array, mode?: number): void;
  link(path: string, target: string): void;
  commit(message?: string): string;
  facts(): Promise<RepositoryFacts>;
}

export function openRepository(dir: string): Repository {
  const place = (path: string): Buffer => Buffer.concat([Buffer.from(`${dir}/`), encodePath(path as RepoPath)]);
  const folderOf = (path: string): void => {
    if (path.includes('/')) mkdirSync(place(dirname(path)), { recursive: true });
  };
  const git = (...args: string[]): string => plainGit(dir, args).toString('utf8').trimEnd();
  return {
    dir,
    git,
    write(path, content, mode = 0o644) {
      folderOf(path);
      writeFileSync(place(path), content);
      chmodSync(place(path), mode);
    },
    link(path, target) {
      folderOf(path);
      symlinkSync(target, place(path));
    },
    commit(message = 'work') {
      git('add', '-A', '-f');
      git('commit', '-q', '--allow-empty', '-m', message);
      return git('rev-parse', 'HEAD');
    },
    async facts() {
      const found = await discoverRepository(dir, { HOME: '/nonexistent' });
      if (!found.ok) throw new Error(JSON.stringify(found.error));
      return found.value;
    },
  };
}

export function makeRepository(options: { format?: 'sha1' | 'sha256'; name?: string } = {}): Repository {
  const dir = join(scratch(), options.name ?? 'repo');
  mkdirSync(dir);
  plainGit(dir, ['init', '-q', `--object-format=${options.format ?? 'sha1'}`]);
  return openRepository(dir);
}

/** A program that leaves a mark when anything runs it. */
export class Canary {
  readonly folder = scratch();

  program(name: string): string {
    const path = join(this.folder, `${name}.sh`);
    writeFileSync(path, `#!/bin/sh\n: > '${this.folder}/ran-${name}'\ncat\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** The names of the programs that ran. */
  ran(): string[] {
    return readdirSync(this.folder).filter((name) => name.startsWith('ran-'));
  }
}

/** Configures everything known to make git start a program, each one a canary. */
export function armRepository(repository: Repository, canary: Canary): void {
  const set = (key: string, value: string): void => void repository.git('config', key, value);
  for (const kind of ['clean', 'smudge', 'process']) set(`filter.trap.${kind}`, canary.program(`filter-${kind}`));
  set('filter.trap.required', 'true');
  set('diff.trap.textconv', canary.program('textconv'));
  set('diff.trap.command', canary.program('diff-command'));
  set('diff.external', canary.program('diff-external'));
  set('merge.trap.driver', canary.program('merge-driver'));
  set('core.fsmonitor', canary.program('fsmonitor'));
  set('gpg.program', canary.program('gpg'));
  set('commit.gpgSign', 'true');
  set('log.showSignature', 'true');
  set('core.pager', canary.program('pager'));
  set('core.editor', canary.program('editor'));
  set('core.sshCommand', canary.program('ssh'));
  set('core.askPass', canary.program('askpass'));
  set('core.alternateRefsCommand', canary.program('alternate-refs'));
  set('credential.helper', canary.program('credential'));
  set('uploadpack.packObjectsHook', canary.program('pack-objects-hook'));
  const hooks = join(repository.git('rev-parse', '--path-format=absolute', '--git-common-dir'), 'hooks');
  if (!existsSync(hooks)) mkdirSync(hooks);
  for (const hook of [
    'reference-transaction',
    'post-index-change',
    'post-checkout',
    'pre-commit',
    'post-commit',
    'update',
    'pre-auto-gc',
    'fsmonitor-watchman',
    'sendemail-validate',
    'pre-receive',
    'post-rewrite',
  ])
    symlinkSync(canary.program(`hook-${hook}`), join(hooks, hook));
}
