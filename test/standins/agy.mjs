#!/usr/bin/env node
/**
 * A stand-in for `agy`, as strict as the real one is reported to be: Go's flags, `-p` last, a subcommand after its flags,
 * an open stdin that hangs it, a folder it silently leaves. It asks nobody anything. See standin.mjs for scenarios.
 */
import { join } from 'node:path';
import {
  digest,
  forEver,
  out,
  play,
  readFlags,
  record,
  refuse,
  say,
  scenario,
  stdinKind,
  stdinToItsEnd,
} from './standin.mjs';

const VALUES = ['model', 'effort', 'output-format', 'input-format', 'print-timeout', 'add-dir', 'print', 'p'];
const SWITCHES = ['dangerously-skip-permissions', 'disable-slash-commands', 'sandbox', 'version', 'help'];
/** Go takes a flag with one dash or two. */
const dashed = (names) => names.flatMap((name) => [`-${name}`, `--${name}`]);

const MODELS = [
  { id: 'gemini-4-argon-high', label: 'Gemini 4 Argon (High)' },
  { id: 'gemini-4-argon-low', label: 'Gemini 4 Argon (Low)' },
  { id: 'claude-opus-6', label: 'Claude Opus 6' },
];
const { form = 'json', list = MODELS } = scenario.models ?? {};
const home = join(process.env.HOME, '.gemini');
const args = process.argv.slice(2);

const parsed = readFlags(args, {
  values: dashed(VALUES),
  switches: dashed(SWITCHES),
  unknown: (name) => refuse(2, `flags provided but not defined: -${name.replace(/^-+/, '')}`, 'Usage of agy:'),
  stops: true,
});
const flag = (name) => parsed.flags[`--${name}`] ?? parsed.flags[`-${name}`];
process.on('SIGTERM', () => process.exit(1));

if (flag('version')) {
  out(scenario.version ?? '1.5.15');
} else if (flag('help')) {
  // Go prints its usage on stderr.
  say(scenario.help ?? `Usage of agy:\n${[...VALUES, ...SWITCHES].map((name) => `  --${name}`).join('\n')}`);
} else if (parsed.rest[0] === 'models') {
  listModels(parsed.rest.slice(1));
} else if (parsed.rest.length > 0) {
  refuse(1, `Error: unexpected argument: ${parsed.rest[0]}`);
} else {
  await answer();
}

function listModels(more) {
  record(home, { kind: 'models' });
  for (const word of more) refuse(2, `Error: flags provided but not defined: ${word.replace(/^--/, '-')}`);
  const json = flag('output-format') === 'json';
  if (form === 'none') refuse(1, 'Error: You are not logged into Antigravity');
  if (json && form !== 'json') refuse(2, 'flags provided but not defined: -output-format');
  say('Fetching available models...');
  if (form === 'bare') for (const { id } of list) out(id);
  else if (!json) for (const { id, label } of list) out(`${id}\t${label}`);
  else out({ status: 'SUCCESS', command: { name: 'models', data: { models: list } } });
}

/** The model it answers with, by its label. */
function chooseModel() {
  const [slug, effort] = [flag('model'), flag('effort')];
  const known = list.find(({ id }) => id === slug);
  const wrong = (why) =>
    refuse(1, `Error: invalid model selection (--model "${slug ?? ''}" --effort "${effort ?? ''}"): ${why}`);
  if (effort !== undefined && /-(low|medium|high)$/.test(slug ?? '')) wrong(`model ${slug} takes no effort`);
  if (slug === undefined || known !== undefined) return (known ?? list[0]).label;
  if (scenario.unknownModel === 'fallback') return list[0].label;
  return wrong(`model ${slug} is not recognized as a known model or custom model in settings`);
}

/** One line of stdin is a message; the end of stdin before the result is taken for a wish to stop. */
async function messageFromStdin(state) {
  let text = '';
  let ended = false;
  const line = await new Promise((resolve) => {
    process.stdin.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) resolve(text.slice(0, text.indexOf('\n')));
    });
    process.stdin.on('end', () => {
      ended = true;
      resolve(text);
      if (state.answered) process.exit(0);
    });
  });
  // Work takes its time: whoever closes stdin right after the message is seen to do so.
  await new Promise((resolve) => setTimeout(resolve, 100));
  if (ended) {
    out({ event: 'result', result: { status: 'CANCELED', response: '' } });
    process.exit(1);
  }
  const { event, message } = JSON.parse(line);
  if (event !== 'user' || typeof message?.content !== 'string') refuse(1, 'Error: not a user message');
  return message.content;
}

/** `-p` takes what follows for the prompt, so nothing may stand behind it. */
function promptOfFlag() {
  if (!/^--?(p|print)=/.test(args.at(-1)) && !/^--?(p|print)$/.test(args.at(-2) ?? '')) {
    refuse(1, 'Error: flags after the prompt');
  }
  return flag('print') ?? flag('p');
}

async function answer() {
  const state = { answered: false };
  const streams = flag('input-format') === 'stream-json';
  if (!streams && flag('print') === undefined && flag('p') === undefined) refuse(1, 'Error: empty prompt');
  if (flag('output-format') !== 'stream-json') refuse(1, 'Error: this stand-in speaks stream-json');
  const seconds = Number(/^(\d+)s$/.exec(flag('print-timeout') ?? '300s')?.[1] ?? refuse(2, 'Error: bad duration'));
  const stdin = stdinKind();
  const prompt = streams ? await messageFromStdin(state) : promptOfFlag();
  // In print mode it waits for the end of stdin first, for ever where there is none.
  if (!streams) await stdinToItsEnd();
  record(home, { kind: 'prompt', stdin, prompt: digest(prompt) });
  if (prompt.startsWith('/') && !flag('disable-slash-commands')) refuse(1, 'Error: unknown command');
  const model = chooseModel();

  await play(scenario.before ?? [], process.cwd());
  // Under a folder that begins with a dot, or not told of the folder, it works in one of its own and says nothing.
  const dotted = process
    .cwd()
    .split('/')
    .some((part) => part.startsWith('.'));
  const folder =
    scenario.worksIn ?? (dotted || flag('add-dir') !== process.cwd() ? join(home, 'scratch') : process.cwd());
  out({ event: 'init', conversation_id: 'c-1', init: { cwd: folder, permission_mode: 'always-proceed', model } });
  setTimeout(
    () => {
      say(`[agy] print timeout after ${seconds}s with turn in progress; returning partial output`);
      out({ event: 'result', result: { status: 'SUCCESS', response: 'So far' } });
      process.exit(0);
    },
    seconds * (scenario.secondMs ?? 1000),
  );
  if (!flag('dangerously-skip-permissions')) {
    say(
      'jetski: no output produced — a tool required the "write_file" permission that headless mode cannot prompt for',
    );
    out({ event: 'result', result: { status: 'SUCCESS', response: '', denied_actions: ['write_file'] } });
    process.exit(0);
  }
  await play(
    scenario.play ?? [
      ['write', 'src/a.txt', 'more\n'],
      ['out', result()],
    ],
    folder,
  );
  state.answered = true;
  if (!streams || process.stdin.readableEnded) process.exit(0);
  await forEver();
}

function result() {
  const usage = { input_tokens: 100, output_tokens: 20, thinking_tokens: 5, cache_read_tokens: 50, total_tokens: 125 };
  return { event: 'result', result: { status: 'SUCCESS', response: 'Done.', usage } };
}
