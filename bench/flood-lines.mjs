/**
 * What a flood is made of, for each format of output: a block of text that the worker prints again and again. Own events
 * are the chattiest ones that the CLI is known to print (what tools said, words as they come); each kind in short lines,
 * in long ones, and in lines of a megabyte.
 */
const MEGABYTE = 1_000_000;

/** Words as an agent writes them: quotes, line breaks and some letters beyond ASCII. */
const WORDS =
  'The function reads "config.json" and returns what it holds;\nwhere there is none it says so — and goes on with the defaults. ';
const words = (length) => WORDS.repeat(Math.ceil(length / WORDS.length)).slice(0, length);

const claudeMessage = (type, content) => ({
  type,
  message: { id: 'msg_01', type: 'message', role: type, model: 'm-1', content },
  parent_tool_use_id: null,
  session_id: 's-1',
});

/** Events by format, as functions of how many characters of text they carry. */
const EVENTS = {
  claude: (length) => [
    claudeMessage('user', [{ tool_use_id: 'call_1', type: 'tool_result', content: words(length) }]),
    claudeMessage('assistant', [{ type: 'text', text: words(length) }]),
  ],
  codex: (length) => [
    {
      type: 'item.completed',
      item: { id: 'item_1', type: 'command_execution', command: 'npm test', aggregated_output: words(length) },
    },
    { type: 'item.completed', item: { id: 'item_2', type: 'agent_message', text: words(length) } },
  ],
  cursor: (length) => [
    { type: 'thinking', subtype: 'delta', text: words(length), session_id: 's-1', timestamp_ms: 1 },
    { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: words(length) }] } },
  ],
  opencode: (length) => [
    { type: 'text', timestamp: 1, sessionID: 'ses_1', part: { id: 'prt_1', type: 'text', text: words(length) } },
    {
      type: 'tool_use',
      timestamp: 1,
      sessionID: 'ses_1',
      part: { type: 'tool', tool: 'bash', state: { input: { command: 'npm test' }, output: words(length) } },
    },
  ],
  pi: (length) => [
    {
      type: 'message_update',
      assistantMessageEvent: { type: 'text_delta', contentIndex: 0, delta: 'x' },
      message: { role: 'assistant', content: [{ type: 'text', text: words(length) }] },
    },
    { type: 'tool_execution_end', toolCallId: 'call_1', toolName: 'bash', result: words(length), isError: false },
  ],
  kimi: (length) => [
    { role: 'tool', tool_call_id: 'call_1', content: words(length) },
    { role: 'assistant', content: words(length) },
  ],
  antigravity: (length) => [
    { event: 'step_update', step_update: { step_type: 'PLANNER_RESPONSE', text_delta: words(length) } },
    {
      event: 'step_update',
      step_update: { step_type: 'TOOL', tool_info: { name: 'bash', args: { command: words(length) } } },
    },
  ],
};

/** Lines that such an event makes, of about so many bytes each. */
function lines(events, bytes) {
  const bare = JSON.stringify(events(0)[0]).length;
  return events(Math.max(10, bytes - bare)).map((event) => JSON.stringify(event));
}

const text = (...all) => Buffer.from(`${all.join('\n')}\n`);
const unknown = (bytes) => text(JSON.stringify({ kind: 'trace', level: 3, at: 1, words: words(bytes - 60) }));

/** `[kind, block]` for each flood of a format. */
function eventFloods(events) {
  return [
    ['own events, 200 bytes', text(...lines(events, 200))],
    ['own events, 4 kB', text(...lines(events, 4000))],
    ['own events, 1 MB', text(...lines(events, MEGABYTE))],
    ['other JSON, 200 bytes', unknown(200)],
    ['other JSON, 1 MB', unknown(MEGABYTE)],
    ['no JSON', text(words(79).replaceAll('\n', ' '))],
  ];
}

/** Noise of every byte, the same each time. */
function noise(length) {
  const bytes = Buffer.alloc(length);
  for (let i = 0, state = 1; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** Every flood: `{ format, kind, block }`. */
export const FLOODS = [
  ['lines of 1 byte', text('y')],
  ['lines of 60 bytes', text(words(59).replaceAll('\n', ' '))],
  ['one endless line', Buffer.alloc(65536, 'x')],
  ['bytes that are no text', noise(65536)],
]
  .map(([kind, block]) => ({ format: 'text', kind, block }))
  .concat(
    Object.entries(EVENTS).flatMap(([format, events]) =>
      eventFloods(events).map(([kind, block]) => ({ format, kind, block })),
    ),
  );
