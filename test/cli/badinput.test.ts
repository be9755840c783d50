/** Configurations, packets and flags that no run can be made of. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type CliOptions, TOOL, World } from '../run/world.ts';
import { configFile, type Row, refusals, type Wrong } from './refusals.ts';

const unitFile = (world: World): string => join(world.folder, 'unit.json');
/** The packet is this file. */
const asUnit = (world: World, text: string | Uint8Array): Wrong => {
  writeFileSync(unitFile(world), text);
  return { unit: ['--unit', unitFile(world)] };
};
const withUnit = (world: World, over: Readonly<Record<string, unknown>>): Wrong => ({
  unit: ['--unit', world.packet(over)],
});
const replaceConfig = (world: World, text: string): Wrong => {
  writeFileSync(configFile(world), text);
  return {};
};
const block = (body: string): string => `# Policy\n\n\`\`\`agent-execution\n${body}\n\`\`\`\n`;
/** Each way for a file to be no file: its name, how to make it, and the error's word. */
const NO_FILES: readonly (readonly [string, (path: string) => void, string, string])[] = [
  ['a loop of links', (path) => symlinkSync(path, path), 'FILE_UNREADABLE', 'it is a link that leads nowhere (a loop)'],
  ['a fifo', (path) => execFileSync('mkfifo', [path]), 'FILE_NOT_REGULAR', 'it is not a regular file'],
  ['a folder', (path) => mkdirSync(path), 'FILE_NOT_REGULAR', 'it is a folder'],
  ['an endless device', (path) => symlinkSync('/dev/zero', path), 'FILE_NOT_REGULAR', 'it is not a regular file'],
  ['missing', () => {}, 'FILE_MISSING', 'there is no such file'],
];
/** Gives up root before the tool starts, for a world that belongs to nobody. */
const asNobody = (world: World): CliOptions => {
  copyFileSync(TOOL, join(world.folder, 'tool.mjs'));
  execFileSync('chown', ['-R', '65534:65534', world.folder]);
  return {
    prelude: `node=$1; shift 2; set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$node" '${world.folder}/tool.mjs' "$@"`,
  };
};

const CONFIGS: readonly Row[] = [
  ...NO_FILES.map(
    ([title, make, code]): Row => ({
      title: `a configuration that is ${title}`,
      exit: 3,
      code,
      says: ['AGENT-EXECUTION.md'],
      make: (world) => {
        rmSync(configFile(world));
        make(configFile(world));
        return {};
      },
    }),
  ),
  {
    title: 'a configuration that may not be read',
    exit: 3,
    code: 'FILE_UNREADABLE',
    says: ['AGENT-EXECUTION.md', 'permission'],
    needsRoot: true,
    make: (world) => {
      chmodSync(configFile(world), 0);
      return { options: asNobody(world) };
    },
  },
  {
    title: 'a configuration of many gigabytes',
    exit: 3,
    code: 'FILE_TOO_LARGE',
    says: ['AGENT-EXECUTION.md'],
    make: (world) => {
      truncateSync(configFile(world), 2 ** 36);
      return {};
    },
  },
  {
    title: 'a configuration of noise',
    exit: 3,
    code: 'NUL_BYTE',
    says: ['AGENT-EXECUTION.md:'],
    make: (world) => replaceConfig(world, Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0xff, 0xfe]).toString('latin1')),
  },
  {
    title: 'an empty configuration',
    exit: 3,
    code: 'FENCE_MISSING',
    says: ['AGENT-EXECUTION.md'],
    make: (world) => replaceConfig(world, ''),
  },
  ...(
    [
      ['anchors that grow without end', 'a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]', 'ANCHOR'],
      ['a tag that makes functions', 'schema: !!js/function "x"', 'TAG'],
      ['lists a hundred thousand deep', `schema: ${'['.repeat(100_000)}`, null],
      ['a key that poisons prototypes', '__proto__:\n  polluted: true', 'UNSAFE_KEY'],
      ['a tab', 'schema:\tagent-execution/v1', 'TAB'],
      ['two documents', 'schema: agent-execution/v1\n---\nschema: agent-execution/v1', 'MULTI_DOCUMENT'],
      ['an unclosed quote', 'schema: "agent-execution', 'YAML_SYNTAX'],
      ['a credential', 'schema: agent-execution/v1\napi_key: hunter2hunter2', null],
    ] as const
  ).map(
    ([title, body, code]): Row => ({
      title: `a configuration with ${title}`,
      exit: 3,
      code,
      says: ['AGENT-EXECUTION.md:'],
      make: (world) => replaceConfig(world, block(body)),
    }),
  ),
  ...(['implement', '__proto__', 'constructor', 'toString', 'repair '] as const).map(
    (role): Row => ({
      title: `the role ${JSON.stringify(role)}`,
      exit: 3,
      code: 'UNKNOWN_ROLE',
      says: [role, 'repair'],
      make: () => ({ role }),
    }),
  ),
];

