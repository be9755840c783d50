/** What holds for every reader and any output: it never throws, keeps little, and says the same however often it is asked. */
import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { activityText, errorText, lastBytes, refusalLine, tail } from '../../src/adapters/bounded-text.ts';
import { customAdapter } from '../../src/adapters/custom.ts';
import { linesOf } from '../../src/adapters/lines.ts';
import { builtInAdapters } from '../../src/adapters/registry.ts';
import {
  type Adapter,
  FINAL_TEXT_BYTES,
  MAX_LINE,
  type Observation,
  type Stream,
  type WorkerReport,
} from '../../src/model/adapter.ts';
import { refusal, usage } from '../../src/model/observation.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const custom = (output_format: 'text' | 'claude'): Adapter =>
  customAdapter(`own-${output_format}`, {
    base_argv: [],
    run_everything_argv: [],
    workspace_argv: [],
    model_argv: [],
    prompt_transport: 'stdin',
    output_format,
    refusal_prefixes: ['FATAL: '],
  });
const ADAPTERS: readonly Adapter[] = [...builtInAdapters, custom('text'), custom('claude')];

/** Every reader's whole output must fit the records' schemas and stay within the promised bounds. */
function expectSane(report: WorkerReport): void {
  expect(usage.safeParse(report.usage).success).toBe(true);
  if (report.refusal !== null) {
    expect(refusal.safeParse(report.refusal).success).toBe(true);
    expect(report.refusal.line.length).toBeLessThanOrEqual(500);
  }
  expect(Buffer.byteLength(report.finalText)).toBeLessThanOrEqual(FINAL_TEXT_BYTES);
  for (const text of [report.error, report.model, report.sessionId]) {
    expect(text === null || (typeof text === 'string' && text.length <= 1000)).toBe(true);
  }
}

function feed(adapter: Adapter, lines: readonly (readonly [Stream, string])[]): WorkerReport {
  const reader = adapter.reader({ workspace: '/w', now: () => 0 });
  for (const [stream, line] of lines) {
    for (const seen of reader.read(stream, line)) {
      if (seen.kind === 'activity') expect(seen.text.length).toBeLessThanOrEqual(200);
      if (seen.kind === 'activity') expect(seen.text).not.toMatch(/[\u0000-\u001f\u007f]/);
      if (seen.kind === 'provider-wait') expect(refusal.safeParse(seen.refusal).success).toBe(true);
    }
  }
  const report = reader.report();
  expectSane(report);
  expect(reader.report()).toEqual(report);
  return report;
}

const CAPTURED = new URL('./fixtures/', import.meta.url);
const captured = readdirSync(CAPTURED)
  .filter((name) => /\.(out|err)$/.test(name))
  .map((name) => readFileSync(new URL(name, CAPTURED), 'utf8'));

/** Of acts that follow one another only the last is left, of lines that say nothing none. */
function inShort(lines: readonly (readonly Observation[])[]): Observation[] {
  const all = lines.flat();
  return all.filter((one, i) => one.kind !== 'activity' || all[i + 1]?.kind !== 'activity');
}

/** Two readings mean the same to whoever follows them: of what it did the last, and every wait and end in its order. */
function expectToldAlike(
  blocks: readonly (readonly Observation[])[],
  lines: readonly (readonly Observation[])[],
): void {
  expect(blocks.length).toBeGreaterThan(0);
  expect(inShort(blocks)).toEqual(inShort(lines));
  const waits = (all: typeof lines) => all.filter((one) => one.some(({ kind }) => kind === 'provider-wait')).length;
  expect(waits(blocks)).toBe(waits(lines));
  // A line that only says nothing is a sign of life too, where all others wait.
  const works = (all: typeof lines) => all.some((one) => one.every(({ kind }) => kind !== 'provider-wait'));
  expect(works(blocks)).toBe(works(lines));
}

describe.each(ADAPTERS.map((adapter) => ({ name: adapter.name, adapter })))('$name', ({ adapter }) => {
  test('law: block by block tells what line by line does', () => {
    const known = [
      ...captured.flatMap((text) => text.split('\n')).filter((line) => line.length < 5000),
      ...[
        '',
        ' ',
        '\r',
        'y',
        '{',
        '  {"type":"error"}',
        '\ufeff{"type":"x"}',
        '\u2028{}',
        '[1]',
        'FATAL: 429',
        '\u001b[31mFATAL: x',
      ],
      ...[
        'Authentication required. Please visit the URL',
        'Waiting for authentication',
        'error: 429',
        'No API key found',
      ],
    ];
    const line = fc.oneof(
      fc.constantFrom(...known),
      fc.string().map((text) => text.replaceAll('\n', '')),
    );
    const ended = fc.tuple(line, fc.constantFrom('', '', '\r')).map(([text, end]) => text + end);
    const block = fc.record({
      stream: fc.constantFrom<Stream>('stdout', 'stderr'),
      lines: fc.array(ended, { minLength: 1, maxLength: 6 }),
    });
    fc.assert(
      fc.property(fc.array(block, { maxLength: 8 }), (blocks) => {
        const [one, other] = [adapter.reader({ now: () => 0 }), adapter.reader({ now: () => 0 })];
        for (const { stream, lines } of blocks) {
          const block = Buffer.from(lines.join('\n'));
          const single = linesOf(block).map((each) => one.read(stream, each));
          const seen = other.readBlock(stream, block);
          expectToldAlike(seen, single);
          expect(other.refusalTold()).toEqual(one.refusalTold());
        }
        expect(other.report()).toEqual(one.report());
      }),
      { numRuns: 300 },
    );
  });
});

