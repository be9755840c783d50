/**
 * A world for one run: a temporary folder with a real repository, real worker scripts behind custom adapters, and the
 * built tool as its own process. Nothing is faked but the workers.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type Receipt, receipt as receiptSchema } from '../../src/model/receipt.ts';
import { type Summary, summary as summarySchema } from '../../src/model/summary.ts';

export const TOOL = new URL('../../dist/agent-exec.mjs', import.meta.url).pathname;

export interface Profile {
  /** A worker script, or the path of a program. */
  readonly script?: string;
  readonly executable?: string;
  readonly adapter?: string;
  readonly format?: string;
  readonly transport?: 'stdin' | 'argument' | 'file';
  /** Further lines of the profile, such as `enabled: false`. */
  readonly lines?: readonly string[];
  /** Further lines of its custom adapter. */
  readonly adapterLines?: readonly string[];
  readonly baseArgv?: readonly string[];
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly summary: Summary;
  readonly receipt: Receipt;
}

export class World {
  readonly folder: string;
  readonly repo: string;
  readonly home: string;
  /** Occurs in every process of this world's workers. */
  readonly mark: string;

  constructor(options: { readonly sha256?: boolean } = {}) {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), 'ax-world-')));
    this.mark = `AXWORLD-${this.folder.slice(-6)}`;
    this.repo = join(this.folder, 'repo');
    this.home = join(this.folder, 'home');
    mkdirSync(this.home);
    mkdirSync(this.repo);
    this.git('init', '-q', '-b', 'main', ...(options.sha256 ? ['--object-format=sha256'] : []));
    this.write('src/a.txt', 'a\n');
    this.write('docs/d.txt', 'd\n');
    this.write('.gitignore', 'build/\n*.log\n');
  }

  git(...args: string[]): string {
    return execFileSync('git', ['-C', this.repo, ...args], {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        HOME: this.home,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'world',
        GIT_AUTHOR_EMAIL: 'world@example.invalid',
        GIT_COMMITTER_NAME: 'world',
        GIT_COMMITTER_EMAIL: 'world@example.invalid',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 2 ** 28,
    }).trimEnd();
  }

  write(path: string, text: string | Uint8Array): void {
    mkdirSync(dirname(join(this.repo, path)), { recursive: true });
    writeFileSync(join(this.repo, path), text);
  }

  commit(message = 'base'): string {
    this.git('add', '-A');
    this.git('commit', '-q', '--allow-empty', '-m', message);
    return this.git('rev-parse', 'HEAD');
  }

  /** An executable worker. `@D@` is the world's folder, `@R@` its repository, `@MARK@` its mark. */
  script(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(
      path,
      text.replaceAll('@D@', this.folder).replaceAll('@R@', this.repo).replaceAll('@MARK@', this.mark),
    );
    chmodSync(path, 0o755);
    return path;
  }

  /** Writes AGENT-EXECUTION.md with these candidates for the role `repair`, and commits everything. */
  configure(
    profiles: Readonly<Record<string, Profile>>,
    execution: readonly string[] = [],
    role: readonly string[] = [],
  ): string {
    const names = Object.keys(profiles);
    const blocks = Object.entries(profiles).map(([name, profile]) => {
      const executable =
        profile.script === undefined
          ? profile.executable
          : this.script(
              `worker-${name}`,
              profile.script.startsWith('#!') ? profile.script : `#!/bin/sh\n${profile.script}\n`,
            );
      return [
        `  ${name}:`,
        `    adapter: ${profile.adapter ?? name}`,
        ...(executable === undefined ? [] : [`    executable: ${executable}`]),
        ...(profile.lines ?? []).map((line) => `    ${line}`),
      ].join('\n');
    });
    const adapters = Object.entries(profiles)
      .filter(([, { adapter }]) => adapter === undefined)
      .map(([name, profile]) =>
        [
          `  ${name}:`,
          `    base_argv: [${(profile.baseArgv ?? []).join(', ')}]`,
          '    run_everything_argv: []',
          '    workspace_argv: []',
          `    model_argv: ${profile.lines?.some((line) => line.startsWith('model:')) ? '["{model}"]' : '[]'}`,
          `    prompt_transport: ${profile.transport ?? 'stdin'}`,
          `    output_format: ${profile.format ?? 'text'}`,
          ...(profile.adapterLines ?? []).map((line) => `    ${line}`),
        ].join('\n'),
      );
    const set = new Set(execution.map((line) => line.split(':')[0]));
    const defaults = [
      'fallback_to_host: all-unavailable',
      'timeout_seconds: 60',
      'summary_bytes: 4096',
      'raw_output_bytes: 1048576',
    ].filter((line) => !set.has(line.split(':')[0]));
    this.write(
      'AGENT-EXECUTION.md',
      `# Agent execution

\`\`\`agent-execution
schema: agent-execution/v1
execution:
  fresh_process_per_unit: true
  permission: run-everything
  max_parallel: 1
${[...defaults, ...execution].map((line) => `  ${line}`).join('\n')}
roles:
${role.length === 0 ? `  repair: [${names.join(', ')}]` : `  repair:\n    candidates: [${names.join(', ')}]\n${role.map((line) => `    ${line}`).join('\n')}`}
profiles:
${blocks.join('\n')}
custom_adapters:${adapters.length === 0 ? ' {}' : `\n${adapters.join('\n')}`}
\`\`\`
`,
    );
    return this.commit();
  }

  /** A packet file; `over` replaces its members. */
  packet(over: Readonly<Record<string, unknown>> = {}): string {
    const path = join(this.folder, `unit-${Math.random().toString(36).slice(2)}.json`);
    const unit = {
      unit_id: 'test-unit',
      goal: 'Append one line to src/a.txt.',
      allowed_paths: ['src/'],
      verification: [],
      constraints: [],
      network: 'allow',
      external_cost: 'subscription',
      timeout_seconds: 60,
      ...over,
    };
    writeFileSync(path, JSON.stringify(unit));
    return path;
  }

  /** A PATH on which everything the tests need is found but the named programs. */
  pathWithout(...missing: string[]): string {
    const folder = mkdtempSync(join(this.folder, 'bin-'));
    const taken = new Set(missing);
    for (const entry of (process.env.PATH ?? '').split(delimiter)) {
      if (!existsSync(entry)) continue;
      for (const name of readdirSync(entry)) {
        if (taken.has(name)) continue;
        taken.add(name);
        symlinkSync(join(entry, name), join(folder, name));
      }
    }
    return folder;
  }

  /** Starts the tool; `onStart` gets the child, for signals. */
  cli(
    args: readonly string[],
    options: {
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
      readonly stdin?: string;
      readonly onStart?: (child: import('node:child_process').ChildProcess) => void;
    } = {},
  ): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = spawn(process.execPath, [TOOL, ...args], {
      cwd: options.cwd ?? this.repo,
      env: { PATH: process.env.PATH, HOME: this.home, LANG: 'C.UTF-8', ...options.env },
      stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    if (options.stdin !== undefined) child.stdin?.end(options.stdin);
    options.onStart?.(child);
    return new Promise((resolve) => {
      child.on('close', (code) => resolve({ code, stdout, stderr }));
    });
  }

  /** A run of the role `repair` with a packet, answered as JSON. */
  async run(
    over: Readonly<Record<string, unknown>> = {},
    options: Parameters<World['cli']>[1] & { readonly args?: readonly string[] } = {},
  ): Promise<Finished> {
    const receiptPath = join(this.folder, `receipt-${Math.random().toString(36).slice(2)}.json`);
    const done = await this.cli(
      [
        'run',
        '--role',
        'repair',
        '--unit',
        this.packet(over),
        '--json',
        '--receipt',
        receiptPath,
        '--state-dir',
        join(this.folder, 'state'),
        ...(options.args ?? []),
      ],
      options,
    );
    if (!existsSync(receiptPath)) throw new Error(`no receipt: exit ${done.code}\n${done.stdout}\n${done.stderr}`);
    return {
      ...done,
      summary: summarySchema.parse(JSON.parse(done.stdout)) as Summary,
      receipt: receiptSchema.parse(JSON.parse(readFileSync(receiptPath, 'utf8'))),
    };
  }

  /** Everything of the canonical repository that a run must not change, as one comparable value. */
  canonical(): unknown {
    const read = (path: string): string | null =>
      existsSync(join(this.repo, path)) ? readFileSync(join(this.repo, path), 'latin1') : null;
    return {
      head: this.git('rev-parse', 'HEAD'),
      symbolic: read('.git/HEAD'),
      refs: this.git('for-each-ref', '--format=%(refname) %(objectname)')
        .split('\n')
        .filter((line) => !line.startsWith('refs/agent-exec')),
      config: read('.git/config'),
      index: this.git('ls-files', '-s', '-v'),
      indexBytes: read('.git/index'),
      hooks: readdirSync(join(this.repo, '.git/hooks')).sort(),
      worktrees: existsSync(join(this.repo, '.git/worktrees')) ? readdirSync(join(this.repo, '.git/worktrees')) : [],
      stash: read('.git/refs/stash'),
      status: this.git('status', '--porcelain=v2', '--untracked-files=all', '--ignored'),
      files: this.git('ls-files')
        .split('\n')
        .map((path) => [path, read(path)]),
    };
  }

  /** Command lines of live processes that carry this world's mark. */
  leftovers(): string[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
          if ('ZX'.includes(stat[stat.lastIndexOf(')') + 2] ?? '')) return [];
          const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
          return words.includes(this.mark) ? [words] : [];
        } catch {
          // It ended between the listing and the look.
          return [];
        }
      });
  }
}

export const code = (finished: Finished): string | undefined => finished.receipt.attempts.at(-1)?.code;
export const state = (finished: Finished): string | undefined => finished.receipt.attempts.at(-1)?.state;
