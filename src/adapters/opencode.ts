/**
 * opencode. Measured: 1.18.33. Without a model and without credentials it does not fail: it sends the prompt and the code to
 * a free hosted model. So it is never started without one or the other.
 */
import {
  type Adapter,
  type EventReader,
  FINAL_TEXT_BYTES,
  type InvocationRequest,
  type Observation,
  type ReaderFacts,
  type Unavailable,
} from '../model/adapter.ts';
import type { Refusal, Usage } from '../model/observation.ts';
import { err, ok, type Result } from '../model/result.ts';
import { invocation, promptBytes, slugProblem } from './argv.ts';
import { tail } from './bounded-text.ts';
import {
  activity,
  eventReader,
  NOTHING_SEEN,
  providerWait,
  setError,
  setFinalText,
  setSuccess,
  toolActivity,
} from './event-reader.ts';
import { type JsonObject, listOf, numberOf, objectOf, parseLine, stringOf } from './json-lines.ts';
import { jsonNames } from './marks.ts';
import type { PassingEvents } from './passing-events.ts';
import { eventRefusal, providerCode, providerRefusal, refusal, refusalCode } from './refusal.ts';
import { uncoloured } from './sentinel.ts';
import { addUsage, dollars, sumTokens, tokens } from './usage.ts';
import { readVersionBy } from './version.ts';

/** The provider that serves the free models. */
const FREE_PROVIDER = 'opencode';

const METERED = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'OPENROUTER_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'GROQ_API_KEY',
  'MISTRAL_API_KEY',
  'DEEPSEEK_API_KEY',
  'XAI_API_KEY',
  'MOONSHOT_API_KEY',
  'ZHIPU_API_KEY',
  'OPENCODE_API_KEY',
];

/**
 * How the provider's words begin in an error of no other name. What else begins one is its own, or a tool's: an MCP server
 * that cannot be reached, what a command printed.
 */
