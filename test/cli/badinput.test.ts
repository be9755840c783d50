/**
 * Whatever is wrong before a run starts: one exit code (2 usage, 3 configuration), one clear error that names what and
 * where, a valid answer for programs, and nothing made anywhere: no state, no receipt, no ref, no telemetry.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { summary as summarySchema } from '../../src/model/summary.ts';
import { type CliOptions, TOOL, World } from '../run/world.ts';

const isRoot = process.getuid?.() === 0;

interface Wrong {
  readonly args?: readonly string[];
  /** Instead of `--unit` with a good packet. */
  readonly unit?: readonly string[];
  readonly role?: string;
  readonly options?: CliOptions;
}

interface Row {
  readonly title: string;
  readonly exit: 2 | 3;
  /** A code that the summary or a finding has; null for exit 2, which has none. */
  readonly code: string | null;
  /** All of these stand in the error. */
  readonly says: readonly string[];
  /** Breaks the world; gives what is different about the call. */
  readonly make: (world: World) => Wrong;
  readonly needsRoot?: boolean;
}

const config = (world: World): string => join(world.repo, 'AGENT-EXECUTION.md');
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
  writeFileSync(config(world), text);
  return {};
};
const block = (body: string): string => `# Policy\n\n\`\`\`agent-execution\n${body}\n\`\`\`\n`;
/** Each way for a file to be no file: its name, how to make it, and the error's word. */
const NO_FILES: readonly (readonly [string, (path: string) => void, string, string])[] = [
  ['a loop of links', (path) => symlinkSync(path, path), 'FILE_UNREADABLE', 'ELOOP'],
  ['a fifo', (path) => execFileSync('mkfifo', [path]), 'FILE_NOT_REGULAR', 'not-regular'],
  ['a folder', (path) => mkdirSync(path), 'FILE_NOT_REGULAR', 'EISDIR'],
  ['an endless device', (path) => symlinkSync('/dev/zero', path), 'FILE_NOT_REGULAR', 'not-regular'],
  ['missing', () => {}, 'FILE_MISSING', 'ENOENT'],
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
        rmSync(config(world));
        make(config(world));
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
      chmodSync(config(world), 0);
      return { options: asNobody(world) };
    },
  },
  {
    title: 'a configuration of many gigabytes',
    exit: 3,
    code: 'FILE_TOO_LARGE',
    says: ['AGENT-EXECUTION.md'],
    make: (world) => {
      truncateSync(config(world), 2 ** 36);
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
    says: ['EACCES', 'unit.json'],
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

/** Moves the world to another folder, made by `make`. */
const elsewhere = (world: World, make: (path: string) => void): Wrong => {
  const path = join(world.folder, 'elsewhere');
  make(path);
  return { options: { cwd: path } };
};

const REPOSITORIES: readonly Row[] = [
  {
    title: 'no repository',
    exit: 3,
    code: 'NOT_A_REPOSITORY',
    says: ['elsewhere', '--repo'],
    make: (world) => elsewhere(world, (path) => mkdirSync(path)),
  },
  {
    title: 'a bare repository',
    exit: 3,
    code: 'BARE_REPOSITORY',
    says: ['elsewhere', 'bare'],
    make: (world) => elsewhere(world, (path) => world.git('clone', '-q', '--bare', '.', path)),
  },
  {
    title: 'a repository without a commit',
    exit: 3,
    code: 'UNBORN_HEAD',
    says: ['elsewhere', 'refs/heads/main'],
    make: (world) =>
      elsewhere(world, (path) => {
        world.git('init', '-q', '-b', 'main', path);
        copyFileSync(config(world), join(path, 'AGENT-EXECUTION.md'));
      }),
  },
  {
    title: 'a git directory',
    exit: 3,
    code: 'NO_WORKTREE',
    says: ['.git', '--repo'],
    make: (world) => ({ options: { cwd: join(world.repo, '.git') } }),
  },
  {
    title: 'a folder that is not there',
    exit: 3,
    code: 'REPOSITORY_MISSING',
    says: ['/nonexistent'],
    make: () => ({ args: ['--repo', '/nonexistent'] }),
  },
  {
    title: 'a file as the repository',
    exit: 3,
    code: 'REPOSITORY_MISSING',
    says: ['a.txt', 'not a folder'],
    make: () => ({ args: ['--repo', 'src/a.txt'] }),
  },
  {
    title: 'no git',
    exit: 3,
    code: 'GIT_MISSING',
    says: ['git is not on PATH', 'Install'],
    make: () => ({ options: { env: { PATH: '/nonexistent' } } }),
  },
  {
    title: 'a repository of somebody else',
    exit: 3,
    code: 'DUBIOUS_OWNERSHIP',
    says: ['safe.directory'],
    needsRoot: true,
    make: (world) => {
      execFileSync('chown', ['-R', '65534', world.repo]);
      return {};
    },
  },
  {
    title: 'a HEAD that is damaged',
    exit: 3,
    code: null,
    says: ['repo'],
    make: (world) => {
      writeFileSync(join(world.repo, '.git/refs/heads/main'), `${'ab'.repeat(20)}\n`);
      return {};
    },
  },
  ...(
    [
      ['nowhere', 'BASE_UNKNOWN'],
      ['--all', 'BASE_INVALID'],
      ['-n', 'BASE_INVALID'],
      ['', 'BASE_INVALID'],
      ['HEAD:src/a.txt', 'BASE_INVALID'],
      ['HEAD^{tree}', 'BASE_INVALID'],
      ['HEAD~9', 'BASE_UNKNOWN'],
      ['a\nb', 'BASE_INVALID'],
      ['ab'.repeat(20), 'BASE_UNKNOWN'],
    ] as const
  ).map(
    ([rev, code]): Row => ({
      title: `the base ${JSON.stringify(rev)}`,
      exit: 3,
      code,
      says: ['--base'],
      make: () => ({ args: [`--base=${rev}`] }),
    }),
  ),
  {
    title: 'a current folder that is gone',
    exit: 2,
    code: null,
    says: ['current folder', 'another one'],
    make: () => ({ options: { prelude: 'mkdir ../gone; cd ../gone; rmdir ../gone' } }),
  },
];

const RECEIPTS: readonly Row[] = (
  [
    ['a file', 'taken', (path) => writeFileSync(path, 'mine'), 'exists'],
    ['a folder', 'folder', (path) => mkdirSync(path), 'exists'],
    ['a link', 'link', (path) => symlinkSync('home', path), 'exists (symlink)'],
    ['a link to nowhere', 'dangling', (path) => symlinkSync('nowhere', path), 'exists (symlink)'],
    ['a fifo', 'fifo', (path) => execFileSync('mkfifo', [path]), 'exists (special file)'],
    ['a folder that is missing', 'no/where', () => {}, 'does not exist'],
    ['a folder that is a file', 'file/receipt', (path) => writeFileSync(join(path, '..'), ''), 'is not a folder'],
    ['a place of the repository that is not ignored', 'repo/src/receipt.json', () => {}, '.gitignore'],
    ['a tracked file that was deleted', 'repo/src/a.txt', (path) => rmSync(path), '.gitignore'],
    ['the git directory', 'repo/.git/receipt.json', () => {}, 'git directory'],
    ['a future ref', 'repo/.git/refs/heads/receipt', () => {}, 'git directory'],
    ['a folder name', 'new/', () => {}, '--receipt'],
  ] as const satisfies readonly (readonly [string, string, (path: string) => void, string])[]
).map(
  ([title, place, make, word]): Row => ({
    title: `a receipt at ${title}`,
    exit: 2,
    code: null,
    says: ['--receipt', place.split('/').at(-1) || 'new', word],
    make: (world) => {
      const path = `${world.folder}/${place}`;
      make(path);
      return { args: ['--receipt', path] };
    },
  }),
);

const STATE_ROOTS: readonly Row[] = (
  [
    ['a link', 'root', (path) => symlinkSync('home', path), ['symlink']],
    ['open to the group', 'root', (path) => mkdirSync(path, { mode: 0o750 }), ['mode 0750', 'chmod 700']],
    ['open to all', 'root', (path) => mkdirSync(path, { mode: 0o755 }), ['mode 0755', 'chmod 700']],
    ['a file', 'root', (path) => writeFileSync(path, ''), ['not a folder']],
    ['below a folder with a dot', '.hidden/root', (path) => mkdirSync(join(path, '..')), ['.hidden']],
    ['a folder with a dot', '.root', () => {}, ['.root']],
    ['inside the repository', 'repo/state', () => {}, ['inside the repository']],
    ['inside the git directory', 'repo/.git/state', () => {}, ['.git']],
    ['below nothing', 'no/where', () => {}, ['parent', 'does not exist']],
  ] as const satisfies readonly (readonly [string, string, (path: string) => void, readonly string[]])[]
).flatMap(([title, place, make, says]): Row[] =>
  (['--state-dir', 'AGENT_EXEC_STATE_DIR'] as const).map((by) => ({
    title: `a state root that is ${title}, by ${by}`,
    exit: 3,
    code: 'STATE_ROOT_INVALID',
    says,
    make: (world) => {
      const path = `${world.folder}/${place}`;
      make(path);
      if (by === '--state-dir') return { args: [by, path] };
      return { options: { env: { [by]: path } } };
    },
  })),
);

const FLAGS: readonly Row[] = (
  [
    ['no unit at all', [], ['--unit', '--goal']],
    ['a packet and a goal', ['--unit', 'x.json', '--goal', 'x'], ['exclude each other']],
    ['a packet and a path', ['--unit', 'x.json', '--allow', 'src/'], ['exclude each other']],
    ['a goal without a path', ['--goal', 'x'], ['--allow']],
    ['an unknown flag', ['--goal', 'x', '--allow', 'src/', '--frce'], ['--frce']],
    ['an argument too many', ['--goal', 'x', '--allow', 'src/', 'extra'], ['too many arguments']],
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

/** Everything below a folder: names, kinds, sizes, modes. */
function listing(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const entry = lstatSync(path);
    const line = `${path} ${entry.mode.toString(8)} ${entry.isDirectory() ? '' : entry.size} ${entry.mtimeMs}`;
    if (entry.isDirectory()) return [`${path} ${entry.mode.toString(8)} ${entry.mtimeMs}`, ...listing(path)];
    return [line];
  });
}

/** What a tool says that knows what is wrong: never a stack, a raw errno object or a promise. */
const CARELESS = /internal error|\n {4}at |\bundefined\b|\[object |UnhandledPromise|Error: /;

function refusals(name: string, rows: readonly Row[]): void {
  describe(name, () => {
    test.concurrent.each(rows)('$title', async ({ exit, code, says, make, needsRoot }) => {
      if (needsRoot === true && !isRoot) return;
      const world = new World();
      world.configure({ one: { script: 'cat >/dev/null; echo more >> src/a.txt; : > @D@/started' } });
      const packet = world.packet();
      const { args = [], unit = ['--unit', packet], role = 'repair', options = {} } = make(world);
      const state =
        args.includes('--state-dir') || options.env?.AGENT_EXEC_STATE_DIR !== undefined
          ? []
          : ['--state-dir', join(world.folder, 'state')];
      const before = listing(world.folder);
      const done = await world.cli(['run', '--role', role, '--json', ...unit, ...state, ...args], options);
      expect(done.code, done.stdout + done.stderr).toBe(exit);
      for (const words of says) expect(done.stderr).toContain(words);
      expect(done.stderr).not.toMatch(CARELESS);
      expect(done.stderr).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f]/);
      expect(done.stderr.length).toBeLessThan(8192);
      if (exit === 2) expect(done.stdout).toBe('');
      else {
        const summary = summarySchema.parse(JSON.parse(done.stdout));
        expect(summary).toMatchObject({
          outcome: 'invalid-config',
          exit_code: 3,
          run_id: null,
          receipt: null,
          attempts: [],
        });
        expect(summary.reason.message).not.toBe('');
        // One of several findings stands in the summary; stderr has them all.
        if (code !== null) expect(`${summary.reason.code} ${done.stderr}`).toContain(code);
        expect(Buffer.byteLength(done.stdout)).toBeLessThanOrEqual(4096);
      }
      expect(listing(world.folder)).toEqual(before);
    });
  });
}

refusals('configurations', CONFIGS);
refusals('packets', UNITS);
refusals('repositories', REPOSITORIES);
refusals('receipt paths', RECEIPTS);
refusals('state roots', STATE_ROOTS);
refusals('flags', FLAGS);
refusals('inline units', INLINE);

test.skipIf(!isRoot)('a state root of somebody else', async () => {
  const world = new World();
  world.configure({ one: { script: 'exit 0' } });
  mkdirSync(world.state, { mode: 0o700 });
  execFileSync('chown', ['65534', world.state]);
  const before = listing(world.folder);
  const unit = ['--goal', 'x', '--allow', 'src/'];
  const done = await world.cli(['run', '--role', 'repair', ...unit, '--state-dir', world.state]);
  expect(done.code).toBe(3);
  expect(done.stderr).toContain('belongs to user 65534');
  expect(done.stdout).toBe('');
  expect(listing(world.folder)).toEqual(before);
});

test('a credential in the configuration is refused without being shown', async () => {
  const world = new World();
  world.configure({ one: { script: 'exit 0' } });
  const value = ['sk', 'proj', 'q7'.repeat(20)].join('-');
  writeFileSync(
    config(world),
    readFileSync(config(world), 'utf8').replace('adapter: one', `adapter: one\n    effort: ${value}`),
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

describe('a run whose reader went away still runs', () => {
  test.each([
    ['the reader of stdout is gone', { onStart: (child) => child.stdout?.destroy() }],
    ['the readers of both are gone', { onStart: (child) => [child.stdout?.destroy(), child.stderr?.destroy()] }],
    ['stdout was never open', { prelude: 'exec >&-' }],
    ['nothing was ever open', { prelude: 'exec <&- >&- 2>&-' }],
  ] as const satisfies readonly (readonly [string, CliOptions])[])('%s', async (_, options) => {
    const world = new World();
    world.configure({ one: { script: 'cat >/dev/null; echo more >> src/a.txt' } });
    const path = join(world.folder, 'receipt.json');
    const done = await world.cli(
      ['run', '--role', 'repair', '--unit', world.packet(), '--receipt', path, '--state-dir', world.state],
      options,
    );
    expect(done.code, done.stderr).toBe(0);
    expect(JSON.parse(readFileSync(path, 'utf8')).outcome).toBe('success');
  });
});
