/** Token counts are the worker's word: only sane numbers count, and sums stay what a record can hold. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addUsage, dollars, sumTokens, tokens } from '../../src/adapters/usage.ts';
import { NO_USAGE, usage } from '../../src/model/observation.ts';

test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, '5', null, undefined, {}, [3], true])(
  '%s is no count of tokens',
  (value) => expect(tokens(value)).toBeNull(),
);
test.each([-0.01, Number.NaN, Number.POSITIVE_INFINITY, '1', null, {}])('%s is no amount', (value) =>
  expect(dollars(value)).toBeNull(),
);
test('unknown and known make known', () => {
  expect(sumTokens(null, 2, null, 3)).toBe(5);
  expect(sumTokens(null, null)).toBeNull();
  expect(addUsage(NO_USAGE, { input_tokens: 3 })).toEqual({ ...NO_USAGE, input_tokens: 3 });
});

test('law: whatever steps report, the sum fits a record and never shrinks', () => {
  const hostile = fc.oneof(fc.nat(), fc.double(), fc.maxSafeInteger(), fc.string(), fc.constant(null));
  const step = fc.record({ input: hostile, output: hostile, cached: hostile, total: hostile, cost: hostile });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let sum = NO_USAGE;
      for (const { input, output, cached, total, cost } of steps) {
        const next = addUsage(sum, {
          input_tokens: tokens(input),
          output_tokens: tokens(output),
          cache_read_tokens: tokens(cached),
          total_tokens: tokens(total),
          cost_usd: dollars(cost),
        });
        expect(usage.safeParse(next).success).toBe(true);
        expect(next.input_tokens ?? 0).toBeGreaterThanOrEqual(sum.input_tokens ?? 0);
        expect(next.cost_usd ?? 0).toBeGreaterThanOrEqual(sum.cost_usd ?? 0);
        sum = next;
      }
    }),
  );
});
