/**
 * A world for one run: a temporary folder with a real repository, real worker scripts behind custom adapters, and the
 * built tool as its own process. Nothing is faked but the workers.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { type Receipt, receipt as receiptSchema } from '../../src/model/receipt.ts';
import { type Summary, summary as summarySchema } from '../../src/model/summary.ts';
import { type TelemetryEvent, telemetryEvent } from '../../src/model/telemetry.ts';

export const TOOL = new URL('../../dist/agent-exec.mjs', import.meta.url).pathname;

const worlds: string[] = [];
/** KEEP_WORLDS=1 leaves them, to look at what a failed test left. */
afterAll(() => {
  if (process.env.KEEP_WORLDS === undefined) for (const folder of worlds) rmSync(folder, { recursive: true });
});

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

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  /** Shell words before the tool takes over the process, such as `umask 0`. */
  readonly prelude?: string;
  /** Another build than the usual one. */
  readonly tool?: string;
  /** Gets the child, for signals. */
  readonly onStart?: (child: ChildProcess) => void;
}

export interface RunOptions extends CliOptions {
  readonly args?: readonly string[];
  /** Default: a new file in the world's folder. */
  readonly receipt?: string;
  /** Default: `state` in the world's folder; null: the tool's own. */
  readonly stateDir?: string | null;
  /** The packet's file, where it is not one of `packet()`. */
  readonly unit?: string;
}

/** What a commit's tree has at a path, by the path's bytes as latin1. */
export type Tree = Readonly<Record<string, { readonly mode: string; readonly oid: string }>>;

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly summary: Summary;
  readonly receipt: Receipt;
}

export class World {
  readonly folder: string;
  /** The worktree that commands start in; a test may move on to a clone. */
  repo: string;
  readonly home: string;
  /** Occurs in every process of this world's workers. */
  readonly mark: string;

