/**
 * What the scripted provider does, by scenario: a list of steps, one for each answer. The step is chosen by the number
 * of tool results that the request already holds, so the provider keeps no conversation and any CLI can retry freely.
 */

/** The file that a worker is asked for, and that `write-file` makes the worker write. */
export const MARKER = { path: 'notes/worker.md', content: 'This line was written by the worker.\n' };

/**
 * @typedef {{ kind: 'text', text: string }} TextStep the model answers and ends its turn
 * @typedef {{ kind: 'write', path: string, content: string }} WriteStep a file, relative to the worker's folder unless absolute
 * @typedef {{ kind: 'shell', command: string }} ShellStep
 * @typedef {{ kind: 'obey' }} ObeyStep the file that the prompt of a live probe asks for
 * @typedef {{ kind: 'refuse', as: Refusal, headers?: Record<string, string> }} RefuseStep
 * @typedef {{ kind: 'html' }} HtmlStep status 200 and a page of a captive portal
 * @typedef {{ kind: 'hang' }} HangStep headers and then nothing
 * @typedef {{ kind: 'drop' }} DropStep the connection ends in the middle of a streamed answer
 * @typedef {'auth' | 'rate-limit' | 'quota' | 'server-error' | 'overloaded' | 'model-unknown'} Refusal
 * @typedef {TextStep | WriteStep | ShellStep | ObeyStep | RefuseStep | HtmlStep | HangStep | DropStep} Step
 */

/** @returns {TextStep} */
const text = (words = 'Done. The file is in place.') => ({ kind: 'text', text: words });
/** @returns {WriteStep} */
const write = (path = MARKER.path, content = MARKER.content) => ({ kind: 'write', path, content });
/** @returns {ShellStep} */
const shell = (command) => ({ kind: 'shell', command });
/** @returns {RefuseStep} */
const refuse = (as, headers = {}) => ({ kind: 'refuse', as, headers });

/** What a repair says of itself at its end. */
const READY = {
  STATUS: 'READY',
  ROOT_CAUSE: 'CONFIRMED: the file was missing',
  CHANGES: [`${MARKER.path}: one line`],
  VERIFICATION_EVIDENCE: ['read it back'],
  ROLLBACK: 'remove the file',
  RESIDUAL_RISK: 'none known',
};
const BLOCKED = { ...READY, STATUS: 'BLOCKED', CHANGES: [], VERIFICATION_EVIDENCE: [] };
const fenced = (value) => text(`Done {so far}.\n\n\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\`\n`);

/** A worker that hands its unit on to agent-exec, and does it itself only where that was refused. Nothing is removed: codex runs no `rm -rf`. */
const NESTED = [
  'd=$(mktemp -d)',
  '"$HOME/../bin/agent-exec" run --role implementation --goal again --allow notes/ --json --state-dir "$d/state" >"$d/answer" 2>&1',
  `grep -q RECURSION_DETECTED "$d/answer" && mkdir -p notes && printf '${MARKER.content.trimEnd()}\\n' > ${MARKER.path}`,
].join('; ');

/** @type {Readonly<Record<string, readonly Step[]>>} */
const SCENARIOS = {
  'write-file': [write(), text()],
  live: [{ kind: 'obey' }, text()],
  'text-only': [text('There is nothing to change.')],
  401: [refuse('auth')],
  'no-credentials': [refuse('auth')],
  429: [refuse('rate-limit')],
  '429-retry-after-2': [refuse('rate-limit', { 'retry-after': '2' })],
  '429-retry-after-3600': [refuse('rate-limit', { 'retry-after': '3600' })],
  quota: [refuse('quota')],
  500: [refuse('server-error')],
  overloaded: [refuse('overloaded')],
  'model-unknown': [refuse('model-unknown')],
  html: [{ kind: 'html' }],
  hang: [{ kind: 'hang' }],
  drop: [{ kind: 'drop' }],
  'midway-401': [write(), refuse('auth')],
  'midway-429': [write(), refuse('rate-limit')],
  'background-process': [shell('nohup sleep 321 >/dev/null 2>&1 & echo started'), write(), text()],
  // codex lets go of a tool after 30 seconds and asks again: the second call goes on to the limit.
  'long-tool': [shell('sleep 322'), shell('sleep 322'), text()],
  commit: [write(), shell('git add -A && git -c user.name=w -c user.email=w@localhost commit -qm work'), text()],
  nested: [shell(NESTED), text()],
  'nested-bare': [
    shell(`env -i PATH="$PATH" HOME="$HOME" TMPDIR="$TMPDIR" sh -c '${NESTED.replaceAll("'", `'\\''`)}'`),
    text(),
  ],
  'out-of-scope': [write('outside.txt'), text()],
  'repair-ready': [write(), fenced(READY)],
  'repair-blocked': [fenced(BLOCKED)],
  'repair-invalid': [write(), text('{"STATUS":"READY","ROOT_CAUSE":"CONFIRMED repaired"}')],
  'repair-torn': [write(), text(JSON.stringify(READY).slice(0, -9))],
  'repair-untold': [write(), text()],
  // Not below /proc: Node's recursive mkdir never ends there.
  'bad-path': [write('/dev/null/folder/worker.md'), text('The path could not be written.')],
};

export const SCENARIO_NAMES = Object.keys(SCENARIOS);

/**
 * @param {string} name
 * @param {number} toolResults how many tool results the request holds
 * @returns {Step | null} null for a scenario that does not exist; past the last step, the last one
 */
export function stepOf(name, toolResults) {
  const steps = Object.hasOwn(SCENARIOS, name) ? SCENARIOS[name] : undefined;
  if (steps === undefined) return null;
  return steps[Math.min(toolResults, steps.length - 1)] ?? null;
}
