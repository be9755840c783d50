/** Laws of the whole parser: total, exact places, parse of a rendered policy is that policy, what is accepted is legal. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parsePolicy } from '../../src/config/policy.ts';
import { BUILT_IN_ADAPTERS, NAME, type Policy, policy as policySchema } from '../../src/model/config.ts';
import type { Diagnostic } from '../../src/model/diagnostic.ts';
import { findingsOf, parse, VALID } from './sample.ts';

const START = VALID.indexOf('```agent');
const END = VALID.indexOf('```\n\nMore');

/** Slices, swaps and insertions at random places of the sample's block. */
const PIECES = [
  '\t',
  ' ',
  '  ',
  '\n',
  '\r\n',
  ':',
  ': ',
  '- ',
  '[',
  ']',
  '{',
  '}',
  '{}',
  ',',
  '#',
  '&a ',
  '*a',
  '!x ',
  '|',
  '>',
  '"',
  "'",
];
const WORDS = [
  '---\n',
  '...\n',
  '%YAML 1.1\n',
  '<<: ',
  '? ',
  'yes',
  '~',
  '0x1',
  '1.5',
  '\0',
  '\u200b',
  '\u202e',
  '\ufeff',
  'é',
  '😀',
  'null',
];
const MORE = [
  'roles:\n',
  '  cursor:\n',
  '```\n',
  '`',
  '{model}',
  '../',
  'auto',
  'pi',
  'true',
  '99999',
  '-1',
  '$(x)',
  '__proto__',
  'own',
];
const edits = fc.array(
  fc.record({
    at: fc.integer({ min: START, max: END + 4 }),
    drop: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 12 })),
    put: fc.oneof(fc.constant(''), fc.constantFrom(...PIECES, ...WORDS, ...MORE)),
  }),
  { minLength: 1, maxLength: 4 },
);
const mutant = edits.map((list) =>
  list.reduce((text, { at, drop, put }) => text.slice(0, at) + put + text.slice(at + drop), VALID),
);
const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom(...PIECES, ...WORDS, 'a'), fc.string({ unit: 'binary', maxLength: 3 })),
  maxLength: 60,
});
const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  anyText.map((text) => new TextEncoder().encode(text)),
  anyText.map((text) => new TextEncoder().encode(`\`\`\`agent-execution\n${text}\n\`\`\`\n`)),
  anyText.map((text) =>
    new TextEncoder().encode(`> - \`\`\`agent-execution\n>   ${text.replaceAll('\n', '\n>   ')}\n>   \`\`\`\n`),
  ),
  mutant.map((text) => new TextEncoder().encode(text)),
);

function placesAreInside(bytes: Uint8Array, findings: readonly Diagnostic[]): void {
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\n|\r/);
  for (const { line, column, end_line: endLine, end_column: endColumn, source_line: shown } of findings) {
    if (line === 0) {
      expect([column, endLine, endColumn, shown]).toEqual([0, 0, 0, null]);
      continue;
    }
    expect(line).toBeLessThanOrEqual(lines.length);
    expect(column).toBeGreaterThanOrEqual(1);
    expect(column).toBeLessThanOrEqual((lines[line - 1] as string).length + 1);
    expect(endLine).toBeLessThanOrEqual(lines.length);
    expect(endLine * 1e6 + endColumn).toBeGreaterThanOrEqual(line * 1e6 + column);
    expect(endColumn).toBeLessThanOrEqual((lines[endLine - 1] as string).length + 2);
    if (shown !== null) expect(shown).toBe(lines[line - 1]);
  }
  const order = findings.map(({ line, column }) => line * 1e6 + column);
  expect(order).toEqual([...order].sort((a, b) => a - b));
}

test('any bytes give a policy, or errors with places inside the file', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const result = parse(bytes);
      if (!result.ok) expect(result.error.some(({ severity }) => severity === 'error')).toBe(true);
      placesAreInside(bytes, result.ok ? result.value.warnings : result.error);
    }),
    { numRuns: 800 },
  );
});

