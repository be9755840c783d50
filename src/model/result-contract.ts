/** What a role may ask its workers to say of their own work (SPEC 9). Self-reported; its shape is all that is proven. */
import * as z from 'zod';

/** What a worker, or who reads its receipt, is told of a member that is not as it must be. */
export const must = (be: string) => ({
  error: ({ input }: { readonly input: unknown }) => (input === undefined ? 'is missing' : `must be ${be}`),
});

/** READY: the work is done. BLOCKED: it cannot be done within the limits, and a person must look. */
export const status = z.enum(['READY', 'BLOCKED'], must('"READY" or "BLOCKED"'));
/** Text that is not blank. */
export const text = z.string(must('text')).trim().min(1, 'must not be empty');
/** Every contract has this key; by it a result is told from other JSON in a message. */
export interface WorkerResult {
  readonly STATUS: z.infer<typeof status>;
}

/** One contract: a file with its schema, and a line in model/worker-result.ts. */
export interface ResultContract {
  readonly schema: z.ZodType<WorkerResult> & { readonly shape: Readonly<Record<string, unknown>> };
  /** The keys in the words a worker is told, one a line; they say what the schema will accept. */
  readonly keys: string;
  /** What a valid result claims to have changed, to be held against what changed; each claim begins with a path. */
  readonly claims: (result: WorkerResult) => readonly string[];
}

/** Text, or an object with more to it. */
export const item = z.union(
  [text, z.record(z.string(), z.unknown()).refine((object) => Object.keys(object).length > 0)],
  must('text that is not blank, or an object with members'),
);
/** Text that is not blank, or a list of such. */
export const words = z.union([text, z.array(item).min(1)], must('text that is not blank, or a list of such'));

/** Other keys than the contract's. */
export const noOtherKeys = {
  error: ({ code, keys }: { readonly code: string; readonly keys?: readonly string[] }) =>
    code === 'unrecognized_keys' ? `must not have ${(keys ?? []).slice(0, 5).join(', ')}` : undefined,
};
