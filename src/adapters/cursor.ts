/** Cursor's CLI. From reports up to 2026.10.01, not measured: it is on no registry. */
import type { Adapter, EventReader, Observation, ReaderFacts } from '../model/adapter.ts';
import type { Refusal } from '../model/observation.ts';
import { err } from '../model/result.ts';
import { effortProblem, invocation, promptBytes, slugProblem } from './argv.ts';
import {
  activity,
  type Draft,
  eventReader,
  NOTHING_SEEN,
  providerWait,
  setError,
  setFinalText,
  setSuccess,
  toolActivity,
} from './event-reader.ts';
import { contentText, type JsonObject, objectOf, stringOf } from './json-lines.ts';
import { jsonNames } from './marks.ts';
import type { PassingEvents } from './passing-events.ts';
import { refusal, refusalCode } from './refusal.ts';
import { type Sentinel, sentinelRefusal, uncoloured } from './sentinel.ts';
import { tokens } from './usage.ts';
import { readVersionBy } from './version.ts';

type Code = Sentinel['code'];
const own = (start: string, code: Code): Sentinel => ({ start, streams: ['stderr'], code });
const general = (start: string, code: Code): Sentinel => ({ ...own(start, code), isGeneral: true });
/** Errors of its connection carry one of these classes (`S` is one of a build's); builds differ in an `Error: ` before it. */
const CONNECTION_ERRORS = ['ConnectError: ', 'RetriableError: ', 'NonRetriableError: ', 'S: '] as const;
const orAsError = (starts: readonly string[]): string[] => starts.flatMap((start) => [start, `Error: ${start}`]);
/** Its failures are a line on stderr and exit 1, without a result event. */
const REASONS: readonly (readonly [string, Code])[] = [
  ["Authentication required. Please run '", 'AUTH_REQUIRED'],
  ['Cannot use this model:', 'MODEL_UNAVAILABLE'],
  ['ActionRequiredError: Workspace Trust Required', 'other'],
  ['ActionRequiredError: Named models unavailable', 'MODEL_UNAVAILABLE'],
  ['ActionRequiredError: Model Blocked', 'MODEL_UNAVAILABLE'],
  ['ActionRequiredError:', 'QUOTA_EXHAUSTED'],
];
/** The connection's own codes. */
const CONNECTION_CODES: readonly (readonly [string, Code])[] = [
  ['[unauthenticated]', 'AUTH_REJECTED'],
  ['[permission_denied]', 'AUTH_REJECTED'],
  ['[unavailable]', 'PROVIDER_UNREACHABLE'],
  ['[deadline_exceeded]', 'PROVIDER_UNREACHABLE'],
];
/** Those of which only its classes make words. */
const CLASS_CODES: readonly (readonly [string, Code])[] = [
  ...CONNECTION_CODES,
  ['[canceled]', 'PROVIDER_UNREACHABLE'],
  ['[internal]', 'PROVIDER_ERROR'],
  ['[unknown]', 'PROVIDER_ERROR'],
  // Without a code a `ConnectError` may be of any client, of any server.
  ['HTTP/2 ', 'read-provider'],
];
/** Any program that speaks the same protocol prints its codes; two of the classes are its own. */
const ofConnection = (before: string, [words, code]: readonly [string, Code]): Sentinel =>
  /Retriable/.test(before) ? own(`${before}${words}`, code) : general(`${before}${words}`, code);