/** The names that the formats use, with values of every kind in their places. */
const NAMES = [
  ...new Set(captured.flatMap((text) => [...text.matchAll(/"([A-Za-z_]+)":/g)].map((match) => match[1] ?? ''))),
  ...['event', 'step_update', 'init', 'result', 'text_delta', 'tool_info', 'denied_actions', 'tool_call', 'usage'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'],
];
const TYPES = [
  ...[
    'system',
    'init',
    'assistant',
    'user',
    'result',
    'api_retry',
    'success',
    'error',
    'turn.completed',
    'turn.failed',
  ],
  ...['item.started', 'item.completed', 'agent_message', 'command_execution', 'file_change', 'mcp_tool_call', 'meta'],
  ...['step_start', 'step_finish', 'text', 'tool_use', 'stop', 'message_end', 'message_update', 'auto_retry_start'],
  ...['auto_retry_end', 'agent_settled', 'tool_execution_start', 'tool', 'turn.step.retrying', 'session.resume_hint'],
  ...[
    'tool_call',
    'started',
    'retry',
    'connection',
    'step_update',
    'SUCCESS',
    'ERROR',
    '<synthetic>',
    'thread.started',
  ],
];
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...TYPES),
    fc.string(),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('any'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom(...NAMES), tie('any'), { maxKeys: 8, noNullPrototype: true }),
}));
const event = fc
  .record({
    type: fc.constantFrom(...TYPES),
    subtype: fc.constantFrom(...TYPES),
    role: fc.constantFrom('assistant', 'meta', 'tool'),
  })
  .chain((head) => value.object.map((rest) => JSON.stringify({ ...(rest as object), ...head, event: head.type })));
const stream = fc.constantFrom<Stream>('stdout', 'stderr');
const line = fc.oneof(
  event,
  fc.string({ unit: 'binary' }),
  fc.constantFrom(...captured.flatMap((text) => text.split('\n')).map((text) => text.slice(0, 4000))),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => new TextDecoder().decode(bytes)),
);

describe.each(ADAPTERS.map((adapter) => [adapter.name, adapter] as const))('%s', (_, adapter) => {
  test('any lines on any stream: never throws, within bounds, asked twice says the same', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(stream, line), { maxLength: 20 }), (lines) => {
        feed(adapter, lines);
      }),
      { numRuns: 300 },
    );
  });

  test('an event cut at any character is nothing', () => {
    const events = captured.flatMap((text) => text.split('\n')).filter((text) => text.startsWith('{'));
    expect(events.length).toBeGreaterThan(100);
    const reader = adapter.reader();
    const untouched = reader.report();
    for (const whole of events) {
      for (let at = 0; at < Math.min(whole.length, 150); at += 3) reader.read('stdout', whole.slice(0, at));
      for (let at = whole.length - 30; at < whole.length; at++) reader.read('stdout', whole.slice(0, Math.max(0, at)));
    }
    const { finalText, ...rest } = reader.report();
    const { finalText: none, ...nothing } = untouched;
    expect(rest).toEqual(nothing);
    if (adapter.name !== 'own-text') expect(finalText).toBe(none);
  });

  test('lines of the greatest length, deep nesting and long tokens are just lines', () => {
    const monsters = [
      '['.repeat(MAX_LINE),
      `{"type":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`,
      'x'.repeat(MAX_LINE),
      ' '.repeat(MAX_LINE),
      '\u001b[0m'.repeat(MAX_LINE / 4),
      `{"type":"result","is_error":true,"result":"${'retry after '.repeat(80_000)}"}`,
      `{"type":"turn.failed","error":{"message":"${'model '.repeat(160_000)}"}}`,
      `error: failed to run prompt: ${'rate '.repeat(200_000)}`,
    ];
    const started = performance.now();
    feed(
      adapter,
      monsters.flatMap((text) => [['stdout', text] as const, ['stderr', text] as const]),
    );
    expect(performance.now() - started).toBeLessThan(5000);
  });

  test('memory does not grow with the output', () => {
    const words = 'x'.repeat(100_000);
    const chatter = [
      { type: 'assistant', message: { model: 'm', content: [{ type: 'text', text: words }] } },
      { type: 'item.completed', item: { type: 'agent_message', text: words } },
      { type: 'message_update', message: { role: 'assistant', content: [{ type: 'text', text: words }] } },
      { type: 'message_end', message: { role: 'assistant', model: words, stopReason: 'stop', content: words } },
      { type: 'text', part: { text: words } },
      { role: 'assistant', content: words },
      { event: 'step_update', step_update: { text_delta: words } },
      { type: 'error', message: words, error: { data: { message: words } } },
    ].map((one) => JSON.stringify(one));
    const reader = adapter.reader();
    const round = (): void => {
      for (const text of chatter) {
        // A string of its own each time, as from a pipe: what is kept of it costs memory.
        const fresh = Buffer.from(text).toString();
        reader.read('stdout', fresh);
        reader.read('stderr', fresh);
      }
    };
    const used = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    for (let i = 0; i < 20; i++) round();
    const before = used();
    // 160 MB of output; a reader that kept one part in forty of it would show.
    for (let i = 0; i < 100; i++) round();
    expect(used() - before).toBeLessThan(4 * 1024 * 1024);
    expect(JSON.stringify(reader.report()).length).toBeLessThan(2 * FINAL_TEXT_BYTES);
  });
});