/** What SPEC says of an accepted policy, checked without the parser's own rules. */
function expectLegal(policy: Policy): void {
  expect(policy.execution.permission).toBe('run-everything');
  expect(policy.execution.fresh_process_per_unit).toBe(true);
  expect(['all-unavailable', 'never']).toContain(policy.execution.fallback_to_host);
  const within = (value: number, low: number, high: number): void => {
    expect(Number.isInteger(value) && value >= low && value <= high).toBe(true);
  };
  within(policy.execution.timeout_seconds, 1, 86_400);
  within(policy.execution.max_parallel, 1, 64);
  within(policy.execution.summary_bytes, 256, 65_536);
  within(policy.execution.raw_output_bytes, 4096, 2 ** 30);
  const names = [policy.roles, policy.profiles, policy.custom_adapters].flatMap(Object.keys);
  for (const name of names) {
    expect(name).toMatch(NAME);
    expect(['constructor', 'prototype']).not.toContain(name);
  }
  for (const given of Object.values(policy.roles)) {
    const candidates = Array.isArray(given) ? given : given.candidates;
    expect(new Set(candidates).size).toBe(candidates.length);
    for (const name of candidates) expect(Object.keys(policy.profiles)).toContain(name);
    const file = Array.isArray(given) ? undefined : given.instructions;
    if (file !== undefined) expect(/^\/|\\|(^|\/)\.\.?(\/|$)/.test(file)).toBe(false);
  }
  const custom = Object.keys(policy.custom_adapters);
  for (const profile of Object.values(policy.profiles)) {
    expect([...BUILT_IN_ADAPTERS, ...custom]).toContain(profile.adapter);
    const { executable } = profile;
    if (executable !== undefined) expect(executable.startsWith('/') || !executable.includes('/')).toBe(true);
    if (executable !== undefined) expect(executable).not.toMatch(/[`$;|&<>\s'"\\*?~(){}]/);
    if (executable === undefined) expect(custom).not.toContain(profile.adapter);
  }
  for (const [name, adapter] of Object.entries(policy.custom_adapters)) {
    expect(BUILT_IN_ADAPTERS).not.toContain(name);
    const { base_argv: a, run_everything_argv: b, workspace_argv: c, model_argv: d } = adapter;
    for (const item of [...a, ...b, ...c, ...d]) {
      expect(item).not.toMatch(/[`$;|&<>]/);
      if (/\{.*\}/.test(item)) expect(['{workspace}', '{model}', '{prompt}', '{result}']).toContain(item);
    }
  }
}

test('what is accepted is legal, and written without forbidden constructs', () => {
  let accepted = 0;
  fc.assert(
    fc.property(mutant, (text) => {
      const result = parse(text);
      if (!result.ok) return;
      accepted += 1;
      expectLegal(result.value.policy);
      expect(policySchema.safeParse(result.value.policy).success).toBe(true);
      const opening = text.indexOf('```agent-execution');
      const block = text.slice(opening, text.indexOf('\n```', opening));
      expect(block).not.toMatch(/\t|^%|^---|^\.\.\.|\u202e/m);
    }),
    { numRuns: 1000 },
  );
  expect(accepted).toBeGreaterThan(5);
});

const name = fc
  .stringMatching(/^[a-z][a-z0-9-]{0,8}$/)
  .filter((text) => !(text in Object.prototype) && !/token|secret|auth|pwd/.test(text));
