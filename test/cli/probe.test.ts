import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { probeCommand } from '../../src/cli/probe.ts';
import { probeReport } from '../../src/model/probe.ts';
import { collecting } from './collected.ts';

const CONFIG = `# How work is handed out

\`\`\`agent-execution
schema: agent-execution/v1
execution:
  fresh_process_per_unit: true
  permission: run-everything
  fallback_to_host: never
  max_parallel: 1
  timeout_seconds: 60
  summary_bytes: 4096
  raw_output_bytes: 65536
roles:
  repair: [good, missing, stale, asleep, plain]
profiles:
  good:
    adapter: claude
    executable: my-claude
  missing:
    adapter: codex
    executable: no-such-codex
  stale:
    adapter: claude
    executable: old-claude
  asleep:
    adapter: pi
    enabled: false
  plain:
    adapter: scripted
    executable: scripted
custom_adapters:
  scripted:
    base_argv: []
    run_everything_argv: []
    workspace_argv: []
    model_argv: []
    prompt_transport: stdin
    output_format: text
    required_help: ['--flag']
\`\`\`
`;

let root: string;
let repo: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ax-cli-probe-'));
  repo = join(root, 'repo');
  mkdirSync(join(root, 'bin'));
  execFileSync('git', ['init', '-q', repo]);
  writeFileSync(join(repo, 'AGENT-EXECUTION.md'), CONFIG);
  const help = '--print --dangerously-skip-permissions --output-format --model --verbose --no-session-persistence';
  const claude = (flags: string) => `[ "$1" = --version ] && echo '2.1.332 (Claude Code)' || echo '${flags}'`;
  tool('my-claude', claude(help));
  tool('old-claude', claude('--print --model'));
  tool('scripted', 'echo "usage: --flag"');
});

function tool(name: string, body: string): void {
  writeFileSync(join(root, 'bin', name), `#!/bin/sh\necho x >> ${root}/log\n${body}\n`);
  chmodSync(join(root, 'bin', name), 0o755);
}
const starts = (): number => (existsSync(join(root, 'log')) ? readFileSync(join(root, 'log'), 'utf8').length / 2 : 0);
const commit = (): void => {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org'];
  execFileSync('git', ['-C', repo, 'add', '-A']);
  execFileSync('git', ['-C', repo, ...identity, 'commit', '-qm', 'first']);
};

async function probe(args: string[], env: Record<string, string> = {}, cwd = repo) {
  const { io, said } = collecting({
    cwd,
    env: { PATH: `${root}/bin:${process.env.PATH}`, HOME: root, AGENT_EXEC_STATE_DIR: join(root, 'state'), ...env },
  });
  await probeCommand(io).exitOverride().parseAsync(args, { from: 'user' });
  return said;
}

