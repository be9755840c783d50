/**
 * pi. Measured: 0.74.2 (Node 20) and 1.6.0 (Node 22). It exits 0 whatever the provider says: only the last assistant
 * message tells whether the run failed.
 */
import type { Adapter, EventReader, Observation, ReaderFacts } from '../model/adapter.ts';
import type { Usage } from '../model/observation.ts';
import { err } from '../model/result.ts';
import { invocation, promptBytes, slugProblem } from './argv.ts';
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
import type { PassingEvents } from './passing-events.ts';
import { providerCode, providerRefusal, refusal } from './refusal.ts';
import type { Sentinel } from './sentinel.ts';
import { addUsage, dollars, tokens } from './usage.ts';
import { readVersionBy } from './version.ts';

const SENTINELS: readonly Sentinel[] = [
  { start: 'No API key found for ', streams: ['stderr'], code: 'AUTH_REQUIRED' },
  { start: 'No models available. Use /login', streams: ['stderr'], code: 'AUTH_REQUIRED' },
  { start: 'Error: Model "', holds: '--list-models', streams: ['stderr'], code: 'MODEL_UNAVAILABLE' },
  { start: 'Error: Unknown provider ', holds: '--list-models', streams: ['stderr'], code: 'MODEL_UNAVAILABLE' },
];

const CALLED_OFF = 'Retry cancelled';

/**
 * How the SDKs under it tell at their log level `info` that they try again by themselves (measured: openai and
 * @anthropic-ai/sdk as 0.74.2 brings them). They obey a `Retry-After` of an hour, and no event says so.
 */
const SDK_RETRY =
  /^\[log_[0-9a-f]+[^\]]*\] (?:\w+ \S+ failed with status ([45]\d\d) in \d+ms|connection (?:failed|timed out)) - retrying\b/;
const LONGEST_LOG_LINE = 4096;

function messageUsage(usage: JsonObject): Partial<Usage> {
  return {
    input_tokens: tokens(usage.input),
    output_tokens: tokens(usage.output),
    cache_read_tokens: tokens(usage.cacheRead),
    total_tokens: tokens(usage.totalTokens),
    cost_usd: dollars(objectOf(usage.cost).total),
  };
}

const STEPS: PassingEvents = {
  heads: ['{"type":"message_update",', '{"type":"tool_execution_start",'],
  wordsMark: null,
  kept: 'last',
  fits: ({ type }) => type === 'message_update' || type === 'tool_execution_start',
  words: () => '',
  // An update is the whole message so far, again and again: a sign of life and nothing to keep.
  shown: ({ type, toolName, args }) =>
    type === 'message_update' ? activity('answering') : toolActivity(stringOf(toolName) ?? 'tool', objectOf(args)),
};

