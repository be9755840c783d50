/**
 * Records (SPEC 10): every run leaves a receipt that holds, telemetry that adds up, a bounded answer, and nowhere a
 * secret. Where a record cannot be written, a success says so and its work is still there.
 */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import canonicalize from 'canonicalize';
import { describe, expect, test } from 'vitest';
import { type Receipt, receipt as receiptSchema } from '../../src/model/receipt.ts';
import { summary as summarySchema } from '../../src/model/summary.ts';
import { World } from './world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt';
const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);
const readReceipt = (path: string): Receipt => receiptSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
const ownReceipt = (world: World, { run_id }: Receipt): string => join(world.state, run_id, 'receipt.json');

describe('the receipt', () => {
  test('is the same in both places, private, and its digest holds', async () => {
    const world = new World();
    world.configure({ one: { script: `${WORK}; exit 3` }, two: { script: WORK } });
    const path = join(world.folder, 'wanted.json');
    const done = await world.run({}, { receipt: path });
    expect(done.summary.receipt).toBe(path);
    const own = ownReceipt(world, done.receipt);
    expect(readFileSync(own)).toEqual(readFileSync(path));
    expect([modeOf(own), modeOf(path)]).toEqual(['600', '600']);
    const { digest, ...rest } = JSON.parse(readFileSync(path, 'utf8'));
    expect(digest).toBe(
      `sha256:${createHash('sha256')
        .update(canonicalize(rest) ?? '')
        .digest('hex')}`,
    );
    const config = createHash('sha256')
      .update(readFileSync(join(world.repo, 'AGENT-EXECUTION.md')))
      .digest('hex');
    expect(done.receipt.config).toEqual({ path: 'AGENT-EXECUTION.md', digest: `sha256:${config}` });
    expect(readdirSync(world.folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  test('may lie in an ignored place of the repository, and tells of a configuration that base does not have', async () => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const file = join(world.repo, 'AGENT-EXECUTION.md');
    writeFileSync(file, `${readFileSync(file, 'utf8')}\nMore prose.\n`);
    mkdirSync(join(world.repo, 'build'));
    const done = await world.run({}, { receipt: join(world.repo, 'build/receipt.json') });
    expect(done.code).toBe(0);
    expect(done.receipt.findings.map(({ code }) => code)).toEqual(['CONFIG_DIFFERS_FROM_BASE']);
    expect(done.receipt.repository.dirty_paths).toBe(1);
  });

  test('so it is with instructions', async () => {
    const world = new World();
    world.write('agents/repair.md', 'Find it.\n');
    world.configure({ one: { script: `cat > @D@/prompt; ${WORK}` } }, [], ['instructions: agents/repair.md']);
    expect((await world.run()).receipt.findings).toEqual([]);
    writeFileSync(join(world.repo, 'agents/repair.md'), '---\nname: x\n---\nFind it well.\n');
    const done = await world.run();
    expect(done.receipt.findings).toMatchObject([
      { code: 'INSTRUCTIONS_DIFFER_FROM_BASE', paths: ['agents/repair.md'] },
    ]);
    expect(readFileSync(join(world.folder, 'prompt'), 'utf8')).toContain('Your role:\n\nFind it well.\n\n');
  });

  const UNWRITABLE = [
    { title: 'its folder is gone', script: 'rm -r @D@/out', isAlso: () => false },
    { title: 'somebody put a file there', script: 'echo mine > @D@/out/r.json', isAlso: () => true },
    { title: 'somebody put a link there', script: 'ln -s @D@/elsewhere @D@/out/r.json', isAlso: () => true },
  ];
  test.concurrent.each(UNWRITABLE)(
    '$title: RECEIPT_WRITE_FAILED, exit 7, and the work is there',
    async ({ script, isAlso }) => {
      const world = new World();
      world.configure({ one: { script: `${WORK}; ${script}` } }, ['isolation: none']);
      mkdirSync(join(world.folder, 'out'));
      const path = join(world.folder, 'out/r.json');
      const done = await world.cli([
        ...['run', '--role', 'repair', '--unit', world.packet(), '--json'],
        ...['--state-dir', world.state, '--receipt', path],
      ]);
      expect(done.code, done.stderr).toBe(7);
      const summary = summarySchema.parse(JSON.parse(done.stdout));
      expect(summary).toMatchObject({
        outcome: 'evidence-failed',
        exit_code: 7,
        reason: { code: 'RECEIPT_WRITE_FAILED' },
      });
      expect(world.git('show', `${summary.transport?.ref}:src/a.txt`)).toBe('a\nmore');
      const receipt = readReceipt(summary.receipt ?? '');
      expect(summary.receipt).toBe(ownReceipt(world, receipt));
      expect(receipt).toMatchObject({
        outcome: 'evidence-failed',
        exit_code: 7,
        reason: { code: 'RECEIPT_WRITE_FAILED' },
      });
      expect(receipt.attempts[0]?.state).toBe('success');
      expect(world.telemetry().at(-1)).toMatchObject({ event: 'run', outcome: 'evidence-failed', exit_code: 7 });
      // What somebody else put there is as they left it.
      expect(existsSync(join(world.folder, 'elsewhere'))).toBe(false);
      if (isAlso()) expect(lstatSync(path).isSymbolicLink() || readFileSync(path, 'utf8') === 'mine\n').toBe(true);
    },
  );

  test('a failure that cannot write its receipt there keeps its code', async () => {
    const world = new World();
    world.configure({ one: { script: `${WORK}; rm -r @D@/out; exit 3` } }, ['isolation: none']);
    mkdirSync(join(world.folder, 'out'));
    const done = await world.cli([
      ...['run', '--role', 'repair', '--unit', world.packet(), '--json'],
      ...['--state-dir', world.state, '--receipt', join(world.folder, 'out/r.json')],
    ]);
    expect(done.code).toBe(4);
    const summary = summarySchema.parse(JSON.parse(done.stdout));
    expect(readReceipt(summary.receipt ?? '').outcome).toBe('exhausted');
  });
});

describe('telemetry', () => {
  test('one line an attempt and one a run, over two runs', async () => {
    const world = new World();
    world.configure({
      gone: { executable: '/nonexistent/worker' },
      shot: { script: 'cat >/dev/null; kill -KILL $$' },
      bad: { script: 'cat >/dev/null; exit 3' },
      good: { script: WORK, lines: ['model: fast-1'] },
    });
    const runs = [await world.run({ unit_id: 'first' }), await world.run({ unit_id: 'second' })];
    const file = join(world.repo, '.git/agent-exec/calls.jsonl');
    expect([modeOf(file), modeOf(dirname(file)), readdirSync(dirname(file)).sort()]).toEqual([
      '600',
      '700',
      ['calls.jsonl', 'slots'],
    ]);
    const lines = world.telemetry();
    expect(lines).toHaveLength(10);
    for (const [i, { receipt }] of runs.entries()) {
      const own = lines.slice(5 * i, 5 * i + 5);
      const shared = { run_id: receipt.run_id, unit_id: receipt.unit.unit_id, role: 'repair' };
      const expected = [
        { model: null, exit_status: null, ok: false, state: 'unavailable', error: 'EXECUTABLE_MISSING' },
        { model: null, exit_status: 'SIGKILL', ok: false, state: 'failed-clean', error: 'SIGNALED' },
        { model: null, exit_status: 3, ok: false, state: 'failed-clean', error: 'EXIT_NONZERO' },
        { model: 'fast-1', exit_status: 0, ok: true, state: 'success', error: null },
      ];
      for (const [j, line] of expected.entries()) {
        const attempt = receipt.attempts[j];
        expect(own[j]).toMatchObject({
          ...shared,
          ...line,
          event: 'attempt',
          attempt_id: attempt?.attempt_id,
          profile: attempt?.profile,
          adapter: attempt?.adapter,
          started_at: attempt?.started_at,
          ended_at: attempt?.ended_at,
          duration_ms: attempt?.duration_ms,
          worker_status: null,
          usage: attempt?.usage,
        });
      }
      expect(own[4]).toMatchObject({
        ...shared,
        event: 'run',
        outcome: 'success',
        exit_code: 0,
        attempts: 4,
        started_at: receipt.started_at,
        ended_at: receipt.ended_at,
        receipt: runs[i]?.summary.receipt,
      });
      expect(receipt.telemetry).toEqual({ path: file, logged: true, error: null });
    }
  });

  /** Each makes the file below `log` impossible. */
  const BROKEN = [
    {
      title: 'a folder stands in its place',
      make: (log: string) => mkdirSync(join(log, 'calls.jsonl'), { recursive: true }),
    },
    {
      title: 'a link stands in its place',
      make: (log: string) => {
        mkdirSync(log);
        symlinkSync(`${log}-elsewhere`, join(log, 'calls.jsonl'));
      },
    },
    { title: 'its folder is a file', make: (log: string) => writeFileSync(log, '') },
  ];
  test.concurrent.each(BROKEN)('$title: a success is evidence-failed, its commit is there', async ({ make }) => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const path = join(world.folder, 'log/calls.jsonl');
    make(dirname(path));
    const done = await world.run({}, { args: ['--telemetry', path] });
    expect(done.code).toBe(7);
    const said = { outcome: 'evidence-failed', exit_code: 7, reason: { code: 'TELEMETRY_LOG_FAILED' } };
    expect(done.receipt).toMatchObject(said);
    expect(done.summary).toMatchObject({ ...said, telemetry_logged: false });
    expect(done.receipt.telemetry).toMatchObject({
      path,
      logged: false,
      error: expect.stringContaining(basename(path)),
    });
    expect(done.receipt.attempts[0]?.state).toBe('success');
    expect(world.git('show', `${done.summary.transport?.ref}:src/a.txt`)).toBe('a\nmore');
    expect(existsSync(join(world.folder, 'log-elsewhere'))).toBe(false);
    expect(readReceipt(ownReceipt(world, done.receipt))).toEqual(done.receipt);
  });

  test.concurrent.each([
    { code: 4, outcome: 'exhausted', script: 'cat >/dev/null; exit 3' },
    { code: 6, outcome: 'blocked', script: 'cat >/dev/null; echo x >> docs/d.txt' },
    { code: 5, outcome: 'host-fallback-authorized', script: null },
  ])('$outcome keeps its code without it', async ({ code, outcome, script }) => {
    const world = new World();
    world.configure({ one: script === null ? { executable: '/nonexistent/worker' } : { script } });
    const path = join(world.folder, 'log');
    mkdirSync(path);
    const done = await world.run({}, { args: ['--telemetry', path] });
    expect(done.code).toBe(code);
    expect(done.receipt).toMatchObject({ outcome, exit_code: code, telemetry: { logged: false } });
    expect(done.summary.telemetry_logged).toBe(false);
  });
});

describe('the bounded answer', () => {
  /** Names that take many bytes in any notation. */
  const HOSTILE = `#!${process.execPath}
const fs = require('node:fs');
for (let i = 0; i < 60; i++) {
  const name = Buffer.concat([Buffer.from('src/' + String(i).padStart(3, '0')), Buffer.from('\\x1b\\xff"\\\\\\n', 'latin1'), Buffer.from('😀'.repeat(50))]);
  fs.writeFileSync(name, '');
}
console.error('\\x1b[2J"'.repeat(2000));
`;

  test.concurrent.each([256, 300, 700, 4096, 65_536])(
    '%i bytes are never exceeded, whatever the names',
    async (limit) => {
      const world = new World();
      world.configure({ 'a-profile-whose-name-has-32-char': { script: HOSTILE } }, [`summary_bytes: ${limit}`]);
      const unit = { unit_id: `u${'-long'.repeat(12)}` };
      const done = await world.run(unit);
      expect(done.code, done.stderr).toBe(0);
      expect(Buffer.byteLength(done.stdout)).toBeLessThanOrEqual(limit);
      expect(done.stdout.trimEnd()).not.toContain('\n');
      const { outcome, exit_code, reason, run_id } = done.summary;
      expect({ outcome, exit_code, code: reason.code, run_id }).toEqual({
        outcome: 'success',
        exit_code: 0,
        code: 'OK',
        run_id: done.receipt.run_id,
      });
      expect(done.summary.truncated).toBe(limit < 65_536);
      const text = await world.cli([
        'run',
        '--role',
        'repair',
        '--unit',
        world.packet(unit),
        '--state-dir',
        world.state,
      ]);
      expect(text.code).toBe(0);
      expect(Buffer.byteLength(text.stdout)).toBeLessThanOrEqual(limit);
      expect(text.stdout.startsWith('success\n')).toBe(true);
      for (const output of [done.stdout, done.stderr, text.stdout, text.stderr]) {
        expect(output).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f\ufffd]/);
      }
    },
  );
});

