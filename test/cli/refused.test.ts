/** `refused` as a shell harness calls it: one predicate, one JSON line, and nothing but 0, 1 and 2. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { CliIo } from '../../src/cli/io.ts';
import { type LogPieces, openLogFile } from '../../src/cli/log-input.ts';
import { main } from '../../src/cli/program.ts';
import { refusedCommand } from '../../src/cli/refused.ts';
import { BUILT_IN_ADAPTERS } from '../../src/model/config.ts';
import { type Refused, refused as refusedSchema } from '../../src/model/refused.ts';
import { ok } from '../../src/model/result.ts';
import { edit, FILES, VALID } from '../config/sample.ts';
import { TOOL } from '../run/world.ts';
import { collecting, parsed } from './collected.ts';

const folder = mkdtempSync(join(tmpdir(), 'ax-refused-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly note: string;
}
interface Outside {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly stdin?: LogPieces;
}

async function refused(args: readonly string[], { cwd = folder, env = {}, stdin = [] }: Outside = {}): Promise<Ran> {
  const { io, said } = collecting({ cwd, env });
  return parsed(
    refusedCommand(io, () => ok(stdin)),
    args,
    { io, said },
  );
}

let logs = 0;
function logOf(content: string | Uint8Array): string {
  const path = join(folder, `${++logs}.log`);
  writeFileSync(path, content);
  return path;
}

/** The answer about a log that could be read; what the exit code says and what the record says are the same. */
async function ask(content: string | Uint8Array, ...args: string[]): Promise<Refused> {
  const ran = await refused([logOf(content), ...args]);
  expect(ran.note).toBe('');
  expect(ran.out).toMatch(/^\{[^\n]*\}\n$/);
  const answer = refusedSchema.parse(JSON.parse(ran.out));
  expect(ran.code).toBe(answer.refused ? 0 : 1);
  expect(answer.bytes_read).toBe(Buffer.byteLength(content));
  if (!answer.refused) {
    const { schema: _, refused: __, bytes_read: ___, ...rest } = answer;
    expect(Object.values(rest).every((value) => value === null)).toBe(true);
  }
  return answer;
}
const NOT = { refused: false };

/** One line of each CLI that it prints itself, and what it means. */
const SENTINELS: Readonly<Record<string, readonly [line: string, code: string]>> = {
  cursor: ['ActionRequiredError: You have hit your usage limit', 'QUOTA_EXHAUSTED'],
  antigravity: ['RESOURCE_EXHAUSTED (code 429): Resets in 20s', 'RATE_LIMITED'],
  claude: ['Not logged in · Please run /login', 'AUTH_REQUIRED'],
  codex: ['ERROR: unexpected status 401 Unauthorized: no such key', 'AUTH_REJECTED'],
  pi: ['No API key found for the selected model.', 'AUTH_REQUIRED'],
  kimi: ['error: failed to run prompt: provider.rate_limit: 429 slow down', 'RATE_LIMITED'],
  opencode: [
    'timestamp=1 level=ERROR run=r message="stream error" modelID=m small=false agent=a error.error="AI_APICallError: Too Many Requests"',
    'RATE_LIMITED',
  ],
};

