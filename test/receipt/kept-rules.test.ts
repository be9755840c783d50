/**
 * The rules of secretlint's recommended preset, a kept collection, as the floor of ours: whatever they find in a text is
 * gone from it when it leaves a run (docs/adr/0008-redaction.md says why ours do the replacing).
 */
import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/receipt/redact.ts';

/** Names of rules, and what they look for; each sample must be found by them, or it tests nothing. */
const SAMPLES: Readonly<Record<string, RegExp>> = {
  aws: /^AWS_SECRET_ACCESS_KEY=[A-Za-z0-9/+]{40}$/,
  openai: /^sk-proj-[A-Za-z0-9_-]{58}T3BlbkFJ[A-Za-z0-9_-]{58}$/,
  anthropic: /^sk-ant-api03-[A-Za-z0-9_]{92}AA$/,
  github: /^gh[pousr]_[A-Za-z0-9]{36}$/,
  'github, fine-grained': /^github_pat_[A-Za-z0-9_]{82}$/,
  gitlab: /^glpat-[A-Za-z0-9_]{24}$/,
  slack: /^xoxb-[0-9]{11}-[0-9]{11}-[A-Za-z0-9]{24}$/,
  'slack, app': /^xapp-1-A[A-Z0-9]{10}-[0-9]{12}-[a-f0-9]{40}$/,
  'slack, webhook': /^https:\/\/hooks\.slack\.com\/services\/T[A-Z0-9]{9}\/B[A-Z0-9]{9}\/[A-Za-z0-9]{24}$/,
  npm: /^npm_[A-Za-z0-9]{36}$/,
  sendgrid: /^SG\.[A-Za-z0-9]{22}\.[A-Za-z0-9]{43}$/,
  shopify: /^shp(at|ca|pa|ss)_[a-f0-9]{32}$/,
  linear: /^lin_api_[A-Za-z0-9]{40}$/,
  groq: /^gsk_[A-Za-z0-9]{52}$/,
  huggingface: /^hf_[a-zA-Z]{34}$/,
  notion: /^ntn_[0-9]{11}[A-Za-z0-9]{35}$/,
  grafana: /^glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}$/,
  vercel: /^vc[piark]_[A-Za-z0-9]{24}$/,
  databricks: /^dapi[a-f0-9]{32}(-[0-9])?$/,
  docker: /^dckr_pat_[A-Za-z0-9_]{27}$/,
  figma: /^figd_[A-Za-z0-9_]{43}$/,
  'hashicorp vault': /^hv[sr]\.[A-Za-z0-9]{95}$/,
  'hashicorp vault, batch': /^hvb\.[A-Za-z0-9]{150}$/,
  'password in a URL': /^https:\/\/[a-z]{4,8}:[A-Za-z0-9]{8,20}@[a-z]{3,9}\.[a-z]{3}$/,
  mongodb: /^mongodb\+srv:\/\/[a-z]{4,8}:[A-Za-z0-9]{8,20}@[a-z]{3,9}\.[a-z]{3}\/data$/,
  mysql: /^mysql:\/\/[a-z]{4,8}:[A-Za-z0-9]{8,20}@[a-z]{3,9}\.[a-z]{3}:3306\/data$/,
  postgresql: /^postgresql:\/\/[a-z]{4,8}:[A-Za-z0-9]{8,20}@[a-z]{3,9}\.[a-z]{3}\/data$/,
};

const found = async (text: string): Promise<readonly (readonly [number, number])[]> => {
  const { messages } = await lintSource({
    source: { content: text, filePath: '/output.txt', ext: '.txt', contentType: 'text' },
    options: {
      config: { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator }] },
      noPhysicFilePath: true,
    },
  });
  return messages.map(({ range }) => range as readonly [number, number]);
};

const { text: redact } = createRedactor({ secrets: [] });

describe.each(Object.entries(SAMPLES))('%s', (_, pattern) => {
  test('what they find, we replace', async () => {
    let finds = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(pattern),
        fc.constantFrom(
          (s: string) => s,
          (s: string) => `export TOKEN=${s}\n`,
          (s: string) => `{"key": "${s}"}`,
          (s: string) => `see ${s} .`,
        ),
        async (secret, frame) => {
          const text = frame(secret);
          for (const [start, end] of await found(text)) {
            finds++;
            // Of an address only the password is a secret; the host may be told.
            const piece = /:\/\/[^:]+:([^@]+)@/.exec(text.slice(start, end))?.[1] ?? text.slice(start, end);
            expect(redact(text)).not.toContain(piece);
            expect(redact(text)).not.toContain(piece.slice(-Math.max(6, piece.length / 2)));
          }
        },
      ),
      { numRuns: 40 },
    );
    expect(finds).toBeGreaterThan(10);
  });
});
