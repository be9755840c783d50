/** Real repositories, real workspaces; a worker is a shell script run inside one. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { type BaseTree, pathsAtBase } from '../../src/git/base-tree.ts';
import { checkIgnored, copyIgnoreRules } from '../../src/git/ignore.ts';
import { discoverRepository } from '../../src/git/repository.ts';
import type { Inventory } from '../../src/model/evidence.ts';
import { decodePath, type RepoPath } from '../../src/model/path.ts';
import type { RepositoryFacts } from '../../src/model/plan.ts';
import type { Result } from '../../src/model/result.ts';
import { compileScope, type Scope } from '../../src/unit/scope.ts';
import { type Baseline, type IgnoredAmong, retakeBaseline, takeBaseline } from '../../src/workspace/baseline.ts';
import { createWorkspace } from '../../src/workspace/create.ts';
import { takeInventory } from '../../src/workspace/inventory.ts';
import type { InventoryLimits } from '../../src/workspace/limits.ts';
import type { Workspace } from '../../src/workspace/workspace.ts';

const ENV = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'w',
  GIT_AUTHOR_EMAIL: 'w@w',
  GIT_COMMITTER_NAME: 'w',
  GIT_COMMITTER_EMAIL: 'w@w',
  LC_ALL: 'C.UTF-8',
};

const tempDirs: string[] = [];
export function tempDir(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'ax-workspace-')));
  tempDirs.push(dir);
  return dir;
}
afterAll(() => execFileSync('rm', ['-rf', '--one-file-system', '--', ...tempDirs]));

/** Runs a shell script in `cwd`; throws where it fails. */
export const sh = (cwd: string, script: string): string =>
  execFileSync('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env: ENV,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });

export function must<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

export interface Stage {
  readonly dir: string;
  readonly repo: string;
  readonly facts: RepositoryFacts;
  readonly base: string;
  readonly tree: BaseTree;
  readonly ignored: IgnoredAmong;
}

const SAMPLE = `
  mkdir src docs; echo a > src/a.txt; echo d > docs/d.txt; printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh
  ln -s src/a.txt link; printf 'build/\\n*.log\\n' > .gitignore`;

/** A committed repository made by `script` (default: a small one of every kind of file). */
export async function stage(script: string = SAMPLE, format: 'sha1' | 'sha256' = 'sha1'): Promise<Stage> {
  const dir = tempDir();
  const repo = join(dir, 'repo');
  mkdirSync(repo);
  sh(
    repo,
    `git init -q -b main --object-format=${format} .; git config gc.auto 0; ${script}
    git add -A; git commit -qm base --allow-empty`,
  );
  return survey(dir, repo);
}

/** The facts of a repository that stands at `repo`. */
export async function survey(dir: string, repo: string): Promise<Stage> {
  const facts = must(await discoverRepository(repo, {}));
  const tree = await pathsAtBase(facts, facts.head);
  const scratch = join(dir, 'rules');
  mkdirSync(scratch);
  const rules = await copyIgnoreRules({ facts, tree, scratch, excludesFile: null });
  return { dir, repo, facts, base: facts.head, tree, ignored: (paths) => checkIgnored(rules, paths) };
}

export interface Ready extends Stage {
  readonly workspace: Workspace;
  readonly baseline: Baseline;
}

let attempts = 0;
/** A workspace with its baseline. */
export async function ready(on: Stage): Promise<Ready> {
  const attemptDir = join(on.dir, `attempt-${++attempts}`);
  mkdirSync(attemptDir, { mode: 0o700 });
  const workspace = must(
    await createWorkspace({ facts: on.facts, base: on.base, madeBy: 'run@0', attemptDir, name: 'repo' }),
  );
  return { ...on, workspace, baseline: must(await takeBaseline(workspace, on.tree.entries)) };
}

export const everything: Scope = { allows: () => true };
export const scopeOf = (on: Stage, ...allowed: string[]): Scope =>
  compileScope(allowed, (path) => on.tree.isDirectory(path));

/** The inventory after `script` ran in the workspace. */
export async function after(
  on: Ready,
  script: string,
  options: { scope?: Scope; limits?: InventoryLimits; setup?: string } = {},
): Promise<Exclude<Inventory, { kind: 'none' }>> {
  let { baseline } = on;
  if (options.setup !== undefined) {
    sh(on.workspace.path, options.setup);
    baseline = must(await retakeBaseline(on.workspace, baseline, on.ignored));
  }
  sh(on.workspace.path, script);
  const { workspace, ignored } = on;
  const scope = options.scope ?? everything;
  const inventory = await takeInventory({
    workspace,
    baseline,
    scope,
    ignored,
    ...(options.limits && { limits: options.limits }),
  });
  if (inventory.kind === 'none') throw new Error('an inventory of nothing');
  return inventory;
}

/** `A src/new.txt`, `M run.sh 100644`: what people would write down of an inventory. */
export const lines = (inventory: Exclude<Inventory, { kind: 'none' }>): string[] =>
  inventory.changes.map(({ status, path, mode }) => [status, path, mode].filter((part) => part !== null).join(' '));

export const codes = (notes: readonly { readonly code: string; readonly paths: readonly RepoPath[] }[]): string[] =>
  notes.flatMap(({ code, paths }) => (paths.length === 0 ? [code] : paths.map((path) => `${code} ${path}`)));

/** A repository with a submodule link at `vendor/sub`. */
export async function withSubmodule(): Promise<Stage> {
  const source = tempDir();
  sh(source, 'git init -q -b main .; echo s > s.txt; git add -A; git commit -qm s');
  return stage(
    `mkdir src; echo a > src/a.txt; git -c protocol.file.allow=always submodule add -q ${source} vendor/sub 2>&1`,
  );
}

/** As a user without root's right to read everything. */
export async function asNobody<T>(on: Ready, step: () => Promise<T>): Promise<T> {
  sh(on.dir, 'chmod 755 .; chown -R 65534:65534 .');
  const { seteuid, setegid } = process as Required<typeof process>;
  setegid(65534);
  seteuid(65534);
  try {
    return await step();
  } finally {
    seteuid(0);
    setegid(0);
  }
}

export const path = (text: string): RepoPath => decodePath(Buffer.from(text));
