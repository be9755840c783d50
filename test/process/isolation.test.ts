/** What a sandboxed worker can and cannot do to a protected place, tried by every way known. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Attempt, attempt, bwrap, expectNobodyLeft } from './attempt.ts';

describe('guard', () => {
  let one: Attempt;
  let guarded: string;
  beforeEach(() => {
    one = attempt(bwrap);
    guarded = join(one.folder, 'canonical');
    mkdirSync(join(guarded, 'inner/open'), { recursive: true });
    writeFileSync(join(guarded, 'file'), 'original');
  });
  afterEach(() => {
    expectNobodyLeft(one.marker);
    one.remove();
  });
  const tries = async (script: string, writable: string[] = []) => {
    const outcome = await one.run('/bin/sh', ['-c', script, 'sh', guarded], {
      mounts: { readOnly: [guarded, join(one.folder, 'missing')], writable },
    });
    return { outcome, code: outcome.termination.kind === 'exited' ? outcome.termination.code : outcome.termination };
  };
  const unharmed = () => expect(readFileSync(join(guarded, 'file'), 'utf8')).toBe('original');

  test.each<[string, string]>([
    ['write', 'echo x > "$1/file"'],
    ['create', 'echo x > "$1/new"'],
    ['remove', 'rm "$1/file"'],
    ['change mode', 'chmod 777 "$1/file"'],
    ['remount', 'mount -o remount,rw,bind "$1"'],
    ['unmount', 'umount "$1" || umount -l "$1"'],
    ['unmount in a user namespace', 'unshare -Urm umount "$1"'],
    ['remount in a user namespace', 'unshare -Urm mount -o remount,rw,bind "$1"'],
    ['look below in a user namespace', 'unshare -Urm sh -c \'mount --bind / /mnt && echo x > "/mnt$1/file"\' sh "$1"'],
    ['look below with all mounts', 'unshare -Urm sh -c \'mount --rbind / /mnt && echo x > "/mnt$1/file"\' sh "$1"'],
    ['enter another namespace', 'nsenter -t 1 -m sh -c \'echo x > "$1/file"\' sh "$1"'],
    ['the root of process 1', 'echo x > "/proc/1/root$1/file"'],
    ['the folder of process 1', 'cd /proc/1/cwd && echo x > "./$1/file"'],
    ['move it away', 'mv "$1" "$1.moved"'],
    ['move the folder above', 'mv "$(dirname "$1")" "$(dirname "$1").moved"'],
    ['make a device', 'mknod "$PWD/disk" b 7 0'],
    [
      'write kernel settings',
      'test -e /proc/sys/kernel/core_pattern && cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern',
    ],
    [
      'change kernel objects',
      'echo change > /sys/kernel/uevent_seqnum || find /sys -maxdepth 3 -type f -perm -200 -exec sh -c \'test -w "$1"\' sh {} \\; -print | grep -q .',
    ],
    [
      'write to a block device',
      'for d in $(find /dev -type b); do test -b "$d" && test -w "$d" && exit 0; done; exit 1',
    ],
    ['see processes outside', 'kill -0 "$PPID" && test "$(ls -d /proc/[0-9]* | wc -l)" -gt 20'],
  ])('does not let it %s', async (_, script) => {
    const { code } = await tries(script);
    expect(code).not.toBe(0);
    expect(existsSync(guarded)).toBe(true);
    unharmed();
  });

  test('leaves nothing but harmless capabilities, and no way to gain others', async () => {
    await tries('grep -E "^(CapEff|CapPrm|CapAmb|NoNewPrivs)" /proc/self/status');
    const status = one.log('stdout');
    const harmful = [1, 2, 12, 16, 17, 19, 20, 21, 22, 25, 27, 38, 39].map((bit) => 1n << BigInt(bit));
    for (const [, mask] of status.matchAll(/^Cap\w+:\t([0-9a-f]+)$/gm)) {
      // CAP_DAC_OVERRIDE (1) is given back to root only, to whom files of others are open as ever.
      const held = BigInt(`0x${mask}`) & ~(process.getuid?.() === 0 ? 2n : 0n);
      expect(harmful.filter((bit) => (held & bit) !== 0n)).toEqual([]);
    }
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  });

  test('leaves the rest of the machine as it is: workspace, temporary folder, network', async () => {
    const outside = join(one.folder, 'outside');
    mkdirSync(outside);
    const { code } = await tries(
      `echo a > result && echo b > ${outside}/file && test -c /dev/null && test -r /proc/self/stat`,
    );
    expect(code).toBe(0);
    expect(readFileSync(join(one.workspace, 'result'), 'utf8')).toBe('a\n');
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('b\n');
  });

  test('opens a writable place inside a read-only one, and a read-only one inside that again', async () => {
    const open = join(guarded, 'inner/open');
    const closed = join(open, 'closed');
    mkdirSync(closed);
    const outcome = await one.run(
      '/bin/sh',
      ['-c', 'echo x > "$1/file"; echo y > "$1/closed/file"; echo z > "$1/../file"', 'sh', open],
      { mounts: { readOnly: [closed, guarded], writable: [open] } },
    );
    expect(outcome.termination.kind).toBe('exited');
    expect(existsSync(join(open, 'file'))).toBe(true);
    expect(existsSync(join(closed, 'file'))).toBe(false);
    expect(existsSync(join(guarded, 'inner/file'))).toBe(false);
  });

  test('does not open a protected place for a symlink that leads into it', async () => {
    // One from outside, one that lies in the protected place itself, as a file of the repository may.
    const links = [join(one.folder, 'state'), join(guarded, 'state')];
    for (const link of links) symlinkSync(join(guarded, 'inner/open'), link);
    const { code } = await tries(links.map((link) => `echo x > ${link}/file`).join(' || '), links);
    expect(code).not.toBe(0);
    expect(existsSync(join(guarded, 'inner/open/file'))).toBe(false);
  });

  test('leaves places outside replaceable: no mount point where none is needed', async () => {
    const state = join(one.folder, 'login.json');
    writeFileSync(state, 'old');
    const { code } = await tries(`echo new > ${state}.tmp && mv ${state}.tmp ${state}`, [state]);
    expect(code).toBe(0);
    expect(readFileSync(state, 'utf8')).toBe('new\n');
  });

  // Needs a real second mount, which only root can make.
  test.runIf(process.getuid?.() === 0)('closes the way over a second mount of the same file system', async () => {
    const elsewhere = join(one.folder, 'elsewhere');
    const part = join(one.folder, 'part');
    mkdirSync(elsewhere);
    mkdirSync(part);
    execFileSync('mount', ['--bind', one.folder, elsewhere]);
    try {
      execFileSync('mount', ['--bind', join(guarded, 'inner'), part]);
      try {
        const { code } = await tries(`echo x > ${elsewhere}/canonical/file || echo x > ${part}/file`);
        expect(code).not.toBe(0);
        unharmed();
        expect(existsSync(join(guarded, 'inner/file'))).toBe(false);
      } finally {
        execFileSync('umount', [part]);
      }
    } finally {
      execFileSync('umount', [elsewhere]);
    }
    rmSync(elsewhere, { recursive: true });
  });
});

describe('strict', () => {
  const strict = { ...bwrap, level: 'strict' } as typeof bwrap;
  test('makes everything read-only but what is opened, and takes the network away', async () => {
    const one = attempt(strict);
    const elsewhere = join(one.folder, 'elsewhere');
    mkdirSync(elsewhere);
    const script = `echo x > ${one.workspace}/ok; echo x > ${elsewhere}/no; ls /sys/class/net 2>/dev/null; grep -c : /proc/net/dev`;
    const outcome = await one.run('/bin/sh', ['-c', script], {
      mounts: { readOnly: [], writable: [one.workspace] },
      networkOff: true,
    });
    expect(outcome.termination).toEqual({ kind: 'exited', code: 0 });
    expect(existsSync(join(one.workspace, 'ok'))).toBe(true);
    expect(existsSync(join(elsewhere, 'no'))).toBe(false);
    expect(one.lines.at(-1)).toBe('stdout: 1');
    one.remove();
  });
});