test('what one stream says does not depend on when the other speaks', () => {
  for (const adapter of ADAPTERS) {
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 8 }),
        fc.array(fc.string(), { maxLength: 8 }),
        fc.infiniteStream(fc.boolean()),
        (out, noise, turns) => {
          // Noise on stderr that is no line of the CLI's own, shuffled in between in any way.
          const others = noise.map((text) => `. ${text}`);
          const mixed: (readonly [Stream, string])[] = [];
          const [a, b] = [[...out], [...others]];
          while (a.length + b.length > 0) {
            const fromOut = a.length > 0 && (b.length === 0 || turns.next().value);
            mixed.push(fromOut ? ['stdout', a.shift() ?? ''] : ['stderr', b.shift() ?? '']);
          }
          expect(feed(adapter, mixed)).toEqual(
            feed(
              adapter,
              out.map((text) => ['stdout', text] as const),
            ),
          );
        },
      ),
      { numRuns: 40 },
    );
  }
});

describe('bounded text', () => {
  test('law: a shortened line is within its bound and ends before a word, never inside a key', () => {
    const key = 'sk-live_0123456789abcdef0123456789abcdef';
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('word', 'wörter', '漢字', '😀', '\n', '\t\u0007')),
        fc.nat(220),
        (words, pad) => {
          const text = `${words.join(' ')} ${'x '.repeat(pad)}${key} ${'y '.repeat(300)}`;
          for (const shorten of [activityText, refusalLine, errorText]) {
            const line = shorten(text);
            expect(line.length).toBeLessThanOrEqual(1000);
            if (line.includes('sk-')) expect(line).toContain(key);
          }
          expect(activityText(text).length).toBeLessThanOrEqual(200);
          expect(activityText('short\n one')).toBe('short one');
          expect(activityText(`${' '.repeat(795)}${key}`)).toBe('…');
        },
      ),
    );
  });
  test('law: lastBytes is an end of the text, within the limit, of whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.integer({ min: 4, max: 300 }), (text, limit) => {
        const kept = lastBytes(text, limit);
        expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(limit);
        expect(text.endsWith(kept)).toBe(true);
        expect(kept.includes('\ufffd')).toBe(text.includes('\ufffd') && kept.includes('\ufffd'));
        if (Buffer.byteLength(text) <= limit) expect(kept).toBe(text);
        else expect(Buffer.byteLength(kept)).toBeGreaterThan(limit - 4);
      }),
    );
  });
  test('law: a tail equals the end of everything added', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme-composite' })),
        fc.integer({ min: 4, max: 60 }),
        (parts, limit) => {
          const end = tail(limit);
          for (const part of parts) end.add(part);
          expect(end.text()).toBe(lastBytes(parts.join(''), limit));
          expect(end.text()).toBe(lastBytes(parts.join(''), limit));
        },
      ),
    );
  });
  test('law: also a tail that went round many times', () => {
    const piece = fc.string({ unit: 'grapheme-composite', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1 }), fc.integer({ min: 4, max: 4000 }), (parts, limit) => {
        const many = Array.from({ length: Math.ceil(2500 / parts.length) }, () => parts).flat();
        const end = tail(limit);
        for (const part of many) end.add(part);
        expect(end.text()).toBe(lastBytes(many.join(''), limit));
        end.clear();
        end.add('new');
        expect(end.text()).toBe('new');
      }),
      { numRuns: 50 },
    );
  });
});
