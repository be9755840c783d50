/**
 * Antigravity's CLI, `agy`. From reports (floor 1.2.10, newest seen 1.5.15), not measured: it is on no registry. Exit 0 says
 * little here: a success needs a result event that says so, words in it, no denied action and no error line.
 */
import {
  type Adapter,
  type EventReader,
  FINAL_TEXT_BYTES,
  type Invocation,
  type InvocationRequest,
  type ReaderFacts,
} from '../model/adapter.ts';
import { err } from '../model/result.ts';
import { byteLength, incompatible, invocation, type Places, slugProblem } from './argv.ts';
import { tail } from './bounded-text.ts';
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
import { type JsonObject, listOf, objectOf, stringOf } from './json-lines.ts';
import { jsonNames } from './marks.ts';
import { parseModelList } from './model-list.ts';
import type { PassingEvents } from './passing-events.ts';
import { eventRefusal, refusal } from './refusal.ts';
import { type Sentinel, uncoloured } from './sentinel.ts';
import { tokens } from './usage.ts';
import { readVersionBy } from './version.ts';

const OWN_LOGIN = 'Authentication required. Please visit the URL to log in';
const LOGIN = ['Authentication required. Please visit the URL', 'Waiting for authentication'] as const;
const own = (start: string, code: Sentinel['code']): Sentinel => ({ start, streams: ['stderr'], code });
/** Its words for what its provider did. */
const REASONS: readonly (readonly [string, Sentinel['code']])[] = [
  ['RESOURCE_EXHAUSTED (code 429)', 'RATE_LIMITED'],
  ['UNAUTHENTICATED (code 401)', 'AUTH_REJECTED'],
  ['PERMISSION_DENIED (code 403)', 'AUTH_REJECTED'],
  ['UNAVAILABLE (code 503)', 'PROVIDER_ERROR'],
  ['INTERNAL (code 500)', 'PROVIDER_ERROR'],
  ['DEADLINE_EXCEEDED (code 504)', 'PROVIDER_ERROR'],
  ['FAILED_PRECONDITION (code 400)', 'read'],
  ['API error (attempt ', 'read-provider'],
  ['AI credits balance is too low', 'QUOTA_EXHAUSTED'],
  ['Individual quota reached', 'RATE_LIMITED'],
  ['No capacity available for model', 'OVERLOADED'],
  ['Eligibility check failed: ', 'read-provider'],
  ['Account ineligible: ', 'AUTH_REJECTED'],
  ['You are not logged into Antigravity', 'AUTH_REQUIRED'],
];
const SENTINELS: readonly Sentinel[] = [
  // Reported on either stream. What an agent says is inside events, so no plain line of stdout is its own.
  { start: OWN_LOGIN, streams: ['stdout', 'stderr'], code: 'AUTH_REQUIRED' },
  ...LOGIN.map((start): Sentinel => ({ start, streams: ['stdout', 'stderr'], code: 'AUTH_REQUIRED', isGeneral: true })),
  own('AGY_ERROR:', 'read'),
  // Not any `error:` or `Error:`, which git, compilers and what else an agent runs print as well.
  ...['', '⚠ ', 'error: '].flatMap((before) => REASONS.map(([words, code]) => own(`${before}${words}`, code))),
  { ...own('Error: authentication timed out', 'AUTH_REQUIRED'), isGeneral: true },
  own('Error: invalid model selection', 'MODEL_UNAVAILABLE'),
];
/** Lines on stderr that undo a success, whatever the result says: a run cut off by its own timeout reports `SUCCESS`. */
const FAILURE =
  /^(?:\[agy\] )?(?:print timeout after|AGY_ERROR:|error:|jetski: no output produced|Error: (?:timed out|timeout) waiting for)/;

/** macOS gives the temporary folder by two names. */
const sameFolder = (a: string, b: string): boolean =>
  a.replace(/^\/private(?=\/)/, '').replace(/\/+$/, '') === b.replace(/^\/private(?=\/)/, '').replace(/\/+$/, '');