const PROVIDERS_WORDS =
  /^(?:(?:AI_)?\w*Error: )?(?:cannot connect to api|unable to connect\. |too many requests|rate limit|(?:the )?\w+ (?:is )?(?:currently )?overloaded|overloaded|(?:provider)?model ?not ?found|no providers? (?:is|are) available|token refresh failed|unable to verify the first certificate|unable to get (?:local )?issuer certificate|self[- ]signed certificate|certificate has expired|(?:fetch failed|socket hang up)$|unauthori[sz]ed$|insufficient (?:balance|credits|quota)|free usage exceeded|[45]\d\d (?:status code|too many requests|unauthorized|forbidden|payment required|internal server error|bad gateway|service unavailable|gateway time-?out|\{))/i;
const NO_ANSWER = 'step_finish: an answer without words or tokens';

/**
 * Its log's line for a request that failed and is asked again (measured; its events tell nothing of it). `small` marks the
 * side request for a title, which is not waited for.
 */
const STREAM_ERROR =
  /^timestamp=\S+ level=ERROR run=\S+ message="stream error" .*? small=false .*?error\.error="(?:AI_\w+: )?(.*)$/;
const LONGEST_LOG_LINE = 8192;

function stepUsage(part: JsonObject): Partial<Usage> {
  const used = objectOf(part.tokens);
  const cache = objectOf(used.cache);
  const input = tokens(used.input);
  const output = tokens(used.output);
  const cached = tokens(cache.read);
  return {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: cached,
    total_tokens: sumTokens(input, output, tokens(used.reasoning), cached, tokens(cache.write)),
    cost_usd: dollars(part.cost),
  };
}

const PARTS: PassingEvents = {
  heads: ['{"type":"text",', '{"type":"tool_use",'],
  // Of a tool's event only its end would tell that it has none: what it holds may have a `text` too.
  wordsMark: jsonNames(['text']),
  kept: 'all',
  fits: ({ type }) => type === 'text' || type === 'tool_use',
  words: ({ type, part }) => (type === 'text' ? (stringOf(objectOf(part).text) ?? '') : ''),
  shown(event) {
    const part = objectOf(event.part);
    if (event.type === 'text') return activity(stringOf(part.text) ?? '');
    return toolActivity(stringOf(part.tool) ?? 'tool', objectOf(objectOf(part.state).input));
  },
};

function opencodeReader(facts: ReaderFacts = {}): EventReader {
  const message = tail(FINAL_TEXT_BYTES);
  let newStep = false;
  /** Since its provider last failed, nothing came of it: that it begins another step is no sign of work. */
  let failing = false;
  const say = (words: string): void => {
    failing = false;
    if (words === '') return;
    if (newStep) message.clear();
    newStep = false;
    message.add(words);
  };
  const wait = (text: string, source: Refusal['source']): readonly Observation[] => {
    failing = true;
    return providerWait(refusal(providerCode(null, text) ?? 'PROVIDER_ERROR', text, source, facts.now));
  };
  /** The error's name tells whose it is. */
  const refusalOf = (name: string | null, status: number | null, text: string): Refusal | null => {
    switch (name) {
      case 'APIError':
        return providerRefusal(status, text, facts.now);
      case 'ProviderAuthError':
        return refusal(refusalCode(status, text) ?? 'AUTH_REJECTED', text, 'event', facts.now);
      case 'ProviderModelNotFoundError':
        return refusal('MODEL_UNAVAILABLE', text, 'event', facts.now);
      default:
        return PROVIDERS_WORDS.test(text) ? eventRefusal(status, text, facts.now) : null;
    }
  };
  return eventReader(
    {
      sentinels: [],
      names: ['sessionID', 'step_start', 'text', 'tool_use', 'step_finish', 'error'],
      plainLines: /timestamp=/,
      passing: {
        ...PARTS,
        pass({ events, words }, draft) {
          for (const { sessionID } of events) draft.sessionId = stringOf(sessionID) ?? draft.sessionId;
          say(words);
        },
      },
      // No event ends a run, but no run that did anything is without a finished step.
      promisesResult: true,
      onEvent(event, draft) {
        draft.sessionId = stringOf(event.sessionID) ?? draft.sessionId;
        const part = objectOf(event.part);
        switch (event.type) {
          case 'step_start':
            newStep = true;
            return failing ? NOTHING_SEEN : activity('thinking');
          case 'text':
          case 'tool_use':
            say(PARTS.words(event));
            return PARTS.shown(event);
          case 'step_finish':
            draft.resultSeen = true;
            draft.usage = addUsage(draft.usage, stepUsage(part));
            if (part.reason === 'stop') setSuccess(draft);
            // What was no answer at all, a page of a captive portal say, it asks for again and again.
            return part.reason === 'unknown' && objectOf(part.tokens).output === 0
              ? wait(NO_ANSWER, 'event')
              : NOTHING_SEEN;
          case 'error': {
            const error = objectOf(event.error);
            const data = objectOf(error.data);
            const text = stringOf(data.message) ?? stringOf(error.name) ?? 'error';
            setError(draft, text, refusalOf(stringOf(error.name), numberOf(data.statusCode), withHeaders(text, data)));
            return NOTHING_SEEN;
          }
          default:
            return NOTHING_SEEN;
        }
      },
      onPlainLine(line, stream) {
        const said =
          stream === 'stderr' ? STREAM_ERROR.exec(uncoloured(line.slice(0, LONGEST_LOG_LINE)))?.[1] : undefined;
        return said === undefined ? NOTHING_SEEN : wait(said.replace(/"$/, ''), 'stderr');
      },
      conclude(draft) {
        setFinalText(draft, message.text());
      },
    },
    facts,
  );
}

/** The error's text with the provider's `retry-after`, which only the headers hold; the finer one first. */
function withHeaders(text: string, data: JsonObject): string {
  const headers = new Map(
    Object.entries(objectOf(data.responseHeaders)).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const told = ['retry-after-ms', 'retry-after'].flatMap((name) => {
    const value = stringOf(headers.get(name));
    return value === null ? [] : [`${name}: ${value}`];
  });
  return told.length === 0 ? text : `${text} (${told.join(', ')})`;
}

/** The host's inline configuration; an empty one where there is none, null where it is not plain JSON. */
function inlineConfig({ environment }: InvocationRequest): JsonObject | null {
  const content = environment.OPENCODE_CONFIG_CONTENT;
  return content === undefined ? {} : parseLine(content.replace(/\s+/g, ' '));
}

/** True where an inline configuration chooses a model of its own. */
function fixesModel(config: JsonObject | null): boolean {
  const model = stringOf(config?.model);
  return model !== null && !model.startsWith(`${FREE_PROVIDER}/`);
}

const namesProvider = (config: JsonObject | null): boolean =>
  Object.keys(objectOf(config?.provider)).some((name) => name !== FREE_PROVIDER);

/** Where no model is fixed: may opencode choose one? Judged by names and presence; what a login is worth only it can tell. */
function hasCredentials(request: InvocationRequest): boolean {
  const config = inlineConfig(request);
  // What it says cannot be read, and so cannot be added to either.
  if (config === null) return false;
  return (
    request.existingLoginFiles.length > 0 ||
    METERED.some((name) => request.environmentNames.includes(name)) ||
    fixesModel(config) ||
    (namesProvider(config) && stringOf(config.model) === null)
  );
}

/**
 * With no model fixed, the free provider is switched off, so that a login which turns out to be empty ends in an error and
 * not in code sent away (measured: "No providers are available"). It is added to the host's own inline configuration; a
 * key of that provider is a wish to use it.
 */
function withoutFreeProvider(request: InvocationRequest): Readonly<Record<string, string>> {
  const config = inlineConfig(request);
  if (request.model !== null || fixesModel(config) || request.environmentNames.includes('OPENCODE_API_KEY')) return {};
  const disabled = [...new Set([...listOf(config?.disabled_providers), FREE_PROVIDER])];
  return { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...config, disabled_providers: disabled }) };
}

/**
 * Keeps opencode, in whatever adapter it is started, from its free hosted model: what its environment needs, or why it may
 * not start.
 */
export function awayFromFreeModel(request: InvocationRequest): Result<Readonly<Record<string, string>>, Unavailable> {
  if (request.model !== null || hasCredentials(request)) return ok(withoutFreeProvider(request));
  return err({
    code: 'NO_CREDENTIALS',
    message:
      'opencode has neither a fixed model nor a login and would send the code to a free hosted model. Set `model: provider/model` in the profile, or run `opencode auth login`.',
  });
}

export const opencode: Adapter = {
  name: 'opencode',
  programs: ['opencode'],
  probe: {
    version: { args: ['--version'] },
    readVersion: readVersionBy({
      product: 'opencode',
      line: /^(\d+\.\d+\.\d+\S*)$/,
      cure: 'Install opencode-ai, or name its executable in the profile.',
    }),
    help: [{ args: ['run', '--help'] }],
    requiredFlags: ['--auto', '--format', '--model', '--dir'],
  },
  credentials: {
    // An inline configuration may hold keys that its owner put there: passed as given, and never shown.
    subscription: ['OPENCODE_CONFIG_CONTENT'],
    metered: METERED,
    settings: ['OPENCODE_CONFIG'],
  },
  environment: {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    // Its log on stderr is the only place that tells of a failed request before the last one.
    OPENCODE_PRINT_LOGS: '1',
    OPENCODE_LOG_LEVEL: 'ERROR',
  },
  stateFolders: [
    { variable: 'XDG_DATA_HOME', below: 'opencode', path: '.local/share/opencode' },
    { variable: 'XDG_CONFIG_HOME', below: 'opencode', path: '.config/opencode' },
    { variable: 'XDG_CACHE_HOME', below: 'opencode', path: '.cache/opencode' },
    { variable: 'XDG_STATE_HOME', below: 'opencode', path: '.local/state/opencode' },
  ],
  loginFiles: [{ variable: 'XDG_DATA_HOME', below: 'opencode/auth.json', path: '.local/share/opencode/auth.json' }],
  invoke(request) {
    const problem = slugProblem(request);
    if (problem !== null) return err(problem);
    const away = awayFromFreeModel(request);
    if (!away.ok) return away;
    if (request.model !== null && !/^[^/]+\/./.test(request.model)) {
      return err({
        code: 'UNRESOLVED_MODEL_SLUG',
        message: `opencode takes a model as provider/model; ${JSON.stringify(request.model)} names no provider.`,
      });
    }
    return invocation(
      request,
      ({ workspace }) => [
        'run',
        '--auto',
        '--format',
        'json',
        ...(request.model === null ? [] : ['-m', request.model]),
        ...(request.effort === null ? [] : ['--variant', request.effort]),
        '--dir',
        workspace,
      ],
      { stdin: promptBytes(request), environment: away.value },
    );
  },
  reader: opencodeReader,
  lingerMs: null,
  models: null,
};
