/** Expected failure as a value. Broken invariants are thrown; everything a user or a worker can cause is returned. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

/** What was asked for. */
export const ok = <T>(value: T): Result<T, never> => ({ ok: true, value });
/** An expected failure, as data. */
export const err = <E>(error: E): Result<never, E> => ({ ok: false, error });

/** Marks a place that a closed union makes impossible; a new member does not compile until it is handled. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
