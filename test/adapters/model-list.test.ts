/** agy's list of models in its three forms, and which of them a family and an effort name: one, or none can be said to be. */
import { describe, expect, test } from 'vitest';
import { parseModelList, slugsFor } from '../../src/adapters/model-list.ts';

const HIGH = { slug: 'gemini-4-argon-high', label: 'Gemini 4 Argon (High)' };
const LOW = { slug: 'gemini-4-argon-low', label: 'Gemini 4 Argon (Low)' };
const json = (models: unknown): string => JSON.stringify({ status: 'SUCCESS', command: { data: { models } } });
const parse = (stdout: string, code = 0) => parseModelList({ stdout, stderr: '', code });

describe('a list', () => {
  const both = [HIGH, LOW];
  test.each([
    ['JSON', json(both.map(({ slug, label }) => ({ id: slug, label })))],
    [
      'JSON over several lines',
      JSON.stringify(JSON.parse(json(both.map(({ slug, label }) => ({ id: slug, label })))), null, 2),
    ],
    ['lines of slug and label', both.map(({ slug, label }) => `${slug}\t${label}\r\n`).join('')],
    [
      'such lines among others',
      `Models:\n${both.map(({ slug, label }) => `${slug}\t${label}`).join('\n')}\n\n2 in all\n`,
    ],
  ])('as %s', (_, stdout) => {
    expect(parse(stdout)).toEqual(both);
  });

  test('as bare slugs, which are their own labels', () => {
    expect(parse('a-1\n  b/c:2\n')).toEqual([
      { slug: 'a-1', label: 'a-1' },
      { slug: 'b/c:2', label: 'b/c:2' },
    ]);
  });

  test.each([
    ['nothing', '', 0],
    ['prose', 'Please log in\nfirst', 0],
    ['one line of prose among slugs', 'a-1\nnot a slug\n', 0],
    ['an empty list', json([]), 0],
    ['a list of what are no models', json([7, null, { label: 'x' }]), 0],
    ['models that are no list', json({ id: 'a' }), 0],
    ['JSON of something else', '{"models":["a"]}', 0],
    ['a whole list, and an exit code', json([{ id: 'a' }]), 1],
  ])('is none: %s', (_, stdout, code) => {
    expect(parse(stdout, code)).toBeNull();
  });

  test('never gives a slug that would be a flag, or more than one word', () => {
    for (const id of ['--dangerous', '-x', 'a b', 'a\nb', '', "a'", '{model}'])
      expect(parse(json([{ id, label: 'Gemini 4 Argon (High)' }]))).toBeNull();
  });
});

describe('family and effort', () => {
  const named = (family: string, effort: string, ...more: readonly { slug: string; label: string }[]) =>
    slugsFor([HIGH, LOW, ...more], family, effort);

  test.each([
    ['Gemini 4 Argon', 'High'],
    ['gemini 4 argon', 'HIGH'],
    ['  Gemini   4 Argon ', 'high'],
    ['gemini-4-argon', 'high'],
    ['Gemini 4 Argon', '(High)'],
  ])('%j with %j name one', (family, effort) => {
    expect(named(family, effort)).toEqual([HIGH.slug]);
  });

  test.each([
    ['Gemini 4', 'High'],
    ['Gemini 4 Argon High', 'High'],
    ['Gemini 4 Argon', 'Medium'],
    ['Gemini 4 Arg', 'High'],
    ['Argon 4 Gemini', 'High'],
    ['High Gemini 4', 'Argon'],
    ['Gemini 4 Argon+', 'High'],
    ['Gemini 4 Argön', 'High'],
    ['.*', 'High'],
    ['Gemini . Argon', 'High'],
  ])('%j with %j name none', (family, effort) => {
    expect(named(family, effort)).toEqual([]);
  });

  test('of a model whose name goes on, or has a sign more, name that one alone', () => {
    const plus = { slug: 'gemini-4-argon-plus-high', label: 'Gemini 4 Argon+ (High)' };
    const longer = { slug: 'gemini-4-argon-ultra-high', label: 'Gemini 4 Argon Ultra (High)' };
    expect(named('Gemini 4 Argon', 'High', plus, longer)).toEqual([HIGH.slug]);
    expect(named('Gemini 4 Argon+', 'High', plus, longer)).toEqual([plus.slug]);
    expect(named('Gemini 4 Argon Ultra', 'High', plus, longer)).toEqual([longer.slug]);
  });

  test('written with an accent of its own or with one that is joined are the same', () => {
    const listed = { slug: 'cafe-high', label: 'Caf\u00e9 (High)' };
    expect(named('Cafe\u0301', 'High', listed)).toEqual(['cafe-high']);
  });

  test('that two models answer to name neither; one that is listed twice is one', () => {
    expect(named('Gemini 4 Argon', 'High', { slug: 'other', label: HIGH.label })).toEqual([HIGH.slug, 'other']);
    expect(named('Gemini 4 Argon', 'High', HIGH)).toEqual([HIGH.slug]);
  });
});
