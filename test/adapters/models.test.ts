/** A CLI's own list of models, in each of its forms, and the one model that a family and an effort mean. */
import { describe, expect, test } from 'vitest';
import { parseModelList, resolveFamily } from '../../src/adapters/model-list.ts';
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

describe('family and effort', () => {
  test.each([
    ['Gemini 4 Argon', 'High', 'gemini-4-argon-high'],
    ['gemini-4-argon', 'low', 'gemini-4-argon-low'],
    ['Argon Lite', 'high', 'gemini-4-argon-lite-high'],
    ['opus', 'thinking', 'claude-opus-5-thinking'],
  ])('%s %s is %s', (family, effort, slug) => {
    expect(resolveFamily(MODELS, { family, effort })).toEqual({ ok: true, value: slug });
  });
  test('bare slugs carry both', () => {
    const bare = ['gemini-4-argon-high', 'gemini-4-argon-low', 'plain'].map((slug) => ({ slug, label: slug }));
    expect(resolveFamily(bare, { family: 'Gemini 4 Argon', effort: 'Low' })).toEqual({
      ok: true,
      value: 'gemini-4-argon-low',
    });
  });
  test.each([
    ['argon', 'high', /2 models/],
    ['Gemini 4 Argon', 'medium', /no model/],
    ['Gemini', 'high', /2 models/],
    ['mini 4', 'high', /no model/],
    ['Neon', 'high', /no model/],
  ])('%s %s is none', (family, effort, message) => {
    const resolved = resolveFamily(MODELS, { family, effort });
    expect(resolved).toMatchObject({ ok: false, error: { code: 'UNRESOLVED_MODEL_SLUG' } });
    expect(!resolved.ok && resolved.error.message).toMatch(message);
  });
});