const UNITS: readonly Row[] = [
  ...NO_FILES.map(
    ([title, make, , errno]): Row => ({
      title: `a packet that is ${title}`,
      exit: 3,
      code: 'UNIT_UNREADABLE',
      says: [errno, 'unit.json', '- for stdin'],
      make: (world) => {
        make(unitFile(world));
        return { unit: ['--unit', unitFile(world)] };
      },
    }),
  ),
  {
    title: 'a packet that may not be read',
    exit: 3,
    code: 'UNIT_UNREADABLE',
    says: ['you may not read it', 'unit.json'],
    needsRoot: true,
    make: (world) => {
      const wrong = asUnit(world, '{}');
      chmodSync(unitFile(world), 0);
      return { ...wrong, options: asNobody(world) };
    },
  },
  {
    title: 'a packet of many gigabytes',
    exit: 3,
    code: 'UNIT_TOO_LARGE',
    says: ['unit.json'],
    make: (world) => {
      const wrong = asUnit(world, '{');
      truncateSync(unitFile(world), 2 ** 36);
      return wrong;
    },
  },
  {
    title: 'a packet of noise',
    exit: 3,
    code: 'UNIT_BINARY',
    says: ['unit.json'],
    make: (world) => asUnit(world, Buffer.from([0x7f, 0x45, 0, 0xff])),
  },
  { title: 'an empty packet', exit: 3, code: 'UNIT_EMPTY', says: ['unit.json'], make: (world) => asUnit(world, '') },
  {
    title: 'a packet that is a list',
    exit: 3,
    code: 'UNIT_NOT_OBJECT',
    says: ['unit.json:1:1'],
    make: (world) => asUnit(world, '[]'),
  },
  {
    title: 'a packet a hundred thousand levels deep',
    exit: 3,
    code: 'UNIT_NOT_JSON',
    says: ['unit.json:1:'],
    make: (world) => asUnit(world, `{"goal":${'['.repeat(100_000)}`),
  },
  {
    title: 'a packet that names a key twice',
    exit: 3,
    code: 'UNIT_KEY_DUPLICATE',
    says: ['unit.json:1:'],
    make: (world) => asUnit(world, readFileSync(world.packet(), 'utf8').replace('{', '{"goal":"other",')),
  },
  {
    title: 'a packet with __proto__',
    exit: 3,
    code: 'UNIT_KEY_FORBIDDEN',
    says: ['__proto__'],
    make: (world) => asUnit(world, '{"__proto__":{"goal":"x"}}'),
  },
  {
    title: 'a packet with an unknown key',
    exit: 3,
    code: 'UNIT_KEY_UNKNOWN',
    says: ['goals', 'goal'],
    make: (world) => withUnit(world, { goals: 'x' }),
  },
  {
    title: 'a packet without limits',
    exit: 3,
    code: 'UNIT_TIMEOUT_ABOVE_POLICY',
    says: ['timeout_seconds'],
    make: (world) => withUnit(world, { timeout_seconds: 86_400 }),
  },
  ...(
    [
      ['/etc/passwd', 'PATH_ABSOLUTE'],
      ['../outside', 'PATH_DOT_SEGMENT'],
      ['src/.GIT/hooks', 'PATH_GIT'],
      ['.env', 'PATH_SECRET'],
      ['src\\windows', 'PATH_BACKSLASH'],
      ['src/a\u0007b', 'PATH_CONTROL_CHARACTER'],
      ['', 'PATH_EMPTY'],
    ] as const
  ).map(
    ([path, code]): Row => ({
      title: `the allowed path ${JSON.stringify(path)}`,
      exit: 3,
      code,
      says: ['.json:1:'],
      make: (world) => withUnit(world, { allowed_paths: ['src/', path] }),
    }),
  ),
  {
    title: 'an endless packet on stdin',
    exit: 3,
    code: 'UNIT_UNREADABLE',
    says: ['stdin', 'larger than'],
    make: () => ({ unit: ['--unit', '-'], options: { prelude: 'exec < /dev/zero' } }),
  },
  {
    title: 'a closed stdin',
    exit: 3,
    code: 'UNIT_EMPTY',
    says: ['<stdin>'],
    make: () => ({ unit: ['--unit', '-'], options: { prelude: 'exec <&-' } }),
  },
];

