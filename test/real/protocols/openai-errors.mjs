/** How OpenAI's two protocols say no: status, type, code, words. */

/** @type {Record<import('../scenarios.mjs').Refusal, [number, string, string | null, string]>} */
export const OPENAI_REFUSALS = {
  auth: [401, 'invalid_request_error', 'invalid_api_key', 'Incorrect API key provided.'],
  'rate-limit': [429, 'requests', 'rate_limit_exceeded', 'Rate limit reached for requests. Please try again later.'],
  quota: [429, 'insufficient_quota', 'insufficient_quota', 'You exceeded your current quota.'],
  'server-error': [500, 'server_error', null, 'The server had an error while processing your request.'],
  overloaded: [503, 'server_error', 'server_is_overloaded', 'The engine is currently overloaded.'],
  'model-unknown': [404, 'invalid_request_error', 'model_not_found', 'The model `no-such-model` does not exist.'],
};

/** @param {import('../scenarios.mjs').Refusal} as */
export function openAiError(as) {
  const [status, type, code, message] = OPENAI_REFUSALS[as];
  return { status, body: { error: { message, type, param: null, code } } };
}
