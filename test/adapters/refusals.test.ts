/** The refusal predicate: fires on what a CLI says of its provider, and on nothing that an agent merely read or wrote. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { customAdapter } from '../../src/adapters/custom.ts';
import { refusalCode, statusIn } from '../../src/adapters/refusal.ts';
import { builtInAdapter, builtInAdapters } from '../../src/adapters/registry.ts';
import { sentinelReader, sentinelRefusal } from '../../src/adapters/sentinel.ts';
import type { Adapter } from '../../src/model/adapter.ts';
import { readLines } from './request.ts';

const corpus = (name: string) => JSON.parse(readFileSync(new URL(`./corpus/${name}.json`, import.meta.url), 'utf8'));
interface Refused {
  readonly adapter: string;
  readonly lines: readonly string[];
  readonly code: string;
  readonly retry_after_seconds?: number;
  readonly source?: string;
}
const refused: readonly Refused[] = corpus('refusals');
const missed: { readonly anywhere: readonly string[]; readonly events: readonly Omit<Refused, 'code'>[] } =
  corpus('near-misses');

// A time of day without a zone is the host's.
process.env.TZ = 'Europe/Berlin';

const adapter = (name: string): Adapter => builtInAdapter(name) as Adapter;
const facts = { now: () => Date.UTC(2026, 10, 30, 18, 30) };

test.each(refused)('$adapter fires with $code: $lines', ({ adapter: name, lines, code, ...rest }) => {
  const { report } = readLines(adapter(name), lines, facts);
  expect(report.refusal).toMatchObject({
    code,
    source: rest.source ?? 'event',
    retry_after_seconds: rest.retry_after_seconds ?? null,
  });
  expect(report.status).not.toBe('success');
});

describe.each(missed.anywhere)('never fires on %j', (line) => {
  test.each(builtInAdapters.map(({ name }) => name))('%s', (name) => {
    for (const at of [line, `e> ${line}`]) expect(readLines(adapter(name), [at]).report.refusal).toBeNull();
  });
});

test.each(missed.events)('$adapter does not fire on $lines', ({ adapter: name, lines }) => {
  expect(readLines(adapter(name), lines).report.refusal).toBeNull();
});

describe('refusal_prefixes of a custom adapter', () => {
  const own = customAdapter('own', {
    base_argv: [],
    run_everything_argv: [],
    workspace_argv: [],
    model_argv: [],
    prompt_transport: 'stdin',
    output_format: 'text',
    refusal_prefixes: ['FATAL: quota', 'provider: error 429'],
  });

  test('fire at a line’s start, on both streams, colours or not', () => {
    expect(readLines(own, ['FATAL: quota exceeded for today']).report.refusal).toMatchObject({
      code: 'QUOTA_EXHAUSTED',
      source: 'stdout',
    });
    expect(readLines(own, ['e> \u001b[1;31mprovider: error 429, retry after 7 s']).report.refusal).toEqual({
      code: 'RATE_LIMITED',
      retry_after_seconds: 7,
      line: 'provider: error 429, retry after 7 s',
      source: 'stderr',
    });
    expect(readLines(own, ['FATAL: quota of something']).report.refusal?.code).toBe('PROVIDER_ERROR');
  });
  test('fire nowhere else', () => {
    const lines = [
      ' FATAL: quota',
      'it printed FATAL: quota',
      'fatal: quota',
      'FATAL quota',
      '"FATAL: quota"',
      'FATAL:',
    ];
    expect(readLines(own, [...lines, ...lines.map((line) => `e> ${line}`)]).report.refusal).toBeNull();
  });
  test('a bound holds for what is kept of a line', () => {
    const { refusal } = readLines(own, [`FATAL: quota ${'x'.repeat(900_000)}`]).report;
    expect(refusal?.line.length).toBeLessThanOrEqual(500);
  });
});

test('a literal may ask for further words, and one of another error takes the line', () => {
  const streams = ['stderr'] as const;
  const sentinels = [
    { start: 'Oops: trust', streams, code: 'other' as const },
    { start: 'Oops:', holds: '--list', streams, code: 'MODEL_UNAVAILABLE' as const },
  ];
  expect(sentinelRefusal(sentinels, 'stderr', 'Oops: no model, see --list')?.code).toBe('MODEL_UNAVAILABLE');
  expect(sentinelRefusal(sentinels, 'stderr', 'Oops: no model')).toBeNull();
  expect(sentinelRefusal(sentinels, 'stderr', 'Oops: trust, see --list')).toBeNull();
});

describe('what a kept log does not tell', () => {
  const line = 'ConnectError: [unavailable] x';
  const init = JSON.stringify({ type: 'system', subtype: 'init', session_id: 's' });
  const code = (isNamed: boolean, lines: readonly string[]) =>
    readLines(adapter('cursor'), lines, { log: { isNamed, isMerged: false } }).report.refusal?.code;

  test('whose it is: a general literal counts by the name, or beside events', () => {
    expect(code(true, [`e> ${line}`])).toBe('PROVIDER_UNREACHABLE');
    expect(code(false, [`e> ${line}`])).toBeUndefined();
    for (const lines of [
      [init, `e> ${line}`],
      [`e> ${line}`, init],
    ]) {
      expect(code(false, lines)).toBe('PROVIDER_UNREACHABLE');
    }
  });
  test('which stream: what is printed on both counts as of the first', () => {
    const said = 'Credit balance is too low';
    const merged = { log: { isNamed: true, isMerged: true } };
    expect(readLines(adapter('claude'), [`e> ${said}`]).report.refusal?.source).toBe('stderr');
    expect(readLines(adapter('claude'), [`e> ${said}`], merged).report.refusal).toBeNull();
    expect(readLines(adapter('claude'), [said], merged).report.refusal?.source).toBe('stdout');
  });
});

test('law: a literal fires exactly at the start of a line, behind colours alone', () => {
  const sentinels = [{ start: 'REFUSED: ', streams: ['stderr'] as const, code: 'RATE_LIMITED' as const }];
  const colour = fc.constantFrom('', '\r', '\u001b[0m', '\u001b[1;31m', '\u001b[38;5;9m', '\u001b[m');
  fc.assert(
    fc.property(fc.array(colour), fc.string(), fc.string(), (colours, before, after) => {
      const line = `${colours.join('')}${before}REFUSED: ${after}`;
      const bare = before.replace(/^(?:\r|\u001b\[[0-9;:]*m)+/, '');
      const fires = sentinelRefusal(sentinels, 'stderr', line) !== null;
      expect(fires).toBe(`${bare}REFUSED: `.startsWith('REFUSED: '));
      expect(sentinelRefusal(sentinels, 'stdout', line)).toBeNull();
    }),
  );
});

test('law: looking for all literals at once finds what looking for each finds', () => {
  const special = fc.constantFrom(
    '[a] ',
    'a.b(',
    'x|y',
    '^$',
    '\\d+',
    'C:\\',
    '{1,2}',
    '*?',
    '/-',
    '“q”',
    '\u2028',
    '\ud83d',
  );
  const word = fc.oneof(special, fc.string({ minLength: 1, maxLength: 3 }));
  const before = fc.constantFrom('', '', '\r', '\u001b[31m', ' ', '\n');
  fc.assert(
    fc.property(fc.array(word, { maxLength: 5 }), before, word, fc.string(), (starts, front, middle, end) => {
      const sentinels = starts.map((start) => ({ start, streams: ['stderr'] as const, code: 'OVERLOADED' as const }));
      const line = front + middle + end;
      const expected = sentinelRefusal(sentinels, 'stderr', line);
      const reader = sentinelReader(sentinels);
      expect(reader.by('stderr', line)).toEqual(expected);
      // A line that is one must never hide in a block. Half a character is never in bytes.
      const bytes = Buffer.from(`before\n${line}\nafter`);
      if (expected !== null && bytes.toString().includes(line))
        expect(reader.isIn(bytes.toString('latin1'))).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  [null, '401 scripted 401', 'AUTH_REJECTED'],
  [null, '401: {"type":"authentication_error"}', 'AUTH_REJECTED'],
  [null, 'unexpected status 529 <unknown status code>', 'OVERLOADED'],
  [null, 'provider.auth_error: 401 x', 'AUTH_REJECTED'],
  [null, 'API Error: Request rejected (429) · x', 'RATE_LIMITED'],
  [402, 'Payment Required', 'QUOTA_EXHAUSTED'],
  [400, 'Your credit balance is too low', 'QUOTA_EXHAUSTED'],
  [429, 'You exceeded your current quota, please check your plan', 'QUOTA_EXHAUSTED'],
  [429, 'The engine is overloaded', 'RATE_LIMITED'],
  [503, 'overloaded', 'OVERLOADED'],
  [500, 'quota exceeded', 'PROVIDER_ERROR'],
  [403, "You've reached your usage limit", 'RATE_LIMITED'],
  [403, 'usage limit for this billing cycle', 'QUOTA_EXHAUSTED'],
  [407, 'Proxy Authentication Required', 'PROVIDER_UNREACHABLE'],
  [400, 'This organization has been disabled.', 'AUTH_REJECTED'],
  [429, 'too many tokens in the context window, rate limit', 'RATE_LIMITED'],
  [500, 'the input exceeds the context window', null],
  [null, 'rate limit: prompt is too long', null],
  [null, 'The input token count (9) exceeds the maximum number of tokens allowed', null],
  [null, 'it took too long: connection reset', 'PROVIDER_UNREACHABLE'],
  [null, 'Token refresh failed: 503', 'PROVIDER_ERROR'],
  [400, 'model_not_found', 'MODEL_UNAVAILABLE'],
  [400, 'prompt is too long', null],
  [400, 'tools: too many requests in one call, rate limit of the schema', null],
  [400, 'invalid x-api-key', 'AUTH_REJECTED'],
  [413, 'request too large, connection closed', null],
  [422, 'model_not_found', 'MODEL_UNAVAILABLE'],
  [null, 'The tool failed', null],
  [null, '', null],
] as const)('status %s and %j mean %s', (status, text, code) => {
  expect(refusalCode(status, text)).toBe(code);
});

test('a status is read where one is named, and no other number is one', () => {
  expect(statusIn('last status: 429 Too Many')).toBe(429);
  for (const text of ['line 401', '4010 tokens', '77\r\n{}', '401\r\n{}', 'took 500 ms', 'port 404', 'v4.0.1']) {
    expect(statusIn(text)).toBeNull();
  }
});
