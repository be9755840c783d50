/**
 * What the provider needs of a wire protocol: reading a request and forming an answer. Pure.
 *
 * @typedef {object} ProviderRequest
 * @property {string} model
 * @property {boolean} streamed
 * @property {import('../tool-call.mjs').Tool[]} tools none: a small side request (a title, a summary)
 * @property {number} toolResults results of earlier calls in the conversation
 * @property {string} text all texts, joined: where a CLI says its folder
 *
 * @typedef {{ kind: 'text', text: string } | { kind: 'call', id: string, call: import('../tool-call.mjs').ToolCall }} Turn
 *
 * @typedef {object} Protocol
 * @property {RegExp} path
 * @property {(body: any) => ProviderRequest} read
 * @property {(request: ProviderRequest, turn: Turn) => { whole: unknown, events: string[] }} answer
 * @property {(as: import('../scenarios.mjs').Refusal) => { status: number, body: unknown, events?: string[] }} refuse
 *   `events`: a refusal that this provider sends inside a stream of status 200
 */
import { anthropic } from './anthropic.mjs';
import { chatCompletions } from './chat-completions.mjs';
import { responses } from './responses.mjs';

/** @type {readonly Protocol[]} */
export const PROTOCOLS = [anthropic, responses, chatCompletions];
