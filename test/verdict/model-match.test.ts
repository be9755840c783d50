import { expect, test } from 'vitest';
import { contradicts } from '../../src/verdict/model-match.ts';

test.each([
  ['gemini-4-argon-high', 'Gemini 4 Argon (High)'],
  ['opus-4.6-thinking', 'Claude 4.6 Opus (Thinking)'],
  ['claude-sonnet-5', 'claude-sonnet-5-20260801'],
  ['deepseek/deepseek-v4', 'deepseek-v4'],
  ['gpt-6-high', 'GPT-6 High'],
  ['gpt-6-high', 'GPT-6'],
  ['opus', 'claude-opus-6-20260801'],
  ['grok-code', 'grok-code-fast-1'],
  ['minimax-m3', 'MiniMax M3'],
  ['', 'anything'],
  ['anything', '()'],
])('%j may answer as %j', (requested, reported) => expect(contradicts(requested, reported)).toBe(false));

test.each([
  ['opus-5', 'haiku-3'],
  ['gemini-4-argon-high', 'Gemini 4 Argon (Low)'],
  ['gemini-9-nova-high', 'Gemini 4 Argon (Low)'],
  ['opus-4.6', 'Claude 4.7 Opus'],
  ['gpt-6-high', 'Auto'],
  ['gpt-6', 'gpt-6-mini'],
  ['gpt-6-pro', 'gpt-6'],
  ['gemini-4-argon-high', 'Gemini 4 Argon Flash (High)'],
])('%j does not answer as %j', (requested, reported) => expect(contradicts(requested, reported)).toBe(true));