const ledgerFile = (world: World): string => join(world.folder, 'ledger.json');
const asLedger = (world: World, text: string | Uint8Array, milestone = 'm1'): Wrong => {
  writeFileSync(ledgerFile(world), text);
  return { unit: ['--ledger', ledgerFile(world), '--milestone', milestone] };
};

const LEDGERS: readonly Row[] = [
  ...NO_FILES.map(
    ([title, make, , errno]): Row => ({
      title: `a ledger that is ${title}`,
      exit: 3,
      code: 'LEDGER_UNREADABLE',
      says: [errno, 'ledger.json'],
      make: (world) => {
        make(ledgerFile(world));
        return { unit: ['--ledger', ledgerFile(world), '--milestone', 'm1'] };
      },
    }),
  ),
  {
    title: 'a ledger that is a fifo, named by the environment',
    exit: 3,
    code: 'LEDGER_UNREADABLE',
    says: ['AGENT_EXEC_LEDGER', 'it is not a regular file', 'ledger.json'],
    make: (world) => {
      execFileSync('mkfifo', [ledgerFile(world)]);
      return { unit: ['--milestone', 'm1'], options: { env: { AGENT_EXEC_LEDGER: ledgerFile(world) } } };
    },
  },
  {
    title: 'a ledger of many gigabytes',
    exit: 3,
    code: 'LEDGER_TOO_LARGE',
    says: ['ledger.json'],
    make: (world) => {
      const wrong = asLedger(world, '{');
      truncateSync(ledgerFile(world), 2 ** 36);
      return wrong;
    },
  },
  {
    title: 'a ledger of noise',
    exit: 3,
    code: 'LEDGER_BINARY',
    says: ['ledger.json'],
    make: (world) => asLedger(world, Buffer.from([0x7f, 0x45, 0, 0xff])),
  },
  {
    title: 'a milestone that the ledger does not have',
    exit: 3,
    code: 'LEDGER_MILESTONE_UNKNOWN',
    says: ['ledger.json:1:2', '"m1"', 'Did you mean "m2"? Its milestones: "m2", "release".'],
    make: (world) => asLedger(world, '{"milestones":{"m2":{},"release":{}}}'),
  },
  {
    title: 'a milestone that is there twice',
    exit: 3,
    code: 'LEDGER_MILESTONE_REPEATED',
    says: ['ledger.json:1:24', '"m1"'],
    make: (world) => asLedger(world, '{"milestones":{"m1":{},"m1":{"unit":{}}}}'),
  },
  {
    title: 'a ledger whose last line is torn',
    exit: 3,
    code: 'LEDGER_NOT_JSON',
    says: ['ledger.json:2:14'],
    make: (world) => asLedger(world, `{"milestone":"m1","unit":{}}\n{"milestone":"m`),
  },
  {
    title: 'a unit of a ledger that breaks the rules of packets',
    exit: 3,
    code: 'PATH_ABSOLUTE',
    says: ['ledger.json:2:', 'UNIT_KEY_UNKNOWN', '/etc/passwd'],
    make: (world) => {
      const unit = JSON.parse(readFileSync(world.packet({ allowed_paths: ['/etc/passwd'], gaol: 1 }), 'utf8'));
      return asLedger(world, `{"milestones":{"m1":\n{"unit":${JSON.stringify(unit)}}}}`);
    },
  },
  {
    title: 'a blocker of blanks',
    exit: 3,
    code: 'LEDGER_BLOCKER_EMPTY',
    says: ['--blocker'],
    make: (world) => {
      const unit = readFileSync(world.packet(), 'utf8');
      return { ...asLedger(world, `{"milestones":{"m1":{"unit":${unit}}}}`), args: ['--blocker', ' '] };
    },
  },
];

