/** Codex CLI. Measured: 0.171.0. */
import type { Adapter, EventReader, Observation, ReaderFacts } from '../model/adapter.ts';
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
import { type JsonObject, listOf, objectOf, stringOf } from './json-lines.ts';
import { jsonNames } from './marks.ts';
import type { PassingEvents } from './passing-events.ts';
import { eventRefusal, providerRefusal, refusal, refusalCode } from './refusal.ts';
import type { Sentinel } from './sentinel.ts';
import { addUsage, sumTokens, tokens } from './usage.ts';
import { readVersionBy } from './version.ts';

/** How text mode begins its own errors, on stderr; log lines there begin with a time. */
const own = (start: string): Sentinel => ({ start: `ERROR: ${start}`, streams: ['stderr'], code: 'read' });
const SENTINELS: readonly Sentinel[] = [
  ...[
    'unexpected status ',
    'exceeded retry limit, last status: ',
    'Quota exceeded. Check your plan',
    'Selected model is at capacity',
    'We’re currently experiencing high demand',
    "We're currently experiencing high demand",
    'stream disconnected before completion',
    // Other programs fail to connect in these words; reqwest's next ones tell codex from them.
    'Connection failed: error sending request',
    "You've hit your usage limit",
    'You’ve hit your usage limit',
    'You hit your spend cap set ',
    'Your workspace is out of credits.',
    'Your access token could not be refreshed',
  ].map(own),
  { ...own('Missing environment variable: '), isGeneral: true },
];

const RECONNECTING = /^Reconnecting/;
/** The errors of a turn that it ascribes to the provider. */
const PROVIDERS_OWN =
  /^(?:stream error: )?(?:unexpected status |exceeded retry limit|Error while reading the server response: |stream disconnected before completion|Connection failed: )/;

/**
 * How the provider's own words begin, which it hands on as they are; the words tell whether they refuse. Any other error is
 * its own, and what it quotes (a tool's stderr, a hook, a path) is nobody's refusal.
 */
