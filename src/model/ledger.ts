/** A host's authoritative list of what is to be done (SPEC 9). Only what leads to a unit has a shape; the rest is the host's. */
import * as z from 'zod';
import { unit } from './unit.ts';

export const LEDGER_SCHEMA = 'agent-exec-ledger/v1';
const schema = z.literal(LEDGER_SCHEMA).optional();

/** The whole file. A milestone may have no unit yet; it cannot be asked for then. */
const document = z.looseObject({
  schema,
  milestones: z.record(z.string().min(1), z.looseObject({ unit: unit.optional() })),
});
/** One line of a JSON Lines file; the last one of a milestone counts. Lines without `milestone` are the host's own. */
const record = z.looseObject({ schema, milestone: z.string().min(1), unit });

export const ledger = z
  .union([document, record])
  .meta({ id: LEDGER_SCHEMA, title: 'A ledger: one JSON object of milestones, or one line of a JSON Lines file' });
