/**
 * The whole way of a hard repair: a milestone of a ledger, a role with instructions and a result contract, a model by its
 * family, a scripted `agy`, and a caller that reads nothing but an exit code and `--print result`. Whatever happens in it,
 * the repository, the ledger and the instructions stay as they are, and no process is left.
 */
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ATTEMPT_CODES, type AttemptCode, CONSEQUENCES } from '../../src/model/codes.ts';
import { type AttemptRecord, type Receipt, receipt as receiptSchema } from '../../src/model/receipt.ts';
import { summary as summarySchema } from '../../src/model/summary.ts';
import { given, type Scenario, type Step, standIn } from './standin.ts';
import { type CliOptions, TOOL, World } from './world.ts';

const onLinux = process.platform === 'linux';
const FAMILY = ['model:', '  family: Gemini 4 Argon', '  effort: High'];
const READY = {
  STATUS: 'READY',
  ROOT_CAUSE: 'CONFIRMED: src/a.txt lacked a line',
  CHANGES: ['src/a.txt: one line more'],
  VERIFICATION_EVIDENCE: ['grep -c more src/a.txt is 1'],
  ROLLBACK: 'git revert',
  RESIDUAL_RISK: 'none known',
};
const BLOCKED = {
  STATUS: 'BLOCKED',
  ROOT_CAUSE: 'LIKELY: the fix belongs outside of src/',
  CHANGES: [],
  VERIFICATION_EVIDENCE: [],
  RESIDUAL_RISK: 'the failure stays',
};
const WORK: Step = ['write', 'src/a.txt', 'more\n'];
const result = (over: object): Step => [
  'out',
  { event: 'result', result: { status: 'SUCCESS', response: 'Done.', ...over } },
];
const says = (response: string): Step => result({ response });
const delta = (text_delta: string): Step => [
  'out',
  { event: 'step_update', step_update: { state: 'RUNNING', text_delta } },
];
const fails = (error: string): readonly Step[] => [result({ status: 'ERROR', response: '', error }), ['exit', 3]];
const ready = says(JSON.stringify(READY));
const LIMIT = 'RESOURCE_EXHAUSTED (code 429): Individual quota reached. Resets in 2h39m52s.';

interface Setting {
  readonly scenario?: Scenario;
  readonly lines?: readonly string[];
  readonly execution?: readonly string[];
  readonly unit?: object;
  readonly args?: readonly string[];
  readonly options?: (world: World) => CliOptions;
  /** Says what is different about the world, before the run. */
  readonly prepare?: (world: World) => void;
  /** Instead of `--print result`. */
  readonly json?: boolean;
}

interface Flow {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly receipt: Receipt;
  readonly attempt: AttemptRecord;
  readonly world: World;
}

async function flow(setting: Setting, world = new World()): Promise<Flow> {
  const path = standIn(world, 'agy', setting.scenario);
  world.write('agents/repair.md', '---\nname: repair\n---\nMend the root cause, not the symptom.\n');
  world.configure({ agy: { adapter: 'antigravity', lines: setting.lines ?? FAMILY } }, setting.execution, [
    'instructions: agents/repair.md',
    'result: repair-result/v1',
  ]);
  setting.prepare?.(world);
  const unit = JSON.parse(readFileSync(world.packet({ unit_id: 'm3-unit', ...setting.unit }), 'utf8'));
  const ledger = join(world.folder, 'ledger.json');
  writeFileSync(ledger, JSON.stringify({ milestones: { m3: { unit } } }));
  const photograph = () => {
    const { ino, mtimeNs, ctimeNs } = lstatSync(ledger, { bigint: true });
    return [ino, mtimeNs, ctimeNs, readFileSync(ledger, 'utf8'), world.canonical()];
  };
  const before = photograph();
  const receiptPath = join(world.folder, 'receipt.json');
  const options = setting.options?.(world);
  const done = await world.cli(
    [
      ...['run', '--role', 'repair', '--milestone', 'm3', '--blocker', 'npm test fails'],
      ...(setting.json === true ? ['--json'] : ['--print', 'result']),
      ...['--receipt', receiptPath, '--state-dir', world.state, ...(setting.args ?? [])],
    ],
    { ...options, env: { ...path, AGENT_EXEC_LEDGER: ledger, ...options?.env } },
  );
  if (!existsSync(receiptPath)) throw new Error(`no receipt: exit ${done.code}\n${done.stdout}\n${done.stderr}`);
  const receipt = receiptSchema.parse(JSON.parse(readFileSync(receiptPath, 'utf8')));
  const [attempt] = receipt.attempts;
  if (attempt === undefined) throw new Error('no attempt');
  expect(world.leftovers()).toEqual([]);
  if (attempt.code !== 'CANONICAL_CHANGED') expect(photograph()).toEqual(before);
  expect(done.code).toBe(receipt.exit_code);
  return { ...done, receipt, attempt, world };
}