const FLAGS: readonly Row[] = (
  [
    ['a packet and a ledger', ['--unit', 'x', '--ledger', 'y', '--milestone', 'm'], ['--unit and --ledger exclude']],
    ['a packet and a milestone', ['--unit', 'x.json', '--milestone', 'm1'], ['--unit and --milestone exclude']],
    ['a packet and a blocker', ['--unit', 'x.json', '--blocker', 'it fails'], ['--unit and --blocker exclude']],
    ['a ledger and a goal', ['--ledger', 'y', '--milestone', 'm', '--goal', 'x'], ['--ledger and --goal exclude']],
    [
      'a ledger and a timeout',
      ['--ledger', 'y', '--milestone', 'm', '--timeout', '9'],
      ['--ledger and --timeout excl'],
    ],
    ['a ledger without a milestone', ['--ledger', 'y.json'], ['--ledger y.json needs --milestone']],
    ['a milestone without a ledger', ['--milestone', 'm1'], ['--milestone needs', '--ledger', 'AGENT_EXEC_LEDGER']],
    ['a blocker alone', ['--blocker', 'it fails'], ['--blocker needs --ledger FILE --milestone ID']],
    ['an empty ledger name', ['--ledger', '', '--milestone', 'm1'], ['--ledger']],
    ['an answer that is not known', ['--goal', 'x', '--allow', 'src/', '--print', 'all'], ['--print', 'result']],
    ['two kinds of answer', ['--goal', 'x', '--allow', 'src/', '--print', 'result'], ['--print', '--json']],
    ['no unit at all', [], ['--unit', '--goal']],
    ['a packet and a goal', ['--unit', 'x.json', '--goal', 'x'], ['exclude each other']],
    ['a packet and a path', ['--unit', 'x.json', '--allow', 'src/'], ['exclude each other']],
    ['a goal without a path', ['--goal', 'x'], ['--allow']],
    ['an unknown flag', ['--goal', 'x', '--allow', 'src/', '--frce'], ['--frce']],
    ['an argument too many', ['extra', '--goal', 'x', '--allow', 'src/'], ['too many arguments']],
    ['a flag without its value', ['--goal', 'x', '--allow'], ['--allow']],
    ['an empty packet name', ['--unit', ''], ['--unit']],
    ['an empty telemetry path', ['--goal', 'x', '--allow', 'src/', '--telemetry', ''], ['--telemetry']],
    ['an empty receipt path', ['--goal', 'x', '--allow', 'src/', '--receipt', ''], ['--receipt']],
  ] as const
).map(([title, unit, says]): Row => ({ title, exit: 2, code: null, says, make: () => ({ unit: [], args: unit }) }));

const INLINE: readonly Row[] = (
  [
    ['a goal of spaces', ['--goal', '  ', '--allow', 'src/'], 'UNIT_GOAL_EMPTY', '--goal'],
    [
      'a timeout of letters',
      ['--goal', 'x', '--allow', 'src/', '--timeout', 'soon'],
      'UNIT_TIMEOUT_INVALID',
      '--timeout',
    ],
    ['a timeout of nothing', ['--goal', 'x', '--allow', 'src/', '--timeout', '0'], 'UNIT_TIMEOUT_INVALID', '--timeout'],
    [
      'a command that is a line',
      ['--goal', 'x', '--allow', 'src/', '--verify-cmd', 'npm test'],
      'UNIT_COMMAND_IS_STRING',
      '--verify-cmd',
    ],
    ['an id with a slash', ['--goal', 'x', '--allow', 'src/', '--unit-id', 'a/b'], 'UNIT_ID_INVALID', '--unit-id'],
    ['a path out of the repository', ['--goal', 'x', '--allow', '../x'], 'PATH_DOT_SEGMENT', '--allow'],
  ] as const
).map(([title, unit, code, says]): Row => ({ title, exit: 3, code, says: [says], make: () => ({ unit }) }));

refusals('configurations', CONFIGS);
refusals('packets', UNITS);
refusals('ledgers', LEDGERS);
refusals('flags', FLAGS);
refusals('inline units', INLINE);

test('a credential in the configuration is refused without being shown', async () => {
  const world = new World();
  world.configure({ one: { script: 'exit 0' } });
  const value = ['sk', 'proj', 'q7'.repeat(20)].join('-');
  writeFileSync(
    configFile(world),
    readFileSync(configFile(world), 'utf8').replace('adapter: one', `adapter: one\n    effort: ${value}`),
  );
  const done = await world.cli([
    'run',
    '--role',
    'repair',
    '--unit',
    world.packet(),
    '--json',
    '--state-dir',
    world.state,
  ]);
  expect(done.code).toBe(3);
  expect(done.stdout + done.stderr).not.toContain('q7q7');
  expect(done.stderr).toContain('AGENT-EXECUTION.md:');
});