  constructor(options: { readonly sha256?: boolean; readonly repoName?: string } = {}) {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), 'ax-world-')));
    worlds.push(this.folder);
    this.mark = `AXWORLD-${this.folder.slice(-6)}`;
    this.repo = join(this.folder, options.repoName ?? 'repo');
    this.home = join(this.folder, 'home');
    mkdirSync(this.home);
    mkdirSync(this.repo);
    this.git('init', '-q', '-b', 'main', ...(options.sha256 ? ['--object-format=sha256'] : []));
    this.write('src/a.txt', 'a\n');
    this.write('docs/d.txt', 'd\n');
    this.write('.gitignore', 'build/\n*.log\n');
  }

  git(...args: string[]): string {
    return this.gitBytes(...args)
      .toString('utf8')
      .trimEnd();
  }

  /** As `git`, with the output as it is; leaves the index alone unless the command is about it. */
  gitBytes(...args: string[]): Buffer {
    return execFileSync('git', ['-C', this.repo, ...args], {
      env: {
        PATH: process.env.PATH,
        HOME: this.home,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_OPTIONAL_LOCKS: '0',
        GIT_AUTHOR_NAME: 'world',
        GIT_AUTHOR_EMAIL: 'world@example.invalid',
        GIT_COMMITTER_NAME: 'world',
        GIT_COMMITTER_EMAIL: 'world@example.invalid',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 2 ** 28,
    });
  }

  /** All of a commit's tree. */
  tree(commit: string): Tree {
    const records = this.gitBytes('ls-tree', '-r', '-z', '--full-tree', commit).toString('latin1').split('\0');
    return Object.fromEntries(
      records.filter(Boolean).map((record) => {
        const [, mode = '', oid = '', path = ''] = /^(\d+) \w+ (\w+)\t(.*)$/s.exec(record) ?? [];
        return [path, { mode, oid }];
      }),
    );
  }

  /** `name email` of a commit's author and committer. */
  people(commit: string): string {
    return this.git('show', '-s', '--format=%an %ae / %cn %ce', commit);
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
      'max_parallel: 1',
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

  /** Starts the tool and waits for its end. */
  cli(
    args: readonly string[],
    options: CliOptions = {},
  ): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const command = [process.execPath, options.tool ?? TOOL, ...args];
    const [file = '', ...rest] =
      options.prelude === undefined ? command : ['/bin/sh', '-c', `${options.prelude}; exec "$@"`, 'sh', ...command];
    const child = spawn(file, rest, {
      cwd: options.cwd ?? this.repo,
      env: { PATH: process.env.PATH, HOME: this.home, LANG: 'C.UTF-8', ...options.env },
      stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout?.on('data', (chunk) => stdout.push(chunk));
    child.stderr?.on('data', (chunk) => stderr.push(chunk));
    if (options.stdin !== undefined) child.stdin?.end(options.stdin);
    options.onStart?.(child);
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) =>
        resolve({ code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }),
      );
    });
  }

  /** A run of the role `repair` with a packet, answered as JSON. */
  async run(over: Readonly<Record<string, unknown>> = {}, options: RunOptions = {}): Promise<Finished> {
    const receiptPath = options.receipt ?? join(this.folder, `receipt-${Math.random().toString(36).slice(2)}.json`);
    const { stateDir = this.state } = options;
    const done = await this.cli(
      [
        ...['run', '--role', 'repair', '--json'],
        ...['--unit', options.unit ?? this.packet(over)],
        ...['--receipt', receiptPath],
        ...(stateDir === null ? [] : ['--state-dir', stateDir]),
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

  get state(): string {
    return join(this.folder, 'state');
  }

  /** Every entry below the state root of one run, without the folders that hold others, in order. */
  stateOf(runId: string, root = this.state): string[] {
    return leavesOf(join(root, runId)).sort();
  }

  /** The lines of the default telemetry file, or of another. */
  telemetry(path = join(this.repo, '.git', 'agent-exec', 'calls.jsonl')): TelemetryEvent[] {
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.slice(0, -1).map((line) => telemetryEvent.parse(JSON.parse(line)));
  }

  /**
   * Everything of the canonical repository that a run must not change, to the byte: worktree and git directory, without
   * objects and what is agent-exec's own. `folders` are those of a repository that has several.
   */
  canonical(...folders: readonly string[]): unknown {
    const roots = folders.length === 0 ? [this.repo] : folders;
    return Object.fromEntries(roots.flatMap((root) => [...photograph(Buffer.from(root))]));
  }

  /** Command lines of live processes that carry this world's mark, and of its workers. */
  leftovers(): string[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
          if ('ZX'.includes(stat[stat.lastIndexOf(')') + 2] ?? '')) return [];
          const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
          return words.includes(this.mark) || words.includes(`${this.folder}/worker-`) ? [words] : [];
        } catch {
          // It ended between the listing and the look.
          return [];
        }
      });
  }
}

/** What a run may add to a git directory. */
const OWN = /\/\.git\/(?:objects|agent-exec|refs\/agent-exec|refs\/agent-exec-quarantine)$/;

/** Path, by its bytes as latin1 -> what is there. Never runs git: a look must not refresh an index or start a filter. */
function* photograph(path: Buffer): Generator<[string, string]> {
  const shown = path.toString('latin1');
  if (OWN.test(shown)) return;
  const entry = lstatSync(path, { bigint: true });
  const facts = `${entry.mode.toString(8)} ${entry.uid}`;
  if (entry.isSymbolicLink()) yield [shown, `${facts} -> ${readlinkSync(path, 'latin1')}`];
  else if (entry.isFile()) {
    const digest = createHash('sha256').update(readFileSync(path)).digest('hex');
    yield [shown, `${facts} ${entry.size} ${digest} ${entry.mtimeNs}`];
  } else yield [shown, facts];
  if (!entry.isDirectory()) return;
  for (const name of readdirSync(path, { encoding: 'buffer' })) {
    yield* photograph(Buffer.concat([path, Buffer.from('/'), name]));
  }
}

/** Everything below a folder that holds nothing itself, relative to it. */
function leavesOf(folder: string, prefix = ''): string[] {
  const names = readdirSync(folder, { withFileTypes: true });
  return names.flatMap((entry) => {
    const path = `${prefix}${entry.name}`;
    const below = entry.isDirectory() ? leavesOf(join(folder, entry.name), `${path}/`) : [];
    return below.length === 0 ? [path] : below;
  });
}
