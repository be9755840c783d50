/** Claude Code. Measured: 2.1.197 and 2.1.332. */
import type { Adapter, EventReader, InvocationRequest, Observation, ReaderFacts } from '../model/adapter.ts';
import type { RefusalCode } from '../model/codes.ts';
import type { Refusal, Usage } from '../model/observation.ts';
import { err } from '../model/result.ts';
import { incompatible, invocation, promptBytes, slugProblem } from './argv.ts';
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
import { contentText, type JsonObject, listOf, numberOf, objectOf, stringOf } from './json-lines.ts';
import { jsonNames } from './marks.ts';
import type { PassingEvents } from './passing-events.ts';
import { eventRefusal, providerCode, refusal, refusalCode } from './refusal.ts';
import { type Sentinel, sentinelRefusal } from './sentinel.ts';
import { dollars, sumTokens, tokens } from './usage.ts';
import { readVersionBy } from './version.ts';

/** Text mode prints errors on stdout; in JSON mode only what never became an event comes as a plain line. */
const own = (start: string, code: Sentinel['code']): Sentinel => ({ start, streams: ['stdout', 'stderr'], code });
/** How it says that a plan's allowance is used up; versions differ in the dot. */
const LIMITS = [
  ...['5-hour', 'Session', 'Weekly', 'Opus', 'Opus weekly', 'Sonnet'].map((what) => `${what} limit reached`),
  ...['', 'session ', 'weekly ', 'Opus ', 'Sonnet '].map((what) => `You've hit your ${what}limit`),
  "You're out of extra usage",
].flatMap((words) => [`${words} · resets `, `${words} ∙ resets `]);
const SENTINELS: readonly Sentinel[] = [
  own('Not logged in · Please run /login', 'AUTH_REQUIRED'),
  own('Invalid API key · ', 'AUTH_REJECTED'),
  own('OAuth token revoked · Please run /login', 'AUTH_REQUIRED'),
  own('Your organization has disabled Claude subscription access', 'AUTH_REJECTED'),
  own('Failed to authenticate. API Error: ', 'read'),
  own('Failed to authenticate. API Error: ', 'AUTH_REJECTED'),
  own('Credit balance is too low', 'QUOTA_EXHAUSTED'),
  ...['Claude AI usage limit reached', 'Claude usage limit reached. Your limit'].map((start) =>
    own(start, 'RATE_LIMITED'),
  ),
  ...LIMITS.map((start) => own(start, 'RATE_LIMITED')),
  own('API Error: Request rejected (429)', 'RATE_LIMITED'),
  own('API Error: Unable to connect to API', 'PROVIDER_UNREACHABLE'),
  own('API Error: Connection to the API was lost', 'PROVIDER_UNREACHABLE'),
  own('API Error: Connection error.', 'PROVIDER_UNREACHABLE'),
  own('API Error: Request timed out', 'PROVIDER_UNREACHABLE'),
  own('API Error: Repeated 529 Overloaded errors', 'OVERLOADED'),
  own('API Error: API returned an empty or malformed response', 'PROVIDER_ERROR'),
  ...[500, 502, 503, 504, 529].map((status) => own(`API Error: ${status}`, 'read')),
  ...[401, 403, 429].flatMap((status) =>
    [`API Error: ${status} {`, `API Error (${status} {`].map((start) => own(start, 'read')),
  ),
];
/** How it begins what it says itself in a result that nothing else ascribes to the provider. */
const RESULTS: readonly Sentinel[] = [...SENTINELS, own('API Error', 'read')];

/** Its words for a failed request, in `system/api_retry` and in its own message about it. */
const ERROR_CODES: ReadonlyMap<string, RefusalCode> = new Map([
  ['authentication_failed', 'AUTH_REJECTED'],
  ['oauth_org_not_allowed', 'AUTH_REJECTED'],
  ['billing_error', 'QUOTA_EXHAUSTED'],
  ['model_not_found', 'MODEL_UNAVAILABLE'],
  ['rate_limit', 'RATE_LIMITED'],
  ['server_error', 'PROVIDER_ERROR'],
  ['overloaded', 'OVERLOADED'],
]);
/** Failed requests that are not the provider's doing. */
const OWN_FAULT: ReadonlySet<string> = new Set(['invalid_request', 'max_output_tokens']);