const literal = fc
  .stringMatching(/^[A-Za-z0-9 _./:@%+,=~^#!*?-]{1,12}$/)
  .filter((text) => !/^-[^\s=]*\s|token|secret|key/i.test(text));
const flag = fc.stringMatching(/^--[a-z]{2,8}$/);

/** Valid policies: names are drawn first, so that everything refers to something. */
const validPolicy: fc.Arbitrary<Policy> = fc
  .record({
    adapters: fc.uniqueArray(
      name.filter((text) => !(BUILT_IN_ADAPTERS as readonly string[]).includes(text)),
      { maxLength: 2 },
    ),
    profiles: fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
    roles: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
  })
  .chain(({ adapters, profiles, roles }) =>
    fc.record({
      schema: fc.constant('agent-execution/v1' as const),
      execution: fc.record({
        fresh_process_per_unit: fc.constant(true as const),
        permission: fc.constant('run-everything' as const),
        fallback_to_host: fc.constantFrom('all-unavailable' as const, 'never' as const),
        max_parallel: fc.integer({ min: 1, max: 64 }),
        timeout_seconds: fc.integer({ min: 1, max: 86_400 }),
        isolation: fc.constantFrom('auto' as const, 'none' as const, 'guard' as const, 'strict' as const),
        provider_wait_seconds: fc.integer({ min: 0, max: 86_400 }),
        verify: fc.constantFrom('none' as const, 'host' as const),
        setup: fc.array(
          fc.tuple(
            fc.constantFrom('npm', 'make', './x.sh'),
            literal.filter((text) => !/[<>&|;]/.test(text)),
          ),
          { maxLength: 2 },
        ),
        summary_bytes: fc.integer({ min: 256, max: 65_536 }),
        raw_output_bytes: fc.integer({ min: 4096, max: 2 ** 30 }),
      }),
      roles: entries(roles, () => {
        const candidates = fc.shuffledSubarray(profiles, { minLength: 1 });
        const expects = fc.constantFrom('changes' as const, 'report' as const, 'either' as const);
        return fc.oneof(candidates, fc.record({ candidates, expects }, { requiredKeys: ['candidates'] }));
      }),
      profiles: entries(profiles, () =>
        fc.record({
          adapter: fc.constantFrom('claude', 'codex', ...adapters),
          executable: fc.constantFrom('prog', '/opt/a b'.replace(' ', '-'), '/usr/bin/x'),
          model: fc.constant('auto'),
          enabled: fc.boolean(),
          cost: fc.constantFrom('local' as const, 'subscription' as const, 'metered' as const),
        }),
      ),
      custom_adapters: entries(adapters, () =>
        fc.record(
          {
            base_argv: fc.array(literal, { maxLength: 3 }),
            run_everything_argv: fc.array(flag, { maxLength: 2 }),
            workspace_argv: fc.constantFrom([], ['-C', '{workspace}']),
            model_argv: fc.constantFrom([], ['-m', '{model}']),
            prompt_transport: fc.constantFrom('stdin' as const, 'argument' as const, 'file' as const),
            output_format: fc.constantFrom('text' as const, 'claude' as const),
            pass_env: fc.uniqueArray(
              fc.stringMatching(/^[A-Z_]{1,8}$/).filter((text) => !/^(GIT_|AGENT_EXEC_)/.test(text)),
              { maxLength: 2 },
            ),
            required_help: fc.uniqueArray(flag, { maxLength: 2 }),
          },
          {
            requiredKeys: [
              'base_argv',
              'run_everything_argv',
              'workspace_argv',
              'model_argv',
              'prompt_transport',
              'output_format',
            ],
          },
        ),
      ),
    }),
  ) as fc.Arbitrary<Policy>;

function entries<T>(names: readonly string[], value: () => fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc
    .tuple(...names.map(value))
    .map((values) => Object.fromEntries(names.map((key, index) => [key, values[index] as T])));
}

/** A small renderer of its own: block mappings, inline lists, double quotes where a plain string could be misread. */
function render(value: unknown, indent = ''): string {
  const scalar = (item: unknown): string =>
    typeof item === 'string' && !/^[a-z][a-z-]*(?:\/[a-z0-9-]+)?$/.test(item) ? JSON.stringify(item) : quoted(item);
  const quoted = (item: unknown): string =>
    /^(?:y|n|yes|no|on|off|true|false|null)$/.test(String(item)) && typeof item === 'string'
      ? `'${item}'`
      : String(item);
  const inline = (items: readonly unknown[]): string => `[${items.map(scalar).join(', ')}]`;
  if (Array.isArray(value)) {
    if (!value.some(Array.isArray)) return ` ${inline(value)}\n`;
    return `\n${value.map((item) => `${indent}- ${inline(item as unknown[])}\n`).join('')}`;
  }
  if (typeof value !== 'object' || value === null) return ` ${scalar(value)}\n`;
  const keys = Object.entries(value);
  if (keys.length === 0) return ' {}\n';
  const body = keys.map(([key, inner]) => `${indent}${scalar(key)}:${render(inner, `${indent}  `)}`).join('');
  return indent === '' ? body : `\n${body}`;
}

describe('parse of a rendered policy', () => {
  test('is that policy, in LF and CRLF, with and without a byte order mark', () => {
    fc.assert(
      fc.property(validPolicy, fc.boolean(), fc.boolean(), (policy, crlf, mark) => {
        const text = `# x\n\n\`\`\`agent-execution\n${render(policy)}\`\`\`\n`;
        const bytes = new TextEncoder().encode((mark ? '\ufeff' : '') + (crlf ? text.replaceAll('\n', '\r\n') : text));
        const result = parsePolicy({ file: 'x.md', bytes });
        expect(result.ok ? result.value.policy : { text, errors: result.error }).toEqual(policy);
      }),
      { numRuns: 200 },
    );
  });
});

test('a credential anywhere in the block is found and shown nowhere', () => {
  const token = 'sk-ant-api03-Zx9Yw8Vu7Ts6Rq5Po4Nm';
  const lines = VALID.slice(START, END).split('\n').slice(1, -1);
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: lines.length - 1 }),
      fc.constantFrom('value', 'key', 'comment', 'list', 'broken'),
      (index, where) => {
        const line = lines[index] as string;
        const key = line.split(':')[0] as string;
        const put = {
          value: `${key}: ${token}`,
          key: `${line.match(/^ */)?.[0]}${token}: 1`,
          comment: `${line} # ${token}`,
          list: `${key}: [a, ${token}]`,
          broken: `${key}: {x: "${token}, [`,
        }[where];
        const found = findingsOf(VALID.replace(`\n${line}\n`, () => `\n${put}\n`));
        expect(found.some(({ code }) => code.startsWith('CREDENTIAL_'))).toBe(true);
        expect(JSON.stringify(found)).not.toContain(token.slice(0, 12));
      },
    ),
    { numRuns: 150 },
  );
});
