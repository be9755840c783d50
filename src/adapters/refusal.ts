/**
 * What a provider's refusal is, read from the words and the status of an error that a CLI itself reports. Only for such
 * texts: an agent's prose, a tool's output or a source file never reaches these patterns. An error that is no refusal (a
 * context overflow, a wrong flag) is null.
 */
import type { RefusalCode } from '../model/codes.ts';
import type { Refusal } from '../model/observation.ts';
import { refusalLine } from './bounded-text.ts';
import { retryAfterSeconds } from './retry-after.ts';

/** Characters of an error that are looked at; providers put the reason first. */
const LOOKED_AT = 4096;

const STATUS: readonly RegExp[] = [
  /^\s*([45]\d\d)(?=[ :]|$)/,
  /\bstatus(?: code)?[:=]?\s*([45]\d\d)\b/i,
  /\b(?:api error|token refresh failed|[a-z]+_error|http|code|rejected|error)[:=]?\s*\(?([45]\d\d)\b/i,
];

const QUOTA =
  /credits? balance is too low|quota exceeded|exceeded your (?:current|monthly) quota|insufficient[_ ](?:quota|balance|credits?|funds)|billing hard limit|out of credits|spend(?:ing)? (?:cap|limit)|usage limit for this billing cycle|weekly (?:\([^)]{1,20}\) )?usage limit|check your plan and billing|plan, upgrade to plus|payment required/i;
const OVERLOAD =
  /overloaded|at capacity|no capacity available|(?:experiencing|due to) (?:\w+ )?high (?:demand|load)|too many concurrent/i;
/** A plan's allowance is used up. Some providers say so with 401 or 403. */
const ALLOWANCE =
  /usage limit|(?:hit|reached) your (?:[\w-]+ )?limit|(?:hour|session|daily|weekly|monthly|opus|sonnet) limit reached|quota reached|out of extra usage/i;
const RATE =
  /rate[_ -]?limit|too many requests|resource_exhausted|throttl(?:ed|ing)|too many tokens,? (?:please wait|per\b)/i;
