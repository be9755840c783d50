/** Anthropic's Messages API, as far as an agent CLI needs it. */

/** @typedef {import('./protocol.mjs').Protocol} Protocol */

const USAGE = { input_tokens: 120, output_tokens: 34, cache_creation_input_tokens: 0, cache_read_input_tokens: 20 };

const REFUSALS = {
  auth: [401, 'authentication_error', 'invalid x-api-key'],
  'rate-limit': [429, 'rate_limit_error', 'This request would exceed your rate limit.'],
  quota: [400, 'invalid_request_error', 'Your credit balance is too low to access the Anthropic API.'],
  'server-error': [500, 'api_error', 'Internal server error'],
  overloaded: [529, 'overloaded_error', 'Overloaded'],
  'model-unknown': [404, 'not_found_error', 'model: no-such-model'],
};

function message(model, content, stopReason) {
  return {
    id: 'msg_01scripted',
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: USAGE,
  };
}

/** @type {Protocol} */
export const anthropic = {
  path: /\/v1\/messages$/,

  read(body) {
    const texts = [body.system, ...(body.messages ?? []).map((each) => each.content)].flat().filter(Boolean);
    const parts = texts.filter((part) => typeof part === 'object');
    return {
      model: String(body.model),
      streamed: body.stream === true,
      tools: (body.tools ?? []).map((tool) => ({ name: tool.name, schema: tool.input_schema ?? null })),
      toolResults: parts.filter((part) => part.type === 'tool_result').length,
      text: texts.map((part) => (typeof part === 'string' ? part : (part.text ?? ''))).join('\n'),
    };
  },

  answer(request, turn) {
    const block =
      turn.kind === 'text'
        ? { type: 'text', text: turn.text }
        : { type: 'tool_use', id: turn.id, name: turn.call.name, input: turn.call.args };
    const stop = turn.kind === 'text' ? 'end_turn' : 'tool_use';
    const empty = turn.kind === 'text' ? { ...block, text: '' } : { ...block, input: {} };
    const delta =
      turn.kind === 'text'
        ? { type: 'text_delta', text: turn.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(turn.call.args) };
    const events = [
      { type: 'message_start', message: message(request.model, [], null) },
      { type: 'content_block_start', index: 0, content_block: empty },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: USAGE },
      { type: 'message_stop' },
    ];
    return {
      whole: message(request.model, [block], stop),
      events: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
    };
  },

  refuse(as) {
    const [status, type, words] = REFUSALS[as];
    return { status, body: { type: 'error', error: { type, message: words }, request_id: 'req_scripted' } };
  },
};
