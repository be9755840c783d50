/** A finding about something a person wrote: what, where, why, what to do next. Prose that names the place is made in cli/. */
import * as z from 'zod';

export const diagnostic = z.strictObject({
  code: z.string(),
  severity: z.enum(['error', 'warning']),
  message: z.string(),
  file: z.string(),
  /** 1-based; column counts UTF-16 code units as editors do. 0 where the finding concerns the file as a whole. */
  line: z.int().min(0),
  column: z.int().min(0),
  end_line: z.int().min(0),
  end_column: z.int().min(0),
  /** The offending line, or null where it would show a credential or there is none. */
  source_line: z.string().nullable(),
  hint: z.string().nullable(),
});
export type Diagnostic = z.infer<typeof diagnostic>;
