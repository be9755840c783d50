/** A CLI's own list of models, in each of its forms. */
import { describe, expect, test } from 'vitest';
import { parseModelList } from '../../src/adapters/model-list.ts';
import type { ProbeOutput } from '../../src/model/adapter.ts';

const said = (stdout: string, code: number | null = 0): ProbeOutput => ({ stdout, stderr: '', code });
const MODELS = [
  { slug: 'gemini-4-argon-high', label: 'Gemini 4 Argon (High)' },
  { slug: 'gemini-4-argon-low', label: 'Gemini 4 Argon (Low)' },
  { slug: 'gemini-4-argon-lite-high', label: 'Gemini 4 Argon Lite (High)' },
  { slug: 'claude-opus-5-thinking', label: 'Claude Opus 5 (Thinking)' },
];

describe('the list', () => {
  test('as JSON', () => {
    const list = {
      status: 'SUCCESS',
      command: { data: { models: MODELS.map(({ slug, label }) => ({ id: slug, label })) } },
    };
    expect(parseModelList(said(JSON.stringify(list)))).toEqual(MODELS);
    expect(parseModelList(said(`${JSON.stringify(list, null, 2)}\n`))).toEqual(MODELS);
  });
  test('as lines of id and label', () => {
    expect(parseModelList(said(MODELS.map(({ slug, label }) => `${slug}\t${label}`).join('\n')))).toEqual(MODELS);
  });
  test('as bare slugs', () => {
    expect(parseModelList(said('a-high\nb-low\n\n'))).toEqual([
      { slug: 'a-high', label: 'a-high' },
      { slug: 'b-low', label: 'b-low' },
    ]);
  });
  test.each([
    '',
    'Please log in first.\n',
    'models:\nargon high\n',
    '{"status":"ERROR"}',
    '{"command":{"data":{"models":[]}}}',
    '[]',
  ])('is none: %j', (stdout) => expect(parseModelList(said(stdout))).toBeNull());
  test('of a command that failed is none', () => {
    expect(parseModelList(said('a-high\n', 1))).toBeNull();
    expect(parseModelList(said('a-high\n', null))).toBeNull();
  });
});
