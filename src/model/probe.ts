/** What `probe` and `probe --live` print. A field that does not apply is null, never missing. */
import * as z from 'zod';
import { diagnostic } from './diagnostic.ts';
import { count, identifier, isolation, probe } from './observation.ts';
import { attemptRecord } from './receipt.ts';

const notes = z.array(z.string());
/** Filled where there was nothing to probe, or where it had to stop. */
const errors = z.array(diagnostic);
const who = { profile: identifier, adapter: identifier };

export const probeReport = z
  .strictObject({
    schema: z.literal('agent-exec-probe/v1'),
    profiles: z.array(z.strictObject({ ...who, ...probe.shape })),
    notes,
    errors,
  })
  .meta({ id: 'agent-exec-probe/v1', title: 'Which profiles can run here' });
export type ProbeReport = z.infer<typeof probeReport>;

/** A code of a run, or of the host's own look, and its words. */
const reason = z.strictObject({ code: z.string(), message: z.string() });

export const liveReport = z
  .strictObject({
    schema: z.literal('agent-exec-probe-live/v1'),
    profiles: z.array(
      z.strictObject({
        ...who,
        /** `available` is true for a pass alone. */
        ...probe.shape,
        result: z.enum(['pass', 'unavailable', 'failed', 'cancelled']),
        /** What to do where a provider refused; other reasons carry their cure in `message`. */
        cure: z.string().nullable(),
        /** Whatever else differs. */
        more: z.array(reason),
        state: attemptRecord.shape.state.nullable(),
        isolation: isolation.shape.level.nullable(),
        model: attemptRecord.shape.model,
        usage: attemptRecord.shape.usage.nullable(),
        duration_ms: count,
        /** Where the receipt is kept; null where none was asked for or it could not be written. */
        receipt: z.string().nullable(),
        /** Folders that stay, to be looked at. */
        kept: z.array(z.string()),
      }),
    ),
    notes,
    errors,
  })
  .meta({ id: 'agent-exec-probe-live/v1', title: 'Which profiles answered a request of their own' });
export type LiveReport = z.infer<typeof liveReport>;