describe.each(Object.entries(SENTINELS))('%s: its own line', (adapter, [line, code]) => {
  const fired = { refused: true, adapter, code };

  test('plain, with colours, with CRLF, without a newline, among other lines', async () => {
    for (const args of [[], ['--adapter', adapter]]) {
      expect(await ask(`${line}\n`, ...args)).toMatchObject({ ...fired, line_number: 1 });
      expect(await ask(`\u001b[0m\u001b[1;31m${line}\u001b[0m\n`, ...args)).toMatchObject(fired);
      expect(await ask(`hello\r\n${line}\r\n`, ...args)).toMatchObject({ ...fired, line_number: 2 });
      expect(await ask(`one\n\n\n${line}`, ...args)).toMatchObject({ ...fired, line_number: 4 });
      expect(await ask(`\ufeff${line}\n`, ...args)).toMatchObject(fired);
      expect(await ask(`\u0000\u0001\n${line}\n\u0000\n`, ...args)).toMatchObject(fired);
    }
  });

  test('nowhere but at the start of a line', async () => {
    const quoted = ['  ', '\t', '+', '-', '> ', '12: ', 'src/a.ts:12:', '// ', '"', "'", '`', '| ', '\u0000', '\u200b'];
    const block = quoted.map((before) => `${before}${line}`).join('\n');
    const diff = `diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n ${line}\n+${line}\n`;
    const results = [
      { type: 'user', message: { content: [{ type: 'tool_result', is_error: true, content: `x\n${line}\n` }] } },
      { type: 'item.completed', item: { type: 'command_execution', aggregated_output: `${line}\n` } },
      { type: 'tool_use', part: { tool: 'bash', state: { output: line } } },
      { role: 'tool', content: line },
      { type: 'tool_execution_end', isError: true, result: { content: [{ type: 'text', text: line }] } },
      { event: 'step_update', step_update: { text_delta: line } },
    ].map((event) => JSON.stringify(event));
    for (const text of [block, diff, results.join('\n'), ...results]) {
      for (const args of [[], ['--adapter', adapter], ['--stream', 'stdout'], ['--stream', 'stderr']]) {
        expect(await ask(`${text}\n`, ...args)).toMatchObject(NOT);
      }
    }
  });

  test('not as UTF-16, which is no line of it', async () => {
    expect(await ask(Buffer.from(`\ufeff${line}\n`, 'utf16le'))).toMatchObject(NOT);
  });
});

describe('the corpora', () => {
  const corpus = (name: string) =>
    JSON.parse(readFileSync(new URL(`../adapters/corpus/${name}.json`, import.meta.url), 'utf8'));
  interface Case {
    readonly adapter: string;
    readonly lines: readonly string[];
    readonly code: string;
    readonly source?: string;
    /** Other programs print such a line too. */
    readonly general?: boolean;
  }
  const STDERR = 'e> ';
  /** As a shell merges them: nothing tells the streams apart. */
  const merged = (lines: readonly string[]): string =>
    lines.map((line) => `${line.startsWith(STDERR) ? line.slice(STDERR.length) : line}\n`).join('');
  const only = (stream: string, lines: readonly string[]): string =>
    merged(lines.filter((line) => line.startsWith(STDERR) === (stream === 'stderr')));
  const isEvent = (line: string): boolean => line.startsWith('{');
  interface Misses {
    readonly anywhere: readonly string[];
    readonly events: readonly Case[];
    readonly logs: readonly (readonly string[])[];
  }
  const { anywhere, events, logs: strangers }: Misses = corpus('near-misses');
  const cases: readonly Case[] = corpus('refusals');

  test.each(cases)('$adapter $code: $lines', async ({ adapter, lines, code, source = 'event', general }) => {
    const fired = { refused: true, adapter, code };
    // What a CLI prints on either stream is told to be of the first.
    const told = source === 'event' ? ['event'] : ['stdout', source];
    const unnamed = await ask(merged(lines));
    if (general === true) expect(unnamed).toMatchObject(NOT);
    const answers = [await ask(merged(lines), '--adapter', adapter), ...(general === true ? [] : [unnamed])];
    for (const answer of answers) {
      expect(answer).toMatchObject(fired);
      expect(told).toContain(answer.source);
    }
    const stream = source === 'stderr' ? 'stderr' : 'stdout';
    expect(await ask(only(stream, lines), '--adapter', adapter, '--stream', stream)).toMatchObject({
      ...fired,
      source,
    });
  });

  test('no near miss of all readers fires', async () => {
    for (const line of anywhere) {
      expect(await ask(`${line}\n`), line).toMatchObject(NOT);
      for (const adapter of BUILT_IN_ADAPTERS) expect(await ask(`${line}\n`, '--adapter', adapter)).toMatchObject(NOT);
    }
    expect(await ask(`${anywhere.join('\n')}\n`)).toMatchObject(NOT);
  });

  test.each(strangers.map((lines) => ({ lines })))('nobody’s log does not fire: $lines', async ({ lines }) => {
    for (const args of [[], ['--stream', 'stdout'], ['--stream', 'stderr']]) {
      expect(await ask(merged(lines), ...args)).toMatchObject(NOT);
    }
  });

  /** A log that ends in such an event ends while its CLI waits for its provider; a run says so by its clock. */
  const endsWaiting = ({ lines }: Case): boolean => lines.at(-1)?.includes('Reconnecting...') === true;
  /** Its CLI prints such a line on the other stream: of a merged log nothing tells. */
  const isOfTheOtherStream = ({ lines }: Case): boolean =>
    lines.every((line) => !line.startsWith(STDERR) && !isEvent(line));

  test.each(events)('$adapter does not fire on $lines', async (miss) => {
    const { adapter, lines } = miss;
    const both = { refused: endsWaiting(miss) || isOfTheOtherStream(miss) };
    expect(await ask(merged(lines), '--adapter', adapter)).toMatchObject(both);
    expect(await ask(merged(lines))).toMatchObject(miss.general === true ? NOT : both);
    for (const stream of ['stdout', 'stderr']) {
      // One stream of a run that has both is not its whole log.
      if (only(stream, lines) !== merged(lines)) continue;
      const alone = { refused: endsWaiting(miss) && stream === 'stdout' };
      expect(await ask(only(stream, lines), '--stream', stream)).toMatchObject(alone);
      expect(await ask(only(stream, lines), '--stream', stream, '--adapter', adapter)).toMatchObject(alone);
    }
  });

  test('the exceptions are few, and what they are said to be', () => {
    expect(events.filter(endsWaiting)).toHaveLength(1);
    for (const { lines } of events.filter(isOfTheOtherStream)) expect(lines).toHaveLength(1);
    expect(cases.length + anywhere.length + events.length).toBeGreaterThan(200);
  });
});

