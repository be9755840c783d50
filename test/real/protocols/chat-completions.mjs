/** OpenAI's Chat Completions API, which most other providers speak. */
import { openAiError } from './openai-errors.mjs';

/** @typedef {import('./protocol.mjs').Protocol} Protocol */

const USAGE = {
  prompt_tokens: 120,
  completion_tokens: 34,
  total_tokens: 154,
  prompt_tokens_details: { cached_tokens: 20 },
};

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('\n');

/** @type {Protocol} */
export const chatCompletions = {
  path: /\/chat\/completions$/,

  read(body) {
    const messages = body.messages ?? [];
    return {
      model: String(body.model),
      streamed: body.stream === true,
      tools: (body.tools ?? []).map((tool) => ({
        name: tool.function?.name ?? '',
        schema: tool.function?.parameters ?? null,
      })),
      toolResults: messages.filter((message) => message.role === 'tool').length,
      text: messages.map((message) => textOf(message.content)).join('\n'),
    };
  },

  answer(request, turn) {
    const content =
      turn.kind === 'text'
        ? { role: 'assistant', content: turn.text }
        : {
            role: 'assistant',
            content: null,
            tool_calls: [
              {
                index: 0,
                id: turn.id,
                type: 'function',
                function: { name: turn.call.name, arguments: JSON.stringify(turn.call.args) },
              },
            ],
          };
    const finish = turn.kind === 'text' ? 'stop' : 'tool_calls';
    const head = { id: 'chatcmpl-scripted', created: 1_700_000_000, model: request.model };
    const chunk = (delta, finishReason, usage) => ({
      ...head,
      object: 'chat.completion.chunk',
      choices: usage === null ? [{ index: 0, delta, finish_reason: finishReason }] : [],
      usage,
    });
    const events = [chunk(content, null, null), chunk({}, finish, null), chunk({}, null, USAGE)];
    return {
      whole: {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message: content, finish_reason: finish }],
        usage: USAGE,
      },
      events: [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n'],
    };
  },

  refuse: openAiError,
};
