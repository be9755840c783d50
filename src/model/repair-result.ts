/** `repair-result/v1`: what was wrong, what was changed, how that was verified, and what may still be wrong. */
import * as z from 'zod';
import { item, must, noOtherKeys, type ResultContract, status, words } from './result-contract.ts';

/** How a worker says that there is nothing to roll back. */
const nothing = z.union([z.literal(''), z.null(), z.array(z.unknown()).max(0)]);
const isNothing = (value: unknown): boolean => value === undefined || nothing.safeParse(value).success;

const schema = z
  .strictObject(
    {
      STATUS: status,
      ROOT_CAUSE: z
        .string(must('text'))
        .regex(/^(?:CONFIRMED|LIKELY|SPECULATIVE)\b/, 'must start with CONFIRMED, LIKELY or SPECULATIVE'),
      CHANGES: z.array(item, must('a list')),
      VERIFICATION_EVIDENCE: z.array(item, must('a list')),
      ROLLBACK: z.union([words, nothing], must('text, or a list of such')).optional(),
      RESIDUAL_RISK: words,
    },
    noOtherKeys,
  )
  .superRefine((result, context) => {
    const wrong = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [key], message, input: result });
    if (result.STATUS === 'READY') {
      if (result.CHANGES.length === 0) wrong('CHANGES', 'must not be empty for READY');
      if (result.VERIFICATION_EVIDENCE.length === 0) wrong('VERIFICATION_EVIDENCE', 'must not be empty for READY');
    }
    if (result.CHANGES.length > 0 && isNothing(result.ROLLBACK))
      wrong('ROLLBACK', 'is required when CHANGES is not empty');
  })
  .meta({ id: 'repair-result/v1', title: "A worker's account of a repair" });

export const repairResult: ResultContract = {
  schema,
  keys: `- "STATUS": "READY" when the work is done, "BLOCKED" when it cannot be done within the limits.
- "ROOT_CAUSE": text that starts with CONFIRMED, LIKELY or SPECULATIVE.
- "CHANGES": a list of what you changed, each entry beginning with the file's path; not empty for READY, may be empty for BLOCKED.
- "VERIFICATION_EVIDENCE": a list of what you ran or read to verify it, and what it showed; not empty for READY.
- "ROLLBACK": how to undo the changes; required when CHANGES is not empty.
- "RESIDUAL_RISK": what may still be wrong; never empty.`,
  claims: (result) =>
    schema.parse(result).CHANGES.map((change) => (typeof change === 'string' ? change : JSON.stringify(change))),
};
