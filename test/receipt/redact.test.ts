import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor, REDACTED } from '../../src/receipt/redact.ts';

const SECRET = 'tok/En+with"odd\\chars & 42=é';
const PLAIN = 'Zq7wLx92mPdKeR04';
/** Looks escaped before anyone has escaped it. */
const ESCAPED = 'pass\\new\\table%41\\u0042';
const { text } = createRedactor({ secrets: [SECRET, PLAIN, ESCAPED, 'short'] });
const json = (value: string): string => JSON.stringify(value).slice(1, -1);
const ascii = (value: string): string =>
  json(value).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

describe('values of credential variables', () => {
  const forms: Record<string, (secret: string) => string> = {
    'as it is': (s) => s,
    'in JSON': json,
    'in JSON in JSON': (s) => json(json(s)),
    'in JSON in JSON in JSON, plain ASCII': (s) => json(json(ascii(s))),
    'as python writes JSON': ascii,
    'with escaped slashes': (s) => json(s).replaceAll('/', '\\/'),
    'as Go writes JSON': (s) => json(s).replaceAll('&', '\\u0026'),
    'percent-encoded': encodeURIComponent,
    'percent-encoded in lower case': (s) => encodeURIComponent(s).replace(/%../g, (c) => c.toLowerCase()),
    'percent-encoded twice': (s) => encodeURIComponent(encodeURIComponent(s)),
    'as a form field': (s) => new URLSearchParams({ k: s }).toString().slice(2),
    'percent-encoded JSON': (s) => encodeURIComponent(json(s)),
    'JSON of a percent-encoded form field': (s) => json(new URLSearchParams({ k: json(s) }).toString().slice(2)),
    'as hex': (s) => Buffer.from(s).toString('hex'),
    'as upper-case hex': (s) => Buffer.from(s).toString('hex').toUpperCase(),
  };
  for (const [name, form] of Object.entries(forms)) {
    test(name, () => {
      for (const secret of [SECRET, PLAIN, ESCAPED]) {
        expect(text(`before ${form(secret)} after`)).toBe(`before ${REDACTED} after`);
      }
    });
  }

  test.each(['base64', 'base64url'] as const)('as %s, wherever it stands in what was encoded', (encoding) => {
    for (const secret of [SECRET, PLAIN]) {
      for (let before = 0; before < 6; before++) {
        for (let after = 0; after < 4; after++) {
          const encoded = Buffer.from(`${'u'.repeat(before)}${secret}${':'.repeat(after)}`).toString(encoding);
          const left = text(`a ${encoded} b`).replace(REDACTED, '');
          // At most the letters that also carry bits of the neighbours are left.
          expect(left.length).toBeLessThan(7 + Math.ceil((before * 4) / 3) + Math.ceil((after * 4) / 3) + 5);
          expect(text(`a ${encoded} b`)).toContain(REDACTED);
        }
      }
    }
  });

  test.each<[string, (secret: string) => string]>([
    ['JSON', json],
    ['JSON in JSON', (s) => json(json(s))],
    ['plain ASCII JSON', ascii],
    ['JSON with escaped slashes', (s) => json(s).replaceAll('/', '\\/')],
    ['a URL', encodeURIComponent],
    ['a URL in lower case', (s) => encodeURIComponent(s).replace(/%../g, (c) => c.toLowerCase())],
    ['a form field', (s) => new URLSearchParams({ k: s }).toString().slice(2)],
  ])('inside of %s that is encoded as a whole, at any alignment', (_, form) => {
    for (const encoding of ['base64', 'base64url', 'hex'] as const) {
      for (const before of ['', 'a', 'ab', '{"key":"']) {
        const whole = Buffer.from(`${before}${form(SECRET)}"}`).toString(encoding);
        const left = text(whole).replace(REDACTED, '');
        expect(left.length).toBeLessThan(2 * before.length + 9);
      }
    }
  });

  test('as base64 broken over lines, also inside JSON', () => {
    const encoded = Buffer.from(`user:${SECRET}`).toString('base64');
    const wrapped = encoded.replace(/(.{11})/g, '$1\n');
    expect(text(wrapped)).toContain(REDACTED);
    expect(text(json(wrapped))).toContain(REDACTED);
    expect(text(json(wrapped)).length).toBeLessThan(wrapped.length / 2 + REDACTED.length);
  });

  test('with any mix of escapes between any of its characters', () => {
    const plainOnly = createRedactor({ secrets: [PLAIN] });
    const escapes = fc.constantFrom<(c: string) => string>(
      (c) => c,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
      (c) => `\\\\u${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
      (c) => `%${c.charCodeAt(0).toString(16)}`,
    );
    fc.assert(
      fc.property(
        fc.array(escapes, { minLength: PLAIN.length, maxLength: PLAIN.length }),
        fc.string(),
        (how, around) => {
          const leaked = [...PLAIN].map((c, i) => how[i]?.(c)).join('');
          const redacted = plainOnly.text(`${around} ${leaked} ${around}`);
          expect(redacted).toContain(REDACTED);
          expect(redacted).not.toContain(leaked);
        },
      ),
    );
  });

  test('overlapping secrets and repeated ones leave nothing', () => {
    const redactor = createRedactor({ secrets: ['abcdef', 'defghi', 'xyxyxyx'] });
    expect(redactor.text('1abcdefghi2')).toBe(`1${REDACTED}2`);
    expect(redactor.text('1xyxyxyxyxyx2')).toBe(`1${REDACTED}2`);
  });

  test('a secret inside a token leaves nothing of the token', () => {
    const redactor = createRedactor({ secrets: ['proj-A'] });
    expect(redactor.text('k=sk-proj-Abcdefghijkl0123456789xyz')).toBe(`k=${REDACTED}`);
  });

  test('values that carry white space or several lines are found without it', () => {
    const key = ['{', '  "private_key_id": "0123456789abcdef0123",', '  "type": "x"', '}'].join('\n');
    const redactor = createRedactor({ secrets: [` ${PLAIN}\n`, key] });
    expect(redactor.text(`(${PLAIN})`)).toBe(`(${REDACTED})`);
    expect(redactor.text('> "private_key_id": "0123456789abcdef0123", <')).toBe(`> ${REDACTED} <`);
    expect(redactor.text(JSON.stringify({ key }))).toBe(`{"key":"${REDACTED}"}`);
  });

  test('short values are not searched, empty ones do not redact everything', () => {
    expect(text('a short word')).toBe('a short word');
    expect(createRedactor({ secrets: ['', '      ', '\n', 'redacted'] }).text('plain [redacted] text')).toBe(
      'plain [redacted] text',
    );
  });

  test('any text: no secret is left, and a second pass changes nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom(SECRET, PLAIN, '\\', '%', '\n'))), (parts) => {
        const once = text(parts.join(''));
        expect(once).not.toContain(SECRET);
        expect(once).not.toContain(PLAIN);
        expect(text(once)).toBe(once);
      }),
    );
  });

  test('any secret: it is gone, and so is its base64', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 6, unit: 'grapheme' }), fc.string(), (secret, before) => {
        fc.pre(
          secret.trim().length >= 6 && !REDACTED.includes(secret) && !secret.includes('[') && !secret.includes(']'),
        );
        const redactor = createRedactor({ secrets: [secret] });
        expect(redactor.text(`${before}${secret}`)).not.toContain(secret);
        expect(redactor.text(Buffer.from(`${before}${secret}`).toString('base64'))).toContain(REDACTED);
      }),
    );
  });
});

const R = (alphabet: string, length: number): string =>
  Array.from({ length }, (_, i) => alphabet[(i * 7 + 3) % alphabet.length]).join('');
const ALNUM = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const tokens: Record<string, string> = {
  'anthropic key': `sk-ant-api03-${R(ALNUM, 93)}AA`,
  'anthropic login': `sk-ant-oat01-${R(ALNUM, 90)}`,
  'openai project key': `sk-proj-${R(ALNUM, 40)}_${R(ALNUM, 30)}-${R(ALNUM, 30)}`,
  'openai legacy key': `sk-${R(ALNUM, 48)}`,
  'deepseek key': `sk-${R('0123456789abcdef', 32)}`,
  'openrouter key': `sk-or-v1-${R('0123456789abcdef', 64)}`,
  'github classic': `ghp_${R(ALNUM, 36)}`,
  'github oauth': `gho_${R(ALNUM, 36)}`,
  'github app': `ghs_${R(ALNUM, 36)}`,
  'github fine-grained': `github_pat_${R(ALNUM, 22)}_${R(ALNUM, 59)}`,
  gitlab: `glpat-${R(ALNUM, 20)}`,
  'slack bot': `xoxb-123456789012-1234567890123-${R(ALNUM, 24)}`,
  'slack user': `xoxp-123456789012-1234567890123-${R(ALNUM, 24)}`,
  'aws key id': `AKIA${R('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}`,
  'google api key': `AIza${R(ALNUM, 35)}`,
  'google oauth': `ya29.${R(ALNUM, 60)}`,
  npm: `npm_${R(ALNUM, 36)}`,
  'hugging face': `hf_${R(ALNUM, 34)}`,
  jwt: `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${R(ALNUM, 43)}`,
  groq: `gsk_${R(ALNUM, 52)}`,
  xai: `xai-${R(ALNUM, 80)}`,
  stripe: `sk_live_${R(ALNUM, 24)}`,
  'private key': `-----BEGIN RSA PRIVATE KEY-----\n${`${R(ALNUM, 64)}\n`.repeat(8)}-----END RSA PRIVATE KEY-----`,
  'openssh key in JSON': `-----BEGIN OPENSSH PRIVATE KEY-----\\n${`${R(ALNUM, 70)}\\n`.repeat(5)}-----END OPENSSH PRIVATE KEY-----`,
  'encrypted key': `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0\n\n${R(ALNUM, 64)}\n-----END RSA PRIVATE KEY-----`,
  'key without its end': `-----BEGIN PRIVATE KEY-----\n${`${R(ALNUM, 64)}\n`.repeat(3)}${R(ALNUM, 20)}`,
  'pgp key': `-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${R(ALNUM, 64)}\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----`,
};

describe('shapes of tokens', () => {
  const { text: shapes } = createRedactor({ secrets: [] });
  for (const [name, token] of Object.entries(tokens)) {
    test(name, () => {
      for (const [before, after] of [
        ['', ''],
        ['token=', ' end'],
        ['"', '"'],
        ['error:\\n', '\\nmore of it'],
        ['\x1b[31m', '\x1b[0m'],
        ['(', ').'],
        ['x_', ','],
        ['k%3D', '&y'],
      ] as const) {
        const shown = shapes(before + token + after);
        expect(shown).toBe(before + REDACTED + shown.slice(before.length + REDACTED.length));
        expect(shown.slice(before.length + REDACTED.length)).toBe(after === ').' && name === 'jwt' ? ').' : after);
      }
    });
  }

  test.each([
    ['https://user:hunter2pw@example.org/x', `https://${REDACTED}@example.org/x`],
    ['git clone https://x-access-token:abc@host/r.git', `git clone https://${REDACTED}@host/r.git`],
    ['postgres://u:p@ss@db:5432/x', `postgres://${REDACTED}@db:5432/x`],
    ['"https:\\/\\/user:pw@host\\/x"', `"https:\\/\\/${REDACTED}@host\\/x"`],
    ['http://:pw@host', `http://${REDACTED}@host`],
    ['Authorization: Bearer abcdef0123456789abcdef', `Authorization: Bearer ${REDACTED}`],
    ['{"authorization":"Basic dXNlcjpwdw=="}', `{"authorization":"Basic ${REDACTED}"}`],
    ['x-api-key: 0123abcd4567efgh', `x-api-key: ${REDACTED}`],
    ['GET /v1?access_token=abcdefgh1234&x=1', `GET /v1?access_token=${REDACTED}&x=1`],
    ['//registry.example/:_authToken=abcdef-1234', `//registry.example/:_authToken=${REDACTED}`],
    ['aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzzzzz', `aws_secret_access_key = ${REDACTED}`],
  ])('%s', (given, wanted) => {
    expect(shapes(given)).toBe(wanted);
  });

  test('several keys in one text, the middle one without an end', () => {
    const key = tokens['private key'] as string;
    const cut = tokens['key without its end'] as string;
    expect(shapes(`a ${key} b ${key} c`)).toBe(`a ${REDACTED} b ${REDACTED} c`);
    expect(shapes(`a ${cut}\nand prose goes on`)).toBe(`a ${REDACTED}\nand prose goes on`);
    expect(shapes(`a ${cut}\nabcd==\nand prose goes on`)).toBe(`a ${REDACTED}\nand prose goes on`);
    expect(shapes(`a ${cut}\n${'x '.repeat(40_000)}${key} c`)).toMatch(/^a \[redacted\]\n(x ){40000}\[redacted\] c$/);
  });
});

describe('what must survive', () => {
  const { text: shapes, value } = createRedactor({ secrets: [PLAIN] });
  const sha = createHash('sha256').update('x').digest();
  test.each([
    sha.toString('hex'),
    `sha256:${sha.toString('hex')}`,
    createHash('sha1').update('x').digest('hex'),
    `sha512-${createHash('sha512').update('x').digest('base64')}`,
    '20261130t171500123z-4f9c2a',
    'refs/agent-exec/20261130t171500123z-4f9c2a/01-cursor',
    'refs/agent-exec-quarantine/20261130t171500123z-4f9c2a/02-open-code',
    '123e4567-e89b-12d3-a456-426614174000',
    '2026-11-30T17:15:00.123Z',
    'src/sk-helper-utils-for-something-long-2024.ts',
    'docs/task-1234567890-abcdefghijklmnop.md',
    'risk-0123456789abcdefghijkl',
    'sk-learn-classification-example-notebook-2',
    'node_modules/@types/node/index.d.ts',
    'npm_config_registry npm_package_version npm_lifecycle_event',
    'hf_hub_download_from_the_model_repository',
    'https://example.org/a:b/@scope/pkg?x=a@b',
    'ssh://git@example.org:22/repo.git',
    'git@example.org:owner/repo.git',
    'http://[::1]:8080/x',
    'npm:@scope/name@1.2.3',
    'mailto:someone@example.org',
    'the bearer of this letter, Bearer token authentication',
    'authorization: required; see the Authorization header',
    'eyJhbGciOiJIUzI1NiJ9',
    'index.eyJ',
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkq\n-----END PUBLIC KEY-----',
    '-----BEGIN CERTIFICATE-----\nMIIBIjANBgkq\n-----END CERTIFICATE-----',
    'AKIA is the prefix of AWS keys; AIza of Google ones; ghp_ of GitHub ones, sk- of others',
    'GET /search?token=x&key=value',
  ])('%s', (given) => {
    expect(shapes(given)).toBe(given);
  });

  test('object ids, digests and images of random bytes', () => {
    for (let n = 0; n < 500; n++) {
      const bytes = randomBytes(300);
      for (const given of [bytes.toString('hex'), bytes.toString('base64'), bytes.subarray(0, 20).toString('hex')]) {
        expect(shapes(given)).toBe(given);
      }
    }
  });

  test('values keep their shape; names of members are redacted without losing one', () => {
    const given = { a: [1, null, true, { b: `x${PLAIN}` }], [`k${PLAIN}1`]: 1, [`k${PLAIN}2`]: 2, n: 0.5 };
    expect(value(given)).toEqual({
      a: [1, null, true, { b: `x${REDACTED}` }],
      [`k${REDACTED}1`]: 1,
      [`k${REDACTED}2`]: 2,
      n: 0.5,
    });
    expect(value({ [PLAIN]: 1, [`${PLAIN}${PLAIN}`]: 2 })).toEqual({ [REDACTED]: 1, [`${REDACTED} (2)`]: 2 });
  });

  test('hostile values: __proto__ is a name, depth is no crash', () => {
    const hostile = JSON.parse(`{"__proto__":{"x":"${PLAIN}"},"toJSON":"y"}`);
    const redacted = value(hostile);
    expect(JSON.stringify(redacted)).toBe(`{"__proto__":{"x":"${REDACTED}"},"toJSON":"y"}`);
    expect(JSON.stringify(value(JSON.parse('['.repeat(50_000) + ']'.repeat(50_000))))).toContain('nested too deeply');
  });
});

describe('linear time', () => {
  const redactor = createRedactor({
    secrets: [SECRET, PLAIN, `sk-ant-api03-${R(ALNUM, 95)}`, `${'a'.repeat(30)}b`, R(ALNUM, 40), `${'\\'.repeat(12)}x`],
  });
  const SIZE = 1 << 18;
  const fill = (part: string): string => part.repeat(Math.ceil(SIZE / part.length)).slice(0, SIZE);
  test.each([
    'the quick brown fox jumps over the lazy dog. ',
    '0123456789abcdef',
    'a',
    '\\',
    '\\u0041',
    '%41',
    '%25',
    '\n',
    'sk-',
    '-sk-',
    'sk-ant-',
    'eyJ',
    '-eyJ',
    'eyJaaaaaaaa.',
    'ghp_',
    'xoxb-1-',
    'AKIA',
    'AIza-',
    '://',
    '://a:',
    '://a@b:',
    ':\\/\\/',
    'bearer ',
    'bearer=',
    'authorization: basic ',
    'authorization"""',
    '?token=',
    '-----BEGIN PRIVATE KEY-----\n',
    '-----END PRIVATE KEY-----\n',
    '-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\\n\n',
    `-----BEGIN ${'A '.repeat(19)}`,
    'SG.aaaaaaaaaaaaaaaaaaa',
    '\x1b[1;1;1;1;1;1m',
    Buffer.from(SECRET).toString('base64').slice(0, 20),
    SECRET.slice(0, -1),
    'é',
  ])('256 KB of %j', (part) => {
    const given = fill(part);
    const before = process.cpuUsage();
    redactor.text(given);
    const { user, system } = process.cpuUsage(before);
    // A tenth of that is usual, quadratic behaviour would take minutes. Processor time, since machines are shared.
    expect((user + system) / 1000).toBeLessThan(500);
  });
});
