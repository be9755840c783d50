/**
 * Finds text that has the shape of a credential, whoever it belongs to (docs/adr/0008-redaction.md says why this is a table
 * of our own). Every rule is linear: a pattern either ends in a run that cannot fail or is bounded, and what a run must
 * hold beyond its characters is asked of the whole match afterwards.
 */
import type { TextRange } from './text-range.ts';

interface Shape {
  /** Text without which the pattern cannot match; null where case does not matter. */
  readonly anchor: string | null;
  /** Global. The group `keep`, where there is one, is a prefix that stays. */
  readonly pattern: RegExp;
  /** What the match must be beyond its characters. */
  readonly holds?: (match: string) => boolean;
}

/** Not inside a word; an escape (`\n`, `%3D`, a colour code) right before a token ends in a letter and is no word. */
const AFTER_ESCAPE = String.raw`(?<=\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\x1b\[[0-9;]{0,12}[A-Za-z])`;
const LEFT = `(?:(?<![A-Za-z0-9])|${AFTER_ESCAPE})`;
/** Not inside base64 either. */
const LEFT_OF_BASE64 = `(?:(?<![A-Za-z0-9+/])|${AFTER_ESCAPE})`;

const shape = (anchor: string, pattern: RegExp, holds?: (match: string) => boolean): Shape => ({
  anchor,
  pattern: new RegExp(LEFT + pattern.source, 'g'),
  ...(holds === undefined ? {} : { holds }),
});

/** A name in a program is all small letters. */
const hasDigitOrUpper = (text: string): boolean => /[0-9A-Z]/.test(text);
const hasDigit = (text: string): boolean => /[0-9]/.test(text);
/** Keys have long unbroken runs; names of things have words between hyphens. */
const isKeyLike = (text: string): boolean => hasDigit(text) && /[A-Za-z0-9]{16}/.test(text);
/** Header, payload and perhaps signature; a JSON object in base64 by itself is no token. */
const isJwt = (text: string): boolean => text.split('.').filter((part) => part.length >= 8).length >= 2;