describe('what real CLIs printed', () => {
  const STREAMS = new URL('../adapters/', import.meta.url).pathname;
  const EXTENSION = /\.(?:jsonl|stderr\.txt|out|err)$/;
  const GOOD = /-(?:write-file|text-only|commit|background-process|success|wrong-flag)$/;
  const names = ['captured', 'fixtures'].flatMap((place) => {
    const files = readdirSync(join(STREAMS, place)).filter((file) => EXTENSION.test(file));
    return [...new Set(files.map((file) => `${place}/${file.replace(EXTENSION, '')}`))];
  });
  const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');

  test.each(names)('%s', async (name) => {
    const adapter = name.split('/')[1]?.split('-')[0] ?? '';
    const path = join(STREAMS, name);
    const stdout = read(`${path}.jsonl`) + read(`${path}.out`);
    const stderr = read(`${path}.stderr.txt`) + read(`${path}.err`);
    const isRefused = !GOOD.test(name);
    const codes = new Set<string | null>();
    // Whatever order a shell merges them in.
    for (const log of [`${stdout}\n${stderr}`, `${stderr}\n${stdout}`]) {
      for (const args of [[], ['--adapter', adapter]]) {
        const answer = await ask(log, ...args);
        expect(answer).toMatchObject({ refused: isRefused, adapter: isRefused ? adapter : null });
        codes.add(answer.code);
      }
    }
    expect(codes.size).toBe(1);
    if (isRefused) return;
    expect(await ask(stdout, '--stream', 'stdout')).toMatchObject(NOT);
    expect(await ask(stderr, '--stream', 'stderr')).toMatchObject(NOT);
  });
});