/** Messages that the CLI writes itself, in the model's place. */
const SYNTHETIC = '<synthetic>';

const messageText = (event: JsonObject): string => contentText(objectOf(event.message).content);
const isAnswer = (event: JsonObject): boolean =>
  event.type === 'assistant' && objectOf(event.message).model !== SYNTHETIC;
/** A sub-agent's words are not the worker's last message. */
const answerWords = (event: JsonObject): string =>
  typeof event.parent_tool_use_id === 'string' ? '' : messageText(event);

function answerShown(event: JsonObject): readonly Observation[] {
  const calls = listOf(objectOf(event.message).content)
    .map(objectOf)
    .filter((block) => block.type === 'tool_use')
    .flatMap((block) => toolActivity(stringOf(block.name) ?? 'tool', objectOf(block.input)));
  return calls.length > 0 ? calls : activity(messageText(event) || 'thinking');
}

const ANSWERS: PassingEvents = {
  heads: ['{"type":"assistant",'],
  wordsMark: jsonNames(['text', 'content']),
  kept: 'last',
  fits: isAnswer,
  words: answerWords,
  shown: answerShown,
};

function usageOf(result: JsonObject): Usage {
  const usage = objectOf(result.usage);
  const input = tokens(usage.input_tokens);
  const output = tokens(usage.output_tokens);
  const cached = tokens(usage.cache_read_input_tokens);
  return {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cached,
    // Anthropic counts cached input apart from input.
    total_tokens: sumTokens(input, output, cached, tokens(usage.cache_creation_input_tokens)),
    cost_usd: dollars(result.total_cost_usd),
  };
}

function claudeReader(facts: ReaderFacts = {}): EventReader {
  /** The CLI's own message about a failed request; the result event repeats it, unless the CLI was stopped before. */
  let failed: { readonly text: string; readonly word: string } | null = null;

  const onRetry = (event: JsonObject): readonly Observation[] => {
    const word = stringOf(event.error) ?? 'unknown';
    const status = numberOf(event.error_status);
    const code =
      ERROR_CODES.get(word) ??
      (status === null ? 'PROVIDER_UNREACHABLE' : (refusalCode(status, word) ?? 'PROVIDER_ERROR'));
    const attempt = `attempt ${numberOf(event.attempt) ?? '?'} of ${numberOf(event.max_retries) ?? '?'}`;
    return providerWait(refusal(code, `api_retry: ${word}, status ${status ?? 'none'}, ${attempt}`, 'event'));
  };

  /** Text and status first, then the CLI's own word; only an error that neither names nor excuses is the provider's. */
  const refusalOf = (status: number | null, said: string): Refusal | null => {
    const named = eventRefusal(status, said, facts.now);
    if (named !== null || failed === null || OWN_FAULT.has(failed.word)) return named;
    const code = ERROR_CODES.get(failed.word) ?? providerCode(status, said);
    return code === null ? null : refusal(code, said, 'event', facts.now);
  };

  const answered = (words: string, draft: Draft): void => {
    failed = null;
    if (words !== '') setFinalText(draft, words);
  };

  const onAssistant = (event: JsonObject, draft: Draft): readonly Observation[] => {
    if (isAnswer(event)) {
      answered(answerWords(event), draft);
      return answerShown(event);
    }
    if (typeof event.error === 'string') failed = { text: messageText(event), word: event.error };
    return NOTHING_SEEN;
  };

  const onResult = (event: JsonObject, draft: Draft): void => {
    draft.resultSeen = true;
    draft.usage = usageOf(event);
    draft.sessionId = stringOf(event.session_id) ?? draft.sessionId;
    const text = stringOf(event.result) ?? '';
    // `subtype: "success"` comes with is_error too: a request that failed ended the run in good order.
    if (event.is_error === false && event.subtype === 'success') {
      setSuccess(draft);
      if (text !== '') setFinalText(draft, text);
      return;
    }
    const errors = listOf(event.errors).filter((item) => typeof item === 'string');
    const said = text || errors.join('; ') || (stringOf(event.subtype) ?? 'error');
    const status = numberOf(event.api_error_status);
    if (status !== null || failed !== null) {
      setError(draft, said, refusalOf(status, said));
      return;
    }
    // Without a failed request the result may be the agent's last prose, and with max_turns and the like it is.
    const told = event.subtype === 'success' ? sentinelRefusal(RESULTS, 'stdout', said, facts.now) : null;
    setError(draft, said, told === null ? null : { ...told, source: 'event' });
  };

  return eventReader(
    {
      sentinels: SENTINELS,
      names: ['system', 'assistant', 'result'],
      passing: { ...ANSWERS, pass: ({ words }, draft) => answered(words, draft) },
      promisesResult: true,
      onEvent(event, draft) {
        switch (event.type) {
          case 'system':
            if (event.subtype === 'init') {
              draft.model = stringOf(event.model) ?? draft.model;
              draft.sessionId = stringOf(event.session_id) ?? draft.sessionId;
              return NOTHING_SEEN;
            }
            return event.subtype === 'api_retry' ? onRetry(event) : NOTHING_SEEN;
          case 'assistant':
            return onAssistant(event, draft);
          case 'result':
            onResult(event, draft);
            return NOTHING_SEEN;
          default:
            return NOTHING_SEEN;
        }
      },
      conclude(draft) {
        if (!draft.resultSeen && failed !== null) setError(draft, failed.text, refusalOf(null, failed.text));
      },
    },
    facts,
  );
}

