/**
 * opencode. Measured: 1.18.33. Without a model and without credentials it does not fail: it sends the prompt and the code to
 * a free hosted model. So it is never started without one or the other.
 */
import type { Adapter, EventReader, InvocationRequest, Observation, ReaderFacts } from '../model/adapter.ts';
import type { Refusal, Usage } from '../model/observation.ts';
import { err } from '../model/result.ts';
import { invocation, promptBytes, slugProblem } from './argv.ts';
import { FINAL_TEXT_BYTES, tail } from './bounded-text.ts';
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
import { type JsonObject, numberOf, objectOf, parseLine, stringOf } from './json-lines.ts';
import { eventRefusal, providerCode, providerRefusal, refusal } from './refusal.ts';
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

/** The name of errors that its provider caused; the others are its own, or nobody's. */
const PROVIDERS_OWN = 'APIError';
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

function opencodeReader(facts: ReaderFacts = {}): EventReader {
  const message = tail(FINAL_TEXT_BYTES);
  let newStep = false;
  /** Since its provider last failed, nothing came of it: that it begins another step is no sign of work. */
  let failing = false;
  const wait = (text: string, source: Refusal['source']): readonly Observation[] => {
    failing = true;
    return providerWait(refusal(providerCode(null, text) ?? 'PROVIDER_ERROR', text, source, facts.now));
  };
  return eventReader(
    {
      sentinels: [],
      // No event ends a run, but no run that did anything is without a finished step.
      promisesResult: true,
      onEvent(event, draft) {
        draft.sessionId = stringOf(event.sessionID) ?? draft.sessionId;
        const part = objectOf(event.part);
        switch (event.type) {
          case 'step_start':
            newStep = true;
            return failing ? NOTHING_SEEN : activity('thinking');
          case 'text': {
            failing = false;
            const text = stringOf(part.text) ?? '';
            if (newStep && text !== '') {
              message.clear();
              newStep = false;
            }
            message.add(text);
            return activity(text);
          }
          case 'tool_use':
            failing = false;
            return toolActivity(stringOf(part.tool) ?? 'tool', objectOf(objectOf(part.state).input));
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
            const read = error.name === PROVIDERS_OWN ? providerRefusal : eventRefusal;
            setError(draft, text, read(numberOf(data.statusCode), withHeader(text, data), facts.now));
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

/** The error's text with the provider's `retry-after`, which only the headers hold. */
function withHeader(text: string, data: JsonObject): string {
  const header = stringOf(objectOf(data.responseHeaders)['retry-after']);
  return header === null ? text : `${text} (retry-after: ${header})`;
}

/** True where an inline configuration chooses a provider or a model of its own. */
function configures(content: string | undefined): boolean {
  const config = content === undefined ? null : parseLine(content.replace(/\s+/g, ' '));
  if (config === null) return false;
  const model = stringOf(config.model);
  if (model !== null) return !model.startsWith(`${FREE_PROVIDER}/`);
  return Object.keys(objectOf(config.provider)).some((name) => name !== FREE_PROVIDER);
}

/** Where no model is fixed: may opencode choose one? Judged by names and presence; what a login is worth only it can tell. */
function hasCredentials(request: InvocationRequest): boolean {
  return (
    request.existingLoginFiles.length > 0 ||
    METERED.some((name) => request.environmentNames.includes(name)) ||
    configures(request.environment.OPENCODE_CONFIG_CONTENT)
  );
}

/**
 * With no model fixed, the free provider is switched off, so that a login which turns out to be empty ends in an error and
 * not in code sent away (measured: "No providers are available"). The host's own inline configuration is never replaced;
 * a key of that provider is a wish to use it.
 */
const withoutFreeProvider = (request: InvocationRequest): Readonly<Record<string, string>> =>
  request.model !== null ||
  request.environmentNames.includes('OPENCODE_CONFIG_CONTENT') ||
  request.environmentNames.includes('OPENCODE_API_KEY')
    ? {}
    : { OPENCODE_CONFIG_CONTENT: JSON.stringify({ disabled_providers: [FREE_PROVIDER] }) };

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
    if (request.model === null && !hasCredentials(request)) {
      return err({
        code: 'NO_CREDENTIALS',
        message:
          'opencode has neither a fixed model nor a login and would send the code to a free hosted model. Set `model: provider/model` in the profile, or run `opencode auth login`.',
      });
    }
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
      { stdin: promptBytes(request), environment: withoutFreeProvider(request) },
    );
  },
  reader: opencodeReader,
  lingerMs: null,
  models: null,
};