describe('whose log it is', () => {
  const line = (event: unknown): string => `${JSON.stringify(event)}\n`;
  const success = line({
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: 'Done.',
    usage: { input_tokens: 1, output_tokens: 1 },
  });

  test('another CLI’s line in a log of events is somebody’s text', async () => {
    const other = `${SENTINELS.codex?.[0]}\n${SENTINELS.kimi?.[0]}\n`;
    expect(await ask(`${line({ type: 'system', subtype: 'init', session_id: 's' })}${other}`)).toMatchObject(NOT);
    expect(await ask(`${success}${other}`)).toMatchObject(NOT);
    expect(await ask(`${success}${other}`, '--adapter', 'codex')).toMatchObject({ adapter: 'codex' });
  });

  test('claude and cursor share their events’ shape: the usage tells whose end it is', async () => {
    const prose = {
      type: 'result',
      subtype: 'stopped',
      is_error: true,
      result: '[resource_exhausted] status 429, a rate limit',
    };
    const claudes = line({ ...prose, usage: { input_tokens: 5, output_tokens: 5 }, total_cost_usd: 0 });
    const cursors = line({ ...prose, usage: { inputTokens: 5, outputTokens: 5 } });
    expect(await ask(claudes)).toMatchObject(NOT);
    expect(await ask(cursors)).toMatchObject({ adapter: 'cursor' });
    // cursor fails without an end: by a line, after events that claude's reader knows too.
    const init = line({ type: 'system', subtype: 'init', session_id: 's', model: 'm' });
    expect(await ask(`${init}${SENTINELS.cursor?.[0]}\n`)).toMatchObject({ adapter: 'cursor', line_number: 2 });
  });

  test('a log that ends while its CLI waits for its provider is one of a refusal, unless work or an end came after', async () => {
    const retry = line({ type: 'system', subtype: 'api_retry', error: 'rate_limit', error_status: 429 });
    const works = line({ type: 'assistant', message: { content: [{ type: 'text', text: 'On with it.' }] } });
    expect(await ask(works + retry + retry)).toMatchObject({ code: 'RATE_LIMITED', source: 'event', line_number: 3 });
    expect(await ask(retry + works)).toMatchObject(NOT);
    expect(await ask(retry + success)).toMatchObject(NOT);
    const reconnecting = line({ type: 'error', message: 'Reconnecting... 1/5 (unexpected status 503)' });
    const failed = (message: string): string => line({ type: 'turn.failed', error: { message } });
    expect(await ask(reconnecting)).toMatchObject({ adapter: 'codex', code: 'PROVIDER_ERROR' });
    expect(await ask(reconnecting + failed('internal error; agent loop died'))).toMatchObject(NOT);
  });
});

describe('what the record holds', () => {
  test('a secret of the line is taken out, and nothing in it moves a terminal', async () => {
    const key = `sk-ant-api03-${'Ab1'.repeat(30)}`;
    const own = 'a-value-of-this-host';
    const log = logOf(`Invalid API key · ${key} and ${own} \u001b[2J\u202e\u0007 of Bob\n`);
    const { out, code } = await refused([log], { env: { CODEX_API_KEY: own } });
    expect(code).toBe(0);
    expect(out).not.toContain(key);
    expect(out).not.toContain(own);
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(refusedSchema.parse(JSON.parse(out)).line).toContain('Invalid API key · [redacted] and [redacted]');
  });

  test('the line is bounded, the wait is in seconds', async () => {
    const answer = await ask(`API Error: 529 Overloaded. Try again in 20s ${'word '.repeat(400_000)}\n`);
    expect(answer).toMatchObject({ code: 'OVERLOADED', retry_after_seconds: 20, source: 'stdout', line_number: 1 });
    expect(answer.line?.length).toBeLessThanOrEqual(500);
  });
});

describe('any file', () => {
  test.each([
    ['empty', ''],
    ['newlines', '\n\r\n\n'],
    ['binary', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) % 256))],
    ['invalid UTF-8', Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x0a, 0xf0, 0x9f])],
    ['prose', 'The provider was rate limited (429) and told me: please run /login.\n'],
    ['broken JSON', '{"type":"result","is_error":true,"api_error_status":429\n{{{{\n{"type":'],
    ['deep JSON', `{"type":${'['.repeat(100_000)}\n`],
  ])('%s is a log that shows no refusal', async (_, content) => {
    expect(await ask(content)).toMatchObject(NOT);
  });

  test('/dev/null, a link, a folder, a name that is not there, no name', async () => {
    expect(await refused(['/dev/null'])).toMatchObject({ code: 1 });
    const log = logOf(`${SENTINELS.pi?.[0]}\n`);
    symlinkSync(log, join(folder, 'link.log'));
    expect(await refused(['link.log'])).toMatchObject({ code: 0 });
    symlinkSync('loop.log', join(folder, 'loop.log'));
    for (const [name, words] of [
      [folder, 'a folder'],
      ['nowhere.log', 'no such file'],
      [`${log}/below`, 'no such file'],
      ['', 'no such file'],
      ['loop.log', 'a loop'],
      ['a'.repeat(5000), 'ENAMETOOLONG'],
      ['bad\u001b[2J\n.log', 'no such file'],
    ] as const) {
      const { code, out, note } = await refused([name]);
      expect(note).toMatch(/^agent-exec refused: .*\n$/);
      expect(note).toContain(words);
      expect(note).not.toContain('\u001b');
      expect({ code, out }).toEqual({ code: 2, out: '' });
    }
  });

  test('one that grows as fast as it is read comes to its end', () => {
    const log = logOf('x'.repeat(300_000));
    const opened = openLogFile(log);
    if (!opened.ok) throw new Error(opened.error);
    let bytes = 0;
    for (const piece of opened.value as Iterable<Buffer>) {
      bytes += piece.length;
      appendFileSync(log, piece);
      if (bytes > 3_000_000) break;
    }
    expect(bytes).toBe(300_000);
  });

  test('standard input in pieces, also within a character; one that breaks is no answer', async () => {
    const bytes = Buffer.from(`hello\n${SENTINELS.claude?.[0]}\n`);
    const stdin = [...bytes].map((byte) => Buffer.from([byte]));
    expect(await refused(['-'], { stdin })).toMatchObject({ code: 0 });
    async function* broken(): AsyncGenerator<Buffer> {
      yield bytes;
      throw Object.assign(new Error('broken'), { code: 'EIO' });
    }
    expect(await refused(['-'], { stdin: broken() })).toMatchObject({
      code: 2,
      out: '',
      note: expect.stringContaining('standard input: it cannot be read (EIO)'),
    });
  });
});

