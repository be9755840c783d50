/**
 * AGENT-EXECUTION.md -> policy: fence, subset, shape, rules, credentials. Every stage says what it can about what is
 * left of the block after the stage before, so one pass finds everything; a policy comes out only where no stage found
 * an error.
 */
import type { Policy } from '../model/config.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { err, ok, type Result } from '../model/result.ts';
import { type CredentialReading, findCredentials } from './credentials.ts';
import { findBlock } from './fence.ts';
import type { Finding } from './finding.ts';
import type { ReadFile } from './path-rules.ts';
import { report } from './report.ts';
import { checkRules } from './rules.ts';
import { readShape } from './shape.ts';
import { readLines } from './source-text.ts';
import { readSubset } from './subset.ts';
import { viewOf } from './view.ts';

export interface PolicySource {
  /** The name that diagnostics show. */
  readonly file: string;
  readonly bytes: Uint8Array;
  /** Reads other files of the repository, for rules that are about them; without it those rules are not checked. */
  readonly readFile?: ReadFile;
}

export interface ParsedPolicy {
  readonly policy: Policy;
  readonly warnings: Diagnostic[];
}

const NOTHING: CredentialReading = { findings: [], concealedLines: new Set(), secrets: [] };

/** Total: any bytes give a policy or at least one error. Diagnostics are sorted by place. */
export function parsePolicy(source: PolicySource): Result<ParsedPolicy, Diagnostic[]> {
  const lines = readLines(source.bytes);
  if (!lines.ok) {
    return err(report({ file: source.file, lines: [], stages: [[lines.error]], credentials: NOTHING }));
  }
  const { block, findings: fence } = findBlock(lines.value);
  const stages: (readonly Finding[])[] = [fence];
  let credentials = NOTHING;
  let policy: Policy | null = null;
  if (block !== null) {
    const { tree, stages: subset, mayBeLost, brokenLines } = readSubset(block);
    stages.push(...subset);
    credentials = findCredentials(block.lines, tree);
    if (tree !== null) {
      const shape = readShape(tree, mayBeLost);
      const rules = checkRules(viewOf(tree), mayBeLost, source.readFile);
      for (const stage of [shape.findings, rules]) {
        stages.push(stage.filter(({ span }) => span === null || !brokenLines.has(span.line)));
      }
      policy = shape.policy;
    }
  }
  const all = [...stages.flat(), ...credentials.findings];
  const diagnostics = report({ file: source.file, lines: lines.value, stages, credentials });
  if (policy !== null && all.every(({ severity }) => severity === 'warning'))
    return ok({ policy, warnings: diagnostics });
  if (diagnostics.length === 0) throw new Error('a policy was refused without a finding');
  return err(diagnostics);
}
