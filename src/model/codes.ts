/**
 * Every code an attempt can end with, and what hangs on it. One total table: a new code does not compile until its
 * state and its consequence for the run are answered (SPEC 7).
 */
export const ATTEMPT_STATES = [
  'failed-unknown',
  'scope-expansion',
  'cancelled',
  'unavailable',
  'failed-clean',
  'success',
] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];

interface Consequence {
  readonly state: AttemptState;
  /** `continues`: the following candidate is tried; `stops`: the run ends here. */
  readonly run: 'continues' | 'stops';
}
const unknown = { state: 'failed-unknown', run: 'stops' } as const satisfies Consequence;
const expansion = { state: 'scope-expansion', run: 'stops' } as const satisfies Consequence;
const unavailable = { state: 'unavailable', run: 'continues' } as const satisfies Consequence;
const clean = { state: 'failed-clean', run: 'continues' } as const satisfies Consequence;

/** Refusals by the provider (SPEC 8). */
export const REFUSAL_CODES = [
  'AUTH_REQUIRED',
  'AUTH_REJECTED',
  'RATE_LIMITED',
  'QUOTA_EXHAUSTED',
  'OVERLOADED',
  'PROVIDER_ERROR',
  'PROVIDER_UNREACHABLE',
  'MODEL_UNAVAILABLE',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

export const CONSEQUENCES = {
  CANONICAL_CHANGED: unknown,
  PROCESS_SURVIVED: unknown,
  INVENTORY_FAILED: unknown,
  CLEANUP_INEXACT: unknown,
  CONTROLLER_LOST: unknown,

  PATH_OUT_OF_SCOPE: expansion,
  WORKER_COMMITTED: expansion,
  GIT_TAMPERED: expansion,
  NESTED_REPOSITORY: expansion,
  SYMLINK_ESCAPE: expansion,
  SPECIAL_FILE: expansion,
  SECRET_FILE: expansion,

  CANCELLED: { state: 'cancelled', run: 'stops' },

  EXECUTABLE_MISSING: unavailable,
  EXECUTABLE_INVALID: unavailable,
  INCOMPATIBLE: unavailable,
  DISABLED: unavailable,
  SPAWN_FAILED: unavailable,
  PROMPT_TOO_LARGE: unavailable,
  UNRESOLVED_MODEL_SLUG: unavailable,
  COST_NOT_AUTHORISED: unavailable,
  NETWORK_NOT_ENFORCEABLE: unavailable,
  ISOLATION_UNAVAILABLE: unavailable,
  NO_CREDENTIALS: unavailable,
  PROVIDER_COOLDOWN: unavailable,
  RECURSION_DETECTED: unavailable,
  AUTH_REQUIRED: unavailable,
  AUTH_REJECTED: unavailable,
  RATE_LIMITED: unavailable,
  QUOTA_EXHAUSTED: unavailable,
  OVERLOADED: unavailable,
  PROVIDER_ERROR: unavailable,
  PROVIDER_UNREACHABLE: unavailable,
  MODEL_UNAVAILABLE: unavailable,

  EXIT_NONZERO: clean,
  SIGNALED: clean,
  TIMEOUT: clean,
  IDLE_TIMEOUT: clean,
  REPORTED_ERROR: clean,
  PROVIDER_REFUSED_MIDWAY: clean,
  EMPTY_DIFF: clean,
  NO_RESULT: clean,
  UNPARSEABLE_OUTPUT: clean,
  INVALID_WORKER_RESULT: clean,
  WORKER_BLOCKED: { state: 'failed-clean', run: 'stops' },
  MODEL_MISMATCH: clean,
  SETUP_FAILED: clean,
  VERIFICATION_FAILED: clean,

  OK: { state: 'success', run: 'stops' },
} as const satisfies Record<string, Consequence>;

export type AttemptCode = keyof typeof CONSEQUENCES;
export const ATTEMPT_CODES = Object.keys(CONSEQUENCES) as [AttemptCode, ...AttemptCode[]];

/** The codes whose state is `unavailable`: reasons for which no work can have been done. */
export type UnavailableCode = {
  [C in AttemptCode]: (typeof CONSEQUENCES)[C]['state'] extends 'unavailable' ? C : never;
}[AttemptCode];

/** The codes whose state is `scope-expansion`: proven violations found in the workspace or the private repository. */
export type ViolationCode = {
  [C in AttemptCode]: (typeof CONSEQUENCES)[C]['state'] extends 'scope-expansion' ? C : never;
}[AttemptCode];

export const RUN_OUTCOMES = [
  'success',
  'invalid-config',
  'exhausted',
  'host-fallback-authorized',
  'blocked',
  'evidence-failed',
  'cancelled',
] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** Exit codes of the command (SPEC 7); `cancelled` is 128 + the signal's number. */
export const EXIT = {
  success: 0,
  internalError: 1,
  usage: 2,
  'invalid-config': 3,
  exhausted: 4,
  'host-fallback-authorized': 5,
  blocked: 6,
  'evidence-failed': 7,
} as const;
export const CANCEL_EXIT = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
export type CancelSignal = keyof typeof CANCEL_EXIT;
