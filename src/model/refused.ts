/** What `refused` prints of a log: the refusal it shows, or that it shows none. Null: there is none, or it is not known. */
import * as z from 'zod';
import { count, identifier, refusal } from './observation.ts';

export const refused = z
  .strictObject({
    schema: z.literal('agent-exec-refused/v1'),
    refused: z.boolean(),
    /** The adapter whose reader fired. */
    adapter: identifier.nullable(),
    code: refusal.shape.code.nullable(),
    retry_after_seconds: refusal.shape.retry_after_seconds,
    /** The words that say so, bounded and redacted. */
    line: z.string().nullable(),
    /** Of a log of both streams: the stream where that CLI prints such a line. */
    source: refusal.shape.source.nullable(),
    /** 1-based; also null where only the end of the log shows it. */
    line_number: z.int().min(1).nullable(),
    bytes_read: count,
  })
  .meta({ id: 'agent-exec-refused/v1', title: 'Whether a log shows that its provider refused' });
export type Refused = z.infer<typeof refused>;
