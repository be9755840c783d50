/**
 * What `probe --live` says, to people and to programs, and its exit code. A profile passes or it does not: what was
 * not asked is never shown as if it had been.
 */
import { EXIT, REFUSAL_CODES, type RefusalCode } from '../model/codes.ts';
import type { Policy } from '../model/config.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import type { LiveReport } from '../model/probe.ts';
import { unreachable } from '../model/result.ts';
import { printableJson } from '../receipt/neutralise.ts';
import type { LiveAnswer } from '../run/live.ts';
import type { CallingRepository } from './calling-repository.ts';
import { oneLine, tableLines } from './table.ts';

export interface AskedProfile {
  readonly profile: string;
  readonly adapter: string;
  readonly answer: LiveAnswer;
}

/** Before the first request, so that it can still be stopped. */
export function announcement(policy: Policy, names: readonly string[], wereNamed: boolean): string {
  const asked = names.filter((name) => policy.profiles[name]?.enabled === true);
  if (asked.length === 0) {
    return `probe --live asks nobody: ${wereNamed ? 'none of the named profiles is enabled' : 'no profile is enabled'}.\n`;
  }
  const metered = asked.filter((name) => policy.profiles[name]?.cost === 'metered');
  const billed = metered.length === 0 ? '' : ` Billed by use: ${metered.join(', ')}.`;
  return `probe --live asks, one at a time: ${asked.join(', ')}. Each request spends quota of the account behind it.${billed}\n`;
}

/** Of the probe as a whole. */
export function notesOn(calledFrom: CallingRepository | null, names: readonly string[]): string[] {
  if (names.length === 0) return ['No profile is enabled, so nothing was asked.'];
  return calledFrom !== null && calledFrom.facts === null
    ? ['This repository has no commit yet: whether it stayed as it was could not be compared.']
    : [];
}

/** Of one answer. `wanted`: where its receipt was to be kept. */
export function notesOf(
  name: string,
  { movedByHost, verdict, kept, receiptPath }: LiveAnswer,
  wanted: string | null,
): string[] {
  const notes = movedByHost.slice(0, 1).map(({ what, path }) => {
    const more = movedByHost.length - 1;
    return `Your checkout changed while ${name} was asked, which it could not have done itself: ${what} ${path}${more > 0 ? ` and ${more} more` : ''}.`;
  });
  if (wanted !== null && receiptPath === null) notes.push(`The receipt of ${name} could not be written to ${wanted}.`);
  if (verdict.result !== 'failed') notes.push(...kept.map((folder) => `${folder} could not be removed.`));
  return notes;
}

/** Of the profiles without an answer; `unanswered` is the one of them that may have been asked all the same. */
export function notesOnTheRest(names: readonly string[], unanswered: string | null): string[] {
  const rest = names.filter((name) => name !== unanswered);
  return [
    ...(unanswered === null ? [] : [`Asked without an answer: ${unanswered}. It may have spent quota.`]),
    ...(rest.length === 0 ? [] : [`Not asked: ${rest.join(', ')}.`]),
  ];
}

const HEAD = ['PROFILE', 'RESULT', 'VERSION', 'MODEL', 'SECONDS'] as const;

/** What a user can do about a refusal. The other reasons carry their cure in their own message. */
const CURES: Record<RefusalCode, string> = {
  AUTH_REQUIRED:
    'Log in with the CLI itself (docs/adapters.md says how), or give its profile the cost that its key needs.',
  AUTH_REJECTED: 'Log in anew with the CLI itself, or replace the key that it uses.',
  RATE_LIMITED: 'Wait, and ask again.',
  QUOTA_EXHAUSTED: 'Wait until the quota is renewed, or raise it with the provider.',
  OVERLOADED: 'Wait, and ask again.',
  PROVIDER_ERROR: 'Wait, and ask again; where it stays, look at what the CLI says when you use it by hand.',
  PROVIDER_UNREACHABLE: 'Check the network, and the proxy that the CLI is given.',
  MODEL_UNAVAILABLE: 'Name a model in the profile that this account may use.',
};
const cureFor = (code: string): string | null =>
  (REFUSAL_CODES as readonly string[]).includes(code) ? CURES[code as RefusalCode] : null;

