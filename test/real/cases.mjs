/**
 * Which cases are run and how each must end. A case is one run of agent-exec: an order of CLIs, each with the scenario its
 * provider plays. How a CLI ends in a scenario is said once, in the table; what follows for the run is derived.
 */

/**
 * @typedef {{ cli: string, scenario: string }} Cast
 * @typedef {{ name: string, casts: readonly Cast[], inClone?: boolean }} Case `inClone`: in a clone of a real repository
 * @typedef {{ exit: number, outcome: string, attempts: readonly string[] }} Expected `attempts`: "state CODE" in order
 *
 * @typedef {object} Row
 * @property {string} ends "state CODE"
 * @property {Record<string, string>} [but] other endings, by adapter
 * @property {string} [plays] the provider's scenario where it is not the row's name
 * @property {true} [repairs] the role asks for a repair-result/v1
 * @property {string} [goal]
 * @property {number} [timeoutSeconds]
 */

const GOAL = 'Please write the file notes/worker.md with one line of text.';
const OK = 'success OK';
const BLOCKED = 'failed-clean WORKER_BLOCKED';
const TIMED_OUT = 'failed-clean TIMEOUT';
/** Seconds: long enough for the slowest CLI to have asked its provider, on a busy machine. */
const SHORT = 40;

/** @type {Readonly<Record<string, Row>>} */
export const TABLE = {
  'write-file': { ends: OK },
  'text-only': { ends: 'failed-clean EMPTY_DIFF' },
  401: { ends: 'unavailable AUTH_REJECTED' },
  429: { ends: 'unavailable RATE_LIMITED' },
  '429-retry-after-2': { ends: 'unavailable RATE_LIMITED' },
  '429-retry-after-3600': { ends: 'unavailable RATE_LIMITED' },
  quota: { ends: 'unavailable QUOTA_EXHAUSTED' },
  500: { ends: 'unavailable PROVIDER_ERROR', but: { codex: 'unavailable OVERLOADED' } },
  overloaded: { ends: 'unavailable OVERLOADED' },
  'model-unknown': { ends: 'unavailable MODEL_UNAVAILABLE' },
  unreachable: { ends: 'unavailable PROVIDER_UNREACHABLE' },
  drop: { ends: 'unavailable PROVIDER_UNREACHABLE' },
  // codex only says that the stream closed.
  html: { ends: 'unavailable PROVIDER_ERROR', but: { codex: 'unavailable PROVIDER_UNREACHABLE' } },
  hang: { ends: TIMED_OUT, timeoutSeconds: SHORT },
  // codex and an opencode provider of one's own ask without a key, and the provider refuses.
  'no-credentials': {
    ends: 'unavailable AUTH_REQUIRED',
    but: { codex: 'unavailable AUTH_REJECTED', opencode: 'unavailable AUTH_REJECTED' },
  },
  'midway-401': { ends: 'failed-clean PROVIDER_REFUSED_MIDWAY' },
  'midway-429': { ends: 'failed-clean PROVIDER_REFUSED_MIDWAY' },
  'background-process': { ends: OK },
  'long-tool': { ends: TIMED_OUT, timeoutSeconds: SHORT },
  // codex's own sandbox keeps the git folder read-only: its commit fails and the file stays in the worktree.
  commit: { ends: 'scope-expansion WORKER_COMMITTED', but: { codex: OK } },
  nested: { ends: OK },
  'nested-bare': { ends: OK },
  'out-of-scope': { ends: 'scope-expansion PATH_OUT_OF_SCOPE' },
  'bad-path': { ends: 'failed-clean EMPTY_DIFF' },
  'repair-ready': { ends: OK, repairs: true },
  'repair-blocked': { ends: BLOCKED, repairs: true },
  'repair-invalid': { ends: 'failed-clean INVALID_WORKER_RESULT', repairs: true },
  'repair-torn': { ends: 'failed-clean UNPARSEABLE_OUTPUT', repairs: true },
  'repair-untold': { ends: 'failed-clean NO_RESULT', repairs: true },
  'long-goal': {
    ends: OK,
    plays: 'write-file',
    goal: `${GOAL}\n${'This line is only here to be long. '.repeat(5850)}`,
  },
  'flag-goal': { ends: OK, plays: 'write-file', goal: `--help ${GOAL}` },
  'at-goal': { ends: OK, plays: 'write-file', goal: `@README.md ${GOAL}` },
};

const row = (scenario) => /** @type {Row} */ (TABLE[scenario]);
export const goalOf = (test) => row(test.casts[0].scenario).goal ?? GOAL;
export const timeoutOf = (test) => Math.max(...test.casts.map(({ scenario }) => row(scenario).timeoutSeconds ?? 150));
export const repairs = (test) => test.casts.some(({ scenario }) => row(scenario).repairs === true);
export const playedBy = (scenario) => row(scenario).plays ?? scenario;

/** @returns {Case} */
const caseOf = (...casts) => ({ name: casts.map(({ cli, scenario }) => `${cli} ${scenario}`).join(', '), casts });

/**
 * @param {readonly string[]} clis
 * @param {readonly string[]} scenarios
 * @returns {Case[]} each CLI alone in each row
 */
export const tableCases = (clis, scenarios) =>
  clis.flatMap((cli) => scenarios.filter((each) => each in TABLE).map((scenario) => caseOf({ cli, scenario })));

const PAIRS = [
  ['claude', 'codex'],
  ['codex', 'claude'],
];
/** The main job: both do it; a refused one hands over to the other; all refused is the host's turn. @type {Case[]} */
const MAIN_JOB = [
  ...PAIRS[0].map((cli) => caseOf({ cli, scenario: 'write-file' })),
  ...PAIRS.flatMap(([first, second]) => [
    caseOf({ cli: first, scenario: '401' }, { cli: second, scenario: 'write-file' }),
    caseOf({ cli: first, scenario: '429' }, { cli: second, scenario: 'write-file' }),
    caseOf({ cli: first, scenario: '401' }, { cli: second, scenario: '429' }),
  ]),
];

/** @returns {Case[]} the main job, in a clone of a real repository */
export const mainJob = () => MAIN_JOB.map((test) => ({ ...test, name: `clone: ${test.name}`, inClone: true }));

/**
 * @param {readonly string[]} clis
 * @returns {Case[]} the main job, then what every other CLI must do at least
 */
export const coreCases = (clis) => [
  ...mainJob(),
  ...tableCases(
    clis.filter((cli) => !PAIRS[0].includes(cli)),
    ['write-file', '401', '429'],
  ),
];

/**
 * @param {Case} test
 * @param {(cli: string) => string} adapterOf
 * @param {boolean} bareRoot root without isolation: where claude refuses to run
 * @returns {Expected}
 */
export function expectedOf(test, adapterOf, bareRoot) {
  const attempts = [];
  for (const { cli, scenario } of test.casts) {
    const adapter = adapterOf(cli);
    const ends = bareRoot && adapter === 'claude' ? 'unavailable INCOMPATIBLE' : row(scenario).but?.[adapter];
    const ending = ends ?? row(scenario).ends;
    attempts.push(ending);
    if (ending === OK) return { exit: 0, outcome: 'success', attempts };
    if (ending === BLOCKED || /^(scope-expansion|failed-unknown) /.test(ending))
      return { exit: 6, outcome: 'blocked', attempts };
  }
  return attempts.every((ending) => ending.startsWith('unavailable '))
    ? { exit: 5, outcome: 'host-fallback-authorized', attempts }
    : { exit: 4, outcome: 'exhausted', attempts };
}
