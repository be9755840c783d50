import { describe, expect, test } from 'vitest';
import { type BwrapPlan, bwrapCommand, readBwrapStatus } from '../../src/process/bwrap.ts';
import { aliasesOf, parseMountInfo } from '../../src/process/mount-table.ts';

const plan: BwrapPlan = {
  program: '/usr/bin/bwrap',
  level: 'guard',
  userNamespace: false,
  runningAsRoot: false,
  networkOff: false,
  statusDescriptor: 3,
  workspace: '/run/ws',
  mounts: [],
};
const ALWAYS = ['--unshare-pid', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'];

describe('the command line of bwrap', () => {
  test('guard', () => {
    expect(bwrapCommand(plan, ['/bin/agent', '-p'])).toEqual([
      '/usr/bin/bwrap',
      '--dev-bind',
      '/',
      '/',
      '--proc',
      '/proc',
      ...ALWAYS,
      '--json-status-fd',
      '3',
      '--chdir',
      '/run/ws',
      '--',
      '/bin/agent',
      '-p',
    ]);
  });
  test('strict without a network', () => {
    const command = bwrapCommand({ ...plan, level: 'strict', networkOff: true, statusDescriptor: null }, [
      '/bin/agent',
    ]);
    expect(command).toEqual([
      '/usr/bin/bwrap',
      '--ro-bind',
      '/',
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--unshare-pid',
      '--unshare-net',
      '--die-with-parent',
      '--new-session',
      '--cap-drop',
      'ALL',
      '--chdir',
      '/run/ws',
      '--',
      '/bin/agent',
    ]);
  });
  test('root gets harmless capabilities back, and none that undoes a mount', () => {
    const command = bwrapCommand({ ...plan, runningAsRoot: true }, ['a']);
    const added = command.filter((_, i) => command[i - 1] === '--cap-add');
    expect(added).toContain('CAP_DAC_OVERRIDE');
    for (const name of ['SYS_ADMIN', 'DAC_READ_SEARCH', 'MKNOD', 'SYS_PTRACE', 'SYS_MODULE', 'SYS_RAWIO', 'SYS_TIME']) {
      expect(added).not.toContain(`CAP_${name}`);
    }
    expect(command.indexOf('--cap-drop')).toBeLessThan(command.indexOf('--cap-add'));
  });
  test('nobody else gets any, and a user namespace is asked for by name', () => {
    const command = bwrapCommand({ ...plan, userNamespace: true }, ['a']);
    expect(command).not.toContain('--cap-add');
    expect(command).toContain('--unshare-user');
  });
  test('outer mounts come before inner ones, whatever the order they are given in', () => {
    const command = bwrapCommand(
      {
        ...plan,
        mounts: [
          { kind: 'writable', path: '/repo/a/open' },
          { kind: 'read-only', path: '/repo/a/open/closed' },
          { kind: 'covered-device', path: '/dev/sda' },
          { kind: 'read-only', path: '/repo' },
          { kind: 'fresh-proc', path: '/chroot/proc' },
        ],
      },
      ['a'],
    );
    const mounts = command.slice(command.indexOf('3') + 1, command.indexOf('--chdir'));
    expect(mounts).toEqual([
      '--ro-bind',
      '/repo',
      '/repo',
      '--dev-bind',
      '/dev/null',
      '/dev/sda',
      '--proc',
      '/chroot/proc',
      '--bind',
      '/repo/a/open',
      '/repo/a/open',
      '--ro-bind',
      '/repo/a/open/closed',
      '/repo/a/open/closed',
    ]);
  });
});

test.each([
  ['', { childPid: null, pidNamespace: null, exitCode: null }],
  ['{ "child-pid": 12, "mnt-namespace": 5, "pid-namespace": 6 }\n', { childPid: 12, pidNamespace: 6, exitCode: null }],
  ['{ "child-pid": 12, "pid-namespace": 6 }\n{ "exit-code": 0 }\n', { childPid: 12, pidNamespace: 6, exitCode: 0 }],
  ['{ "child-pid": 12', { childPid: null, pidNamespace: null, exitCode: null }],
])('what bwrap reports: %j', (text, status) => {
  expect(readBwrapStatus(text)).toEqual(status);
});

describe('other ways to a path', () => {
  const table = parseMountInfo(
    [
      '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
      '28 27 0:25 / /tmp rw shared:1 - tmpfs none rw',
      '30 27 254:0 / /mnt/whole rw - ext4 /dev/vda rw',
      '31 27 254:0 /home/u /mnt/home rw - ext4 /dev/vda rw',
      '32 27 254:0 /home/u/repo/sub /mnt/with\\040space rw - ext4 /dev/vda rw',
      '33 27 254:0 /var /mnt/var rw - ext4 /dev/vda rw',
      '34 27 254:9 / /mnt/other rw - ext4 /dev/vdb rw',
      'torn line',
    ].join('\n'),
  );
  test.each([
    ['/home/u/repo', ['/mnt/whole/home/u/repo', '/mnt/home/repo', '/mnt/with space']],
    ['/home/u', ['/mnt/whole/home/u', '/mnt/home', '/mnt/with space']],
    ['/home/u/repository', ['/mnt/whole/home/u/repository', '/mnt/home/repository']],
    ['/tmp/run', []],
    ['/mnt/home/repo', ['/home/u/repo', '/mnt/whole/home/u/repo', '/mnt/with space']],
  ])('%s', (path, aliases) => {
    expect(aliasesOf(path, table).sort()).toEqual([...aliases].sort());
  });
});
