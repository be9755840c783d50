/**
 * Every code that a run can produce, produced by a real process or a real git state through the built tool. The last test
 * holds the table against model/codes.ts: a code without a row here fails it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ATTEMPT_CODES, type AttemptCode, CONSEQUENCES } from '../../src/model/codes.ts';
import { type Profile, World } from './world.ts';

const onLinux = process.platform === 'linux';

/** `cat` first: a worker reads its prompt. */
const sh = (text: string): string => `cat >/dev/null\n${text}`;
const work = 'echo more >> src/a.txt';

interface Row {
  readonly code: AttemptCode;
  readonly title: string;
  readonly profile: Profile;
  readonly execution?: readonly string[];
  readonly role?: readonly string[];
  readonly unit?: Readonly<Record<string, unknown>>;
  readonly args?: readonly string[];
  readonly env?: (world: World) => Readonly<Record<string, string>>;
  readonly before?: (world: World) => void;
}

/** What claude prints when its provider refuses. */
const claudeRefusal = (status: number | null, text: string): string =>
  sh(
    `printf '%s\\n' '${JSON.stringify({ type: 'system', subtype: 'init', model: 'claude-x', session_id: 's' })}' '${JSON.stringify({ type: 'result', subtype: 'success', is_error: true, api_error_status: status, result: text })}'; exit 1`,
  );
const refusedBy = (status: number | null, text: string): Profile => ({
  script: claudeRefusal(status, text),
  format: 'claude',
});

