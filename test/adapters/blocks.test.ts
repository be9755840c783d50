/**
 * Laws of reading by blocks, on what the real CLIs printed: a reader that passes over lines, or puts them off, tells what
 * one tells that is given every line. However the bytes are cut, and however their JSON is written.
 */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linesOf } from '../../src/adapters/lines.ts';
import { builtInAdapter } from '../../src/adapters/registry.ts';
import type { Adapter, EventReader, Observation, Stream } from '../../src/model/adapter.ts';
import { lineBlocks } from '../../src/process/lines.ts';

interface Output {
  readonly name: string;
  readonly adapter: Adapter;
  readonly stream: Stream;
  readonly bytes: Buffer;
}

/** agy and cursor are on no registry: what their reports show. */
const REPORTED: readonly (readonly [string, readonly object[]])[] = [
  [
    'antigravity',
    [
      { event: 'init', conversation_id: 'c-1', init: { cwd: '/w', model: 'm-1' } },
      { event: 'step_update', step_update: { step_type: 'PLANNER_RESPONSE', text_delta: 'First — "words".\n' } },
      {
        event: 'step_update',
        step_update: { step_type: 'TOOL', tool_info: { name: 'bash', args: { command: 'ls' } } },
      },
      { event: 'note', text: 'result' },
      { event: 'step_update', step_update: { step_type: 'PLANNER_RESPONSE', text_delta: 'More words.' } },
      { event: 'result', result: { status: 'SUCCESS', usage: { input_tokens: 1 } } },
    ],
  ],
  [
    'cursor',
    [
      { type: 'system', subtype: 'init', model: 'm-1', session_id: 's-1' },
      { type: 'thinking', subtype: 'delta', text: 'so' },
      { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: 'Words — here.' }] } },
      { type: 'tool_call', subtype: 'started', tool_call: { readToolCall: { args: { path: 'a' } } } },
      { type: 'connection', subtype: 'reconnecting' },
      { type: 'retry', error: 'Too many requests' },
      { type: 'tool_call', subtype: 'completed', tool_call: { readToolCall: { args: { path: 'a' } } } },
      { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: 'Last words.' }] } },
      { type: 'result', subtype: 'success', is_error: false, result: '', session_id: 's-1' },
    ],
  ],
];

const captured: readonly Output[] = ['./captured/', './fixtures/'].flatMap((folder) => {
  const place = new URL(folder, import.meta.url);
  return readdirSync(place).flatMap((name): Output[] => {
    const adapter = builtInAdapter(name.split('-')[0] ?? '');
    if (adapter === null || !/\.(jsonl|txt|out|err)$/.test(name)) return [];
    const stream = /\.(stderr\.txt|err)$/.test(name) ? 'stderr' : 'stdout';
    return [{ name, adapter, stream, bytes: readFileSync(new URL(name, place)) }];
  });
});
const OUTPUTS: readonly Output[] = [
  ...captured,
  ...REPORTED.map(([name, events]): Output => {
    const text = events.map((event) => `${JSON.stringify(event)}\n`).join('');
    return { name, adapter: builtInAdapter(name) as Adapter, stream: 'stdout', bytes: Buffer.from(text) };
  }),
];

const newReader = (adapter: Adapter): EventReader => adapter.reader({ workspace: '/w', now: () => 0 });

/** What is left of it: of acts that follow one another the last. */
function inShort(all: readonly Observation[]): Observation[] {
  return all.filter((one, i) => one.kind !== 'activity' || all[i + 1]?.kind !== 'activity');
}

function byLines(adapter: Adapter, stream: Stream, bytes: Buffer) {
  const reader = newReader(adapter);
  const blocks = lineBlocks();
  // Whole, as one chunk: what a run sees of it, cut into lines and long ones cut short.
  const lines = [...blocks.push(bytes), ...blocks.end()].flatMap(linesOf);
  const seen = inShort(lines.flatMap((line) => reader.read(stream, line)));
  return { seen, report: reader.report(), told: reader.refusalTold() };
}

/** The bytes cut at these places, each chunk in the same memory as the one before it. */
function byBlocks(adapter: Adapter, stream: Stream, bytes: Buffer, cuts: readonly number[]) {
  const reader = newReader(adapter);
  const blocks = lineBlocks();
  const memory = Buffer.alloc(bytes.length);
  const seen: Observation[] = [];
  const give = (given: readonly Buffer[]) => {
    for (const block of given) seen.push(...reader.readBlock(stream, block).flat());
  };
  const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  for (const [i, end] of places.slice(1).entries()) {
    const length = bytes.copy(memory, 0, places[i], end);
    give(blocks.push(memory.subarray(0, length)));
  }
  give(blocks.end());
  return { seen: inShort(seen), report: reader.report(), told: reader.refusalTold() };
}