describe('secrets', () => {
  const SECRET = 'Zq7/wX+9=kT~"v&m\\ é-38fJ';
  const random = (length: number): string => createHash('sha512').update(String(length)).digest('hex').slice(0, length);
  /** Built from pieces, so that no scanner takes this file for a leak. */
  const SHAPES = [
    ['ghp', random(36)].join('_'),
    ['sk', 'ant', 'api03', random(60)].join('-'),
    ['github', 'pat', random(40)].join('_'),
    `AKIA${random(16).toUpperCase()}`,
    ['xoxb', random(24)].join('-'),
  ];
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const FORMS = [
    SECRET,
    JSON.stringify(SECRET),
    base64(SECRET),
    base64(`user:${SECRET}`),
    base64(`x${SECRET}y`).replace(/=+$/, ''),
    Buffer.from(SECRET).toString('base64url'),
    encodeURIComponent(SECRET),
    Buffer.from(SECRET).toString('hex'),
    `https://user:${random(20)}@example.invalid/`,
    `Authorization: Bearer ${random(40)}`,
    ...SHAPES,
    ['-----BEGIN', 'PRIVATE KEY-----']
      .join(' ')
      .concat('\n', base64(random(90)), '\n', ['-----END', 'PRIVATE KEY-----'].join(' ')),
  ];
  /** Pieces of the forms that must be nowhere: what is left of each without its ends, where alignment and quotes play. */
  const TRACES = [
    SECRET,
    ...FORMS.slice(1, 8).map((form) => form.slice(6, -6)),
    random(20),
    random(40),
    ...SHAPES.map((shape) => shape.slice(-14)),
    base64(random(90)).slice(4, -4),
  ];

  test('in a stream, an error, a refusal, a last message or a name: in no record and on no console', async () => {
    const world = new World();
    world.write('docs/d.txt', 'REFUSED:\n');
    writeFileSync(join(world.folder, 'forms'), FORMS.join('\n'));
    const printed = 'cat @D@/forms; cat @D@/forms >&2; printf "\\n%s\\n" "$WORKER_TOKEN"; env | grep TOKEN >&2';
    const events = [
      { type: 'system', subtype: 'init', model: FORMS[11], session_id: FORMS[12] },
      { type: 'result', subtype: 'error_during_execution', is_error: true, result: FORMS.join(' ') },
    ];
    writeFileSync(join(world.folder, 'events'), `${events.map((event) => JSON.stringify(event)).join('\n')}\n`);
    const passed = ['pass_env: [WORKER_TOKEN]'];
    world.configure({
      refused: {
        script: `cat >/dev/null; printf 'REFUSED: invalid api key %s and ${SHAPES[0]}\\n' "$WORKER_TOKEN" >&2; exit 1`,
        adapterLines: [...passed, 'refusal_prefixes: ["REFUSED:"]', 'refusal_source: docs/d.txt'],
      },
      erring: { script: 'cat >/dev/null; cat @D@/events', format: 'claude', adapterLines: passed },
      naming: {
        script: `cat >/dev/null; ${printed}
${SHAPES.slice(0, 2)
  .map((shape) => `: > 'src/${shape}'; : > 'build-${shape}.log'`)
  .join('\n')}
: > "src/$(printf %s "$WORKER_TOKEN" | base64 -w0 | tr / _)"`,
        adapterLines: passed,
      },
    });
    const done = await world.run(
      { verification: [['sh', '-c', 'cat "$0"; cat "$0" >&2; exit 1', join(world.folder, 'forms')]] },
      { env: { WORKER_TOKEN: SECRET }, args: ['--verify'] },
    );
    expect(done.receipt.attempts.map(({ code }) => code)).toEqual([
      'AUTH_REJECTED',
      'REPORTED_ERROR',
      'VERIFICATION_FAILED',
    ]);
    const text = await world.cli(['run', '--role', 'repair', '--unit', world.packet(), '--state-dir', world.state], {
      env: { WORKER_TOKEN: SECRET },
    });
    expect(text.code).toBe(0);

    const shown: Record<string, string> = {
      stdout: done.stdout,
      stderr: done.stderr,
      'text stdout': text.stdout,
      'text stderr': text.stderr,
      receipt: readFileSync(done.summary.receipt ?? '', 'utf8'),
      'own receipt': readFileSync(ownReceipt(world, done.receipt), 'utf8'),
      telemetry: readFileSync(join(world.repo, '.git/agent-exec/calls.jsonl'), 'utf8'),
    };
    for (const [place, output] of Object.entries(shown)) {
      // JSON escapes would hide a find.
      const plain = place.includes('text') ? output : output.replace(/\\(["\\/])/g, '$1');
      for (const trace of TRACES)
        expect(plain.includes(trace) || output.includes(trace), `${place}: ${trace}`).toBe(false);
    }
    // They were there to be shown, and the receipt does tell that something was.
    const [refused, , naming] = done.receipt.attempts;
    const raw = readFileSync(naming?.logs.find(({ stream }) => stream === 'stdout')?.path ?? '', 'utf8');
    for (const form of FORMS) expect(raw).toContain(form);
    expect(refused?.refusal?.line).toContain('REFUSED: invalid api key [redacted] and [redacted]');
    expect(naming?.environment_names).toContain('WORKER_TOKEN');
    expect(naming?.change_count).toBe(3);
  });

  test.concurrent.each(['000', '0277', '077'])('with umask %s all state is private', async (umask) => {
    const world = new World();
    world.configure({ one: { script: `${WORK}; echo out; echo err >&2; exit 3` }, two: { script: WORK } }, [
      'setup:',
      '  - ["true"]',
    ]);
    const done = await world.run({ verification: [['true']] }, { prelude: `umask ${umask}`, args: ['--verify'] });
    expect(done.code, done.stderr).toBe(0);
    const modes = new Set<string>();
    const look = (path: string): void => {
      const entry = lstatSync(path);
      modes.add(`${entry.isDirectory() ? 'folder' : 'file'} ${modeOf(path)}`);
      if (entry.isDirectory()) for (const name of readdirSync(path)) look(join(path, name));
    };
    look(world.state);
    look(join(world.repo, '.git/agent-exec'));
    look(done.summary.receipt ?? '');
    expect([...modes].sort()).toEqual(['file 600', 'folder 700']);
    for (const { path } of done.receipt.attempts.flatMap(({ logs }) => logs)) expect(existsSync(path)).toBe(true);
  });
});
