/** OpenAI's Responses API, as far as an agent CLI needs it. */
import { OPENAI_REFUSALS, openAiError } from './openai-errors.mjs';

/** @typedef {import('./protocol.mjs').Protocol} Protocol */

const USAGE = {
  input_tokens: 120,
  input_tokens_details: { cached_tokens: 20 },
  output_tokens: 34,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 154,
};

const toolsOf = (list, namespace) =>
  list.flatMap((tool) => {
    if (tool.type === 'namespace') return toolsOf(tool.tools ?? [], tool.name);
    if (tool.type === 'function') return [{ name: tool.name, schema: tool.parameters ?? null, namespace }];
    return tool.type === 'custom' ? [{ name: tool.name, schema: null, namespace }] : [];
  });

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('\n');

const sse = (events) => events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

/** @type {Protocol} */
export const responses = {
  path: /\/responses$/,

  read(body) {
    const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : (body.input ?? []);
    return {
      model: String(body.model),
      streamed: body.stream === true,
      tools: toolsOf(body.tools ?? [], undefined),
      toolResults: input.filter((item) => /_call_output$/.test(item.type ?? '')).length,
      text: [body.instructions ?? '', ...input.map((item) => textOf(item.content))].join('\n'),
    };
  },

  answer(request, turn) {
    const item =
      turn.kind === 'text'
        ? {
            type: 'message',
            id: 'msg_scripted',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: turn.text, annotations: [] }],
          }
        : {
            type: 'function_call',
            id: 'fc_scripted',
            call_id: turn.id,
            name: turn.call.name,
            ...(turn.call.namespace === undefined ? {} : { namespace: turn.call.namespace }),
            arguments: JSON.stringify(turn.call.args),
            status: 'completed',
          };
    const response = { id: 'resp_scripted', object: 'response', model: request.model, output: [item], usage: USAGE };
    return {
      whole: { ...response, status: 'completed' },
      events: sse([
        { type: 'response.created', response: { ...response, output: [], usage: null, status: 'in_progress' } },
        { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { ...response, status: 'completed' } },
      ]),
    };
  },

  refuse(as) {
    if (as !== 'quota') return openAiError(as);
    const [, , code, message] = OPENAI_REFUSALS.quota;
    const response = { id: 'resp_scripted', object: 'response', status: 'failed', error: { code, message } };
    return { ...openAiError(as), events: sse([{ type: 'response.failed', response }]) };
  },
};
