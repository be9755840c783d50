/** Every code with a minimal input and its exact place: `⟪` marks where the finding must point. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { edit, findingsOf, marked, VALID } from './sample.ts';

type Row = readonly [code: string, what: string, from: string, to: string];

const SYNTAX: readonly Row[] = [
  ['TAB', 'between key and value', 'max_parallel: 1', 'max_parallel:⟪\t1'],
  ['TAB', 'in a comment', '# the version', '# the⟪\tversion'],
  ['TAB', 'after a value', 'verify: none', 'verify: none⟪\t'],
  ['ANCHOR', 'on a scalar', 'isolation: auto', 'isolation: ⟪&a auto'],
  ['ALIAS', 'as a value', 'isolation: auto', 'isolation: ⟪*a'],
  ['ALIAS', 'in a list', 'repair: [cursor, mine]', 'repair: [cursor, mine, ⟪*a]'],
  ['MERGE_KEY', 'with a list', '  verify: none', '  ⟪<<: []\n  verify: none'],
  ['TAG', 'local', 'verify: none', 'verify: ⟪!x none'],
  ['TAG', 'core', 'max_parallel: 1', 'max_parallel: ⟪!!int 1'],
  ['BLOCK_SCALAR', 'literal', 'model: big-1', 'model: ⟪|\n      big-1'],
  ['BLOCK_SCALAR', 'folded', 'model: big-1', 'model: ⟪>-\n      big-1'],
  ['MULTI_DOCUMENT', 'leading mark', 'schema: agent', '⟪---\nschema: agent'],
  ['MULTI_DOCUMENT', 'end mark', 'profiles:\n', '⟪...\nprofiles:\n'],
  ['DIRECTIVE', 'version', 'schema: agent', '⟪%YAML 1.1\nschema: agent'],
  ['FLOW_MAPPING', 'as a value', 'verify: none', 'verify: ⟪{a: 1}'],
  ['FLOW_MAPPING', 'placeholder without quotes', "'{workspace}'", '⟪{workspace}'],
  ['FLOW_MAPPING', 'pair in a list', '[run, --quiet]', '[⟪run: now, --quiet]'],
  ['EXPLICIT_KEY', 'question mark', '  verify: none', '  ⟪? verify\n  : none'],
  ['DUPLICATE_KEY', 'plain', '  verify: none', '  verify: none\n  ⟪verify: host'],
  ['DUPLICATE_KEY', 'quoted', '  verify: none', '  verify: none\n  ⟪"verify": host'],
  ['UNSAFE_KEY', '__proto__', '  verify: none', '  ⟪__proto__: none\n  verify: none'],
  ['UNSAFE_KEY', 'constructor as a profile', '  mine:\n', '  ⟪constructor:\n    adapter: pi\n  mine:\n'],
  ['UNSAFE_KEY', 'toString as a role', '  repair: [', '  ⟪toString: [cursor]\n  repair: ['],
  ['AMBIGUOUS_SCALAR', 'yes', 'enabled: true', 'enabled: ⟪yes'],
  ['AMBIGUOUS_SCALAR', 'Off', 'enabled: true', 'enabled: ⟪Off'],
  ['AMBIGUOUS_SCALAR', 'True', 'enabled: true', 'enabled: ⟪True'],
  ['AMBIGUOUS_SCALAR', 'octal', 'max_parallel: 1', 'max_parallel: ⟪010'],
  ['AMBIGUOUS_SCALAR', 'octal 1.2', 'max_parallel: 1', 'max_parallel: ⟪0o10'],
  ['AMBIGUOUS_SCALAR', 'leading zero', 'max_parallel: 1', 'max_parallel: ⟪08'],
  ['AMBIGUOUS_SCALAR', 'hexadecimal', 'max_parallel: 1', 'max_parallel: ⟪0x10'],
  ['AMBIGUOUS_SCALAR', 'sexagesimal', 'timeout_seconds: 1800\n', 'timeout_seconds: ⟪30:00\n'],
  ['AMBIGUOUS_SCALAR', 'date', 'model: big-1', 'model: ⟪2026-01-02'],
  ['AMBIGUOUS_SCALAR', 'date and time', 'model: big-1', 'model: ⟪2026-01-02T03:04:05Z'],
  ['AMBIGUOUS_SCALAR', 'fraction', 'model: big-1', 'model: ⟪4.1'],
  ['AMBIGUOUS_SCALAR', 'exponent', 'max_parallel: 1', 'max_parallel: ⟪1e1'],
  ['AMBIGUOUS_SCALAR', 'infinity', 'max_parallel: 1', 'max_parallel: ⟪.inf'],
  ['AMBIGUOUS_SCALAR', 'not a number', 'max_parallel: 1', 'max_parallel: ⟪.NaN'],
  ['AMBIGUOUS_SCALAR', 'plus sign', 'max_parallel: 1', 'max_parallel: ⟪+1'],
  ['AMBIGUOUS_SCALAR', 'underscore', 'timeout_seconds: 1800\n', 'timeout_seconds: ⟪1_800\n'],
  ['AMBIGUOUS_SCALAR', 'tilde', 'isolation: auto', 'isolation: ⟪~'],
  ['AMBIGUOUS_SCALAR', 'Null', 'isolation: auto', 'isolation: ⟪Null'],
  ['AMBIGUOUS_SCALAR', 'as a key', '  repair: [', '  ⟪on: [cursor]\n  repair: ['],
  ['AMBIGUOUS_SCALAR', 'in a list', '[run, --quiet]', '[run, ⟪no]'],
  [
    'INDENTATION',
    'four spaces',
    '  mine:\n    adapter: own\n',
    '  mine:\n    adapter: own\n    ⟪  enabled: true\n'.replace('    ⟪  ', '      ⟪'),
  ],
  ['INDENTATION', 'one space too many at a level', 'schema: agent', ' ⟪schema: agent'],
  ['INDENTATION', 'unindented list', '  setup:\n    - [npm, ci]', '  setup:\n  ⟪- [npm, ci]'],
  ['MULTILINE_SCALAR', 'plain', 'model: big-1', 'model: ⟪big\n      one'],
  ['MULTILINE_SCALAR', 'double quotes', 'model: big-1', 'model: ⟪"big\n      one"'],
  ['MULTILINE_SCALAR', 'below its key', 'model: big-1', 'model:\n      ⟪big-1'],
  ['MULTILINE_SCALAR', 'a list below its key', '  repair: [cursor, mine]', '  repair:\n    ⟪[cursor, mine]'],
  ['MULTILINE_LIST', 'inline list', '[run, --quiet]', '⟪[run,\n      --quiet]'],
  ['MULTILINE_LIST', 'below its dash', '    - [npm, ci]', '    -\n      ⟪[npm, ci]'],
  ['NESTED_LIST', 'inline', '[run, --quiet]', '[run, ⟪[--quiet]]'],
  ['BLOCK_LIST', 'of scalars', 'repair: [cursor, mine]', 'repair:\n    ⟪- cursor\n    - mine'],
  ['BLOCK_LIST', 'of mappings', '    - [npm, ci]', '    - ⟪run: now'],
  ['NESTED_TOO_DEEP', 'brackets', '[run, --quiet]', '[[[[[[[[⟪[run]]]]]]]]]'],
  ['NESTED_TOO_DEEP', 'pairs', '[run, --quiet]', `[${': '.repeat(100)}⟪: ]`],
  ['NESTED_TOO_DEEP', 'marks', '    - [npm, ci]', '    - - - - ⟪- [npm, ci]'],
  ['YAML_SYNTAX', 'no colon', '  verify: none', '  ⟪verify none'],
  ['YAML_SYNTAX', 'colon below the key', '  verify: none', '  ⟪verify\n    : none'],
  ['YAML_SYNTAX', 'colon in plain text', 'model: big-1', 'model: a⟪: b'],
  ['CONTROL_CHARACTER', 'written', 'model: big-1', 'model: big⟪\u0007'],
  ['CONTROL_CHARACTER', 'escaped', 'model: big-1', 'model: ⟪"big\\n"'],
  ['INVISIBLE_CHARACTER', 'zero width in a name', 'repair: [', '⟪re\u200bpair: ['],
  ['INVISIBLE_CHARACTER', 'no-break space', 'model: big-1', 'model: ⟪big\u00a01'],
  ['INVISIBLE_CHARACTER', 'direction in a comment', '# the version', '# the⟪\u202e version'],
  ['INVISIBLE_CHARACTER', 'escaped', 'model: big-1', 'model: ⟪"big\\u200b1"'],
  ['INVISIBLE_CHARACTER', 'variation selector', 'model: big-1', 'model: ⟪big\ufe0f1'],
  ['NOT_NFC', 'decomposed', 'model: big-1', 'model: ⟪cafe\u0301'],
];

const SHAPE: readonly Row[] = [
  ['UNKNOWN_KEY', 'at the top', 'roles:\n', '⟪role: 1\nroles:\n'],
  ['UNKNOWN_KEY', 'in execution', '  verify: none', '  verify: none\n  ⟪timeout_second: 1'],
  ['UNKNOWN_KEY', 'empty', '  verify: none', '  verify: none\n  ⟪verifi:'],
  ['UNKNOWN_KEY', 'in a role', '    expects: either', '    expects: either\n    ⟪expect: either'],
  ['UNKNOWN_KEY', 'in a profile', '    cost: metered', '    cost: metered\n    ⟪costs: metered'],
  ['UNKNOWN_KEY', 'in a custom adapter', '    output_format: text', '    output_format: text\n    ⟪output: text'],
  ['MISSING_KEY', 'in execution', 'execution:\n  fresh_process_per_unit: true\n', '⟪execution:\n'],
  ['MISSING_KEY', 'without a value', 'permission: run-everything', '⟪permission:'],
  ['MISSING_KEY', 'null', 'permission: run-everything', '⟪permission: null'],
  ['MISSING_KEY', 'in a custom adapter', '  own:\n    base_argv: [run, --quiet]\n', '  ⟪own:\n'],
  ['MISSING_KEY', 'half a model', '    model:\n      family: Gemini 4 Argon\n', '    ⟪model:\n'],
  ['WRONG_TYPE', 'text for a number', 'max_parallel: 1', 'max_parallel: ⟪"1"'],
  ['WRONG_TYPE', 'number for text', 'model: big-1', 'model: ⟪7'],
  ['WRONG_TYPE', 'list for a model', 'model: big-1', 'model: ⟪[big]'],
  ['WRONG_TYPE', 'text for a list', 'repair: [cursor, mine]', 'repair: ⟪cursor, mine'],
  ['WRONG_TYPE', 'null in a list', '[run, --quiet]', '[run, ⟪null]'],
  [
    'WRONG_TYPE',
    'empty role',
    '    candidates: [agy]\n',
    '    candidates: [agy]\n  ⟪test:\n  other:\n    candidates: [agy]\n',
  ],
  ['WRONG_TYPE', 'list of scalars for setup', 'setup:\n    - [npm, ci]', 'setup: [⟪npm]'],
  ['INVALID_VALUE', 'permission', 'permission: run-everything', 'permission: ⟪ask'],
  ['INVALID_VALUE', 'fallback', 'fallback_to_host: all-unavailable', 'fallback_to_host: ⟪always'],
  ['INVALID_VALUE', 'fresh process', 'fresh_process_per_unit: true', 'fresh_process_per_unit: ⟪false'],
  ['INVALID_VALUE', 'transport', 'prompt_transport: stdin', 'prompt_transport: ⟪pipe'],
  ['INVALID_VALUE', 'output format', 'output_format: text', 'output_format: ⟪json'],
  ['INVALID_VALUE', 'variable name', '[OWN_HOME]', '[⟪OWN-HOME]'],
  ['UNSUPPORTED_SCHEMA', 'version 2', 'schema: agent-execution/v1', 'schema: ⟪agent-execution/v2'],
  ['OUT_OF_RANGE', 'zero', 'max_parallel: 1', 'max_parallel: ⟪0'],
  ['OUT_OF_RANGE', 'a wait below nothing', 'provider_wait_seconds: 120', 'provider_wait_seconds: ⟪-1'],
  ['OUT_OF_RANGE', 'negative', 'max_parallel: 1', 'max_parallel: ⟪-1'],
  ['OUT_OF_RANGE', 'parallel', 'max_parallel: 1', 'max_parallel: ⟪65'],
  ['OUT_OF_RANGE', 'a day', 'timeout_seconds: 1800\n  i', 'timeout_seconds: ⟪86401\n  i'],
  ['OUT_OF_RANGE', 'summary low', 'summary_bytes: 4096', 'summary_bytes: ⟪255'],
  ['OUT_OF_RANGE', 'summary high', 'summary_bytes: 4096', 'summary_bytes: ⟪65537'],
  ['OUT_OF_RANGE', 'raw low', 'raw_output_bytes: 10485760', 'raw_output_bytes: ⟪4095'],
  ['OUT_OF_RANGE', 'raw high', 'raw_output_bytes: 10485760', 'raw_output_bytes: ⟪1073741825'],
  ['OUT_OF_RANGE', 'beyond exact integers', 'max_parallel: 1', 'max_parallel: ⟪99999999999999999999'],
  ['EMPTY_VALUE', 'list', '  repair: [cursor, mine]', '  repair: [cursor, mine]\n  other: ⟪[]'],
  ['EMPTY_VALUE', 'text', 'executable: cursor-agent', "executable: ⟪''"],
  ['INVALID_NAME', 'capital role', '  repair: [', '  ⟪Repair: ['],
  ['INVALID_NAME', 'long profile', '  repair: [cursor, mine]', `  repair: [cursor, mine, ⟪${'a'.repeat(33)}]`],
  ['INVALID_NAME', 'underscore adapter', 'adapter: cursor', 'adapter: ⟪my_adapter'],
];

const RULES: readonly Row[] = [
  ['NO_ROLES', 'empty', VALID.slice(VALID.indexOf('roles:'), VALID.indexOf('profiles:')), '⟪roles: {}\n'],
  ['UNKNOWN_PROFILE', 'in a role', 'repair: [cursor, mine]', 'repair: [cursor, mine, ⟪cursro]'],
  ['CANDIDATE_REPEATED', 'twice', 'repair: [cursor, mine]', 'repair: [cursor, mine, ⟪cursor]'],
  ['UNKNOWN_ADAPTER', 'in a profile', 'adapter: cursor', 'adapter: ⟪curser'],
  [
    'ADAPTER_NAME_TAKEN',
    'built-in',
    VALID.slice(VALID.indexOf('  own:\n'), VALID.indexOf('    base_argv')),
    '  own:\n    base_argv: []\n    run_everything_argv: []\n    workspace_argv: []\n    model_argv: [--model, "{model}"]\n    prompt_transport: file\n    output_format: pi\n  ⟪claude:\n',
  ],
  [
    'EXECUTABLE_REQUIRED',
    'custom adapter',
    '  mine:\n    adapter: own\n    executable: /opt/own/bin/own\n',
    '  ⟪mine:\n    adapter: own\n',
  ],
  ['EXECUTABLE_NOT_ABSOLUTE', 'dot slash', 'executable: cursor-agent', 'executable: ⟪./cursor'],
  ['EXECUTABLE_NOT_ABSOLUTE', 'below a folder', 'executable: cursor-agent', 'executable: ⟪bin/cursor'],
  ['EXECUTABLE_NOT_ABSOLUTE', 'dot segments', 'executable: cursor-agent', 'executable: ⟪/opt/../x'],
  ['EXECUTABLE_NOT_ABSOLUTE', 'leading dash', 'executable: cursor-agent', 'executable: ⟪-x'],
  ['EXECUTABLE_METACHARACTER', 'arguments', 'executable: cursor-agent', 'executable: ⟪cursor-agent -p'],
  ['EXECUTABLE_METACHARACTER', 'variable', 'executable: cursor-agent', 'executable: ⟪$HOME/x'],
  ['EXECUTABLE_METACHARACTER', 'home', 'executable: cursor-agent', 'executable: ⟪~/bin/x'],
  ['EXECUTABLE_METACHARACTER', 'Windows', 'executable: cursor-agent', 'executable: ⟪C:\\x'],
  ['MODEL_SLUG', 'space', 'model: big-1', 'model: ⟪big one'],
  ['MODEL_SLUG', 'flag', 'model: big-1', 'model: ⟪--yolo'],
  [
    'MODEL_SLUG',
    'no provider',
    'adapter: cursor\n    executable: cursor-agent\n    model: auto',
    'adapter: pi\n    model: ⟪opus',
  ],
  [
    'MODEL_FAMILY_UNSUPPORTED',
    'cursor',
    '    executable: cursor-agent\n    model: auto',
    '    ⟪model:\n      family: x\n      effort: high',
  ],
  ['MODEL_ARGV', 'empty', "model_argv: [--model, '{model}']", 'model_argv: []'],
  ['MODEL_ARGV', 'without placeholder', "model_argv: [--model, '{model}']", '⟪model_argv: [--model]'],
  ['EFFORT_CONFLICT', 'twice', '      effort: high', '      effort: high\n    effort: ⟪low'],
  ['EFFORT_FORM', 'words', '      effort: high', '      effort: ⟪very high'],
  ['EFFORT_UNSUPPORTED', 'custom', '    cost: metered', '    cost: metered\n    effort: ⟪high'],
  ['EFFORT_UNSUPPORTED', 'built-in', '    executable: cursor-agent', '    effort: ⟪high'],
  ['UNKNOWN_RESULT_CONTRACT', 'version', 'result: repair-result/v1', 'result: ⟪repair-result/v2'],
  ['INSTRUCTIONS_PATH', 'absolute', 'agents/review.md', '⟪/etc/x.md'],
  ['INSTRUCTIONS_PATH', 'parent', 'agents/review.md', '⟪../x.md'],
  ['INSTRUCTIONS_PATH', 'inner parent', 'agents/review.md', '⟪a/../x.md'],
  ['INSTRUCTIONS_PATH', 'backslash', 'agents/review.md', '⟪a\\x.md'],
  ['INSTRUCTIONS_PATH', 'git folder', 'agents/review.md', '⟪.Git/x.md'],
  ['INSTRUCTIONS_PATH', 'other ending', 'agents/review.md', '⟪agents/review.txt'],
  ['INSTRUCTIONS_MISSING', 'no file', 'agents/review.md', '⟪agents/other.md'],
  ['INSTRUCTIONS_UNUSABLE', 'says nothing', 'agents/review.md', '⟪agents/empty.md'],
  ['ARGV_METACHARACTER', 'substitution', '[run, --quiet]', '[run, ⟪$(id)]'],
  ['ARGV_METACHARACTER', 'backtick', '[run, --quiet]', '[run, ⟪"`id`"]'],
  ['ARGV_METACHARACTER', 'separator', '[run, --quiet]', '[run, ⟪a;b]'],
  ['ARGV_METACHARACTER', 'pipe', 'run_everything_argv: [--yes]', 'run_everything_argv: [⟪"a|b"]'],
  ['ARGV_METACHARACTER', 'and', '[run, --quiet]', '[run, ⟪"&&"]'],
  ['ARGV_METACHARACTER', 'redirection', '[run, --quiet]', '[run, ⟪">x"]'],
  ['ARGV_COMMAND_LINE', 'flag and value', '[run, --quiet]', '[run, ⟪--level 3]'],
  ['PLACEHOLDER_EMBEDDED', 'behind a flag', "'{workspace}'", "⟪'--dir={workspace}'"],
  ['PLACEHOLDER_UNKNOWN', 'other name', "'{workspace}'", "⟪'{cwd}'"],
  ['PLACEHOLDER_MISPLACED', 'model', '[run, --quiet]', "[run, ⟪'{model}']"],
  ['PLACEHOLDER_MISPLACED', 'prompt beside stdin', '[run, --quiet]', "[run, ⟪'{prompt}']"],
  ['ENV_RESERVED', 'git', '[OWN_HOME]', '[OWN_HOME, ⟪GIT_DIR]'],
  ['LISTED_TWICE', 'variable', '[OWN_HOME]', '[OWN_HOME, ⟪OWN_HOME]'],
  ['REQUIRED_FLAG', 'word', 'required_help: [--yes]', 'required_help: [⟪yes-please]'],
  ['REFUSAL_PREFIX', 'too short', '["Quota exceeded:"]', '["Quota exceeded:", ⟪Quo]'],
  [
    'REFUSAL_SOURCE_UNNAMED',
    'missing',
    '    refusal_prefixes: ["Quota exceeded:"]\n    refusal_source: tools/own.py\n',
    '    ⟪refusal_prefixes: ["Quota exceeded:"]\n',
  ],
  [
    'REFUSAL_PREFIXES_REQUIRED',
    'missing',
    '    refusal_prefixes: ["Quota exceeded:"]\n    refusal_source: tools/own.py\n',
    '    refusal_source: ⟪tools/own.py\n',
  ],
  ['REFUSAL_SOURCE_PATH', 'absolute', 'refusal_source: tools/own.py', 'refusal_source: ⟪/tools/own.py'],
  ['REFUSAL_SOURCE_MISSING', 'no file', 'refusal_source: tools/own.py', 'refusal_source: ⟪tools/other.py'],
  ['SENTINEL_DRIFT', 'other wording', '["Quota exceeded:"]', '["Quota exceeded:", ⟪"Over quota:"]'],
  ['SETUP_COMMAND_LINE', 'one item', '- [npm, ci]', '- [⟪npm ci]'],
  ['SETUP_COMMAND_LINE', 'operator', '- [npm, ci]', "- [npm, ci, ⟪'&&', npm, test]"],
  ['CREDENTIAL_KEY', 'api key', '    cost: metered', '    cost: metered\n    ⟪api_key: hunter2hunter2'],
  ['CREDENTIAL_KEY', 'camel case, number', '    cost: metered', '    cost: metered\n    ⟪accessToken: 12345678'],
  ['CREDENTIAL_KEY', 'without a value', '    cost: metered', '    cost: metered\n    ⟪password:'],
  ['CREDENTIAL_KEY', 'a mapping', '    cost: metered', '    cost: metered\n    ⟪credentials:\n      user: a'],
  ['CREDENTIAL_VALUE', 'token shape', 'model: big-1', '⟪model: sk-ant-api03-abcdefghijklmnop'],
  ['CREDENTIAL_VALUE', 'in a comment', '  verify: none', '  ⟪# ghp_abcdefghijklmnopqrstuvwxyz0123\n  verify: none'],
  ['CREDENTIAL_VALUE', 'after a flag', '[run, --quiet]', '[run, --api-key, ⟪hunter2]'],
  ['CREDENTIAL_VALUE', 'URL login', '    pass_env: [OWN_HOME]', '    ⟪pass_env: ["https://me:pw@example.org/"]'],
  ['CREDENTIAL_VALUE', 'random', 'model: big-1', 'model: ⟪Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe'],
];

const WARNINGS: readonly Row[] = [
  ['UNUSED_PROFILE', 'no role', 'repair: [cursor, mine]', 'repair: [mine]'],
  ['UNUSED_ADAPTER', 'no profile', '    adapter: own\n', '    adapter: claude\n'],
  ['NO_ENABLED_CANDIDATE', 'all off', '  agy:\n', '  agy:\n    enabled: false\n'],
  ['LIMIT_UNREACHABLE', 'idle', 'idle_timeout_seconds: 600', 'idle_timeout_seconds: ⟪1801'],
  ['LIMIT_UNREACHABLE', 'provider', 'provider_wait_seconds: 120', 'provider_wait_seconds: ⟪1801'],
];
/** Warnings that point at a line the edit does not touch. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  UNUSED_PROFILE: '  cursor:\n',
  UNUSED_ADAPTER: '  own:\n',
  NO_ENABLED_CANDIDATE: '  review:\n',
  MODEL_ARGV: 'big-1\n',
};

const WHOLE: readonly (readonly [code: string, what: string, text: string])[] = [
  ['FENCE_MISSING', 'empty file', ''],
  ['FENCE_MISSING', 'prose', '# Nothing\n\nhere\n'],
  ['FENCE_MISSING', 'underscore', '# x\n\n⟪```agent_execution\nschema: 1\n```\n'],
  ['FENCE_MISSING', 'capital', '⟪```Agent-Execution\n```\n'],
  ['FENCE_MISSING', 'in a longer fence', '````md\n⟪```agent-execution\n```\n````\n'],
  ['FENCE_MISSING', 'in a comment', '<!--\n⟪```agent-execution\n```\n-->\n'],
  ['FENCE_MISSING', 'indented code', 'x\n\n    ⟪```agent-execution\n    ```\n'],
  ['FENCE_MISSING', 'two backticks', '⟪``agent-execution\n``\n'],
  ['FENCE_REPEATED', 'twice', `${VALID}\n⟪\`\`\`agent-execution\n\`\`\`\n`],
  ['FENCE_UNCLOSED', 'to the end', '⟪```agent-execution\nschema: agent-execution/v1\n'],
  ['FENCE_UNCLOSED', 'closed too short', '⟪````agent-execution\nschema: agent-execution/v1\n```\n'],
  ['FENCE_UNCLOSED', 'its quote ends', '> ⟪```agent-execution\n> schema: agent-execution/v1\n\n```\n'],
  ['FENCE_TILDE', 'tildes', VALID.replace('```a', '⟪~~~a').replace('```\n\nM', '~~~\n\nM')],
  ['FENCE_EXTRA_WORDS', 'attribute', VALID.replace('```agent-execution', '```agent-execution ⟪v1')],
  ['EMPTY_BLOCK', 'nothing', '⟪```agent-execution\n```\n'],
  ['EMPTY_BLOCK', 'comments', '⟪```agent-execution\n# x\n\n```\n'],
  ['NUL_BYTE', 'in prose', '# a\n\nb⟪\0c\n'],
  ['WRONG_TYPE', 'a list', '```agent-execution\n⟪[a]\n```\n'],
  ['MARKDOWN_TOO_COMPLEX', 'quotes', `⟪${'>'.repeat(30)} a\n`],
  ['FILE_TOO_LARGE', 'lines', 'a\n'.repeat(5000)],
  ['FILE_TOO_LARGE', 'bytes', 'a'.repeat(256 * 1024 + 1)],
  ['LINE_TOO_LONG', 'prose', `ok\n${'a'.repeat(8192)}⟪b`],
];

const seen = (text: string): string[] =>
  findingsOf(text).map((finding) => `${finding.file}:${finding.line}:${finding.column} ${finding.code}`);

describe('one finding, exactly where it belongs', () => {
  test('none in the sample', () => {
    expect(findingsOf(VALID)).toEqual([]);
  });

  test.each([...SYNTAX, ...SHAPE, ...RULES, ...WARNINGS])('%s: %s', (code, _what, from, to) => {
    const { text, place } = marked(edit(from, to));
    const shown = to.includes('⟪') ? place : marked(edit(ELSEWHERE[code] as string, `⟪${ELSEWHERE[code]}`, text)).place;
    const [line, column] = shown.split(':').map(Number) as [number, number];
    const indent = to.includes('⟪')
      ? 0
      : ((text.split('\n')[line - 1] as string).slice(column - 1).search(/\S/) as number);
    expect(seen(text)).toEqual([`AGENT-EXECUTION.md:${line}:${column + indent} ${code}`]);
  });

  test.each(WHOLE)('%s: %s', (code, _what, marking) => {
    const { text, place } = marked(marking);
    expect(seen(text)).toEqual([`AGENT-EXECUTION.md:${place} ${code}`]);
  });

  test('INVALID_UTF8 at the byte', () => {
    const bytes = Buffer.concat([Buffer.from('# é\n\nab'), Buffer.from([0xff]), Buffer.from('c')]);
    expect(findingsOf(bytes).map(({ code, line, column }) => ({ code, line, column }))).toEqual([
      { code: 'INVALID_UTF8', line: 3, column: 3 },
    ]);
    expect(findingsOf(Buffer.from('\ufeff# x', 'utf16le'))[0]?.hint).toContain('UTF-16');
    expect(findingsOf('# a written \ufffd is text\n').map(({ code }) => code)).toEqual(['FENCE_MISSING']);
  });

  test('MORE_FINDINGS closes a list nobody would read', () => {
    const many = Array.from({ length: 500 }, (_, i) => `  x${i}: [no-such]\n`).join('');
    const found = findingsOf(edit('roles:\n', `roles:\n${many}`));
    expect(found.length).toBe(201);
    expect(found.at(-1)).toMatchObject({ code: 'MORE_FINDINGS', message: '300 more findings are not shown' });
  });
});

describe('the table is complete', () => {
  const folder = new URL('../../src/config/', import.meta.url);
  const sources = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const codes = new Set(
    sources.flatMap((text) => [...text.matchAll(/'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)'/g)].map((m) => m[1] as string)),
  );
  for (const parserCode of ['BLOCK_LITERAL', 'BLOCK_FOLDED', 'PLAIN', 'TAG_RESOLVE_FAILED', 'UNEXPECTED_TOKEN', 'NFC'])
    codes.delete(parserCode);
  const rows = new Set([...SYNTAX, ...SHAPE, ...RULES, ...WARNINGS, ...WHOLE].map(([code]) => code));
  rows.add('INVALID_UTF8').add('MORE_FINDINGS');

  test('every code of the source has a row', () => {
    expect([...codes].sort()).toEqual([...rows].sort());
  });

  test('every code is in the documentation', () => {
    const documentation = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
    expect([...codes].filter((code) => !documentation.includes(`\`${code}\``))).toEqual([]);
  });
});