const SENTINELS: readonly Sentinel[] = [
  ...orAsError(['', ...CONNECTION_ERRORS]).flatMap((before) => [
    ...REASONS.map(([words, code]) => own(`${before}${words}`, code)),
    ofConnection(before, ['[resource_exhausted]', 'RATE_LIMITED']),
  ]),
  own("Error: You've hit your usage limit", 'QUOTA_EXHAUSTED'),
  own('⚠ Warning: The provided API key is invalid.', 'AUTH_REJECTED'),
  ...CONNECTION_CODES.map(([words, code]) => general(`Error: ${words}`, code)),
  ...orAsError(CONNECTION_ERRORS).flatMap((before) => CLASS_CODES.map((reason) => ofConnection(before, reason))),
];
const OWN_ERROR =
  /^(?:\w*Error: |S: \[|⚠ Warning: The provided API key|Authentication required|Workspace Trust Required|Cannot use this model:|\[resource_)/;

const LOST = /reconnect|disconnect|lost|retry/i;

/** How its own words in an event begin: as its lines on stderr do, and without their `Error: `. */
const IN_EVENTS: readonly Sentinel[] = [...SENTINELS, own("You've hit your usage limit", 'QUOTA_EXHAUSTED')];

/** An event's text that is its own. */
function ownRefusal(text: string, facts: ReaderFacts): Refusal | null {
  const found = sentinelRefusal(IN_EVENTS, 'stderr', text, facts.now);
  return found === null ? null : { ...found, source: 'event' };
}

function onResult(event: JsonObject, draft: Draft, facts: ReaderFacts): void {
  const usage = objectOf(event.usage);
  const text = stringOf(event.result) ?? '';
  draft.resultSeen = true;
  draft.usage = {
    input_tokens: tokens(usage.inputTokens),
    output_tokens: tokens(usage.outputTokens),
    cache_read_tokens: tokens(usage.cacheReadTokens),
    // Whether cached input counts within input is not known, so neither is the sum.
    total_tokens: null,
    cost_usd: null,
  };
  if (event.is_error === false) {
    setSuccess(draft);
    if (text !== '') setFinalText(draft, text);
    return;
  }
  const said = text || (stringOf(event.subtype) ?? 'error');
  // It may be the agent's last prose: only what begins as its lines on stderr do is its own.
  setError(draft, said, ownRefusal(said, facts));
}

/** `tool_call: { readToolCall: { args: {…} } }`: the one key names the tool. */
function onToolCall(event: JsonObject): readonly Observation[] {
  if (event.subtype !== 'started') return NOTHING_SEEN;
  const [name, call] = Object.entries(objectOf(event.tool_call))[0] ?? ['tool', null];
  return toolActivity(name.replace(/ToolCall$/, ''), objectOf(objectOf(call).args));
}

const assistantText = (event: JsonObject): string =>
  event.type === 'assistant' ? contentText(objectOf(event.message).content) : '';
const PASSING: PassingEvents = {
  heads: ['{"type":"assistant",', '{"type":"thinking",', '{"type":"tool_call",'],
  wordsMark: jsonNames(['assistant']),
  kept: 'last',
  fits: ({ type }) => type === 'assistant' || type === 'thinking' || type === 'tool_call',
  words: assistantText,
  shown(event) {
    if (event.type === 'tool_call') return onToolCall(event);
    return activity(event.type === 'thinking' ? 'thinking' : assistantText(event));
  },
};
const keepWords = (words: string, draft: Draft): void => {
  if (words !== '') setFinalText(draft, words);
};

function cursorReader(facts: ReaderFacts = {}): EventReader {
  /** The last reason given for waiting: a bare `retry` follows the event that has it. */
  let waiting: Refusal | null = null;

  const wait = (refused: Refusal): readonly Observation[] => {
    waiting = refused;
    return providerWait(refused);
  };

  return eventReader(
    {
      sentinels: SENTINELS,
      names: ['system', 'assistant', 'thinking', 'tool_call', 'connection', 'retry', 'result'],
      plainLines: OWN_ERROR,
      passing: { ...PASSING, pass: ({ words }, draft) => keepWords(words, draft) },
      promisesResult: true,
      onEvent(event, draft) {
        switch (event.type) {
          case 'system':
            if (event.subtype === 'init') {
              draft.model = stringOf(event.model) ?? draft.model;
              draft.sessionId = stringOf(event.session_id) ?? draft.sessionId;
            }
            return NOTHING_SEEN;
          case 'assistant':
          case 'thinking':
          case 'tool_call':
            keepWords(assistantText(event), draft);
            return PASSING.shown(event);
          case 'connection':
            // It may now sit behind a long tool call without another event. One that never comes back gives up by itself.
            if (event.subtype === 'reconnected') return activity('reconnected');
            if (!LOST.test(stringOf(event.subtype) ?? '')) return NOTHING_SEEN;
            return wait(refusal('PROVIDER_UNREACHABLE', waitingText(event) ?? 'connection lost', 'event', facts.now));
          case 'retry': {
            const text = waitingText(event);
            if (text === null) return wait(waiting ?? refusal('PROVIDER_ERROR', 'retry', 'event'));
            const code = refusalCode(null, text) ?? 'PROVIDER_ERROR';
            return wait(ownRefusal(text, facts) ?? refusal(code, text, 'event', facts.now));
          }
          case 'result':
            onResult(event, draft, facts);
            return [{ kind: 'finished' }];
          default:
            return NOTHING_SEEN;
        }
      },
      onPlainLine(line, stream, draft) {
        const said = uncoloured(line);
        if (stream === 'stderr' && !draft.resultSeen && OWN_ERROR.test(said)) setError(draft, said, null);
        return NOTHING_SEEN;
      },
    },
    facts,
  );
}

/** The shape of these events is not documented: take whatever words they carry, if any. */
const waitingText = (event: JsonObject): string | null =>
  ['message', 'error', 'reason']
    .map((key) => stringOf(event[key]) ?? stringOf(objectOf(event[key]).message))
    .find((text) => text !== null) ?? null;

export const cursor: Adapter = {
  name: 'cursor',
  programs: ['cursor-agent', 'agent'],
  probe: {
    version: { args: ['--version'] },
    readVersion: readVersionBy({
      product: "Cursor's CLI",
      line: /^(\d{4}\.\d{2}\.\d{2}-[0-9a-f]{7,})$/,
      cure: "Install Cursor's CLI (another product is also called `agent`), or name its executable in the profile.",
    }),
    help: [{ args: ['--help'] }],
    // The variable's name in the help tells the product from others that are called `agent`.
    requiredFlags: [
      '--print',
      '--output-format',
      '--force',
      '--trust',
      '--sandbox',
      '--workspace',
      '--model',
      'CURSOR_API_KEY',
    ],
  },
  credentials: {
    subscription: ['CURSOR_AUTH_TOKEN'],
    metered: ['CURSOR_API_KEY'],
    settings: ['CURSOR_CONFIG_DIR', 'CURSOR_DATA_DIR'],
  },
  environment: { NO_OPEN_BROWSER: '1' },
  stateFolders: [
    { variable: 'CURSOR_CONFIG_DIR', path: '.cursor' },
    { variable: 'CURSOR_DATA_DIR', path: '.cursor' },
    { variable: 'XDG_CONFIG_HOME', below: 'cursor', path: '.config/cursor' },
  ],
  loginFiles: [{ variable: 'XDG_CONFIG_HOME', below: 'cursor/auth.json', path: '.config/cursor/auth.json' }],
  invoke(request) {
    const problem = slugProblem(request) ?? effortProblem(request, 'cursor-agent');
    if (problem !== null) return err(problem);
    return invocation(
      request,
      ({ workspace }) => [
        '-p',
        '--output-format',
        'stream-json',
        '--force',
        '--trust',
        '--approve-mcps',
        '--sandbox',
        'enabled',
        '--workspace',
        workspace,
        ...(request.model === null ? [] : ['--model', request.model]),
      ],
      { stdin: promptBytes(request) },
    );
  },
  reader: cursorReader,
  // A `worker-server` outlives the result.
  lingerMs: 3000,
  models: null,
};