/** Its own ten retries take three minutes; a user's own number stands. */
const retries = (request: InvocationRequest): Readonly<Record<string, string>> =>
  request.environmentNames.includes('CLAUDE_CODE_MAX_RETRIES') ? {} : { CLAUDE_CODE_MAX_RETRIES: '6' };

const NO_ROOT =
  'claude refuses to skip permissions as root outside a sandbox. Run as another user, or with isolation guard or strict.';

export const claude: Adapter = {
  name: 'claude',
  programs: ['claude'],
  probe: {
    version: { args: ['--version'] },
    readVersion: readVersionBy({
      product: 'Claude Code',
      line: /^(\d+\.\d+\.\d+\S*) \(Claude Code\)$/,
      cure: 'Install @anthropic-ai/claude-code, or name its executable in the profile.',
    }),
    help: [{ args: ['--help'] }],
    requiredFlags: [
      '--print',
      '--dangerously-skip-permissions',
      '--output-format',
      '--model',
      '--no-session-persistence',
    ],
  },
  credentials: {
    subscription: ['CLAUDE_CODE_OAUTH_TOKEN'],
    metered: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
    settings: ['ANTHROPIC_BASE_URL', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_MAX_RETRIES'],
  },
  environment: { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  stateFolders: [
    { variable: 'CLAUDE_CONFIG_DIR', path: '.claude' },
    { variable: null, path: '.claude.json', isFile: true },
  ],
  loginFiles: [{ variable: 'CLAUDE_CONFIG_DIR', below: '.credentials.json', path: '.claude/.credentials.json' }],
  invoke(request) {
    const problem = slugProblem(request);
    if (problem !== null) return err(problem);
    if (request.runningAsRoot && request.isolation === 'none') return incompatible(NO_ROOT);
    return invocation(
      request,
      () => [
        '-p',
        '--dangerously-skip-permissions',
        '--output-format',
        'stream-json',
        '--verbose',
        ...(request.model === null ? [] : ['--model', request.model]),
        ...(request.effort === null ? [] : ['--effort', request.effort]),
        '--no-session-persistence',
      ],
      // Only where a sandbox truly stands around it.
      {
        stdin: promptBytes(request),
        environment: { ...retries(request), ...(request.runningAsRoot ? { IS_SANDBOX: '1' } : {}) },
      },
    );
  },
  reader: claudeReader,
  lingerMs: null,
  models: null,
};