const stepWords = (event: JsonObject): string | null => stringOf(objectOf(event.step_update).text_delta);
const STEPS: PassingEvents = {
  heads: ['{"event":"step_update",'],
  wordsMark: jsonNames(['text_delta']),
  kept: 'all',
  fits: ({ event }) => event === 'step_update',
  words: (event) => stepWords(event) ?? '',
  shown(event) {
    const step = objectOf(event.step_update);
    const tool = objectOf(step.tool_info);
    const name = stringOf(tool.name) ?? stringOf(tool.tool_name);
    if (name !== null) return toolActivity(name, objectOf(tool.args ?? tool.input));
    return activity(stepWords(event) ?? stringOf(step.step_type) ?? 'working');
  },
};

function agyReader(facts: ReaderFacts = {}): EventReader {
  const words = tail(FINAL_TEXT_BYTES);
  /** What forbids a success; the first one said. */
  let failure: string | null = null;
  /** It got past its login. */
  let working = false;

  const onInit = (event: JsonObject, draft: Draft): void => {
    const init = objectOf(event.init);
    draft.sessionId = stringOf(event.conversation_id) ?? draft.sessionId;
    draft.model = stringOf(init.model) ?? draft.model;
    const cwd = stringOf(init.cwd);
    if (facts.workspace !== undefined && cwd !== null && !sameFolder(cwd, facts.workspace)) {
      failure ??= `agy works in ${cwd} and not in the workspace`;
    }
  };

  const onResult = (result: JsonObject, draft: Draft): void => {
    const usage = objectOf(result.usage);
    const status = stringOf(result.status) ?? 'no status';
    draft.resultSeen = true;
    draft.usage = {
      input_tokens: tokens(usage.input_tokens),
      output_tokens: tokens(usage.output_tokens),
      cache_read_tokens: tokens(usage.cache_read_tokens),
      total_tokens: tokens(usage.total_tokens),
      cost_usd: null,
    };
    const response = stringOf(result.response);
    if (response !== null) {
      words.clear();
      words.add(response);
    }
    if (listOf(result.denied_actions).length > 0) failure ??= 'agy was denied an action';
    if (status === 'SUCCESS') {
      setSuccess(draft);
      return;
    }
    const error = result.error;
    const said = stringOf(error) ?? stringOf(objectOf(error).message) ?? status;
    setError(draft, said, eventRefusal(null, said, facts.now));
  };

  return eventReader(
    {
      sentinels: SENTINELS,
      names: ['event'],
      plainLines: new RegExp(`${FAILURE.source}|${LOGIN.join('|')}`),
      passing: { ...STEPS, pass: (passed) => words.add(passed.words) },
      promisesResult: true,
      onEvent(event, draft) {
        working ||= event.event !== undefined;
        switch (event.event) {
          case 'init':
            onInit(event, draft);
            return NOTHING_SEEN;
          case 'step_update':
            words.add(STEPS.words(event));
            return STEPS.shown(event);
          case 'result':
            onResult(objectOf(event.result), draft);
            return [{ kind: 'finished' }];
          default:
            return NOTHING_SEEN;
        }
      },
      onPlainLine(line, stream) {
        const said = uncoloured(line);
        if (stream === 'stderr' && FAILURE.test(said)) failure ??= said.slice(0, 1000);
        if (!LOGIN.some((start) => said.startsWith(start))) return NOTHING_SEEN;
        if (facts.log?.isNamed === false && !working && !said.startsWith(OWN_LOGIN)) return NOTHING_SEEN;
        const waits = providerWait(refusal('AUTH_REQUIRED', said, stream));
        // Nobody will make the login that it blocks on. Once it works, the line may come from one of its tools.
        return working ? waits : [...waits, { kind: 'finished' }];
      },
      conclude(draft) {
        const text = words.text();
        setFinalText(draft, text);
        if (draft.status === 'success' && text.trim() === '') failure ??= 'agy reported success without a response';
        if (failure !== null && draft.status !== 'error') setError(draft, failure, draft.refusal);
      },
    },
    facts,
  );
}