const SHAPES: readonly Shape[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek, Moonshot and everyone who copied them.
  shape('sk-', /sk-(?:ant|proj|svcacct|admin|or|kimi)-[A-Za-z0-9_-]{10,}/),
  shape('sk-', /sk-[A-Za-z0-9_-]{20,}/, isKeyLike),
  shape('gh', /gh[pousr]_[A-Za-z0-9_]{20,}/),
  shape('github_pat_', /github_pat_[A-Za-z0-9_]{20,}/),
  shape('gl', /gl(?:pat|oas|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]{1,64}){0,3}/),
  shape('xox', /xox[a-z]-[A-Za-z0-9-]{10,}/),
  shape('xapp-', /xapp-[0-9]-[A-Za-z0-9-]{10,}/),
  shape('hooks.slack.com/', /hooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9/]{10,}/),
  {
    anchor: 'A',
    pattern: new RegExp(`${LEFT_OF_BASE64}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9+/])`, 'g'),
  },
  { anchor: 'AIza', pattern: new RegExp(`${LEFT_OF_BASE64}AIza[A-Za-z0-9_-]{30,}`, 'g') },
  shape('ya29.', /ya29\.[A-Za-z0-9_-]{20,}/),
  shape('GOCSPX-', /GOCSPX-[A-Za-z0-9_-]{20,}/),
  shape('npm_', /npm_[A-Za-z0-9_]{30,}/, hasDigitOrUpper),
  shape('hf_', /hf_[A-Za-z0-9]{30,}/),
  shape('eyJ', /eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,4}/, isJwt),
  // Groq, xAI, Perplexity, Replicate, Cursor, Stripe, Docker, PyPI, SendGrid, Linear, DigitalOcean, Shopify, Vault, age.
  shape('gsk_', /gsk_[A-Za-z0-9]{30,}/),
  shape('xai-', /xai-[A-Za-z0-9]{40,}/),
  shape('pplx-', /pplx-[A-Za-z0-9]{40,}/),
  shape('r8_', /r8_[A-Za-z0-9]{30,}/),
  shape('crsr_', /crsr_[A-Za-z0-9]{20,}/),
  shape('key_', /key_[0-9a-f]{40,}/),
  shape('k_', /[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/),
  shape('dckr_', /dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}/),
  shape('pypi-', /pypi-[A-Za-z0-9_-]{50,}/),
  shape('SG.', /SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}/),
  shape('lin_api_', /lin_api_[A-Za-z0-9_]{30,}/),
  shape('do', /do[opr]_v1_[0-9a-f]{40,}/),
  shape('shp', /shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}/),
  shape('hv', /hv[sbr]\.[A-Za-z0-9_-]{20,}/),
  shape('AGE-SECRET-KEY-1', /AGE-SECRET-KEY-1[A-Z0-9]{40,}/),
  // Notion, Grafana, Vercel, Databricks, Figma.
  shape('ntn_', /ntn_[0-9]{11}[A-Za-z0-9]{30,}/),
  shape('glsa_', /glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}/),
  shape('vc', /vc[piark]_[A-Za-z0-9]{20,}/),
  shape('dapi', /dapi[A-Fa-f0-9]{32}(?:-[0-9])?/),
  shape('figd_', /figd_[A-Za-z0-9_-]{40,}/),

  // What stands where a credential belongs.
  { anchor: null, pattern: /(?<keep>\bbearer(?:\s|%20|[:=+]){1,4})[A-Za-z0-9._~+/=-]{16,}/gi, holds: hasDigit },
  {
    anchor: null,
    pattern:
      /(?<keep>\bauthorization["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4}(?:basic|token|bearer)\s{1,4})[^\s"'\\,;]{6,}/gi,
  },
  { anchor: null, pattern: /(?<keep>\bx-(?:goog-)?api-key["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4})[^\s"'\\,;]{8,}/gi },
  {
    anchor: null,
    pattern:
      /(?<keep>[?&](?:access_token|refresh_token|id_token|api[_-]?key|token|sig|client_secret|password)=)[^&\s"'<>\\#]{8,}/gi,
  },
  { anchor: '_auth', pattern: /(?<keep>:_auth(?:Token)?\s{0,4}=\s{0,4}["']?)[^\s"'\\]{6,}/g },
  {
    anchor: null,
    pattern: /(?<keep>aws_secret_access_key["'\\]{0,4}\s{0,4}[:=]\s{0,4}["'\\]{0,4})[A-Za-z0-9/+=]{30,}/gi,
  },
  // scheme://user:password@host; a name alone (ssh://git@host) is no credential.
  { anchor: '@', pattern: /(?<keep>:(?:\\*\/){2})[^\s/?#"'<>\\`]+(?=@)/g, holds: (match) => match.includes(':', 3) },
];

/** The places of everything that looks like a credential, in no particular order. */
export function findTokenShapes(text: string): TextRange[] {
  const ranges: TextRange[] = [];
  for (const { anchor, pattern, holds } of SHAPES) {
    if (anchor !== null && !text.includes(anchor)) continue;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      if (holds !== undefined && !holds(match[0])) continue;
      const start = match.index + (match.groups?.keep?.length ?? 0);
      ranges.push({ start, end: match.index + match[0].length });
    }
  }
  findPrivateKeys(text, ranges);
  return ranges;
}

const KEY_BEGINS = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_ENDS = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** No private key is longer; a later end belongs to something else. */
const LONGEST_KEY = 64 * 1024;
/** Lines of base64 after a BEGIN whose END was cut off, however the line breaks are written; the last one may be short. */
const KEY_BODY =
  /(?:(?:[\s"',+]|\\+[nrt])+[A-Za-z0-9+/=]{12,})*(?:(?:[\r\n]|\\+[nr])+[A-Za-z0-9+/]{1,11}={0,2}(?=[\r\n"'\\]|$))?/y;

/** One pass: both patterns only move forward, so a text of a thousand BEGINs costs what a text of one does. */
function findPrivateKeys(text: string, ranges: TextRange[]): void {
  if (!text.includes('PRIVATE KEY')) return;
  KEY_BEGINS.lastIndex = 0;
  KEY_ENDS.lastIndex = 0;
  let ending = KEY_ENDS.exec(text);
  for (let begin = KEY_BEGINS.exec(text); begin !== null; begin = KEY_BEGINS.exec(text)) {
    const bodyStart = begin.index + begin[0].length;
    while (ending !== null && ending.index < bodyStart) ending = KEY_ENDS.exec(text);
    if (ending !== null && ending.index - bodyStart <= LONGEST_KEY) {
      ranges.push({ start: begin.index, end: ending.index + ending[0].length });
      KEY_BEGINS.lastIndex = ending.index;
    } else {
      KEY_BODY.lastIndex = bodyStart;
      const body = KEY_BODY.exec(text)?.[0] ?? '';
      ranges.push({ start: begin.index, end: bodyStart + body.length });
      KEY_BEGINS.lastIndex = bodyStart + body.length;
    }
  }
}