describe('probe', () => {
  test('tells each profile, in the order of the configuration, with code, reason and cure', async () => {
    const { out, code } = await probe([]);
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^PROFILE +AVAILABLE +VERSION +EXECUTABLE$/),
      expect.stringMatching(/^good +yes +2\.1\.332.* .*\/bin\/my-claude$/),
      expect.stringMatching(/^missing +no +- +-$/),
      expect.stringMatching(/^ +EXECUTABLE_MISSING: no-such-codex was not found.*Install/),
      expect.stringMatching(/^stale +no +2\.1\.332.* .*\/bin\/old-claude$/),
      expect.stringMatching(/^ +INCOMPATIBLE: .*--dangerously-skip-permissions, --output-format/),
      expect.stringMatching(/^asleep +no/),
      expect.stringMatching(/^ +DISABLED: /),
      expect.stringMatching(/^plain +yes +- .*\/bin\/scripted$/),
      '',
    ]);
    expect(readdirSync(join(root, 'state'))).toEqual(['probe-cache.json']);
  });

  test('answers programs with one object, for the profiles that were named, each once', async () => {
    const { out } = await probe(['stale', 'good', 'stale', '--json']);
    const answer = probeReport.parse(JSON.parse(out));
    expect(answer).toMatchObject({ schema: 'agent-exec-probe/v1', notes: [], errors: [] });
    expect(answer.profiles).toEqual([
      {
        profile: 'stale',
        adapter: 'claude',
        available: false,
        code: 'INCOMPATIBLE',
        message: expect.stringContaining('--dangerously-skip-permissions'),
        executable: join(root, 'bin/old-claude'),
        version: expect.stringContaining('2.1.332'),
      },
      {
        profile: 'good',
        adapter: 'claude',
        available: true,
        code: null,
        message: null,
        executable: join(root, 'bin/my-claude'),
        version: expect.stringContaining('2.1.332'),
      },
    ]);
  });

  test('starts nothing a second time', async () => {
    await probe(['good', 'plain']);
    const before = starts();
    expect(before).toBe(3);
    await probe(['good', 'plain']);
    expect(starts()).toBe(before);
  });

  test('refuses an unknown profile as a usage error, with the one that was meant', async () => {
    expect(await probe(['god'])).toMatchObject({
      code: 2,
      out: '',
      note: expect.stringMatching(/no profile "god"\. Did you mean good\?/),
    });
    expect(await probe(['__proto__'])).toMatchObject({ code: 2 });
    expect(starts()).toBe(0);
  });

  test('ends with 3 where the configuration is invalid, missing, or in no repository', async () => {
    expect(await probe([], {}, root)).toMatchObject({ code: 3, note: expect.stringMatching(/NOT_A_REPOSITORY/) });
    expect(await probe(['--repo', join(root, 'nowhere')])).toMatchObject({
      code: 3,
      note: expect.stringMatching(/REPOSITORY_MISSING/),
    });
    writeFileSync(join(repo, 'AGENT-EXECUTION.md'), CONFIG.replace('adapter: pi', 'adapter: pie'));
    const invalid = await probe(['--json']);
    expect(invalid.code).toBe(3);
    expect(JSON.parse(invalid.out)).toMatchObject({
      profiles: [],
      errors: [{ file: 'AGENT-EXECUTION.md', line: expect.any(Number) }],
    });
    writeFileSync(join(repo, 'AGENT-EXECUTION.md'), '');
    expect(await probe([])).toMatchObject({ code: 3, out: '' });
    expect(starts()).toBe(0);
    expect(existsSync(join(root, 'state'))).toBe(false);
  });

  test('reads another configuration by name, also outside of a repository', async () => {
    writeFileSync(join(root, 'other.md'), CONFIG);
    expect(await probe(['--config', 'other.md', 'good'], {}, root)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/good +yes/),
    });
  });

  test('says when the repository uses LFS', async () => {
    writeFileSync(join(repo, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n');
    commit();
    expect((await probe(['asleep'])).out).toMatch(/^note: This repository uses Git LFS/m);
    expect(JSON.parse((await probe(['asleep', '--json'])).out).notes).toEqual([expect.stringMatching(/Git LFS/)]);
  });

  test('works where a run would refuse its state folder, and says so', async () => {
    mkdirSync(join(root, 'open'), { mode: 0o755 });
    const { code, out } = await probe(['good', '--state-dir', join(root, 'open')]);
    expect(code).toBe(0);
    expect(out).toMatch(/good +yes/);
    expect(out).toMatch(/^note: A run would be refused: .*chmod 700/m);
    expect(readdirSync(join(root, 'open'))).toEqual([]);
  });

  test("shows a program's own words without what a terminal would obey", async () => {
    tool('my-claude', `printf 'evil \\033]0;title\\007 \\342\\200\\256 words\\n'; exit 1`);
    const { out } = await probe(['good']);
    expect(out).toMatch(/INCOMPATIBLE/);
    expect(out).not.toMatch(/[^\n -~…·’–]/);
  });

  test('a signal ends it with its exit code, and what it had started', async () => {
    tool('my-claude', `echo $$ > ${root}/pid; exec sleep 300`);
    const running = probe(['good']);
    await expect
      .poll(() => (existsSync(join(root, 'pid')) ? readFileSync(join(root, 'pid'), 'utf8').trim() : ''))
      .toMatch(/^\d+$/);
    process.emit('SIGTERM', 'SIGTERM');
    expect(await running).toMatchObject({ code: 143, out: '' });
    const pid = Number(readFileSync(join(root, 'pid'), 'utf8'));
    const state = () =>
      existsSync(`/proc/${pid}/stat`) ? (/\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? '') : 'gone';
    await expect.poll(state).toMatch(/^(gone|Z|X)$/);
    expect(readdirSync(join(root, 'state'))).toEqual([]);
    expect(process.listenerCount('SIGHUP')).toBe(0);
  });
});
