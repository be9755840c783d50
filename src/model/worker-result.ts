/** What a worker says of its own work where its role asks for it (SPEC 9). Self-reported; its shape is all that is proven. */
import * as z from 'zod';

/** Text, or an object with more to it. */
const item = z.union([z.string().trim().min(1), z.record(z.string(), z.unknown())]);
const words = z.union([z.string().trim().min(1), z.array(item).min(1)]);

export const repairResult = z
  .strictObject({
    STATUS: z.enum(['READY', 'BLOCKED']),
    ROOT_CAUSE: z
      .string()
      .regex(/^(?:CONFIRMED|LIKELY|SPECULATIVE)\b/, 'must start with CONFIRMED, LIKELY or SPECULATIVE'),
    CHANGES: z.array(item),
    VERIFICATION_EVIDENCE: z.array(item),
    ROLLBACK: words.optional(),
    RESIDUAL_RISK: words,
  })
  .superRefine((result, context) => {
    const wrong = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [key], message, input: result });
    if (result.STATUS === 'READY') {
      if (result.CHANGES.length === 0) wrong('CHANGES', 'must not be empty for READY');
      if (result.VERIFICATION_EVIDENCE.length === 0) wrong('VERIFICATION_EVIDENCE', 'must not be empty for READY');
    }
    if (result.CHANGES.length > 0 && result.ROLLBACK === undefined)
      wrong('ROLLBACK', 'is required when CHANGES is not empty');
  })
  .meta({ id: 'repair-result/v1', title: "A worker's account of a repair" });
export type RepairResult = z.infer<typeof repairResult>;
