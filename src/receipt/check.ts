/** One check of a receipt: it holds with words, or fails with everything that is wrong, bounded. */
import type { CheckName, ReceiptCheck } from '../model/receipt-verify.ts';
import { headOf } from './bounded-text.ts';
import { neutralise } from './neutralise.ts';

const MAX_PROBLEMS = 20;
const MAX_BYTES = 600;

/** Somebody else's text on one line of bounded length, harmless to show. */
export const shownText = (text: string): string => headOf(neutralise(text).replaceAll('\n', '\\n'), MAX_BYTES);

/** Held where there is no problem. `held`: what is thereby known. */
export function judged(check: CheckName, problems: readonly string[], held: string): ReceiptCheck {
  const [first] = problems;
  if (first === undefined) return { check, result: 'held', message: shownText(held), problems: [] };
  const shown = problems.slice(0, MAX_PROBLEMS).map(shownText);
  const more = problems.length - shown.length;
  return {
    check,
    result: 'failed',
    message: problems.length === 1 ? shownText(first) : `${problems.length} things are wrong`,
    problems: more > 0 ? [...shown, `and ${more} more`] : shown,
  };
}

/** There is nothing of that kind in the receipt. */
export const notApplicable = (check: CheckName, why: string): ReceiptCheck => ({
  check,
  result: 'not-applicable',
  message: shownText(why),
  problems: [],
});

/** What it would take is not at hand. */
export const notChecked = (check: CheckName, why: string): ReceiptCheck => ({
  check,
  result: 'not-checked',
  message: shownText(why),
  problems: [],
});