interface Reason {
  readonly code: string;
  readonly message: string;
}

function reasonsOf({ verdict }: LiveAnswer): readonly Reason[] {
  switch (verdict.result) {
    case 'pass':
      return [];
    case 'cancelled':
      return [{ code: 'CANCELLED', message: 'it was stopped before it had ended' }];
    case 'unavailable':
      return [{ code: verdict.code, message: verdict.message }];
    case 'failed':
      return verdict.differences;
    default:
      return unreachable(verdict);
  }
}

const nothingPassedOrFailed = ({ verdict: { result } }: LiveAnswer): boolean =>
  result === 'unavailable' || result === 'cancelled';

/** 0: every one passed. 4: none failed, and some (or all) were unavailable. 6: some failed, a person must look. */
export function liveExitCode(profiles: readonly AskedProfile[]): number {
  const results = profiles.map(({ answer }) => answer.verdict.result);
  if (results.includes('failed')) return EXIT.blocked;
  return results.length > 0 && results.every((result) => result === 'pass') ? EXIT.success : EXIT.exhausted;
}

/** A provider's words may end anywhere. */
const sentence = (words: string): string => (/[.!?…]['")\]]*$/.test(words.trim()) ? words.trim() : `${words.trim()}.`);

const seconds = ({ receipt }: LiveAnswer): string => (receipt.duration_ms / 1000).toFixed(1);

/** A table, with everything that is wrong and where it can be looked at under each profile. */
export function liveText(profiles: readonly AskedProfile[], notes: readonly string[]): string {
  const rows = profiles.map(({ profile, answer }) => {
    const [attempt] = answer.receipt.attempts;
    const below = reasonsOf(answer).map(({ code, message }) => {
      const cure = nothingPassedOrFailed(answer) ? cureFor(code) : null;
      return `${code}: ${cure === null ? message : `${sentence(message)} ${cure}`}`;
    });
    below.push(...answer.kept.map((folder) => `kept: ${folder}`));
    const reported = attempt?.model.reported ?? '-';
    const version = attempt?.probe.version ?? '-';
    return { cells: [profile, answer.verdict.result, version, reported, seconds(answer)], below };
  });
  return `${[...tableLines(HEAD, rows), ...notes.map((note) => `note: ${oneLine(note)}`)].join('\n')}\n`;
}

/**
 * One `agent-exec-probe-live/v1` object: that of `probe`, where `available` is true for a pass alone, and more. All of it
 * comes from redacted records.
 */
export function liveJson(
  profiles: readonly AskedProfile[],
  notes: readonly string[],
  errors: readonly Diagnostic[],
): string {
  const report: LiveReport = {
    schema: 'agent-exec-probe-live/v1',
    profiles: profiles.map(({ profile, adapter, answer: one }) => {
      const [attempt] = one.receipt.attempts;
      const [first, ...others] = reasonsOf(one);
      return {
        profile,
        adapter,
        available: one.verdict.result === 'pass',
        code: first?.code ?? null,
        message: first?.message ?? null,
        executable: attempt?.probe.executable ?? null,
        version: attempt?.probe.version ?? null,
        result: one.verdict.result,
        cure: first !== undefined && nothingPassedOrFailed(one) ? cureFor(first.code) : null,
        more: [...others],
        state: attempt?.state ?? null,
        isolation: attempt?.isolation.level ?? null,
        model: attempt?.model ?? { requested: null, resolved: null, reported: null },
        usage: attempt?.usage ?? null,
        duration_ms: one.receipt.duration_ms,
        receipt: one.receiptPath,
        kept: [...one.kept],
      };
    }),
    notes: [...notes],
    errors: [...errors],
  };
  return `${printableJson(report, 2)}\n`;
}
