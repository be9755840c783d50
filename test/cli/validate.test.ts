/** The command as a person or a CI step calls it: exit codes, the three formats, and files that cannot be read. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { validateCommand } from '../../src/cli/validate.ts';
import { edit, FILES, VALID } from '../config/sample.ts';
import { collecting, parsed } from './collected.ts';

interface Ran {
  readonly code: number | null;
  readonly out: string;
}

interface Outside {
  readonly cwd: string;
  readonly env?: Record<string, string>;
  readonly terminal?: boolean;
}

async function validate(args: readonly string[], { cwd, env = {}, terminal = false }: Outside): Promise<Ran> {
  // In the order in which a terminal would show it.
  const onNote = (text: string): void => {
    said.out += text;
  };
  const { io, said } = collecting({ cwd, env, terminal, onNote });
  return parsed(validateCommand(io), args, { io, said });
}

function repository(config: string | Uint8Array | null = VALID): string {
  const root = mkdtempSync(join(tmpdir(), 'ax-validate-'));
  mkdirSync(join(root, '.git'));
  writeFileSync(join(root, '.git/HEAD'), 'ref: refs/heads/main\n');
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  if (config !== null) writeFileSync(join(root, 'AGENT-EXECUTION.md'), config);
  return root;
}

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

describe('a valid file', () => {
  test('one line with its main facts, exit 0', async () => {
    const { code, out } = await validate([], { cwd: repository() });
    expect(out).toBe(`AGENT-EXECUTION.md: valid (2 roles, 3 profiles, ${digest(VALID)})\n`);
    expect(code).toBe(0);
  });

  test('found from a folder below, by --repo, and by its name', async () => {
    const root = repository();
    const elsewhere = mkdtempSync(join(tmpdir(), 'ax-else-'));
    mkdirSync(join(root, 'deep/er'), { recursive: true });
    expect((await validate([], { cwd: join(root, 'deep/er') })).code).toBe(0);
    expect((await validate(['--repo', root], { cwd: elsewhere })).code).toBe(0);
    expect((await validate(['--repo', 'er'], { cwd: join(root, 'deep') })).code).toBe(0);
    expect((await validate(['../AGENT-EXECUTION.md'], { cwd: join(root, 'deep') })).out).toMatch(
      /^\.\.\/AGENT-EXECUTION.md: valid/,
    );
  });

  test('a named file needs no repository', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ax-file-'));
    writeFileSync(
      join(folder, 'x.md'),
      edit('    instructions: agents/review.md\n', '').replace(/ {4}refusal_.*\n/g, ''),
    );
    expect(await validate(['x.md'], { cwd: folder })).toMatchObject({ code: 0 });
  });

  test('warnings are shown and do not fail', async () => {
    const { code, out } = await validate([], { cwd: repository(edit('repair: [cursor, mine]', 'repair: [mine]')) });
    expect(out).toContain('AGENT-EXECUTION.md:29:3 warning UNUSED_PROFILE');
    expect(out).toContain('valid (2 roles, 3 profiles, 1 warning,');
    expect(code).toBe(0);
  });

  test("this repository's own policy", async () => {
    const { code, out } = await validate(['--json'], { cwd: new URL('../..', import.meta.url).pathname });
    expect(JSON.parse(out)).toMatchObject({ ok: true, findings: [] });
    expect(code).toBe(0);
  });
});

describe('an invalid file', () => {
  const WRONG = edit('max_parallel: 1', 'max_parallel: 65');

  test('text: place, line, caret, hint, count; exit 3', async () => {
    const { code, out } = await validate([], { cwd: repository(WRONG) });
    expect(out).toBe(`AGENT-EXECUTION.md:11:17 error OUT_OF_RANGE execution.max_parallel is 65
  11 |   max_parallel: 65
     |                 ^^
  hint: It must be at most 64.

AGENT-EXECUTION.md: invalid (1 error)
`);
    expect(code).toBe(3);
  });

  test('--json and --format json: one object with the findings', async () => {
    const cwd = repository(WRONG);
    const { code, out } = await validate(['--json'], { cwd, env: { GITHUB_ACTIONS: 'true' } });
    expect(JSON.parse(out)).toEqual({
      schema: 'agent-exec-validation/v1',
      ok: false,
      file: 'AGENT-EXECUTION.md',
      digest: digest(WRONG),
      findings: [
        {
          code: 'OUT_OF_RANGE',
          severity: 'error',
          message: 'execution.max_parallel is 65',
          file: 'AGENT-EXECUTION.md',
          line: 11,
          column: 17,
          end_line: 11,
          end_column: 19,
          source_line: '  max_parallel: 65',
          hint: 'It must be at most 64.',
        },
      ],
    });
    expect(code).toBe(3);
    expect((await validate(['--format', 'json'], { cwd })).out).toBe(out);
  });

  test('annotations under GitHub Actions, with paths from the top of the checkout', async () => {
    const cwd = repository(WRONG);
    const line =
      '::error file=AGENT-EXECUTION.md,line=11,endLine=11,col=17,endColumn=19,title=OUT_OF_RANGE::execution.max_parallel is 65%0AIt must be at most 64.';
    const { code, out } = await validate([], { cwd, env: { GITHUB_ACTIONS: 'true' } });
    expect(out.split('\n')[0]).toBe(line);
    expect(code).toBe(3);
    expect((await validate(['--format', 'github'], { cwd })).out.split('\n')[0]).toBe(line);
    const below = await validate([], { cwd, env: { GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: join(cwd, '..') } });
    expect(below.out).toContain(`file=${cwd.split('/').at(-1)}/AGENT-EXECUTION.md,`);
    expect((await validate(['--format', 'text'], { cwd, env: { GITHUB_ACTIONS: 'true' } })).out).not.toContain('::');
  });

  test('colour on a terminal only, and not with NO_COLOR', async () => {
    const cwd = repository(WRONG);
    expect((await validate([], { cwd, terminal: true })).out).toContain('\u001b[31m');
    expect((await validate([], { cwd, terminal: true, env: { NO_COLOR: '1' } })).out).not.toContain('\u001b');
    expect((await validate([], { cwd, terminal: true, env: { TERM: 'dumb' } })).out).not.toContain('\u001b');
    expect((await validate([], { cwd })).out).not.toContain('\u001b');
  });

  test.each(['text', 'json', 'github'])('a credential is not in the output (%s)', async (format) => {
    const text = edit('    cost: metered', '    api_key: hunter2hunter2\n    cost: metered').replace(
      'cursor-agent',
      'hunter2hunter2',
    );
    const { code, out } = await validate(['--format', format], { cwd: repository(text) });
    expect(out).toContain('CREDENTIAL_KEY');
    expect(out).not.toContain('hunter2');
    expect(code).toBe(3);
  });
});

describe('files that cannot be read: one clear error, exit 3', () => {
  const config = (root: string): string => join(root, 'AGENT-EXECUTION.md');
  const cases: Record<string, readonly [code: string, make: () => string]> = {
    missing: ['FILE_MISSING', () => repository(null)],
    folder: [
      'FILE_NOT_REGULAR',
      () => {
        const root = repository(null);
        mkdirSync(config(root));
        return root;
      },
    ],
    'symlink loop': [
      'FILE_UNREADABLE',
      () => {
        const root = repository(null);
        symlinkSync('AGENT-EXECUTION.md', config(root));
        return root;
      },
    ],
    'dangling symlink': [
      'FILE_MISSING',
      () => {
        const root = repository(null);
        symlinkSync('nowhere', config(root));
        return root;
      },
    ],
    'pipe, without waiting for a writer': [
      'FILE_NOT_REGULAR',
      () => {
        const root = repository(null);
        execFileSync('mkfifo', [config(root)]);
        return root;
      },
    ],
    'device, which never ends': [
      'FILE_NOT_REGULAR',
      () => {
        const root = repository(null);
        symlinkSync('/dev/zero', config(root));
        return root;
      },
    ],
    huge: ['FILE_TOO_LARGE', () => repository(Buffer.alloc(50 * 1024 * 1024, 'a\n'))],
    binary: ['NUL_BYTE', () => repository(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]))],
    empty: ['FENCE_MISSING', () => repository('')],
  };

  test.each(Object.keys(cases))('%s', async (name) => {
    const [code, make] = cases[name] as (typeof cases)[string];
    const ran = await validate(['--json'], { cwd: make() });
    const answer = JSON.parse(ran.out) as { ok: boolean; findings: { code: string; hint: string | null }[] };
    expect(answer.findings.map((finding) => finding.code)).toEqual([code]);
    expect(answer.findings[0]?.hint).not.toBeNull();
    expect(ran.code).toBe(3);
  });

  test.skipIf(process.getuid?.() === 0)('without permission', async () => {
    const root = repository();
    chmodSync(config(root), 0);
    expect((await validate([], { cwd: root })).out).toContain('FILE_UNREADABLE');
  });

  test('a name below a file, and a name that is too long', async () => {
    const cwd = repository();
    for (const name of ['AGENT-EXECUTION.md/x.md', 'a'.repeat(5000)]) {
      const { code, out } = await validate([name], { cwd });
      expect(out).toMatch(/error FILE_(MISSING|UNREADABLE)/);
      expect(code).toBe(3);
    }
  });

  test('outside of every repository', async () => {
    const { code, out } = await validate([], { cwd: mkdtempSync(join(tmpdir(), 'ax-none-')) });
    expect(out).toContain('error NOT_A_REPOSITORY');
    expect(code).toBe(3);
  });

  test.each<[string, (path: string) => void, string]>([
    ['missing', () => {}, 'INSTRUCTIONS_MISSING there is no file "agents/other.md" in the repository'],
    ['a link to nothing', (path) => symlinkSync('nowhere.md', path), 'INSTRUCTIONS_MISSING there is no file'],
    ['a link that leaves the repository', linkOutside, '"agents/other.md" leads out of the repository'],
    ['a loop of links', (path) => symlinkSync('other.md', path), 'is a symbolic link that leads nowhere (a loop)'],
    ['a folder', (path) => mkdirSync(path), 'INSTRUCTIONS_UNUSABLE "agents/other.md" is a folder'],
    ['a fifo', (path) => void execFileSync('mkfifo', [path]), 'is not a regular file'],
    ['larger than is read', (path) => writeFileSync(path, 'x'.repeat(256 * 1024 + 1)), 'is larger than 256 KiB'],
    ['not UTF-8', (path) => writeFileSync(path, Buffer.from([0xff])), 'is not UTF-8 text'],
    ['only frontmatter', (path) => writeFileSync(path, '---\na: b\n---\n'), 'says nothing'],
  ])('instructions that are %s', async (_, make, words) => {
    const root = repository(VALID.replace('agents/review.md', 'agents/other.md'));
    make(join(root, 'agents/other.md'));
    const { code, out } = await validate([], { cwd: root });
    expect([code, out]).toEqual([3, expect.stringContaining(words)]);
    expect(out).toMatch(/AGENT-EXECUTION\.md:\d+:\d+ error INSTRUCTIONS_\w+ /);
  });
});

function linkOutside(path: string): void {
  const outside = join(mkdtempSync(join(tmpdir(), 'ax-out-')), 'x.md');
  writeFileSync(outside, 'x');
  symlinkSync(outside, path);
}

describe('refusal_source must hold each of refusal_prefixes, letter by letter', () => {
  /** `source` is what stands at the path, in its own words or made by a function. */
  async function codes(source: string | Uint8Array | ((path: string) => void), literal = '"Quota exceeded:"') {
    const root = repository(
      edit('tools/own.py', 'tools/deep/er/own.py').replace('["Quota exceeded:"]', () => `["Daily limit", ${literal}]`),
    );
    const path = join(root, 'tools/deep/er/own.py');
    mkdirSync(join(path, '..'), { recursive: true });
    if (typeof source === 'function') source(path);
    else writeFileSync(path, source);
    const { code, out } = await validate(['--json'], { cwd: root });
    const { findings } = JSON.parse(out) as { findings: { code: string; message: string; line: number }[] };
    expect(code).toBe(findings.length === 0 ? 0 : 3);
    return findings.map((finding) => finding.code);
  }
  const BOTH = 'say("Daily limit")\nsay("Quota exceeded: come back")\n';

  test('found in a folder, with CRLF, behind a byte order mark, in a file that is not UTF-8, through a link inside', async () => {
    expect(await codes(BOTH)).toEqual([]);
    expect(await codes(BOTH.replaceAll('\n', '\r\n'))).toEqual([]);
    expect(await codes(`\ufeff${BOTH}`)).toEqual([]);
    expect(await codes(Buffer.concat([Buffer.from([0xff, 0xc3, 0x28, 0, 0x80]), Buffer.from(BOTH)]))).toEqual([]);
    const linked = (path: string): void => {
      writeFileSync(join(path, '../real.py'), BOTH);
      symlinkSync('real.py', path);
    };
    expect(await codes(linked)).toEqual([]);
  });

  test('drift: one finding for each literal that is gone, at the literal', async () => {
    expect(await codes('say("Daily limit")\n')).toEqual(['SENTINEL_DRIFT']);
    expect(await codes('')).toEqual(['SENTINEL_DRIFT', 'SENTINEL_DRIFT']);
    const root = repository();
    writeFileSync(join(root, 'tools/own.py'), 'print("Over quota: come back")\n');
    const { code, out } = await validate([], { cwd: root });
    expect(out).toContain(`:54:24 error SENTINEL_DRIFT "Quota exceeded:" is no longer in "tools/own.py"`);
    expect(out).toContain('hint: The program says it differently now');
    expect(code).toBe(3);
  });

  test('neither other cases, nor a literal over two lines, nor one that the source escapes', async () => {
    expect(await codes(BOTH.toUpperCase())).toEqual(['SENTINEL_DRIFT', 'SENTINEL_DRIFT']);
    expect(await codes(BOTH.replace('Quota ', 'Quota\\\n'))).toEqual(['SENTINEL_DRIFT']);
    expect(await codes(BOTH.replace('Quota', '\\"Quota\\" is'), `'"Quota" is'`)).toEqual(['SENTINEL_DRIFT']);
    expect(await codes(BOTH.replace('"Quota', `'"Quota" is`), `'"Quota" is'`)).toEqual([]);
    const latin1 = Buffer.from(BOTH.replace('Quota', 'Quotité'), 'latin1');
    expect(await codes(latin1, '"Quotité exceeded:"')).toEqual(['SENTINEL_DRIFT']);
  });

  test('what is not a readable file of the repository holds nothing', async () => {
    const outside = join(mkdtempSync(join(tmpdir(), 'ax-out-')), 'own.py');
    writeFileSync(outside, BOTH);
    const missing = ['REFUSAL_SOURCE_MISSING'];
    expect(await codes((path) => symlinkSync(outside, path))).toEqual(missing);
    expect(await codes((path) => symlinkSync('nowhere', path))).toEqual(missing);
    expect(await codes((path) => mkdirSync(path))).toEqual(missing);
    expect(await codes((path) => void execFileSync('mkfifo', [path]))).toEqual(missing);
    expect(await codes(() => {})).toEqual(missing);
    const padded = (bytes: number): string => BOTH + '#'.repeat(bytes - BOTH.length);
    expect(await codes(padded(256 * 1024))).toEqual([]);
    expect(await codes(padded(256 * 1024 + 1))).toEqual(missing);
    expect(await codes(padded(100 * 1024 * 1024))).toEqual(missing);
  });
});