const ROWS: readonly Row[] = [
  { code: 'OK', title: 'a change in scope', profile: { script: sh(work) } },
  {
    code: 'CANONICAL_CHANGED',
    title: 'a write into the checkout under none',
    profile: { script: sh(`${work}; echo stray >> @R@/docs/d.txt`) },
    execution: ['isolation: none'],
  },
  {
    code: 'INVENTORY_FAILED',
    title: 'a file above the transport limit',
    profile: { script: sh('truncate -s 101M src/huge.bin') },
  },
  {
    code: 'CLEANUP_INEXACT',
    title: 'the quarantine ref is taken',
    profile: {
      script: sh(`${work}; git -C @R@ update-ref "refs/agent-exec/$AGENT_EXEC_ATTEMPT" HEAD`),
    },
    execution: ['isolation: none'],
  },
  { code: 'PATH_OUT_OF_SCOPE', title: 'a change elsewhere', profile: { script: sh('echo x >> docs/d.txt') } },
  {
    code: 'WORKER_COMMITTED',
    title: 'a commit',
    profile: { script: sh(`${work}; git -c user.name=w -c user.email=w@w commit -qam w`) },
  },
  { code: 'GIT_TAMPERED', title: 'a config change', profile: { script: sh(`${work}; git config core.pager evil`) } },
  {
    code: 'NESTED_REPOSITORY',
    title: 'git init inside',
    profile: { script: sh('git init -q src/inner; echo x > src/inner/f') },
  },
  { code: 'SYMLINK_ESCAPE', title: 'a link to /etc/passwd', profile: { script: sh('ln -s /etc/passwd src/link') } },
  { code: 'SPECIAL_FILE', title: 'a fifo', profile: { script: sh('mkfifo src/pipe') } },
  { code: 'SECRET_FILE', title: 'a private key', profile: { script: sh('echo key > src/id_rsa') } },
  { code: 'EXECUTABLE_MISSING', title: 'nothing there', profile: { executable: '/nonexistent/worker' } },
  {
    code: 'EXECUTABLE_INVALID',
    title: 'an empty executable',
    profile: { executable: '@empty@' },
    before: (w) => void w.script('empty', ''),
  },
  {
    code: 'INCOMPATIBLE',
    title: 'help lacks a flag',
    profile: { script: 'echo "usage: --other"', adapterLines: ['required_help: [--needed]'] },
  },
  { code: 'DISABLED', title: 'switched off', profile: { script: sh(work), lines: ['enabled: false'] } },
  {
    code: 'SPAWN_FAILED',
    title: 'a program whose loader does not exist',
    profile: { executable: '@unloadable@' },
    before: (w) => {
      const program = readFileSync('/bin/true', 'latin1')
        .replaceAll('/lib64/ld-linux', '/lib64/no-linux')
        .replaceAll('/lib/ld-linux', '/lib/no-linux');
      writeFileSync(w.script('unloadable', ''), Buffer.from(program, 'latin1'));
    },
  },
  {
    code: 'PROMPT_TOO_LARGE',
    title: '200 KB by argument',
    profile: { script: sh(work), transport: 'argument' },
    unit: { goal: 'x'.repeat(200_000) },
  },
  {
    code: 'UNRESOLVED_MODEL_SLUG',
    title: 'no model of that family',
    profile: {
      adapter: 'antigravity',
      script: `case "$*" in
  *--version*) echo 1.5.15;;
  *--help*) echo '--print --output-format --print-timeout --dangerously-skip-permissions --model --add-dir --disable-slash-commands --input-format';;
  *models*) echo '{"status":"SUCCESS","command":{"data":{"models":[{"id":"gemini-4-argon-high","label":"Gemini 4 Argon (High)"}]}}}';;
esac`,
      lines: ['model:', '  family: Gemini 9', '  effort: High'],
    },
  },
  {
    code: 'COST_NOT_AUTHORISED',
    title: 'a metered profile for a subscription unit',
    profile: { script: sh(work), lines: ['cost: metered'] },
  },
  { code: 'NETWORK_NOT_ENFORCEABLE', title: 'network: deny', profile: { script: sh(work) }, unit: { network: 'deny' } },
  {
    code: 'ISOLATION_UNAVAILABLE',
    title: 'guard without bwrap',
    profile: { script: sh(work) },
    execution: ['isolation: guard'],
    env: (w) => ({ PATH: w.pathWithout('bwrap') }),
  },
  {
    code: 'NO_CREDENTIALS',
    title: 'opencode that would use a free hosted model',
    profile: {
      adapter: 'opencode',
      script: 'case "$*" in *--version*) echo 1.18.33;; *) echo "--auto --format --model --dir" >&2;; esac',
    },
  },
  {
    code: 'RECURSION_DETECTED',
    title: 'inside a run of the same repository',
    profile: { script: sh(work) },
    env: (w) => ({ AGENT_EXEC_CHAIN: `20261130t171500123z-4f9c2a@${w.git('rev-parse', 'HEAD')}` }),
  },
  { code: 'AUTH_REQUIRED', title: 'not logged in', profile: refusedBy(null, 'Not logged in · Please run /login') },
  { code: 'AUTH_REJECTED', title: '401', profile: refusedBy(401, 'invalid x-api-key') },
  { code: 'RATE_LIMITED', title: '429', profile: refusedBy(429, 'rate limited') },
  { code: 'QUOTA_EXHAUSTED', title: 'credit', profile: refusedBy(400, 'Credit balance is too low') },
  { code: 'OVERLOADED', title: '529', profile: refusedBy(529, 'Overloaded') },
  { code: 'PROVIDER_ERROR', title: '500', profile: refusedBy(500, 'Internal server error') },
  {
    code: 'PROVIDER_UNREACHABLE',
    title: 'nobody listens',
    profile: refusedBy(null, 'API Error: Unable to connect to API (ConnectionRefused)'),
  },
  { code: 'MODEL_UNAVAILABLE', title: '404', profile: refusedBy(404, 'model: no-such-model') },
  { code: 'EXIT_NONZERO', title: 'exit 3', profile: { script: sh(`${work}; exit 3`) } },
  { code: 'SIGNALED', title: 'killed', profile: { script: sh(`${work}; kill -KILL $$`) } },
  {
    code: 'TIMEOUT',
    title: 'never ends',
    profile: { script: sh(`${work}; exec sleep 300`) },
    unit: { timeout_seconds: 1 },
  },
  {
    code: 'IDLE_TIMEOUT',
    title: 'says nothing',
    profile: { script: sh(`${work}; exec sleep 300`) },
    execution: ['idle_timeout_seconds: 1'],
  },
  {
    code: 'REPORTED_ERROR',
    title: 'an error event and exit 0',
    profile: {
      script: sh(
        `${work}; echo '${JSON.stringify({ type: 'result', subtype: 'error_during_execution', is_error: true, result: 'the tool crashed' })}'`,
      ),
      format: 'claude',
    },
  },
  {
    code: 'PROVIDER_REFUSED_MIDWAY',
    title: '429 after a change',
    profile: { script: claudeRefusal(429, 'rate limited').replace('exit 1', `${work}; exit 1`), format: 'claude' },
  },
  { code: 'EMPTY_DIFF', title: 'exit 0, nothing done', profile: { script: sh('echo done') } },
  {
    code: 'NO_RESULT',
    title: 'no result event',
    profile: { script: sh(`${work}; echo '{"type":"system"}'`), format: 'claude' },
  },
  {
    code: 'MODEL_MISMATCH',
    title: 'another model answers',
    profile: {
      script: sh(
        `${work}; printf '%s\\n' '${JSON.stringify({ type: 'system', subtype: 'init', model: 'haiku-3', session_id: 's' })}' '${JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'ok' })}'`,
      ),
      format: 'claude',
      lines: ['model: opus-5'],
    },
  },
  {
    code: 'UNPARSEABLE_OUTPUT',
    title: 'a result that is not JSON',
    profile: { script: sh(`${work}; echo '{"STATUS": READY}'`) },
    role: ['result: repair-result/v1'],
  },
  {
    code: 'INVALID_WORKER_RESULT',
    title: 'a result without material fields',
    profile: { script: sh(`${work}; echo '{"STATUS":"READY","ROOT_CAUSE":"CONFIRMED repaired"}'`) },
    role: ['result: repair-result/v1'],
  },
  {
    code: 'WORKER_BLOCKED',
    title: 'a valid result that says so',
    profile: {
      script: sh(
        `echo '{"STATUS":"BLOCKED","ROOT_CAUSE":"LIKELY a missing key","CHANGES":[],"VERIFICATION_EVIDENCE":[],"RESIDUAL_RISK":"all of it"}'`,
      ),
    },
    role: ['result: repair-result/v1'],
  },
  {
    code: 'SETUP_FAILED',
    title: 'a setup command fails',
    profile: { script: sh(work) },
    execution: ['setup:', '  - [sh, -c, exit 4]'].map((line) => line.replace('exit 4', '"exit 4"')),
  },
  {
    code: 'VERIFICATION_FAILED',
    title: 'a check fails on the commit',
    profile: { script: sh(work) },
    unit: { verification: [['grep', '-q', 'nowhere', 'src/a.txt']] },
    args: ['--verify'],
  },
];