const PROVIDERS_WORDS = new RegExp(
  `^(?:${[
    "You['’]ve (?:hit|reached) your ",
    'You hit your spend cap',
    'You exceeded your current quota',
    'Your (?:access|refresh) token ',
    'Your workspace (?:is out of|has) ',
    'Your (?:account|organization) (?:is|has) ',
    'To use Codex with your ChatGPT plan',
    'Quota exceeded\\.',
    'The usage limit has been reached',
    'Rate limit reached for ',
    'Too many requests',
    'Selected model is at capacity',
    "We['’]re currently experiencing ",
    'Missing environment variable: ',
    'Not logged in',
    'Incorrect API key',
    'Invalid API key',
    'request timed out$',
    '(?:The )?(?:requested )?model [`\'"]',
    'The [`\'"][^`\'"]{1,100}[`\'"] model ',
    '\\{"(?:detail|error|type|status|message)"',
  ].join('|')})`,
  'i',
);

function itemActivity(item: JsonObject): readonly Observation[] {
  switch (item.type) {
    case 'agent_message':
      return activity(stringOf(item.text) ?? '');
    case 'command_execution':
      return toolActivity('command', item);
    case 'file_change': {
      const paths = listOf(item.changes).map((change) => stringOf(objectOf(change).path) ?? '');
      return activity(`file_change ${paths.slice(0, 5).join(' ')}`);
    }
    case 'mcp_tool_call':
      return activity(`${stringOf(item.server) ?? 'mcp'} ${stringOf(item.tool) ?? ''}`);
    case 'error':
      // Also in good runs: unknown model metadata, a fallback to another transport.
      return NOTHING_SEEN;
    default:
      return activity(stringOf(item.type) ?? '');
  }
}

const itemWords = (event: JsonObject): string => {
  const item = objectOf(event.item);
  return event.type === 'item.completed' && item.type === 'agent_message' ? (stringOf(item.text) ?? '') : '';
};
const ITEMS: PassingEvents = {
  heads: ['{"type":"item.started",', '{"type":"item.completed",'],
  wordsMark: jsonNames(['agent_message']),
  kept: 'last',
  fits: ({ type }) => type === 'item.started' || type === 'item.completed',
  words: itemWords,
  shown: (event) => itemActivity(objectOf(event.item)),
};

function addTurnUsage(draft: Draft, usage: JsonObject): void {
  const input = tokens(usage.input_tokens);
  const output = tokens(usage.output_tokens);
  draft.usage = addUsage(draft.usage, {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: tokens(usage.cached_input_tokens),
    // OpenAI counts cached input within input, and reasoning within output.
    total_tokens: sumTokens(input, output),
  });
}

function codexReader(facts: ReaderFacts = {}): EventReader {
  /** The last `error` event that is no reconnecting: the reason where codex ends without a `turn.failed`. */
  let lastError: string | null = null;
  const keepWords = (words: string, draft: Draft): void => {
    if (words !== '') setFinalText(draft, words);
  };
  const fail = (draft: Draft, text: string): void => {
    if (PROVIDERS_OWN.test(text)) setError(draft, text, providerRefusal(null, text, facts.now));
    else setError(draft, text, PROVIDERS_WORDS.test(text) ? eventRefusal(null, text, facts.now) : null);
  };
  return eventReader(
    {
      sentinels: SENTINELS,
      names: ['thread.started', 'item.started', 'item.completed', 'error', 'turn.completed', 'turn.failed'],
      passing: { ...ITEMS, pass: ({ words }, draft) => keepWords(words, draft) },
      promisesResult: true,
      onEvent(event, draft) {
        switch (event.type) {
          case 'thread.started':
            draft.sessionId = stringOf(event.thread_id) ?? draft.sessionId;
            return NOTHING_SEEN;
          case 'item.started':
          case 'item.completed':
            keepWords(itemWords(event), draft);
            return ITEMS.shown(event);
          case 'error': {
            const message = stringOf(event.message) ?? 'error';
            if (!RECONNECTING.test(message)) {
              lastError = message;
              return NOTHING_SEEN;
            }
            const code = refusalCode(null, message) ?? 'PROVIDER_UNREACHABLE';
            return providerWait(refusal(code, message, 'event', facts.now));
          }
          case 'turn.completed':
            draft.resultSeen = true;
            addTurnUsage(draft, objectOf(event.usage));
            setSuccess(draft);
            return NOTHING_SEEN;
          case 'turn.failed':
            draft.resultSeen = true;
            fail(draft, stringOf(objectOf(event.error).message) ?? lastError ?? 'turn.failed');
            return NOTHING_SEEN;
          default:
            return NOTHING_SEEN;
        }
      },
      conclude(draft) {
        if (!draft.resultSeen && lastError !== null) fail(draft, lastError);
      },
    },
    facts,
  );
}

export const codex: Adapter = {
  name: 'codex',
  programs: ['codex'],
  probe: {
    version: { args: ['--version'] },
    readVersion: readVersionBy({
      product: 'Codex CLI',
      line: /^codex-cli (\d+\.\d+\.\d+\S*)$/,
      cure: 'Install @openai/codex, or name its executable in the profile.',
    }),
    help: [{ args: ['exec', '--help'] }],
    requiredFlags: [
      '--json',
      '--skip-git-repo-check',
      '--sandbox',
      '--model',
      '--cd',
      '--output-last-message',
      '--color',
    ],
  },
  credentials: { subscription: [], metered: ['CODEX_API_KEY', 'OPENAI_API_KEY'], settings: ['CODEX_HOME'] },
  environment: {},
  stateFolders: [{ variable: 'CODEX_HOME', path: '.codex' }],
  loginFiles: [{ variable: 'CODEX_HOME', below: 'auth.json', path: '.codex/auth.json' }],
  invoke(request) {
    const problem = slugProblem(request);
    if (problem !== null) return err(problem);
    return invocation(
      request,
      ({ workspace, result }) => [
        'exec',
        '--json',
        '--skip-git-repo-check',
        '-s',
        'workspace-write',
        '-c',
        'approval_policy="never"',
        // Else its sandbox mounts over /tmp/.git and the like, and leaves the mount points there when it is killed.
        '-c',
        'sandbox_workspace_write.exclude_slash_tmp=true',
        '-c',
        'analytics.enabled=false',
        '--color',
        'never',
        ...(request.model === null ? [] : ['-m', request.model]),
        ...(request.effort === null ? [] : ['-c', `model_reasoning_effort="${request.effort}"`]),
        '-C',
        workspace,
        '-o',
        result,
        '-',
      ],
      { stdin: promptBytes(request) },
    );
  },
  reader: codexReader,
  lingerMs: null,
  models: null,
};
