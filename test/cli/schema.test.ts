import { CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import type { CliIo } from '../../src/cli/io.ts';
import { schemaCommand } from '../../src/cli/schema.ts';
import { policy } from '../../src/model/config.ts';
import { type LiveReport, liveReport, type ProbeReport, probeReport } from '../../src/model/probe.ts';
import { receipt as receiptDefinition } from '../../src/model/receipt.ts';
import { type ReceiptVerification, receiptVerification } from '../../src/model/receipt-verify.ts';
import { type Refused, refused as refusedDefinition } from '../../src/model/refused.ts';
import { type RunList, runList } from '../../src/model/runs.ts';
import { summary as summaryDefinition } from '../../src/model/summary.ts';
import { telemetryEvent } from '../../src/model/telemetry.ts';
import { unit as unitDefinition } from '../../src/model/unit.ts';
import { fitSummary, summarise } from '../../src/receipt/summary.ts';
import { attemptEvent } from '../../src/receipt/telemetry.ts';
import { attempt, plan, RUN_ID, receipt } from '../receipt/record-samples.ts';

async function schema(...args: string[]): Promise<string> {
  const printed: string[] = [];
  const write = (text: string): void => {
    printed.push(text);
  };
  const io = { out: async (text: string) => write(text), note: () => {} } as unknown as CliIo;
  const command = schemaCommand(io)
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: write });
  await command.parseAsync(args, { from: 'user' });
  return printed.join('');
}
type Node = { [key: string]: unknown };
const parsed = async (name: string): Promise<Node> => JSON.parse(await schema(name)) as Node;

const config = {
  schema: 'agent-execution/v1',
  execution: {
    fresh_process_per_unit: true,
    permission: 'run-everything',
    fallback_to_host: 'never',
    max_parallel: 1,
    timeout_seconds: 60,
    summary_bytes: 4096,
    raw_output_bytes: 10_485_760,
  },
  roles: { repair: ['a'], test: { candidates: ['a'], expects: 'either' } },
  profiles: { a: { adapter: 'claude' } },
};
const refused: Refused = {
  schema: 'agent-exec-refused/v1',
  refused: true,
  adapter: 'codex',
  code: 'RATE_LIMITED',
  retry_after_seconds: 20,
  line: 'slow down',
  source: 'event',
  line_number: 7,
  bytes_read: 4096,
};
const available = { profile: 'a', adapter: 'codex', available: true, code: null, message: null };
const found = { executable: '/bin/codex', version: '0.144.6' };
const probed: ProbeReport = {
  schema: 'agent-exec-probe/v1',
  profiles: [{ ...available, ...found }],
  notes: [],
  errors: [],
};
const { state, model, usage, duration_ms } = attempt();
const live: LiveReport = {
  schema: 'agent-exec-probe-live/v1',
  profiles: [
    {
      ...available,
      ...found,
      ...{ result: 'pass', cure: null, more: [], state, isolation: 'guard', model, usage, duration_ms },
      ...{ receipt: '/r/a.json', kept: [] },
    },
  ],
  notes: ['worth telling'],
  errors: [],
};
const listed: RunList = {
  schema: 'agent-exec-runs/v1',
  state_root: '/s',
  repository: null,
  truncated: false,
  runs: [
    {
      ...{ run_id: RUN_ID, phase: 'running', waiting: false, started_at: '2026-11-30T17:15:00.123Z' },
      ...{ role: 'repair', unit_id: 'u', repository: '/r', outcome: null, reason: null },
      attempts: [{ attempt_id: '01-a', state: null, code: null, step: 'worker' }],
      ...{ transport: null, quarantine: [], retained: [], directory: '/s/r', receipt: null, problem: null },
    },
  ],
};
const verification: ReceiptVerification = {
  ...{ schema: 'agent-exec-receipt-verify/v1', ok: false, exit_code: 6, require: 'success', repository: '/r' },
  receipts: [
    {
      ...{ file: 'r.json', run_id: RUN_ID, outcome: 'success', role: 'repair', unit_id: 'u', verdict: 'invalid' },
      checks: [{ check: 'digest', result: 'failed', message: 'it was changed', problems: ['it was changed'] }],
      error: null,
    },
  ],
  commit: null,
  delegations: {
    ...{ file: 'd.json', declared: 1, counted: 0 },
    entries: [
      {
        ...{ position: 'declaration 1', line: 1, column: 2, run_id: null, counts: false, code: 'RUN_ID_MISSING' },
        reason: 'it has no run_id',
      },
    ],
  },
  errors: [],
};
const EXAMPLES = {
  config: { id: 'agent-execution/v1', definition: policy, example: config },
  unit: { id: 'agent-exec-unit/v1', definition: unitDefinition, example: plan.unit },
  receipt: { id: 'agent-exec-receipt/v1', definition: receiptDefinition, example: receipt() },
  telemetry: {
    id: 'agent-exec-telemetry/v1',
    definition: telemetryEvent,
    example: attemptEvent(attempt(), { runId: RUN_ID, unitId: 'u', role: 'repair' }),
  },
  summary: { id: 'agent-exec-summary/v1', definition: summaryDefinition, example: summarise(receipt(), '/r.json', []) },
  refused: { id: 'agent-exec-refused/v1', definition: refusedDefinition, example: refused },
  probe: { id: 'agent-exec-probe/v1', definition: probeReport, example: probed },
  'probe-live': { id: 'agent-exec-probe-live/v1', definition: liveReport, example: live },
  'receipt-verify': {
    id: 'agent-exec-receipt-verify/v1',
    definition: receiptVerification,
    example: verification,
  },
  runs: { id: 'agent-exec-runs/v1', definition: runList, example: listed },
} as const;