function piReader(facts: ReaderFacts = {}): EventReader {
  /** Its `error` stop is the provider's failure: a tool's never ends a message. */
  const fail = (draft: Draft, text: string): void => setError(draft, text, providerRefusal(null, text, facts.now));

  const onAssistantEnd = (message: JsonObject, draft: Draft): readonly Observation[] => {
    draft.resultSeen = true;
    draft.model = stringOf(message.model) ?? draft.model;
    draft.usage = addUsage(draft.usage, messageUsage(objectOf(message.usage)));
    const reason = stringOf(message.stopReason);
    if (reason === 'aborted') {
      setError(draft, stringOf(message.errorMessage) ?? reason, null);
      return NOTHING_SEEN;
    }
    if (reason === 'error') {
      fail(draft, stringOf(message.errorMessage) ?? reason);
      return NOTHING_SEEN;
    }
    setSuccess(draft);
    const text = contentText(message.content);
    if (text !== '') setFinalText(draft, text);
    return activity(text);
  };

  return eventReader(
    {
      sentinels: SENTINELS,
      names: [
        ...['session', 'message_update', 'message_end', 'tool_execution_start', 'agent_settled'],
        ...['auto_retry_start', 'auto_retry_end'],
      ],
      plainLines: /\[log_/,
      passing: { ...STEPS, pass: () => {} },
      // A context overflow ends with exit 0 and no assistant message at all.
      promisesResult: true,
      onEvent(event, draft) {
        switch (event.type) {
          case 'session':
            draft.sessionId = stringOf(event.id) ?? draft.sessionId;
            return NOTHING_SEEN;
          case 'message_update':
          case 'tool_execution_start':
            return STEPS.shown(event);
          case 'message_end': {
            const message = objectOf(event.message);
            return message.role === 'assistant' ? onAssistantEnd(message, draft) : NOTHING_SEEN;
          }
          case 'auto_retry_start': {
            const text = stringOf(event.errorMessage) ?? 'auto_retry_start';
            return providerWait(refusal(providerCode(null, text) ?? 'PROVIDER_ERROR', text, 'event', facts.now));
          }
          case 'auto_retry_end':
            // Where the retrying was called off, the error before it stands.
            if (event.success === false && event.finalError !== CALLED_OFF) {
              fail(draft, stringOf(event.finalError) ?? draft.error ?? 'retries failed');
            }
            return NOTHING_SEEN;
          case 'agent_settled':
            if (event.aborted === true && draft.status !== 'error') setError(draft, 'aborted', null);
            return NOTHING_SEEN;
          default:
            return NOTHING_SEEN;
        }
      },
      onPlainLine(line, stream) {
        const tried = stream === 'stderr' ? SDK_RETRY.exec(line.slice(0, LONGEST_LOG_LINE)) : null;
        if (tried === null) return NOTHING_SEEN;
        const code = tried[1] === undefined ? 'PROVIDER_UNREACHABLE' : providerCode(Number(tried[1]), '');
        return providerWait(refusal(code ?? 'PROVIDER_ERROR', tried[0], 'stderr', facts.now));
      },
    },
    facts,
  );
}

/** `provider/model` as pi's two flags; the model's own name may hold slashes. */
function modelFlags(model: string | null): readonly string[] {
  if (model === null) return [];
  const slash = model.indexOf('/');
  return slash < 0 ? ['--model', model] : ['--provider', model.slice(0, slash), '--model', model.slice(slash + 1)];
}

export const pi: Adapter = {
  name: 'pi',
  programs: ['pi'],
  probe: {
    version: { args: ['--version'] },
    readVersion: readVersionBy({
      product: 'pi',
      line: /^(\d+\.\d+\.\d+\S*)$/,
      cure: 'Install @earendil-works/pi-coding-agent, or name its executable in the profile.',
    }),
    help: [{ args: ['--help'] }],
    requiredFlags: ['--print', '--mode', '--no-session', '--provider', '--model'],
  },
  credentials: {
    subscription: ['ANTHROPIC_OAUTH_TOKEN'],
    metered: [
      'ANTHROPIC_API_KEY',
      'OPENAI_API_KEY',
      'OPENROUTER_API_KEY',
      'GEMINI_API_KEY',
      'GROQ_API_KEY',
      'MISTRAL_API_KEY',
      'DEEPSEEK_API_KEY',
      'XAI_API_KEY',
      'MOONSHOT_API_KEY',
      'KIMI_API_KEY',
      'ZAI_API_KEY',
      'OPENCODE_API_KEY',
    ],
    settings: ['PI_CODING_AGENT_DIR'],
  },
  environment: { PI_OFFLINE: '1', PI_TELEMETRY: '0', OPENAI_LOG: 'info', ANTHROPIC_LOG: 'info' },
  stateFolders: [{ variable: 'PI_CODING_AGENT_DIR', path: '.pi/agent' }],
  loginFiles: [
    { variable: 'PI_CODING_AGENT_DIR', below: 'auth.json', path: '.pi/agent/auth.json' },
    { variable: 'PI_CODING_AGENT_DIR', below: 'models.json', path: '.pi/agent/models.json' },
  ],
  invoke(request) {
    const problem = slugProblem(request);
    if (problem !== null) return err(problem);
    return invocation(
      request,
      () => [
        '-p',
        '--mode',
        'json',
        '--no-session',
        ...modelFlags(request.model),
        ...(request.effort === null ? [] : ['--thinking', request.effort]),
      ],
      { stdin: promptBytes(request) },
    );
  },
  reader: piReader,
  lingerMs: null,
  models: null,
};
