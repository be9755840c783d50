/** Kimi Code. Measured: 2.1.0 on Node 22. The older Python `kimi-cli` shares the program's name and is another product. */
import type { Adapter, EventReader, ReaderFacts } from '../model/adapter.ts';
import { err } from '../model/result.ts';
import { effortProblem, fitsArgument, invocation, slugProblem } from './argv.ts';
import {
  activity,
  type Draft,
  eventReader,
  NOTHING_SEEN,
  providerWait,
  setError,
  setFinalText,
  toolActivity,
} from './event-reader.ts';
import { contentText, listOf, numberOf, objectOf, parseLine, stringOf } from './json-lines.ts';
import { jsonNames } from './marks.ts';
import type { PassingEvents } from './passing-events.ts';
import { providerCode, refusal } from './refusal.ts';
import { type Sentinel, uncoloured } from './sentinel.ts';
import { readVersionBy } from './version.ts';

const OWN_ERROR = /^error: |^Error: (?=\[)/;
const own = (start: string, code: Sentinel['code']): Sentinel => ({
  start: `error: failed to run prompt: ${start}`,
  streams: ['stderr'],
  code,
});
/** Its names for what the provider did, one after another; `provider.filtered` is an answer to the prompt. */
const PROVIDER = ['api_error', 'auth_error', 'connection_error', 'overloaded', 'rate_limit'].map(
  (kind) => `provider.${kind}`,
);
/** Any other name (`context.overflow`, `session.locked`) is an error of its own, whatever the line goes on to say. */
const SENTINELS: readonly Sentinel[] = [
  ...PROVIDER.map((name) => own(`${name}: `, 'read-provider')),
  ...PROVIDER.map((name): Sentinel => ({ start: `Error: [${name}] `, streams: ['stderr'], code: 'read-provider' })),
  own('provider.not_found: ', 'MODEL_UNAVAILABLE'),
  own('auth.login_required: ', 'AUTH_REQUIRED'),
  own('model.not_configured: ', 'AUTH_REQUIRED'),
  own('No model configured', 'AUTH_REQUIRED'),
  own('LLM not set', 'AUTH_REQUIRED'),
  { ...own('Model "', 'MODEL_UNAVAILABLE'), holds: 'is not configured' },
];

const MESSAGES: PassingEvents = {
  heads: ['{"role":"assistant",'],
  wordsMark: jsonNames(['content']),
  kept: 'last',
  fits: ({ role }) => role === 'assistant',
  words: ({ content }) => contentText(content),
  shown({ content, tool_calls }) {
    const calls = listOf(tool_calls).flatMap((call) => {
      const called = objectOf(objectOf(call).function);
      const input = parseLine(stringOf(called.arguments) ?? '') ?? {};
      return toolActivity(stringOf(called.name) ?? 'tool', input);
    });
    return calls.length > 0 ? calls : activity(contentText(content) || 'thinking');
  },
};
const said = (words: string, draft: Draft): void => {
  draft.resultSeen = true;
  if (words !== '') setFinalText(draft, words);
};

function kimiReader(facts: ReaderFacts = {}): EventReader {
  return eventReader(
    {
      sentinels: SENTINELS,
      names: ['assistant', 'meta'],
      plainLines: OWN_ERROR,
      passing: { ...MESSAGES, pass: ({ words }, draft) => said(words, draft) },
      // No event ends a run, but no run that did anything is without a message of the assistant.
      promisesResult: true,
      onEvent(event, draft) {
        if (event.role === 'assistant') {
          said(MESSAGES.words(event), draft);
          return MESSAGES.shown(event);
        }
        if (event.role !== 'meta') return NOTHING_SEEN;
        if (event.type === 'session.resume_hint') {
          draft.sessionId = stringOf(event.session_id) ?? draft.sessionId;
          return NOTHING_SEEN;
        }
        if (event.type !== 'turn.step.retrying') return NOTHING_SEEN;
        const told = [event.error_name, event.error_message].map(stringOf).filter((part) => part !== null);
        const text = told.length > 0 ? told.join(': ') : 'turn.step.retrying';
        const code = providerCode(numberOf(event.status_code), text) ?? 'PROVIDER_ERROR';
        return providerWait(refusal(code, text, 'event', facts.now));
      },
      onPlainLine(line, stream, draft) {
        const own = uncoloured(line);
        const begun = stream === 'stderr' ? OWN_ERROR.exec(own) : null;
        if (begun !== null) setError(draft, own.slice(begun[0].length), null);
        return NOTHING_SEEN;
      },
    },
    facts,
  );
}

/** What `-p` says where the prompt itself is too long to be an argument. */
const pointer = (promptFile: string): string =>
  `Read the file ${promptFile} from its first to its last line: it holds your whole task. Then do exactly what it says.`;

export const kimi: Adapter = {
  name: 'kimi',
  programs: ['kimi'],
  probe: {
    version: { args: ['--version'] },
    readVersion: readVersionBy({
      product: 'Kimi Code',
      line: /^(\d+\.\d+\.\d+\S*)$/,
      cure: 'Install @moonshot-ai/kimi-code (the Python kimi-cli is another product), or name its executable in the profile.',
    }),
    help: [{ args: ['--help'] }],
    requiredFlags: ['--prompt', '--output-format', '--model'],
  },
  credentials: {
    subscription: [],
    metered: ['KIMI_MODEL_API_KEY'],
    settings: ['KIMI_MODEL_NAME', 'KIMI_MODEL_BASE_URL', 'KIMI_MODEL_PROVIDER_TYPE'],
  },
  environment: { KIMI_CODE_NO_AUTO_UPDATE: '1', KIMI_DISABLE_TELEMETRY: '1' },
  stateFolders: [{ variable: null, path: '.kimi-code' }],
  loginFiles: [{ variable: null, path: '.kimi-code/config.toml' }],
  invoke(request) {
    const problem = slugProblem(request) ?? effortProblem(request, 'kimi');
    if (problem !== null) return err(problem);
    return invocation(
      request,
      ({ prompt, promptFile }) => [
        '--output-format',
        'stream-json',
        ...(request.model === null ? [] : ['-m', request.model]),
        '-p',
        fitsArgument(request.prompt) ? prompt : pointer(promptFile),
      ],
      // stdin is not read; -p already runs everything, and --auto or --yolo beside it is an error.
      { stdin: { kind: 'null' } },
    );
  },
  reader: kimiReader,
  lingerMs: null,
  models: null,
};