/** Every keyword of a schema and where it stands. */
function* nodes(node: unknown): Generator<Node> {
  if (node === null || typeof node !== 'object') return;
  if (!Array.isArray(node)) yield node as Node;
  for (const member of Object.values(node)) yield* nodes(member);
}

describe.each(Object.entries(EXAMPLES))('%s', (name, { id, definition, example }) => {
  test('is one document with a name, a title and no open reference', async () => {
    const document = await parsed(name);
    expect(document).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `urn:agent-exec:${id}`,
      title: expect.stringMatching(/\w/),
    });
    const defined = Object.keys((document.$defs as Node | undefined) ?? {});
    const references = [...nodes(document)].flatMap((node) => (typeof node.$ref === 'string' ? [node.$ref] : []));
    for (const reference of references) expect(defined).toContain(reference.replace('#/$defs/', ''));
    expect(document.$ref).toBeUndefined();
  });

  test('its patterns compile as JSON Schema wants them', async () => {
    for (const node of nodes(await parsed(name))) {
      if (typeof node.pattern === 'string') expect(() => new RegExp(node.pattern as string, 'u')).not.toThrow();
    }
  });

  test('describes what the definition parses: every member of the example, and no other', async () => {
    expect(definition.safeParse(example)).toMatchObject({ success: true });
    const document = await parsed(name);
    const shapes = (document.oneOf ?? document.anyOf ?? [document]) as Node[];
    const shape = shapes.find(
      ({ properties }) =>
        (properties as Node).event === undefined ||
        name !== 'telemetry' ||
        (properties as { event: Node }).event.const === 'attempt',
    );
    const properties = Object.keys((shape?.properties as Node | undefined) ?? {});
    for (const member of Object.keys(example)) expect(properties).toContain(member);
    expect(shape?.additionalProperties).toBe(false);
    expect(definition.safeParse({ ...example, another: 1 }).success).toBe(false);
  });
});

test('contracts and the ledger are published in the shape that is read', async () => {
  for (const [name, key] of [
    ['repair-result', 'ROOT_CAUSE'],
    ['review-report', 'FINDINGS'],
  ] as const) {
    const document = await parsed(name);
    expect(document).toMatchObject({ $id: `urn:agent-exec:${name}/v1`, title: expect.any(String) });
    expect(document).toMatchObject({ additionalProperties: false, required: expect.arrayContaining(['STATUS', key]) });
  }
  const document = await parsed('ledger');
  expect(document).toMatchObject({ $id: 'urn:agent-exec:agent-exec-ledger/v1', title: expect.any(String) });
  const [whole, line] = document.anyOf as [Node, Node];
  expect([whole.required, line.required]).toEqual([['milestones'], ['milestone', 'unit']]);
  // What else the host keeps in its ledger is its own.
  for (const shape of [whole, line]) expect(shape.additionalProperties).not.toBe(false);
  expect(Object.keys(document.$defs as Node)).toEqual(['agent-exec-unit/v1']);
});

test('what may be left out when written is not required', async () => {
  const { properties, required } = (await parsed('config')) as { properties: Node; required: string[] };
  expect(required).not.toContain('custom_adapters');
  expect((properties.execution as Node).required).not.toContain('isolation');
});

test('a fitted summary is still described', async () => {
  const fitted = JSON.parse(fitSummary(summarise(receipt(), '/r.json', []), 256));
  const { required } = (await parsed('summary')) as { required: string[] };
  for (const member of required) expect(Object.keys(fitted)).toContain(member);
  expect(summaryDefinition.parse(fitted)).toEqual(fitted);
});

test('an unknown name is a usage error that lists the known ones; help has an example', async () => {
  await expect(schema('nonsense')).rejects.toThrow(
    /config, unit, receipt, telemetry, summary, refused, probe, probe-live/,
  );
  await expect(schema()).rejects.toThrow(CommanderError);
  const help: string[] = [];
  schemaCommand({} as CliIo)
    .configureOutput({ writeOut: (text) => help.push(text) })
    .outputHelp();
  expect(help.join('')).toContain('$ agent-exec schema receipt');
});