/** The same JSON as another program would write it: with blanks, and with letters by their numbers. */
function rewritten(bytes: Buffer, how: 'blanks' | 'escapes'): Buffer {
  const lines = bytes.toString().split('\n');
  const blanks = (line: string): string => line.replace(/"(:|,(?="))/g, '" $1 ').replace(/^\{/, ' { ');
  const escapes = (line: string): string =>
    line.replace(/"([a-z])([\w.]*)"/g, (_, first: string, rest: string) => {
      const code = first.charCodeAt(0).toString(16).padStart(4, '0');
      return `"\\u${code}${rest}"`;
    });
  const write = how === 'blanks' ? blanks : escapes;
  return Buffer.from(lines.map((line) => (line.startsWith('{') ? write(line) : line)).join('\n'));
}

const cutsOf = (bytes: Buffer) => fc.array(fc.nat(bytes.length), { maxLength: 12 });

test('there is something to read', () => {
  expect(new Set(OUTPUTS.map(({ adapter }) => adapter.name)).size).toBe(7);
  expect(OUTPUTS.length).toBeGreaterThan(100);
});

describe.each(OUTPUTS)('$name', ({ adapter, stream, bytes }) => {
  test('cut anywhere', () => {
    const whole = byLines(adapter, stream, bytes);
    fc.assert(
      fc.property(cutsOf(bytes), (cuts) => {
        expect(byBlocks(adapter, stream, bytes, cuts)).toEqual(whole);
      }),
      { numRuns: 12 },
    );
  });

  test('ended anywhere', () => {
    fc.assert(
      fc.property(fc.nat(bytes.length), (length) => {
        const part = bytes.subarray(0, length);
        expect(byBlocks(adapter, stream, part, [])).toEqual(byLines(adapter, stream, part));
      }),
      { numRuns: 12 },
    );
  });

  test.runIf(stream === 'stdout').each(['blanks', 'escapes'] as const)('written with %s', (how) => {
    const other = rewritten(bytes, how);
    const whole = byBlocks(adapter, stream, other, []);
    expect(whole).toEqual(byLines(adapter, stream, other));
    expect(whole.report.status).toBe(byLines(adapter, stream, bytes).report.status);
  });
});

/** Events of every adapter that pass, as many as are put off and more, around one that does not. */
describe('more than is put off', () => {
  const text = (i: number): string => `Word ${i} of "many" — as it comes.\n`.repeat(3);
  const EVENTS: readonly (readonly [string, (i: number) => object, object])[] = [
    [
      'claude',
      (i) => ({ type: 'assistant', message: { model: 'm', content: [{ type: 'text', text: text(i) }] } }),
      { type: 'system', subtype: 'api_retry', error: 'overloaded', error_status: 529 },
    ],
    [
      'codex',
      (i) => ({ type: 'item.completed', item: { id: `i${i}`, type: 'agent_message', text: text(i) } }),
      { type: 'error', message: 'Reconnecting... 1/5' },
    ],
    [
      'cursor',
      (i) => ({ type: 'assistant', message: { content: [{ type: 'text', text: text(i) }] } }),
      { type: 'retry' },
    ],
    [
      'opencode',
      (i) => ({ type: 'text', sessionID: 's', part: { type: 'text', text: text(i) } }),
      { type: 'step_finish', sessionID: 's', part: { reason: 'unknown', tokens: { output: 0 } } },
    ],
    [
      'pi',
      () => ({ type: 'message_update', message: {} }),
      { type: 'auto_retry_start', errorMessage: '429 Too many requests' },
    ],
    ['kimi', (i) => ({ role: 'assistant', content: text(i) }), { role: 'meta', type: 'turn.step.retrying' }],
    [
      'antigravity',
      (i) => ({ event: 'step_update', step_update: { step_type: 'P', text_delta: text(i) } }),
      { event: 'result', result: { status: 'ERROR', error: 'RESOURCE_EXHAUSTED (code 429)' } },
    ],
  ];
  test.each(EVENTS)('%s', (name, event, turn) => {
    const adapter = builtInAdapter(name) as Adapter;
    const many = (from: number, count: number): string =>
      Array.from({ length: count }, (_, i) => `${JSON.stringify(event(from + i))}\n`).join('');
    const bytes = Buffer.from(`${many(0, 30_000)}${JSON.stringify(turn)}\n${many(50_000, 10_000)}{"torn`);
    const cuts = Array.from({ length: Math.floor(bytes.length / 65_536) }, (_, i) => (i + 1) * 65_536);
    const blocks = byBlocks(adapter, 'stdout', bytes, cuts);
    const lines = byLines(adapter, 'stdout', bytes);
    expect(lines.seen.map(({ kind }) => kind)).toContain(name === 'antigravity' ? 'finished' : 'provider-wait');
    expect(blocks).toEqual(lines);
  });

  test('an answer that the CLI wrote itself among the others', () => {
    const adapter = builtInAdapter('claude') as Adapter;
    const answer = (over: object) => ({
      type: 'assistant',
      message: { content: [{ type: 'text', text: 'hm' }] },
      ...over,
    });
    const own = {
      error: 'rate_limit',
      message: { content: [{ type: 'text', text: 'API Error: 429' }], model: '<synthetic>' },
    };
    for (const events of [
      [answer({}), answer({}), answer(own)],
      [answer({}), answer(own), answer({})],
      [answer({}), answer(own), answer({ parent_tool_use_id: 'x' })],
    ]) {
      const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
      expect(byBlocks(adapter, 'stdout', bytes, [])).toEqual(byLines(adapter, 'stdout', bytes));
    }
  });

  test('a wait that stands between two streams', () => {
    const adapter = builtInAdapter('opencode') as Adapter;
    const reader = newReader(adapter);
    const words = `${JSON.stringify({ type: 'text', sessionID: 's', part: { text: 'so' } })}\n`;
    const failed =
      'timestamp=x level=ERROR run=y message="stream error" a small=false b error.error="AI_APICallError: 429 Too Many Requests"';
    const begin = JSON.stringify({ type: 'step_start', sessionID: 's', part: {} });
    reader.readBlock('stdout', Buffer.from(`${words}${words}`));
    expect(reader.readBlock('stderr', Buffer.from(failed)).flat()).toMatchObject([{ kind: 'provider-wait' }]);
    // Words put off from before the failure are no sign that it is over.
    expect(reader.readBlock('stdout', Buffer.from(begin)).flat()).toEqual([]);
  });
});

