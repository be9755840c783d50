/** What `receipt verify --json` answers: every check of every receipt, what a commit carries, which delegations count. */
import * as z from 'zod';
import { RUN_OUTCOMES } from './codes.ts';
import { count, oid } from './observation.ts';

/** In the order in which they are made and told. */
export const CHECKS = [
  'schema',
  'digest',
  'outcome',
  'attempts',
  'changes',
  'refs',
  'host-fallback',
  'times',
  'base',
  'scope',
  'transport',
  'transport-changes',
  'quarantine',
  'config',
  'candidates',
  'unit',
  'require',
] as const;
export type CheckName = (typeof CHECKS)[number];

/** `not-checked`: it could have been, with something that was not at hand; never a failure. */
const CHECK_RESULTS = ['held', 'failed', 'not-applicable', 'not-checked'] as const;

export const receiptCheck = z.strictObject({
  check: z.enum(CHECKS),
  result: z.enum(CHECK_RESULTS),
  message: z.string(),
  /** What is wrong, one thing each; empty unless `failed`. */
  problems: z.array(z.string()),
});
export type ReceiptCheck = z.infer<typeof receiptCheck>;

/** What a receipt may be required to be; `any`: whatever it honestly says. */
export const REQUIREMENTS = ['success', 'host-fallback-authorized', 'any'] as const;
export type Requirement = (typeof REQUIREMENTS)[number];

const verifiedReceipt = z.strictObject({
  file: z.string(),
  /** Null where the file is no receipt. */
  run_id: z.string().nullable(),
  outcome: z.enum(RUN_OUTCOMES).nullable(),
  role: z.string().nullable(),
  unit_id: z.string().nullable(),
  /** `unreadable`: there is nothing to judge. */
  verdict: z.enum(['valid', 'invalid', 'unreadable']),
  checks: z.array(receiptCheck),
  /** Why it is unreadable. */
  error: z.string().nullable(),
});
export type VerifiedReceipt = z.infer<typeof verifiedReceipt>;

/**
 * `transport`: it is the commit itself. `same-change`: exactly the same paths, modes and blobs, before and after.
 * `same-patch`: the same lines, around which something else has changed. `differs`: it is none of the receipts' changes.
 */
export const CARRIES = ['transport', 'same-change', 'same-patch', 'differs'] as const;

const carriedCommit = z.strictObject({
  rev: z.string(),
  commit: oid,
  carries: z.enum(CARRIES),
  /** The run whose change it is; null where it is none's. */
  run_id: z.string().nullable(),
  message: z.string(),
  /** How it differs from the change that comes nearest, path by path. */
  differences: z.array(z.string()),
});
export type CarriedCommit = z.infer<typeof carriedCommit>;

/** What comes of a declared delegation; all but `OK` are rejections. */
const DELEGATION_CODES = [
  'OK',
  /** A role and nothing of a run. */
  'BARE_ROLE',
  'TRANSPORT_MISSING',
  'TRANSPORT_NOT_TEXT',
  'WRONG_TRANSPORT',
  /** Another program did it, or was to. */
  'OTHER_SCRIPT',
  'RUN_ID_MISSING',
  'ROLE_MISSING',
  /** None of the receipts given is that run's, and none that can be read is kept on this machine. */
  'UNKNOWN_RUN',
  /** That run is kept on this machine and its receipt was not given; what was given is of its unit, or no receipt at all. */
  'RECEIPT_NOT_GIVEN',
  /** The receipt of that run, given or kept on this machine, is not valid. */
  'UNVERIFIED_RECEIPT',
  'OTHER_ROLE',
  'OTHER_UNIT',
  'COUNTED_TWICE',
  /** No object, or none of which every reader sees the same. */
  'NOT_A_DECLARATION',
] as const;
export type DelegationCode = (typeof DELEGATION_CODES)[number];

const delegation = z.strictObject({
  /** `declaration 2`. */
  position: z.string(),
  /** Where it begins in the file, 1-based. */
  line: count,
  column: count,
  run_id: z.string().nullable(),
  counts: z.boolean(),
  code: z.enum(DELEGATION_CODES),
  reason: z.string(),
});
export type JudgedDelegation = z.infer<typeof delegation>;

export const receiptVerification = z
  .strictObject({
    schema: z.literal('agent-exec-receipt-verify/v1'),
    ok: z.boolean(),
    exit_code: count,
    require: z.enum(REQUIREMENTS),
    /** The worktree in which was looked. */
    repository: z.string().nullable(),
    receipts: z.array(verifiedReceipt),
    /** Null where no commit was asked about. */
    commit: carriedCommit.nullable(),
    /** Null where no delegations were given. */
    delegations: z
      .strictObject({ file: z.string(), declared: count, counted: count, entries: z.array(delegation) })
      .nullable(),
    /** What could not be read at all, beside receipts. */
    errors: z.array(z.string()),
  })
  .meta({ id: 'agent-exec-receipt-verify/v1', title: 'What was found when receipts were verified' });
export type ReceiptVerification = z.infer<typeof receiptVerification>;