describe('--adapter', () => {
  function repository(config: string | null): string {
    const root = mkdtempSync(join(folder, 'repo-'));
    execFileSync('git', ['-C', root, 'init', '-q']);
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(join(root, path, '..'), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    if (config !== null) writeFileSync(join(root, 'AGENT-EXECUTION.md'), config);
    return root;
  }
  const log = logOf('Quota exceeded: try again in 30 seconds\n');

  test('a custom adapter of the enclosing repository, or of --repo; only where it is named', async () => {
    const root = repository(VALID);
    mkdirSync(join(root, 'deep'));
    for (const [args, cwd] of [
      [[], root],
      [[], join(root, 'deep')],
      [['--repo', root], folder],
    ] as const) {
      const { out, code } = await refused([log, '--adapter', 'own', ...args], { cwd });
      expect(JSON.parse(out)).toMatchObject({ adapter: 'own', code: 'QUOTA_EXHAUSTED', retry_after_seconds: 30 });
      expect(code).toBe(0);
    }
    expect(await refused([log], { cwd: root })).toMatchObject({ code: 1 });
  });

  test('a broken configuration is only met by who needs it', async () => {
    const root = repository(edit('max_parallel: 1', 'max_parallel: 65'));
    const { code, out, note } = await refused([log, '--adapter', 'own'], { cwd: root });
    expect(note).toContain('AGENT-EXECUTION.md:11:17 error OUT_OF_RANGE execution.max_parallel is 65');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(await refused([log, '--adapter', 'codex'], { cwd: root })).toMatchObject({ code: 1, note: '' });
    expect(await refused([log], { cwd: root })).toMatchObject({ code: 1, note: '' });
  });

  test.each([
    ['agy', 'Did you mean antigravity? Its program is agy.'],
    ['cluade', 'Did you mean claude?'],
    ['onw', 'Did you mean own?'],
    ['constructor', 'Known adapters: cursor, antigravity,'],
    ['', 'Known adapters: cursor, antigravity,'],
  ])('%j is unknown', async (name, words) => {
    const { code, out, note } = await refused([log, '--adapter', name], { cwd: repository(VALID) });
    expect(note).toContain(`there is no adapter ${JSON.stringify(name)}. ${words}`);
    expect({ code, out }).toEqual({ code: 2, out: '' });
  });

  test('without a repository, or a configuration in it, that is said too', async () => {
    expect((await refused([log, '--adapter', 'cluade'])).note).toMatch(/Did you mean claude\?\n.*not inside a git/);
    const missing = await refused([log, '--adapter', 'own'], { cwd: repository(null) });
    expect(missing).toMatchObject({ code: 2, note: expect.stringContaining('FILE_MISSING') });
    const nowhere = await refused([log, '--adapter', 'own', '--repo', 'nowhere']);
    expect(nowhere).toMatchObject({ code: 2, note: expect.stringContaining('nowhere does not exist') });
  });

  test.each([[[]], [['a', 'b']], [['a', '--adapter']], [['a', '--stream', 'both']], [['a', '--no-such']]])(
    'usage: %j',
    async (args) => {
      expect(await refused(args)).toMatchObject({ code: 2, out: '' });
    },
  );

  test('a bug is no answer either: 1 would be one', async () => {
    const exits: number[] = [];
    const note: string[] = [];
    const io = {
      env: {},
      cwd: () => {
        throw new Error('boom');
      },
      note: (text: string) => note.push(text),
      exit: (code: number) => exits.push(code),
    } as unknown as CliIo;
    await main(['refused', 'x.log'], io);
    expect(exits).toEqual([2]);
    expect(note.join('')).toContain('internal error: boom');
  });

  test('--help has an example and the exit codes', async () => {
    const { code, note } = await refused(['--help']);
    expect(note).toContain('$ if agent-exec refused build/agent.log --adapter codex; then');
    expect(note).toContain('Exit codes: 0 refused, 1 not refused, 2 usage');
    expect(code).toBe(0);
  });
});

describe('as a process', () => {
  const shell = (script: string, ...args: string[]) =>
    spawnSync('bash', ['-c', script, process.execPath, TOOL, ...args], { encoding: 'utf8' });
  const good = logOf('all is well\n');
  const bad = logOf(`${SENTINELS.pi?.[0]}\n`);

  test('in an if, from a pipe, from a redirected file, from a process substitution', () => {
    const script = (log: string): string =>
      `if "$0" "$1" refused ${log} >/dev/null; then echo yes; else echo no $?; fi`;
    for (const log of ['"$2"', '- < "$2"', '- < <(cat "$2")', '<(cat "$2")', '/dev/stdin < "$2"']) {
      expect(shell(script(log), bad)).toMatchObject({ stdout: 'yes\n', stderr: '' });
      expect(shell(script(log), good)).toMatchObject({ stdout: 'no 1\n', stderr: '' });
    }
    expect(shell(script('- <&-'))).toMatchObject({ stdout: 'no 1\n', stderr: '' });
    expect(shell(script('- < /'))).toMatchObject({ stdout: 'no 2\n', stderr: expect.stringContaining('a folder') });
  }, 60_000);

  test('a reader that went away does not change the exit code', () => {
    const closed = shell('exec 3> >(exec true); wait $!; "$0" "$1" refused "$2" >&3; echo $?', bad);
    expect(closed).toMatchObject({ stdout: '0\n', stderr: '' });
  });

  test('a named pipe is waited for', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const child = spawn(process.execPath, [TOOL, 'refused', pipe], { stdio: 'ignore' });
    const code = new Promise((resolve) => child.on('close', resolve));
    // Opening it for writing waits for the reader.
    spawnSync('bash', ['-c', 'cat "$1" > "$2"', 'sh', bad, pipe]);
    expect(await code).toBe(0);
  });

  test('memory is bounded, whatever the length of log and lines', () => {
    const measure = (log: string) => {
      const source = `
        process.argv.splice(1, 1);
        process.on('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS)));
        await import(${JSON.stringify(TOOL)});`;
      const ran = spawnSync(process.execPath, ['--input-type=module', '-e', source, '-', TOOL, 'refused', log], {
        encoding: 'utf8',
      });
      return { code: ran.status, answer: JSON.parse(ran.stdout) as Refused, megabytes: Number(ran.stderr) / 1024 };
    };
    const small = measure(good);
    const lines = join(folder, 'lines.log');
    const file = openSync(lines, 'w');
    const megabyte = `${'2026-11-30 INFO step: compiled a file and went on'.padEnd(63, '.')}\n`.repeat(16 * 1024);
    for (let i = 0; i < 64; i++) writeSync(file, megabyte);
    closeSync(file);
    appendFileSync(lines, `${SENTINELS.pi?.[0]}\n`);
    const long = logOf('');
    truncateSync(long, 256 * 1024 * 1024);
    const read = measure(lines);
    expect(read).toMatchObject({ code: 0, answer: { line_number: 1024 * 1024 + 1 } });
    expect(read.megabytes).toBeLessThan(small.megabytes + 80);
    const skipped = measure(long);
    expect(skipped).toMatchObject({ code: 1, answer: { bytes_read: 256 * 1024 * 1024 } });
    expect(skipped.megabytes).toBeLessThan(small.megabytes + 80);
  }, 60_000);
});
