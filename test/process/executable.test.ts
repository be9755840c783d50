import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { findExecutable } from '../../src/process/executable.ts';
import { interpreterOf } from '../../src/process/shebang.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ax-exe-'));
});

/** Makes a file below the test's folder and answers with its path. */
function file(name: string, content: string | Buffer, mode = 0o755): string {
  const path = join(root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}
const SCRIPT = '#!/bin/sh\necho hello\n';
const find = (name: string | string[], path = `${join(root, 'bin')}:/usr/bin:/bin`) =>
  findExecutable({ names: [name].flat(), path });

describe('a bare name', () => {
  test('is found on PATH, in its order, with the file it really is', async () => {
    const real = file('lib/tool.sh', SCRIPT);
    mkdirSync(join(root, 'bin'));
    symlinkSync(real, join(root, 'bin/tool'));
    const found = await find('tool');
    expect(found).toMatchObject({
      ok: true,
      value: {
        path: join(root, 'bin/tool'),
        realPath: real,
        identity: { size: SCRIPT.length },
        interpreter: { path: '/bin/sh' },
      },
    });
    file('first/tool', SCRIPT);
    expect(await find('tool', `${root}/first:${root}/bin`)).toMatchObject({
      value: { path: join(root, 'first/tool') },
    });
  });
  test('falls back to the next name', async () => {
    file('bin/agent', SCRIPT);
    expect(await find(['cursor-agent', 'agent'])).toMatchObject({ value: { path: join(root, 'bin/agent') } });
  });
  test('that exists nowhere is missing, and the message says where it was looked for', async () => {
    expect(await find(['no-such-a', 'no-such-b'], `${root}/bin:${root}/nowhere`)).toEqual({
      ok: false,
      error: {
        code: 'EXECUTABLE_MISSING',
        message: expect.stringMatching(
          /^no-such-a or no-such-b was not found: not in any of the 2 folders of PATH\. Install it/,
        ),
      },
    });
    expect(await findExecutable({ names: ['x'], path: undefined })).toMatchObject({
      error: { message: expect.stringMatching(/PATH names no absolute folder/) },
    });
  });
  test('is never taken from a relative or empty PATH entry', async () => {
    file('bin/tool', SCRIPT);
    const before = process.cwd();
    process.chdir(join(root, 'bin'));
    try {
      for (const path of ['', '.', ':', './', '../bin', 'bin:'])
        expect(await find('tool', path)).toMatchObject({ error: { code: 'EXECUTABLE_MISSING' } });
    } finally {
      process.chdir(before);
    }
  });
  test('passes over directories, files without the x bit and dead links, as exec does', async () => {
    mkdirSync(join(root, 'a/tool'), { recursive: true });
    file('b/tool', SCRIPT, 0o644);
    mkdirSync(join(root, 'c'));
    symlinkSync(join(root, 'gone'), join(root, 'c/tool'));
    const path = ['a', 'b', 'c'].map((folder) => join(root, folder)).join(':');
    expect(await find('tool', path)).toMatchObject({
      error: { code: 'EXECUTABLE_INVALID', message: expect.stringMatching(/a\/tool is a directory/) },
    });
    file('d/tool', SCRIPT);
    expect(await find('tool', `${path}:${root}/d`)).toMatchObject({ value: { path: join(root, 'd/tool') } });
  });
  test('is never a path in disguise', async () => {
    for (const name of ['./tool', 'bin/tool', '../tool', '', 'a\0b'])
      expect(await find(name)).toMatchObject({ error: { code: 'EXECUTABLE_INVALID' } });
  });
});

describe('an absolute path', () => {
  test('that is good', async () => {
    expect(await find(process.execPath)).toMatchObject({ ok: true, value: { interpreter: null } });
    expect(await find(file('x', SCRIPT))).toMatchObject({ ok: true });
  });
  test('that is not there is missing', async () => {
    expect(await find(join(root, 'gone'))).toMatchObject({
      error: { code: 'EXECUTABLE_MISSING', message: expect.stringMatching(/does not exist\. Install/) },
    });
    expect(await find(join(file('plain', SCRIPT), 'below'))).toMatchObject({ error: { code: 'EXECUTABLE_MISSING' } });
  });

  const invalid = async (path: string, message: RegExp) =>
    expect(await find(path)).toEqual({
      ok: false,
      error: { code: 'EXECUTABLE_INVALID', message: expect.stringMatching(message) },
    });

  test('a directory', () => invalid(root, /is a directory/));
  test('not executable', () => invalid(file('x', SCRIPT, 0o644), /may not be executed by this user.*chmod \+x/));
  test('empty', () => invalid(file('x', ''), /is empty/));
  test('text without a #! line', () => invalid(file('x', 'echo hello\n'), /would be run by a shell/));
  test('a binary of another system', () =>
    invalid(file('x', Buffer.from('cffaedfe0700', 'hex')), /neither a binary for this system/));
  test('a link to nothing', async () => {
    symlinkSync(join(root, 'gone'), join(root, 'x'));
    await invalid(join(root, 'x'), /symbolic link to nothing/);
  });
  test('a link to itself', async () => {
    symlinkSync(join(root, 'x'), join(root, 'x'));
    await invalid(join(root, 'x'), /leads back to itself/);
  });
  test('a device', () => invalid('/dev/null', /not a regular file/));
  test('a script whose interpreter is missing', () =>
    invalid(file('x', '#!/no/such/interpreter\n'), /exists, but its interpreter \/no\/such\/interpreter does not\./));
  test('a script whose interpreter is not executable', () =>
    invalid(file('x', `#!${file('i', SCRIPT, 0o644)}\n`), /cannot start: .*may not be executed/));
  test('a script whose program env does not find', () =>
    invalid(
      file('x', '#!/usr/bin/env no-such-node\n'),
      /its interpreter no-such-node does not \(looked up on PATH\)\. Install no-such-node/,
    ));
  test('a script with CRLF', () => invalid(file('x', '#!/usr/bin/env node\r\nconsole.log(1)\r\n'), /carriage return/));
  test('a script with a relative interpreter', () => invalid(file('x', '#!node\n'), /not an absolute path/));
  test('a script that is its own interpreter', () =>
    invalid(file('x', `#!${join(root, 'x')}\n`), /scripts of scripts/));
  test('a script under a script is fine', async () => {
    expect(await find(file('x', `#!${file('i', SCRIPT)}\n`))).toMatchObject({
      value: { interpreter: { path: join(root, 'i'), interpreter: { path: '/bin/sh' } } },
    });
  });
});

test.each([
  ['\x7fELF', { kind: 'none' }],
  ['#!/bin/sh\n', { kind: 'program', program: '/bin/sh' }],
  ['#! /bin/sh -e\n', { kind: 'program', program: '/bin/sh' }],
  ['#!/bin/sh', { kind: 'program', program: '/bin/sh' }],
  ['#!/usr/bin/env node\n', { kind: 'program', program: 'node' }],
  ['#!/usr/bin/env -S node --no-warnings\n', { kind: 'program', program: 'node' }],
  ['#!/usr/bin/env -SFOO=1 node\n', { kind: 'program', program: 'node' }],
  ['#!/usr/bin/env -S -i node\n', { kind: 'unknown' }],
  ['#!/usr/bin/env\n', { kind: 'unknown' }],
  ['#!\n', { kind: 'invalid', message: expect.any(String) }],
])('%j', (head, expected) => {
  expect(interpreterOf(Buffer.from(head))).toEqual(expected);
});

test.runIf(process.platform === 'linux')('env with several words and no -S is refused with the cure', () => {
  expect(interpreterOf(Buffer.from('#!/usr/bin/env node --x\n'))).toEqual({
    kind: 'invalid',
    message: expect.stringMatching(/env -S/),
  });
});
