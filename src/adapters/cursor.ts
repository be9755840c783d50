/** Cursor's CLI. From reports up to 2026.10.01, not measured: it is on no registry. */
import type { Adapter, EventReader, Observation, ReaderFacts } from '../model/adapter.ts';
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
import { eventRefusal, refusal, refusalCode } from './refusal.ts';
import { type Sentinel, uncoloured } from './sentinel.ts';
import { tokens } from './usage.ts';
import { readVersionBy } from './version.ts';

const own = (start: string, code: Sentinel['code']): Sentinel => ({ start, streams: ['stderr'], code });
/** Its failures are a line on stderr and exit 1, without a result event; some builds write `Error: ` before it. */
const SENTINELS: readonly Sentinel[] = ['', 'Error: ', 'ConnectError: '].flatMap((before) => [
  own(`${before}Authentication required`, 'AUTH_REQUIRED'),
  own(`${before}Cannot use this model:`, 'MODEL_UNAVAILABLE'),
  own(`${before}ActionRequiredError:`, 'QUOTA_EXHAUSTED'),
  own(`${before}[resource_exhausted]`, 'RATE_LIMITED'),
]);
const OWN_ERROR = /^(?:Error: |ConnectError: |ActionRequiredError:|Workspace Trust Required|Cannot use this model:)/;

const LOST = /reconnect|disconnect|lost|retry/i;

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
  setError(draft, said, eventRefusal(null, said, facts.now));
}

/** `tool_call: { readToolCall: { args: {…} } }`: the one key names the tool. */
function onToolCall(event: JsonObject): readonly Observation[] {
  if (event.subtype !== 'started') return NOTHING_SEEN;
  const [name, call] = Object.entries(objectOf(event.tool_call))[0] ?? ['tool', null];
  return toolActivity(name.replace(/ToolCall$/, ''), objectOf(objectOf(call).args));
}

function cursorReader(facts: ReaderFacts = {}): EventReader {
  return eventReader(
    {
      sentinels: SENTINELS,
      promisesResult: true,
      onEvent(event, draft) {
        switch (event.type) {
          case 'system':
            if (event.subtype === 'init') {
              draft.model = stringOf(event.model) ?? draft.model;
              draft.sessionId = stringOf(event.session_id) ?? draft.sessionId;
            }
            return NOTHING_SEEN;
          case 'assistant': {
            const text = contentText(objectOf(event.message).content);
            if (text !== '') setFinalText(draft, text);
            return activity(text);
          }
          case 'thinking':
            return activity('thinking');
          case 'tool_call':
            return onToolCall(event);
          case 'connection':
            if (!LOST.test(stringOf(event.subtype) ?? '') || event.subtype === 'reconnected') return NOTHING_SEEN;
            return providerWait(refusal('PROVIDER_UNREACHABLE', waitingText(event), 'event', facts.now));
          case 'retry': {
            const text = waitingText(event);
            return providerWait(refusal(refusalCode(null, text) ?? 'PROVIDER_ERROR', text, 'event', facts.now));
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

/** The shape of these events is not documented: take whatever words they carry. */
const waitingText = (event: JsonObject): string =>
  ['message', 'error', 'reason', 'subtype']
    .map((key) => stringOf(event[key]) ?? stringOf(objectOf(event[key]).message))
    .find((text) => text !== null) ?? `${event.type}`;

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
