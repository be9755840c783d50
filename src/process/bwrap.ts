/**
 * The command line of bwrap. Pure: what it is given decides every word. Invariant: without being told so, nothing of the
 * worker outlives the controller, and the worker has no capability that could undo a mount.
 */
import type { Mount } from './mounts.ts';

export interface BwrapPlan {
  readonly program: string;
  readonly level: 'guard' | 'strict';
  /** Make a user namespace too: for a root that the kernel refuses a bare PID namespace, as inside a container. */
  readonly userNamespace: boolean;
  readonly runningAsRoot: boolean;
  readonly networkOff: boolean;
  /** Descriptor on which bwrap reports; null: it does not. */
  readonly statusDescriptor: number | null;
  readonly workspace: string;
  readonly mounts: readonly Mount[];
}

/**
 * What root keeps. bwrap leaves a real root *every* capability unless told, and with CAP_SYS_ADMIN a read-only mount is
 * undone by one remount; none of these can undo one, make a device, read by handle or look into another process.
 */
const ROOT_CAPABILITIES = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_SETGID',
  'CAP_SETUID',
  'CAP_SETPCAP',
  'CAP_SETFCAP',
  'CAP_NET_BIND_SERVICE',
  'CAP_NET_RAW',
  'CAP_AUDIT_WRITE',
  'CAP_SYS_CHROOT',
] as const;

const depth = (path: string): number => (path === '/' ? 0 : path.split('/').length - 1);

function mountArguments(mount: Mount): string[] {
  switch (mount.kind) {
    case 'read-only':
      return ['--ro-bind', mount.path, mount.path];
    case 'writable':
      return ['--bind', mount.path, mount.path];
    case 'fresh-proc':
      return ['--proc', mount.path];
    case 'covered-device':
      return ['--dev-bind', '/dev/null', mount.path];
  }
}

/** The whole command: program and arguments. Outer mounts come first, so that inner ones lie on top of them. */
export function bwrapCommand(plan: BwrapPlan, command: readonly string[]): string[] {
  const base =
    plan.level === 'guard'
      ? ['--dev-bind', '/', '/', '--proc', '/proc']
      : ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];
  const mounts = [...plan.mounts].sort((a, b) => depth(a.path) - depth(b.path));
  const capabilities = plan.runningAsRoot ? ROOT_CAPABILITIES : [];
  return [
    plan.program,
    ...base,
    '--unshare-pid',
    ...(plan.userNamespace ? ['--unshare-user'] : []),
    ...(plan.networkOff ? ['--unshare-net'] : []),
    // Should the controller be killed, the kernel ends bwrap, and bwrap's end takes the namespace with it.
    '--die-with-parent',
    // A group of its own for everything inside: TERM to it must not reach bwrap itself, whose end is the end of all.
    '--new-session',
    '--cap-drop',
    'ALL',
    ...capabilities.flatMap((name) => ['--cap-add', name]),
    ...(plan.statusDescriptor === null ? [] : ['--json-status-fd', String(plan.statusDescriptor)]),
    ...mounts.flatMap(mountArguments),
    '--chdir',
    plan.workspace,
    '--',
    ...command,
  ];
}

export interface BwrapStatus {
  /** Process id, outside, of the namespace's first process. */
  readonly childPid: number | null;
  readonly pidNamespace: number | null;
  /** Set only where the command was really executed. */
  readonly exitCode: number | null;
}

/** Reads what bwrap has reported so far: JSON objects, one a line; a torn last one is not there yet. */
export function readBwrapStatus(text: string): BwrapStatus {
  const number = (name: string): number | null => {
    const found = new RegExp(`"${name}": *(\\d+)\\b[^\\n]*\\n`).exec(text)?.[1];
    return found === undefined ? null : Number(found);
  };
  return { childPid: number('child-pid'), pidNamespace: number('pid-namespace'), exitCode: number('exit-code') };
}
