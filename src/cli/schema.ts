/**
 * `agent-exec schema`: the JSON Schemas (draft 2020-12) of what crosses a border, made from the very definitions that parse
 * it. `config` and `unit` describe what a person may write, the others what this tool writes.
 */
import { Argument, Command } from 'commander';
import * as z from 'zod';
import { applyReport } from '../model/apply.ts';
import { policy } from '../model/config.ts';
import { gcReport } from '../model/gc.ts';
import { ledger } from '../model/ledger.ts';
import { liveReport, probeReport } from '../model/probe.ts';
import { receipt } from '../model/receipt.ts';
import { receiptVerification } from '../model/receipt-verify.ts';
import { recovery } from '../model/recovery.ts';
import { refused } from '../model/refused.ts';
import { runList } from '../model/runs.ts';
import { summary } from '../model/summary.ts';
import { telemetryEvent } from '../model/telemetry.ts';
import { unit } from '../model/unit.ts';
import { resultContract } from '../model/worker-result.ts';
import { printableJson } from '../receipt/neutralise.ts';
import type { CliIo } from './io.ts';

const SCHEMAS = {
  config: { definition: policy, io: 'input' },
  unit: { definition: unit, io: 'input' },
  receipt: { definition: receipt, io: 'output' },
  telemetry: { definition: telemetryEvent, io: 'output' },
  summary: { definition: summary, io: 'output' },
  refused: { definition: refused, io: 'output' },
  probe: { definition: probeReport, io: 'output' },
  'probe-live': { definition: liveReport, io: 'output' },
  apply: { definition: applyReport, io: 'output' },
  gc: { definition: gcReport, io: 'output' },
  'receipt-verify': { definition: receiptVerification, io: 'output' },
  recovery: { definition: recovery, io: 'output' },
  runs: { definition: runList, io: 'output' },
  ledger: { definition: ledger, io: 'input' },
  'repair-result': { definition: resultContract('repair-result/v1').schema, io: 'input' },
  'review-report': { definition: resultContract('review-report/v1').schema, io: 'input' },
} as const satisfies Record<string, { readonly definition: z.ZodType; readonly io: 'input' | 'output' }>;
type SchemaName = keyof typeof SCHEMAS;
const NAMES = Object.keys(SCHEMAS) as SchemaName[];

const AFTER_HELP = `
Example:
  $ agent-exec schema receipt > receipt.schema.json`;

/** The command; an unknown name is commander's usage error. */
export function schemaCommand(io: CliIo): Command {
  return new Command('schema')
    .description('Prints the JSON Schema (draft 2020-12) of a record, or of what you may write.')
    .addArgument(new Argument('<name>', 'which one').choices(NAMES))
    .addHelpText('after', AFTER_HELP)
    .action((name: SchemaName) => io.out(`${printableJson(jsonSchemaOf(name), 2)}\n`));
}

/** The schema as one document; its `$id` is the name that the records themselves carry in `schema`. */
function jsonSchemaOf(name: SchemaName): Record<string, unknown> {
  const { definition, io } = SCHEMAS[name];
  const { id, title } = definition.meta() ?? {};
  if (id === undefined || title === undefined) throw new Error(`the definition of ${name} has no id or title`);
  const { $schema, $ref: _, $defs, ...inline } = z.toJSONSchema(definition, { target: 'draft-2020-12', io });
  // A definition with an id is put among the parts and referred to; here it is the whole.
  const { [id]: whole, ...parts } = $defs ?? {};
  return {
    $schema,
    $id: `urn:agent-exec:${id}`,
    title,
    ...(whole ?? inline),
    ...(Object.keys(parts).length > 0 ? { $defs: parts } : {}),
  };
}
