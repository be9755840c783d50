/** `receipt card`: every fact with its provenance, the same bytes for the same receipt, in two languages. */
import { join } from 'node:path';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { beforeAll, describe, expect, test } from 'vitest';
import { LABELS } from '../../src/cli/card-labels.ts';
import type { Receipt } from '../../src/model/receipt.ts';
import { World } from '../run/world.ts';
import { file, forged, said, textOf } from './receipt-world.ts';

const world = new World();
let receipt: Receipt;
let path: string;

beforeAll(async () => {
  world.configure({
    gone: { executable: 'not-there' },
    works: { script: 'cat >/dev/null; echo yes >> src/a.txt' },
    spare: { script: 'true' },
  });
  path = join(world.folder, 'receipt.json');
  ({ receipt } = await world.run({ network: 'provider-only' }, { receipt: path }));
});

const card = async (...args: readonly string[]) => said(world, ['receipt', 'card', ...args]);
/** `label -> [value, provenance]` of the first table. */
const facts = (markdown: string): Map<string, readonly string[]> =>
  new Map(
    markdown
      .split('\n\n')[1]
      ?.split('\n')
      .map((row) => row.slice(2, -2).split(' | '))
      .map(([label = '', ...rest]) => [label, rest] as const),
  );

describe('of a finished run', () => {
  test('has every fact, each with where it comes from', async () => {
    const { out, code, note } = await card(path);
    expect([code, note]).toEqual([0, '']);
    const told = facts(out);
    const transport = receipt.attempts[1]?.transport;
    expect(told.get('Config digest')).toEqual([`\`AGENT-EXECUTION.md\` \`${receipt.config.digest}\``, '*enforced*']);
    expect(told.get('Role')).toEqual(['`repair`', '*enforced*']);
    expect(told.get('Candidate order')).toEqual(['`gone` → `works` → `spare`', '*enforced*']);
    expect(told.get('Transport')).toEqual([`\`${transport?.commit}\` \`${transport?.ref}\``, '*enforced*']);
    expect(told.get('Host fallback')).toEqual(['not authorised', '*enforced*']);
    expect(told.get('Receipt')).toEqual([`\`${path}\``, '*enforced*']);
    expect(told.get('Receipt digest')).toEqual([`\`${receipt.digest}\``, '*enforced*']);
    expect(told.get('Verification')?.[1]).toBe('*gate*');
    expect(told.get('Network')?.[1]).toBe('*gate*');
    expect(told.get('Review')?.[1]).toBe('*gate*');
    expect(out).toContain('| Model reported (*self-reported*) |');
    expect(out).toMatch(/\| `01-gone` \| `gone` \| — \|.* \| `unavailable` \| `EXECUTABLE_MISSING` \|\n/);
    expect(out).toMatch(/\| `02-works` \| `works` `\S+worker-works` \|.* \| `success` \| `OK` \|\n/);
    expect(out).toMatch(/\| `03-spare` \|.* \| `NOT_RUN` \| — \|\n/);
    expect(out).toContain(LABELS.en.legend);
  });

  test('is the same for the same receipt, and the last run is meant by default', async () => {
    expect((await card(path)).out).toBe((await card(path)).out);
    const last = await card();
    expect(facts(last.out).get('Run')).toEqual([`\`${receipt.run_id}\``, '*enforced*']);
    expect(last.out).toBe((await card('last')).out);
  });

  test('in Chinese has no English label left', async () => {
    const { out } = await card(path, '--lang', 'zh');
    expect(out.split('\n')[0]).toBe('### agent-exec 回执: `success`');
    expect(facts(out).get('配置摘要')).toEqual([`\`AGENT-EXECUTION.md\` \`${receipt.config.digest}\``, '*强制*']);
    const untold = out
      .replace(/`[^`]*`/g, '')
      .replace(/\((enforced|self-reported|gate)\)|（(enforced|self-reported|gate)）/g, '');
    expect(
      untold.match(/[A-Za-z][A-Za-z-]+/g)?.filter((word) => !['agent-exec', 'CLI', 'CI'].includes(word)) ?? [],
    ).toEqual([]);
    expect(out.split('\n')).toHaveLength((await card(path)).out.split('\n').length);
  });

  test('whose digest is broken: its first line says so, nothing is enforced, exit 6', async () => {
    const other = file(world, textOf(path).replace('"role": "repair"', '"role": "review"'));
    for (const language of ['en', 'zh'] as const) {
      const { out, code } = await card(other, '--lang', language);
      expect(code).toBe(6);
      expect(out.split('\n')[0]).toBe(`> **${LABELS[language].digestBroken}**`);
      expect(out.replace(LABELS[language].legend, '')).not.toContain(LABELS[language].marks.enforced);
    }
    const twice = file(world, textOf(path).replace('"role":', '"role": "review", "role":'));
    expect(await card(twice)).toMatchObject({
      code: 6,
      out: '',
      note: expect.stringContaining('two members named "role"'),
    });
  });

  test('of a host fallback: what is authorised, and what is left to check', async () => {
    const { out } = await card(
      forged(world, receipt, (draft) => {
        draft.host_fallback = {
          authorized: true,
          unit_digest: draft.unit.digest,
          base: draft.repository.base,
          allowed_paths: [],
          issued_at: draft.ended_at,
          evidence: [],
        };
        draft.attempts = [];
      }),
    );
    expect(out).toContain('| Host fallback | authorised: the host may do the unit itself | *enforced* |');
    expect(out).toMatch(/\| Host fallback \| what the host then does .* \| \*gate\* \|/);
  });
});

test("a worker's words make no link, mention, image or HTML", async () => {
  const nasty = '`|\n| x | <img src=x onerror=alert(1)> @everyone ![x](http://e.invalid) [l](http://e.invalid) #1 \\|`';
  const { out } = await card(
    forged(world, receipt, (draft) => {
      draft.unit.unit_id = nasty;
      draft.unit.allowed_paths = [nasty, `\\|${nasty}`];
      const [, attempt] = draft.attempts;
      Object.assign(attempt.model, { requested: nasty, resolved: nasty, reported: nasty });
      Object.assign(attempt.probe, { executable: nasty, version: nasty });
      attempt.worker_result = { STATUS: nasty };
      attempt.verification = [{ argv: [nasty], code: 0, ok: true, duration_ms: 1 }];
    }),
  );
  const plain = (await card(path)).out.split('\n').length;
  // One row more: the worker's result.
  expect(out.split('\n')).toHaveLength(plain + 1);
  const kinds = new Set<string>();
  const walk = (node: { type: string; children?: readonly never[] }): void => {
    kinds.add(node.type);
    for (const child of node.children ?? []) walk(child);
  };
  walk(fromMarkdown(out) as never);
  expect([...kinds].sort()).toEqual(['emphasis', 'heading', 'inlineCode', 'paragraph', 'root', 'text']);
});

describe('--new', () => {
  test('is a card of a role before the run: every attempt NOT_RUN', async () => {
    const { out, code } = await card('--new', '--role', 'repair');
    expect(code).toBe(0);
    const told = facts(out);
    expect(told.get('Config digest')).toEqual([`\`AGENT-EXECUTION.md\` \`${receipt.config.digest}\``, '*enforced*']);
    expect(told.get('Outcome')).toEqual(['`NOT_RUN`', '*gate*']);
    expect(out.match(/\| `NOT_RUN` \| — \|$/gm)).toHaveLength(3);
    expect(out).toMatch(/\| `02-works` \| `works` `\S+worker-works` \| — \| the CLI's choice \|/);
    expect((await card('--new', '--role', 'repair', '--lang', 'zh')).out).toContain('| `NOT_RUN` |');
  });

  test('needs a role that there is, and a configuration', async () => {
    expect(await card('--new')).toMatchObject({ code: 2, out: '' });
    expect(await card('--role', 'repair')).toMatchObject({ code: 2 });
    expect(await card(path, '--new', '--role', 'repair')).toMatchObject({ code: 2 });
    expect(await card('--new', '--role', 'none')).toMatchObject({
      code: 3,
      note: expect.stringContaining('its roles are repair'),
    });
    const bare = new World();
    bare.commit();
    expect(await said(bare, ['receipt', 'card', '--new', '--role', 'repair'])).toMatchObject({ code: 3, out: '' });
  });
});

test('what is no receipt', async () => {
  expect(await card(join(world.folder, 'none.json'))).toMatchObject({ code: 3, out: '' });
  expect(await card(file(world, 'not json'))).toMatchObject({ code: 3, out: '' });
  expect(await card(file(world, '{}'))).toMatchObject({ code: 3, out: '' });
  expect(await card('no-such-run')).toMatchObject({ code: 3, note: expect.stringContaining('agent-exec runs') });
  expect(await card(path, '--lang', 'fr')).toMatchObject({ code: 2 });
});

test('both languages have words for everything, and not the same', () => {
  for (const [key, value] of Object.entries(LABELS.en)) {
    const other = LABELS.zh[key as keyof typeof LABELS.zh];
    if (typeof value === 'string' && !['NOT_RUN', 'CLI'].includes(value)) expect(other).not.toBe(value);
  }
});
