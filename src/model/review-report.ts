/** `review-report/v1`: what a worker found by looking, for roles that expect a report. It claims to have changed nothing. */
import * as z from 'zod';
import { must, noOtherKeys, type ResultContract, status, text } from './result-contract.ts';

const SEVERITIES = ['critical', 'major', 'minor', 'note'] as const;

/** Relative to the top of the repository, as a host can look it up. */
const path = text.refine(
  (said) => !said.startsWith('/') && !said.includes('\\') && !said.split('/').some((part) => part === '..'),
  'must be relative to the top of the repository',
);

const LINE = 'a number from 1, or null';

const finding = z.strictObject(
  {
    path,
    /** From 1; null for the file as a whole. */
    line: z.int(must(LINE)).min(1, `must be ${LINE}`).nullable(),
    severity: z.enum(SEVERITIES, must(`one of ${SEVERITIES.join(', ')}`)),
    /** What is wrong, and how it shows. */
    evidence: text,
  },
  noOtherKeys,
);

const schema = z
  .strictObject({ STATUS: status, SUMMARY: text, FINDINGS: z.array(finding, must('a list')) }, noOtherKeys)
  .meta({ id: 'review-report/v1', title: "A worker's report of what it found" });

export const reviewReport: ResultContract = {
  schema,
  keys: `- "STATUS": "READY" when the review is done, also where it found nothing; "BLOCKED" when it cannot be done within the limits.
- "SUMMARY": text that says what you looked at and what you conclude; for BLOCKED, what is in the way; never empty.
- "FINDINGS": a list, [] where there is nothing to report. Each entry is an object with exactly these keys: "path", the file relative to the top of the repository; "line", a number from 1, or null for the whole file; "severity", one of ${SEVERITIES.map((word) => `"${word}"`).join(', ')}; "evidence", text that says what is wrong and how it shows.`,
  claims: () => [],
};