test.each(['json', 'github'])('%s holds no raw control or direction character', async (format) => {
  const config = VALID.replace('execution:', 'execution: # \u202e \u001b[31m');
  const { out } = await validate(['--format', format], { cwd: repository(config) });
  expect(out).toContain('INVISIBLE_CHARACTER');
  expect(out).not.toMatch(/[\u001b\u202e]/);
  if (format === 'json') expect(JSON.parse(out).findings[0].source_line).toContain('\u202e');
});

describe('usage', () => {
  test.each([[['--format', 'xml']], [['--json', '--format', 'text']], [['a', 'b']], [['--no-such']]])(
    '%j is exit 2',
    async (args) => {
      expect((await validate(args, { cwd: repository() })).code).toBe(2);
    },
  );

  test.each([
    ['tpyo', 'REPOSITORY_MISSING', 'does not exist'],
    ['AGENT-EXECUTION.md', 'REPOSITORY_MISSING', 'is not a folder'],
    ['AGENT-EXECUTION.md/below', 'REPOSITORY_MISSING', 'does not exist'],
  ])('--repo %s never checks the repository around it', async (repo, name, words) => {
    const { code, out } = await validate(['--repo', repo], { cwd: repository() });
    expect(out).toContain(name);
    expect(out).toContain(words);
    expect(code).toBe(3);
  });

  test('--help has an example', async () => {
    const { code, out } = await validate(['--help'], { cwd: '/' });
    expect(out).toContain('$ agent-exec validate');
    expect(code).toBe(0);
  });
});

test('the documentation example is valid', async () => {
  const text = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  const example = text.split('````markdown\n')[1]?.split('\n````')[0] as string;
  expect(await validate([], { cwd: repository(`${example}\n`) })).toMatchObject({ code: 0 });
});