test('the same plain line in a later block tells its wait again', () => {
  const reader = (builtInAdapter('antigravity') as Adapter).reader({ now: () => 0 });
  const block = Buffer.from('Waiting for authentication\n');
  const waits = (): unknown[] =>
    reader
      .readBlock('stdout', block)
      .flat()
      .map(({ kind }) => kind);
  const first = waits();
  expect(first).toContain('provider-wait');
  expect(waits()).toEqual(first);
});

test('a passing line that shows nothing is a sign of life beside a wait', () => {
  const reader = newReader(builtInAdapter('claude') as Adapter);
  const retry = {
    type: 'system',
    subtype: 'api_retry',
    attempt: 1,
    error_status: 429,
    error: 'rate_limit',
    session_id: 's',
  };
  const said = { type: 'assistant', message: { model: '<synthetic>', content: [{ type: 'text', text: '' }] } };
  const bytes = Buffer.from([retry, said].map((event) => JSON.stringify(event)).join('\n'));
  const [block, lines] = [reader.readBlock('stdout', bytes), byLineReadings(bytes)];
  const works = (all: readonly (readonly Observation[])[]): boolean =>
    all.some((one) => one.every(({ kind }) => kind !== 'provider-wait'));
  expect(lines.flat().map(({ kind }) => kind)).toContain('provider-wait');
  expect([works(block), works(lines)]).toEqual([true, true]);
});

/** What a reader of claude's tells of each line. */
function byLineReadings(bytes: Buffer): readonly (readonly Observation[])[] {
  const reader = newReader(builtInAdapter('claude') as Adapter);
  return linesOf(bytes).map((line) => reader.read('stdout', line));
}

test('what is new of lines that had to be read one by one is told', () => {
  const reader = newReader(builtInAdapter('claude') as Adapter);
  const init = { type: 'system', subtype: 'init', session_id: 's', model: 'm' };
  const failed = { type: 'assistant', message: { model: '<synthetic>', content: [] }, error: 'rate_limit' };
  const tool = { type: 'tool_use', name: 'Write', input: { file_path: '/w/a.md' } };
  const works = { type: 'assistant', message: { model: 'm', content: [tool] } };
  const bytes = (...events: readonly object[]): Buffer =>
    Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  reader.readBlock('stdout', bytes(init));
  const seen = reader.readBlock('stdout', bytes(failed, works, init)).flat();
  expect(seen).toEqual([{ kind: 'activity', text: 'Write /w/a.md' }]);
});
