/** Token counts as workers report them: self-reported, so anything but a sane number is unknown. */
import { NO_USAGE, type Usage } from '../model/observation.ts';

/** A count of tokens, or null where the value is none. */
export const tokens = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;

/** An amount of US dollars, or null where the value is none. */
export const dollars = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;

const plus = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b);
const tokensPlus = (a: number | null, b: number | null): number | null => {
  const sum = plus(a, b);
  return sum === null ? null : Math.min(sum, Number.MAX_SAFE_INTEGER);
};

/** The sum of counts; null where none is known. */
export const sumTokens = (...counts: readonly (number | null)[]): number | null => counts.reduce(tokensPlus, null);

/** Adds what a further step used. Unknown and known make known: CLIs leave out what is zero. */
export const addUsage = (a: Usage, b: Partial<Usage>): Usage => {
  const step = { ...NO_USAGE, ...b };
  const cost = plus(a.cost_usd, step.cost_usd);
  return {
    input_tokens: tokensPlus(a.input_tokens, step.input_tokens),
    output_tokens: tokensPlus(a.output_tokens, step.output_tokens),
    cache_read_tokens: tokensPlus(a.cache_read_tokens, step.cache_read_tokens),
    total_tokens: tokensPlus(a.total_tokens, step.total_tokens),
    cost_usd: cost === null ? null : Math.min(cost, Number.MAX_VALUE),
  };
};