const LOGIN =
  /not logged in|please run \/login|run `?[\w -]+ login|use \/login|run \/login|requires login|llm not set|no providers? (?:is|are) available|no api key found|no api key provided|authentication required|waiting for authentication|login required|missing environment variable|no model configured|(?:log out and )?sign in again|api key is missing/i;
const REJECTED =
  /invalid[_ ](?:x-)?api[_ -]?key|incorrect api key|api key (?:is )?(?:invalid|expired|revoked)|unauthori[sz]ed|auth(?:entication)?[_ ](?:failed|error)|failed to authenticate|(?:oauth )?token (?:has )?(?:expired|(?:been )?revoked)|token refresh failed|permission_denied|organi[sz]ation has (?:been )?disabled|location is not supported|not eligible|verify your account/i;
const NO_MODEL =
  /model[_ ]?not[_ ]?found|cannot use this model|not recognized as a known model|unknown model|model .{0,80}(?:does not exist|may not exist|not found|is not supported|is not available|is not configured)|issue with the selected model/i;
const UNREACHABLE =
  /econnrefused|econnreset|enotfound|eai_again|etimedout|ehostunreach|enetunreach|socket hang up|fetch failed|network[_ ]error|(?:connection|connect)[_ ]?(?:error|refused|reset|failed|closed|timed out)|(?:unable|failed|cannot|can't) (?:to )?connect|failed to lookup address|error sending request|stream disconnected|getaddrinfo|timed? ?out while connecting|request timed out|network is unreachable|proxy authentication required|(?:self[- ]signed|peer|issuer|first) certificate|certificate (?:has expired|verify failed|signed by unknown)|tls handshake/i;

/** How HTTP clients say that the other side hung up: reasons only in an error that is the provider's anyway. */
const CUT_OFF = /^terminated\b|other side closed|und_err_socket|premature close|closed unexpectedly/i;
/** The request did not fit: the provider did not refuse, and another one need not take it. */
const TOO_LONG =
  /context[_ ](?:length|window|overflow|size)|(?<!t(?:ook|aking) )too long|too many tokens(?!,? (?:please wait|per\b))|output[_ ]tokens?[_ ](?:max|limit)|max(?:imum)?[_ ](?:output[_ ])?tokens(?! per\b)|maximum number of tokens|exceed\w* (?:the |your )?(?:model )?token limit/i;

/** The provider answered and stopped for what it was asked, even where the CLI calls it a broken stream. */
const ANSWERED = /reason: (?:content_filter|max_output_tokens)|content[_ ](?:filter|policy)|stop reason: refusal/i;

/** The HTTP status that an error text names, or null. */
export function statusIn(text: string): number | null {
  const looked = text.slice(0, LOOKED_AT);
  for (const pattern of STATUS) {
    const found = pattern.exec(looked)?.[1];
    if (found !== undefined) return Number(found);
  }
  return null;
}

/** With these a provider refuses whatever was asked: too many tokens in a minute, say, are no request that was too long. */
const REFUSING: readonly (number | null)[] = [401, 402, 403, 429];

function byStatus(status: number): RefusalCode | null {
  if (status === 401 || status === 403) return 'AUTH_REJECTED';
  if (status === 402) return 'QUOTA_EXHAUSTED';
  if (status === 404) return 'MODEL_UNAVAILABLE';
  // A proxy on the way, or one that gave up on the other side.
  if (status === 407 || status === 408) return 'PROVIDER_UNREACHABLE';
  if (status === 429) return 'RATE_LIMITED';
  if (status === 529) return 'OVERLOADED';
  return status >= 500 ? 'PROVIDER_ERROR' : null;
}

/** Texts that name the reason, most telling first; only consulted where no status decides. */
const BY_WORDS: readonly (readonly [RegExp, RefusalCode])[] = [
  [LOGIN, 'AUTH_REQUIRED'],
  [OVERLOAD, 'OVERLOADED'],
  [NO_MODEL, 'MODEL_UNAVAILABLE'],
  [RATE, 'RATE_LIMITED'],
  [ALLOWANCE, 'RATE_LIMITED'],
  [REJECTED, 'AUTH_REJECTED'],
  [UNREACHABLE, 'PROVIDER_UNREACHABLE'],
];

/**
 * The code of an error a CLI reports; null where it is no refusal. `status` is the HTTP status of a structured event; it is
 * read from the text where the event has none.
 */
export function refusalCode(status: number | null, text: string): RefusalCode | null {
  const looked = text.slice(0, LOOKED_AT);
  // A stream that broke off began with status 200: only a failure's status tells anything.
  const known = status !== null && status >= 400 ? status : statusIn(looked);
  if (!REFUSING.includes(known) && TOO_LONG.test(looked)) return null;
  // Providers say "no money" with 400, 402, 403 and 429; the words tell it from a bad request or a rate limit.
  if ((known === null || known < 500) && !/resource_exhausted/i.test(looked) && QUOTA.test(looked)) {
    return 'QUOTA_EXHAUSTED';
  }
  if ((known === 401 || known === 403) && ALLOWANCE.test(looked)) return 'RATE_LIMITED';
  if (known !== null && known >= 500 && OVERLOAD.test(looked)) return 'OVERLOADED';
  const decided = known === null ? null : byStatus(known);
  if (decided !== null) return decided;
  if (known !== null) {
    // A bad request: the provider answered and did not refuse, unless it says that model or key are not known.
    return NO_MODEL.test(looked) ? 'MODEL_UNAVAILABLE' : REJECTED.test(looked) ? 'AUTH_REJECTED' : null;
  }
  if (ANSWERED.test(looked)) return null;
  return BY_WORDS.find(([pattern]) => pattern.test(looked))?.[1] ?? null;
}

/**
 * The code of an error that its reporter ascribes to the provider: where no finer rule names it, the provider failed all
 * the same (`PROVIDER_ERROR`). Null for a bad request and for one that was too long.
 */
export function providerCode(status: number | null, text: string): RefusalCode | null {
  const looked = text.slice(0, LOOKED_AT);
  const code = refusalCode(status, looked);
  if (code !== null) return code;
  const badRequest = (status ?? 0) >= 400 || statusIn(looked) !== null;
  if (badRequest || TOO_LONG.test(looked) || ANSWERED.test(looked)) return null;
  return CUT_OFF.test(looked) ? 'PROVIDER_UNREACHABLE' : 'PROVIDER_ERROR';
}

/** A refusal's record, its line bounded and its waiting time read from the same text. */
export const refusal = (code: RefusalCode, text: string, source: Refusal['source'], now?: () => number): Refusal => ({
  code,
  retry_after_seconds: retryAfterSeconds(text.slice(0, LOOKED_AT), now),
  line: refusalLine(text),
  source,
});

/** The refusal that an error event tells, or null where the error is another one. */
export function eventRefusal(status: number | null, text: string, now?: () => number): Refusal | null {
  const code = refusalCode(status, text);
  return code === null ? null : refusal(code, text, 'event', now);
}

/** The refusal that an error event tells of its provider, or null where the provider answered. */
export function providerRefusal(status: number | null, text: string, now?: () => number): Refusal | null {
  const code = providerCode(status, text);
  return code === null ? null : refusal(code, text, 'event', now);
}