/** What `--print result` says where it prints no result. */
const lastWords = ({ stdout, stderr }: Flow) => {
  expect(stdout).toBe('');
  return summarySchema.parse(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? ''));
};

describe.skipIf(!onLinux)('a hard repair by agy', () => {
  test('READY: only the result on stdout, exit 0, the commit in the receipt', async () => {
    const done = await flow({ scenario: { play: [WORK, ready] } });
    expect(done.code).toBe(0);
    expect(done.stdout).toBe(`${JSON.stringify(READY)}\n`);
    const { attempt, world } = done;
    expect(attempt).toMatchObject({
      ...{ state: 'success', code: 'OK', worker_result: READY, findings: [] },
      model: { requested: 'Gemini 4 Argon (High)', resolved: 'gemini-4-argon-high', reported: 'Gemini 4 Argon (High)' },
    });
    expect(world.git('show', `${attempt.transport?.ref}:src/a.txt`)).toBe('a\nmore');
    const [list, start, ...more] = given(world, '.gemini');
    expect([list?.kind, start?.kind, more]).toEqual(['models', 'prompt', []]);
    const prompt = readFileSync(
      join(world.state, done.receipt.run_id, 'attempts', attempt.attempt_id, 'prompt.md'),
      'utf8',
    );
    expect(start?.argv).toEqual([
      ...['--model', 'gemini-4-argon-high', '--output-format', 'stream-json', '--print-timeout', '30s'],
      ...['--dangerously-skip-permissions', '--disable-slash-commands', '--add-dir', start?.cwd, `-p=${prompt}`],
    ]);
    for (const words of ['Mend the root cause', 'npm test fails', '"ROLLBACK": how to undo'])
      expect(prompt).toContain(words);
    expect(prompt).not.toContain('name: repair');
  });

  test('BLOCKED: only the result on stdout, exit 6, no other candidate', async () => {
    const done = await flow({
      scenario: { play: [says(`I could not.\n\`\`\`json\n${JSON.stringify(BLOCKED, null, 2)}\n\`\`\``)] },
    });
    expect(done.code).toBe(6);
    expect(JSON.parse(done.stdout)).toEqual(BLOCKED);
    expect(done.receipt).toMatchObject({ outcome: 'blocked', reason: { code: 'WORKER_BLOCKED' } });
    expect(done.attempt).toMatchObject({ state: 'failed-clean', code: 'WORKER_BLOCKED', worker_result: BLOCKED });
  });

  const half = JSON.stringify(READY).length / 2;
  test.concurrent.each<[string, readonly Step[]]>([
    ['bare in the result event', [WORK, ready]],
    ['fenced', [WORK, says(`Done.\n\n\`\`\`json\n${JSON.stringify(READY, null, 2)}\n\`\`\`\n`)]],
    ['in prose with braces', [WORK, says(`f() { return 1; } is mended: ${JSON.stringify(READY)} Thanks {all}!`)]],
    [
      'in its text deltas alone',
      [
        delta(JSON.stringify(READY).slice(0, half)),
        WORK,
        delta(JSON.stringify(READY).slice(half)),
        result({ response: '' }),
      ],
    ],
    ['in the result event, whatever the deltas said', [delta(JSON.stringify(BLOCKED)), WORK, ready]],
    ['behind another one', [WORK, says(`${JSON.stringify(BLOCKED)}\nNo, it went well:\n${JSON.stringify(READY)}`)]],
    [
      'between junk',
      [
        ['out', '{"event":"res'],
        ['out', 'Fetching…'],
        ['err', 'a tool says: error: nothing'],
        WORK,
        ['out', JSON.stringify(BLOCKED)],
        ready,
        ['out', '{"event":"future"}'],
      ],
    ],
  ])('the result is found %s', async (_, play) => {
    const { code, stdout } = await flow({ scenario: { play } });
    expect([code, stdout]).toEqual([0, `${JSON.stringify(READY)}\n`]);
  });

  test('what the result claims is held against what changed', async () => {
    const { attempt } = await flow({
      scenario: {
        play: [
          WORK,
          ['write', 'src/b.txt', 'b\n'],
          says(JSON.stringify({ ...READY, CHANGES: ['src/a.txt', 'src/gone.txt: removed'] })),
        ],
      },
    });
    expect(attempt.code).toBe('OK');
    expect(attempt.findings.map(({ code, paths }) => [code, paths])).toEqual([
      ['CHANGE_NOT_CLAIMED', ['src/b.txt']],
      ['CLAIM_NOT_CHANGED', []],
    ]);
  });

  test('a result over summary_bytes is not cut: stderr says where it is, and stdout stays empty', async () => {
    const long = { ...READY, RESIDUAL_RISK: 'x'.repeat(2000) };
    const setting = { scenario: { play: [WORK, says(JSON.stringify(long))] }, execution: ['summary_bytes: 1024'] };
    const done = await flow(setting);
    expect(done.code).toBe(0);
    const told = lastWords(done);
    expect(told).toMatchObject({ outcome: 'success', reason: { code: 'RESULT_TOO_LARGE' } });
    expect(told.reason?.message).toMatch(/has 2\d\d\d bytes, more than summary_bytes \(1024\)/);
    expect(done.stderr.trimEnd().split('\n').at(-1)?.length).toBeLessThan(1024);
    expect(JSON.parse(readFileSync(told.receipt ?? '', 'utf8')).attempts[0].worker_result).toEqual(long);
  });

  test('a secret in a result is not printed', async () => {
    const secret = 'a-value-that-nobody-may-see';
    const { stdout } = await flow({
      scenario: { play: [WORK, says(JSON.stringify({ ...READY, ROLLBACK: `unset ${secret}\u001b[2J` }))] },
      options: () => ({ env: { GEMINI_API_KEY: secret } }),
    });
    expect(JSON.parse(stdout).STATUS).toBe('READY');
    expect(stdout).not.toContain(secret);
    expect(stdout).not.toContain('\u001b');
  });

  test('--print result is refused for a role that asks for none, before anything starts', async () => {
    const world = new World();
    world.configure({ agy: { adapter: 'antigravity' } });
    const args = ['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state, '--print', 'result'];
    const done = await world.cli(args, { env: standIn(world, 'agy') });
    expect([done.code, done.stdout]).toEqual([2, '']);
    expect(done.stderr).toContain('the role repair asks its workers for no result');
    expect(given(world, '.gemini')).toEqual([]);
  });
});

interface Row {
  readonly code: AttemptCode;
  readonly title: string;
  readonly setting: Setting;
  /** Of the run; default: what the code's state leads to with one candidate. */
  readonly exit?: number;
  readonly more?: object;
}
const row = (code: AttemptCode, title: string, setting: Setting, more: object = {}, exit?: number): Row => ({
  code,
  title,
  setting,
  more,
  ...(exit === undefined ? {} : { exit }),
});
const plays = (...play: readonly Step[]): Setting => ({ scenario: { play } });
const KEPT = { quarantine: { ref: expect.any(String) }, change_count: 1 };
const KEEPS_WRITING: readonly Step[] = [delta('Working'), WORK, ['block']];

const ROWS: readonly Row[] = [
  row(
    'INVALID_WORKER_RESULT',
    'READY with no material fields',
    plays(WORK, says('{"STATUS":"READY","ROOT_CAUSE":"CONFIRMED repaired"}')),
    { ...KEPT, worker_result: null, message: expect.stringContaining('VERIFICATION_EVIDENCE') },
  ),
  row(
    'INVALID_WORKER_RESULT',
    'READY without a rollback',
    plays(WORK, says(JSON.stringify({ ...READY, ROLLBACK: undefined }))),
    KEPT,
  ),
  row(
    'INVALID_WORKER_RESULT',
    'BLOCKED without a risk',
    plays(says(JSON.stringify({ ...BLOCKED, RESIDUAL_RISK: '' }))),
  ),
  row('UNPARSEABLE_OUTPUT', 'a result cut off', plays(WORK, says(JSON.stringify(READY).slice(0, -9))), KEPT),
  row('NO_RESULT', 'prose alone', plays(WORK, says('STATUS: READY')), KEPT),
  row('NO_RESULT', 'no result event', plays(WORK, delta(JSON.stringify(READY)), ['exit', 0]), KEPT),
  row('EMPTY_DIFF', 'READY, and nothing changed', plays(ready), { worker_result: READY }),
  row(
    'WORKER_BLOCKED',
    'BLOCKED with work begun',
    plays(WORK, says(JSON.stringify({ ...BLOCKED, CHANGES: ['src/a.txt: half'], ROLLBACK: 'none' }))),
    KEPT,
  ),
  row(
    'MODEL_MISMATCH',
    'another model answers',
    { lines: ['model: gemini-9-nova-low'], scenario: { unknownModel: 'fallback', play: [WORK, ready] } },
    KEPT,
  ),
  row('EXIT_NONZERO', 'a valid result, and exit 2', plays(WORK, ready, ['exit', 2]), { ...KEPT, worker_result: READY }),
  row('SIGNALED', 'killed in the midst', plays(WORK, ['signal', 'SIGKILL'], ['block']), KEPT),
  row(
    'REPORTED_ERROR',
    'an error of its own',
    plays(WORK, result({ status: 'ERROR', response: '', error: 'tool call failed' })),
    KEPT,
  ),
  row(
    'REPORTED_ERROR',
    'its own limit fires first, and the message says so',
    { scenario: { secondMs: 50, play: KEEPS_WRITING } },
    { ...KEPT, termination: { kind: 'exited', code: 0 }, message: expect.stringContaining('print timeout after 30s') },
  ),
  row(
    'TIMEOUT',
    "the attempt's limit catches what its own misses, and the message says so",
    { scenario: { play: KEEPS_WRITING }, unit: { timeout_seconds: 2 } },
    {
      ...KEPT,
      termination: { kind: 'stopped', by: 'total-timeout' },
      message: expect.stringContaining("the attempt's timeout"),
    },
  ),
  row(
    'IDLE_TIMEOUT',
    'it says nothing any more',
    { scenario: { play: KEEPS_WRITING }, execution: ['idle_timeout_seconds: 1'] },
    KEPT,
  ),
  row('PROVIDER_REFUSED_MIDWAY', '429 after a change', plays(WORK, ...fails(LIMIT)), {
    ...KEPT,
    refusal: { code: 'RATE_LIMITED', retry_after_seconds: 9592 },
  }),
  row('RATE_LIMITED', '429', plays(...fails(LIMIT)), { refusal: { retry_after_seconds: 9592 } }),
  row('RATE_LIMITED', '429 with exit 0', plays(result({ status: 'ERROR', response: '', error: LIMIT }))),
  row('QUOTA_EXHAUSTED', 'no credits', plays(...fails('AI credits balance is too low'))),
  row(
    'OVERLOADED',
    'no capacity',
    plays(['err', 'error: No capacity available for model gemini-4-argon-high'], ['exit', 3]),
  ),
  row('PROVIDER_ERROR', '503', plays(...fails('UNAVAILABLE (code 503): The service is currently unavailable.'))),
  row('AUTH_REJECTED', '401', plays(...fails('UNAUTHENTICATED (code 401): bad token'))),
  row('AUTH_REQUIRED', 'a login that it waits for', {
    scenario: { before: [['err', 'Authentication required. Please visit the URL to log in:'], ['block']] },
  }),
  row('MODEL_UNAVAILABLE', 'a model it does not know', { lines: ['model: gemini-9-nova-low'] }),
  row('UNRESOLVED_MODEL_SLUG', 'no model of the family', { lines: ['model:', '  family: Gemini 9', '  effort: High'] }),
  row('UNRESOLVED_MODEL_SLUG', 'two of them', {
    scenario: { models: { list: ['a', 'b'].map((id) => ({ id, label: 'Gemini 4 Argon (High)' })) } },
  }),
  row('UNRESOLVED_MODEL_SLUG', 'no list', { scenario: { models: { form: 'none' } } }),
  row('INCOMPATIBLE', 'an old version', { scenario: { version: '1.2.9' } }),
  row('EXECUTABLE_MISSING', 'no agy', { lines: [...FAMILY, 'executable: agy-of-tomorrow'] }),
  row('EXECUTABLE_INVALID', 'a folder as agy', { lines: [...FAMILY, 'executable: /usr/bin'] }),
  row('DISABLED', 'switched off', { lines: [...FAMILY, 'enabled: false'] }),
  row('COST_NOT_AUTHORISED', 'a dear profile', { lines: [...FAMILY, 'cost: metered'] }),
  row('NETWORK_NOT_ENFORCEABLE', 'no network, under guard', {
    unit: { network: 'deny' },
    execution: ['isolation: guard'],
  }),
  row('ISOLATION_UNAVAILABLE', 'strict without bwrap', {
    execution: ['isolation: strict'],
    options: (world) => ({ env: { PATH: `${join(world.folder, `bin-${world.mark}`)}:${world.pathWithout('bwrap')}` } }),
  }),
  row(
    'RECURSION_DETECTED',
    'inside its own run',
    {
      options: (world) => ({
        env: { AGENT_EXEC_CHAIN: `20261130t171500123z-4f9c2a@${world.git('rev-parse', 'HEAD')}` },
      }),
    },
    {},
    4,
  ),
  row('PATH_OUT_OF_SCOPE', 'a file elsewhere', plays(WORK, ['write', 'docs/d.txt', 'x'], ready)),
  row('SECRET_FILE', 'a key', plays(WORK, ['write', 'src/.env', 'x'], ready)),
  row(
    'WORKER_COMMITTED',
    'a commit',
    plays(['run', 'echo more >> src/a.txt; git -c user.name=x -c user.email=x@example.invalid commit -qam x'], ready),
  ),
  row(
    'GIT_TAMPERED',
    'a hook',
    plays(
      WORK,
      ['run', 'd=$(git rev-parse --git-common-dir); mkdir -p "$d/hooks"; echo exit >> "$d/hooks/post-commit"'],
      ready,
    ),
  ),
  row('NESTED_REPOSITORY', 'a repository', plays(WORK, ['run', 'git init -q src/inner'], ready)),
  row('SYMLINK_ESCAPE', 'a link that leads out', plays(WORK, ['run', 'ln -s /etc/passwd src/link'], ready)),
  row('SPECIAL_FILE', 'a fifo', plays(WORK, ['run', 'mkfifo src/pipe'], ready)),
  row('CANONICAL_CHANGED', 'the checkout written, without isolation', {
    execution: ['isolation: none'],
    prepare: (world) => standInAgain(world, [WORK, ['write', join(world.repo, 'docs/d.txt'), 'x'], ready]),
  }),
  row('SETUP_FAILED', 'a setup command fails', { ...plays(WORK, ready), execution: ['setup:', '  - ["false"]'] }),
  row(
    'VERIFICATION_FAILED',
    'READY, and the check fails',
    { ...plays(WORK, ready), unit: { verification: [['grep', '-q', 'nowhere', 'src/a.txt']] }, args: ['--verify'] },
    { worker_result: READY, quarantine: { ref: expect.any(String) } },
  ),
];

function standInAgain(world: World, play: readonly Step[]): void {
  writeFileSync(join(world.folder, `bin-${world.mark}`, 'agy.json'), JSON.stringify({ play }));
}

/** Codes that this flow does not meet in a row, and why or where. */
const ELSEWHERE: Partial<Record<AttemptCode, string>> = {
  OK: 'above',
  CANCELLED: 'below',
  PROCESS_SURVIVED: 'test/run/survivor.test.ts',
  INVENTORY_FAILED: 'test/run/codes.test.ts',
  CLEANUP_INEXACT: 'test/run/codes.test.ts',
  CONTROLLER_LOST: 'test/run/recover.test.ts',
  SPAWN_FAILED: 'test/run/codes.test.ts: a program that its probe could start and its run cannot',
  PROMPT_TOO_LARGE: 'a long prompt goes to agy on stdin',
  NO_CREDENTIALS: 'agy says itself that it needs a login',
  PROVIDER_COOLDOWN: 'no cool-down is remembered between runs',
  PROVIDER_UNREACHABLE: 'no words are known by which agy says it',
};

const EXIT_OF = {
  'failed-unknown': 6,
  'scope-expansion': 6,
  cancelled: 143,
  unavailable: 5,
  'failed-clean': 4,
  success: 0,
};

describe.skipIf(!onLinux)('everything else: nothing on stdout, the usual exit code, a summary on stderr', () => {
  test.concurrent.each(ROWS)('$code: $title', async ({ code, setting, more, exit }) => {
    const done = await flow(setting);
    const { state } = CONSEQUENCES[code];
    const wanted = exit ?? (code === 'WORKER_BLOCKED' ? 6 : EXIT_OF[state]);
    expect(done.attempt, done.attempt.message).toMatchObject({ state, code, transport: null, ...more });
    expect(done.code).toBe(wanted);
    if (code !== 'WORKER_BLOCKED')
      expect(lastWords(done)).toMatchObject({ exit_code: wanted, attempts: [{ attempt_id: '01-agy', state, code }] });
    if (!done.attempt.process_started)
      expect(given(done.world, '.gemini').filter(({ kind }) => kind === 'prompt')).toEqual([]);
  });

  test('every code has a row, or a reason', () => {
    const met = new Set<string>([...ROWS.map(({ code }) => code), ...Object.keys(ELSEWHERE)]);
    expect(ATTEMPT_CODES.filter((code) => !met.has(code))).toEqual([]);
    for (const { code } of ROWS) expect(Object.keys(ELSEWHERE)).not.toContain(code);
    for (const [code, where] of Object.entries(ELSEWHERE)) {
      const [file] = /^test\/\S+\.ts/.exec(where) ?? [];
      if (file !== undefined) expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(code);
    }
  });

  test('CANCELLED: the host stops it, and its work is kept', async () => {
    const world = new World();
    const done = await flow(
      {
        scenario: { play: [WORK, ['run', `echo ready > '${world.folder}/started'`], ['block']] },
        options: () => ({
          onStart: (child) => {
            const looking = setInterval(() => {
              if (!existsSync(join(world.folder, 'started')) && child.exitCode === null) return;
              clearInterval(looking);
              child.kill('SIGTERM');
            }, 20);
          },
        }),
      },
      world,
    );
    expect(done.attempt).toMatchObject({ state: 'cancelled', code: 'CANCELLED', ...KEPT });
    expect([done.code, lastWords(done).outcome]).toEqual([143, 'cancelled']);
  });
});

describe.skipIf(!onLinux)('records that cannot be written', () => {
  const noTelemetry = { args: ['--telemetry', '/proc/nowhere/calls.jsonl'] };

  test('a success is evidence-failed: exit 7, no result on stdout, and the result and the commit are kept', async () => {
    const done = await flow({ ...plays(WORK, ready), ...noTelemetry });
    expect(done.code).toBe(7);
    expect(lastWords(done)).toMatchObject({
      ...{ outcome: 'evidence-failed', exit_code: 7, telemetry_logged: false, worker_result: READY },
      reason: { code: 'TELEMETRY_LOG_FAILED' },
      transport: { ref: expect.any(String) },
    });
    expect(done.attempt).toMatchObject({ state: 'success', worker_result: READY });
    expect(done.receipt.telemetry).toMatchObject({ logged: false, error: expect.any(String) });
    expect(done.world.git('show', `${done.attempt.transport?.ref}:src/a.txt`)).toBe('a\nmore');
  });

  test.concurrent.each<[string, Setting, number]>([
    ['a refusal', plays(...fails(LIMIT)), 5],
    ['a failure', plays(WORK, says('no JSON')), 4],
    ['a BLOCKED', plays(says(JSON.stringify(BLOCKED))), 6],
  ])('%s keeps its own code, and says that it was not logged', async (_, setting, exit) => {
    const done = await flow({ ...setting, ...noTelemetry, json: true });
    expect(done.code).toBe(exit);
    expect(JSON.parse(done.stdout)).toMatchObject({ exit_code: exit, telemetry_logged: false });
    expect(done.receipt.telemetry.logged).toBe(false);
  });

  test('a BLOCKED is still printed, with the summary beside it that tells what is missing', async () => {
    const done = await flow({ ...plays(says(JSON.stringify(BLOCKED))), args: [...noTelemetry.args, '--quiet'] });
    expect([done.code, done.stdout]).toEqual([6, `${JSON.stringify(BLOCKED)}\n`]);
    expect(summarySchema.parse(JSON.parse(done.stderr))).toMatchObject({ exit_code: 6, telemetry_logged: false });
    const logged = await flow({ ...plays(says(JSON.stringify(BLOCKED))), args: ['--quiet'] });
    expect([logged.code, logged.stderr]).toEqual([6, '']);
  });
});

describe.skipIf(!onLinux)('a nested call', () => {
  const NESTED = `"${process.execPath}" "${TOOL}" run --role repair --goal again --allow src/ --json`;

  test.concurrent.each<[string, (command: string) => string]>([
    ['of its own shell', (command) => command],
    ['of shells in shells', (command) => `sh -c 'bash -c "sh -c \\"\\$NESTED\\""' # ${command}`],
    ['of a login shell', (command) => `bash -lc '${command}'`],
    ['in a session of its own', (command) => `setsid -w sh -c '${command}'`],
    ['through xargs', (command) => `echo x | xargs -I{} sh -c '${command}'`],
    [
      'of another agent CLI',
      (command) =>
        `printf '#!/bin/sh\\n%s\\n' '${command}' > "$TMPDIR/agent"; chmod +x "$TMPDIR/agent"; "$TMPDIR/agent" -p 'do it'`,
    ],
  ])('%s is refused, and the unit goes on', async (_, through) => {
    const world = new World();
    const answer = join(world.folder, 'answer.json');
    const nested = `${NESTED} --state-dir ${world.folder}/nested`;
    const command = `export NESTED='${nested.replaceAll('"', '')}'; ${through(nested)}`;
    const done = await flow({ ...plays(['run', `(${command}\n) > ${answer}`], WORK, ready) }, world);
    expect(done.code, done.stderr).toBe(0);
    expect(JSON.parse(readFileSync(answer, 'utf8'))).toMatchObject({
      ...{ outcome: 'exhausted', exit_code: 4, host_fallback: null },
      attempts: [{ attempt_id: '01-agy', state: 'unavailable', code: 'RECURSION_DETECTED' }],
    });
    expect(given(world, '.gemini').filter(({ kind }) => kind === 'prompt')).toHaveLength(1);
  });

  test('through a run in an unrelated repository, which works, is refused all the same', async () => {
    const world = new World();
    const middle = join(world.folder, 'middle');
    const inner = join(world.folder, 'inner.json');
    const outer = join(world.folder, 'outer.json');
    const own = world.repo;
    world.repo = middle;
    mkdirSync(middle);
    world.git('init', '-q', '-b', 'main');
    world.write('src/a.txt', 'a\n');
    const worker = `cat >/dev/null; echo more >> src/a.txt; cd ${own}; ${NESTED} --state-dir @D@/deepest > ${inner} || true`;
    world.configure({ other: { script: worker } });
    world.repo = own;
    const nested = `cd ${middle}; ${NESTED} --state-dir ${world.folder}/nested > ${outer}`;
    const done = await flow(plays(['run', nested], WORK, ready), world);
    expect(done.code, done.stderr).toBe(0);
    expect(JSON.parse(readFileSync(outer, 'utf8'))).toMatchObject({
      outcome: 'success',
      attempts: [{ attempt_id: '01-other', code: 'OK' }],
    });
    expect(JSON.parse(readFileSync(inner, 'utf8'))).toMatchObject({
      outcome: 'exhausted',
      attempts: [{ code: 'RECURSION_DETECTED' }],
    });
    rmSync(middle, { recursive: true });
  });
});
