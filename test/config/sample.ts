/** One valid file that uses every key, and a way to write down what one edit of it must be told. */
import type { ReadFile } from '../../src/config/path-rules.ts';
import { type ParsedPolicy, parsePolicy } from '../../src/config/policy.ts';
import type { Diagnostic } from '../../src/model/diagnostic.ts';
import { err, ok, type Result } from '../../src/model/result.ts';

export const VALID = `# Policy

Words for people.

\`\`\`agent-execution
schema: agent-execution/v1 # the version
execution:
  fresh_process_per_unit: true
  permission: run-everything
  fallback_to_host: all-unavailable
  max_parallel: 1
  timeout_seconds: 1800
  idle_timeout_seconds: 600
  isolation: auto
  provider_wait_seconds: 120
  verify: none
  setup:
    - [npm, ci]
  summary_bytes: 4096
  raw_output_bytes: 10485760
roles:
  repair: [cursor, mine]
  review:
    candidates: [agy]
    instructions: agents/review.md
    result: repair-result/v1
    expects: either
profiles:
  cursor:
    adapter: cursor
    executable: cursor-agent
    model: auto
  agy:
    adapter: antigravity
    model:
      family: Gemini 4 Argon
      effort: high
  mine:
    adapter: own
    executable: /opt/own/bin/own
    model: big-1
    enabled: true
    cost: metered
custom_adapters:
  own:
    base_argv: [run, --quiet]
    run_everything_argv: [--yes]
    workspace_argv: [-C, '{workspace}']
    model_argv: [--model, '{model}']
    prompt_transport: stdin
    output_format: text
    pass_env: [OWN_HOME]
    required_help: [--yes]
    refusal_prefixes: ["Quota exceeded:"]
    refusal_source: tools/own.py
\`\`\`

More words.
`;

export const FILES: Readonly<Record<string, string>> = {
  'agents/review.md': '# Review\n',
  'agents/empty.md': '---\nname: review\n---\n',
  'tools/own.py': 'print("Quota exceeded: come back")\n',
};
export const readFile: ReadFile = (path) => {
  const text = FILES[path];
  return text === undefined ? err({ kind: 'missing' }) : ok(Buffer.from(text));
};

export const parse = (text: string | Uint8Array, read: ReadFile = readFile): Result<ParsedPolicy, Diagnostic[]> =>
  parsePolicy({
    file: 'AGENT-EXECUTION.md',
    bytes: typeof text === 'string' ? new TextEncoder().encode(text) : text,
    readFile: read,
  });

export const findingsOf = (text: string | Uint8Array): Diagnostic[] => {
  const result = parse(text);
  return result.ok ? result.value.warnings : result.error;
};

/** Replaces text that must be there exactly once. */
export function edit(from: string, to: string, text: string = VALID): string {
  if (text.split(from).length !== 2) throw new Error(`not exactly once in the sample: ${from}`);
  return text.replace(from, () => to);
}

/** Where `⟪` stands in a text, as `line:column`; '0:0' where it does not. */
export function marked(text: string): { readonly text: string; readonly place: string } {
  const [before = '', ...after] = text.split('⟪');
  if (after.length === 0) return { text, place: '0:0' };
  const lines = before.split('\n');
  return { text: before + after.join('⟪'), place: `${lines.length}:${(lines.at(-1) ?? '').length + 1}` };
}
