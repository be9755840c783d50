/** What one line means for the waiting on a provider. */
import { expect, test } from 'vitest';
import { waitingSaid } from '../../src/adapters/provider-wait.ts';
import { builtInAdapter } from '../../src/adapters/registry.ts';
import type { Adapter, Observation } from '../../src/model/adapter.ts';
import type { Refusal } from '../../src/model/observation.ts';

const reason: Refusal = { code: 'OVERLOADED', retry_after_seconds: null, line: 'x', source: 'event' };
const activity: Observation = { kind: 'activity', text: 'x' };
const wait: Observation = { kind: 'provider-wait', refusal: reason };
const finished: Observation = { kind: 'finished' };

test.each<[readonly Observation[], Refusal | 'works' | null]>([
  [[], null],
  [[activity], 'works'],
  [[wait], reason],
  [[finished], 'works'],
  [[wait, finished], reason],
  [[activity, wait], 'works'],
  [[activity, finished], 'works'],
])('%j', (observations, said) => {
  expect(waitingSaid(observations)).toEqual(said);
});

test('a login on which agy blocks is what it ends with', () => {
  const reader = (builtInAdapter('antigravity') as Adapter).reader();
  expect(waitingSaid(reader.read('stderr', 'Waiting for authentication (timeout 60s)...'))).toMatchObject({
    code: 'AUTH_REQUIRED',
  });
});