/** Below the 128 KiB of one argument, with room for the flag before it. */
const LONGEST_ARGUMENT_PROMPT = 120 * 1024;

/** agy's own limit: it must end before it is ended, to still write its result. Never too short to do anything. */
const innerSeconds = (timeoutSeconds: number): number => Math.max(timeoutSeconds - 30, 30);

const EFFORT_SUFFIX = /-(minimal|low|medium|high|xhigh|max)$/;

function flags(request: InvocationRequest, workspace: string): readonly string[] {
  const { model, effort } = request;
  // A slug that ends in an effort does not take the flag.
  const takesEffort = effort !== null && !(model !== null && EFFORT_SUFFIX.test(model));
  return [
    ...(model === null ? [] : ['--model', model]),
    ...(takesEffort ? ['--effort', effort] : []),
    '--output-format',
    'stream-json',
    '--print-timeout',
    `${innerSeconds(request.timeoutSeconds)}s`,
    '--dangerously-skip-permissions',
    '--disable-slash-commands',
    '--add-dir',
    workspace,
  ];
}

/** A short prompt is the last argument with stdin closed; a long one a line on stdin, open until the result. */
function transport(request: InvocationRequest): {
  readonly recipe: (places: Places) => readonly string[];
  readonly stdin: Invocation['stdin'];
} {
  const { prompt } = request;
  if (byteLength(prompt) <= LONGEST_ARGUMENT_PROMPT && !prompt.includes('\u0000')) {
    return {
      recipe: (places) => [...flags(request, places.workspace), `-p=${places.prompt}`],
      stdin: { kind: 'null' },
    };
  }
  const line = `${JSON.stringify({ event: 'user', message: { content: prompt } })}\n`;
  return {
    recipe: (places) => [...flags(request, places.workspace), '--input-format', 'stream-json'],
    stdin: { kind: 'bytes', bytes: new TextEncoder().encode(line), openUntilFinished: true },
  };
}

export const antigravity: Adapter = {
  name: 'antigravity',
  programs: ['agy'],
  probe: {
    version: { args: ['--version'] },
    readVersion: readVersionBy({
      product: "Antigravity's CLI",
      line: /^(?:agy )?v?(\d+\.\d+\.\d+\S*)$/,
      floor: [1, 2, 10],
      cure: 'Install agy, or name its executable in the profile.',
    }),
    help: [{ args: ['--help'] }],
    requiredFlags: [
      '--print',
      '--output-format',
      '--print-timeout',
      '--dangerously-skip-permissions',
      '--model',
      '--add-dir',
    ],
  },
  credentials: {
    subscription: [],
    metered: ['GEMINI_API_KEY', 'ANTIGRAVITY_API_KEY'],
    // Its keyring is reached through the session bus.
    settings: ['DBUS_SESSION_BUS_ADDRESS'],
  },
  environment: { AGY_CLI_DISABLE_AUTO_UPDATE: '1' },
  stateFolders: [{ variable: null, path: '.gemini' }],
  loginFiles: [],
  invoke(request) {
    const problem = slugProblem(request);
    if (problem !== null) return err(problem);
    if (/\/\.[^/]/.test(request.workspace)) {
      return incompatible(
        'agy silently works in another folder where a part of the path begins with a dot. Choose a state directory without one (--state-dir).',
      );
    }
    const suffix = request.model === null ? undefined : EFFORT_SUFFIX.exec(request.model)?.[1];
    if (request.effort !== null && suffix !== undefined && suffix !== request.effort) {
      return err({
        code: 'UNRESOLVED_MODEL_SLUG',
        message: `The model ${request.model} fixes its effort and the profile asks for ${request.effort}. Remove one of the two.`,
      });
    }
    const { recipe, stdin } = transport(request);
    return invocation(request, recipe, { stdin });
  },
  reader: agyReader,
  lingerMs: 3000,
  models: {
    commands: [{ args: ['--output-format', 'json', 'models'] }, { args: ['models'] }],
    parse: parseModelList,
  },
};