/** Codes that no run of the commands that exist can end with, and why. */
const NOT_BY_A_RUN: Partial<Record<AttemptCode, string>> = {
  CONTROLLER_LOST: 'given by recover to a run whose controller is gone',
  PROVIDER_COOLDOWN: 'no cool-down is remembered between runs',
};

/** Produced by tests of their own in this folder, because they need more than one row. */
const ELSEWHERE: Partial<Record<AttemptCode, string>> = {
  CANCELLED: 'test/run/cancel.test.ts',
  PROCESS_SURVIVED: 'test/run/survivor.test.ts',
};

describe.skipIf(!onLinux)('codes', () => {
  test.concurrent.each(ROWS)('$code: $title', async (row) => {
    const world = new World();
    row.before?.(world);
    const executable = row.profile.executable?.replace(/^@(\w+)@$/, `${world.folder}/$1`);
    world.configure(
      { one: executable === undefined ? row.profile : { ...row.profile, executable } },
      row.execution,
      row.role,
    );
    const base = world.git('rev-parse', 'HEAD');
    const before = world.canonical();
    const done = await world.run(row.unit, { args: row.args ?? [], env: row.env?.(world) ?? {} });
    const attempt = done.receipt.attempts[0];
    expect(attempt?.code, JSON.stringify(attempt, null, 1)).toBe(row.code);
    expect(attempt?.state).toBe(CONSEQUENCES[row.code].state);
    expect(attempt?.message).not.toBe('');
    expect(done.code).toBe(done.receipt.exit_code);
    expect(done.summary.attempts).toEqual([{ attempt_id: '01-one', state: attempt?.state, code: row.code }]);
    if (row.code !== 'CANONICAL_CHANGED') expect(world.canonical()).toEqual(before);
    // Work survives whatever the verdict is.
    const kept = attempt?.transport ?? attempt?.quarantine;
    if (attempt !== undefined && attempt.change_count > 0 && kept != null) {
      expect(world.git('rev-parse', `${kept.commit}^1`)).toBe(base);
    } else if ((attempt?.change_count ?? 0) > 0) expect(attempt?.cleanup.retained_path).not.toBeNull();
    expect(attempt?.cleanup.retained_path === null).toBe(
      !['failed-unknown', 'scope-expansion'].includes(attempt?.state ?? ''),
    );
    expect(world.leftovers()).toEqual([]);
  });

  test('every code has a row', () => {
    const covered = new Set<string>([
      ...ROWS.map((row) => row.code),
      ...Object.keys(NOT_BY_A_RUN),
      ...Object.keys(ELSEWHERE),
    ]);
    expect(ATTEMPT_CODES.filter((one) => !covered.has(one))).toEqual([]);
    for (const [one, file] of Object.entries(ELSEWHERE)) {
      expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(one);
    }
  });
});
