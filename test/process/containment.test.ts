import { chmodSync, copyFileSync, existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { detectContainment, lookUpTool, mechanismName } from '../../src/process/containment.ts';
import { attempt, blindSweep, bwrap, expectNobodyLeft, PATH, scratch, sweep, unshare } from './attempt.ts';

describe('the containment of this machine', () => {
  let folder: string;
  beforeEach(() => {
    folder = scratch();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const program = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  };
  const real = (name: string) => symlinkSync(lookUpTool(name, PATH) ?? '', join(folder, name));
  const detect = (wanted: 'auto' | 'none' | 'guard' | 'strict', path = folder, platform: NodeJS.Platform = 'linux') =>
    detectContainment({ wanted, platform, path, scratchParent: '/tmp' });

  test('each mechanism is found where only its tool is there', () => {
    expect(bwrap).toMatchObject({ mechanism: 'bwrap', level: 'guard' });
    expect(unshare).toMatchObject({ mechanism: 'unshare', level: 'none' });
    expect(sweep).toMatchObject({ mechanism: 'sweep', prlimit: '/usr/bin/prlimit' });
    expect(blindSweep).toEqual({ mechanism: 'sweep', level: 'none', prlimit: null, identity: '' });
    expect([bwrap, unshare, sweep].map(mechanismName)).toEqual(['bwrap', 'unshare', 'none']);
  });

  test('auto takes guard, and without bwrap the namespace of unshare', async () => {
    expect(await detect('auto', PATH)).toMatchObject({ ok: true, value: { mechanism: 'bwrap', level: 'guard' } });
    expect(await detect('none', PATH)).toMatchObject({ ok: true, value: { mechanism: 'unshare' } });
    real('unshare');
    expect(await detect('auto')).toMatchObject({ ok: true, value: { mechanism: 'unshare', setpriv: null } });
  });

  test('strict works where bwrap does', async () => {
    expect(await detect('strict', PATH)).toMatchObject({ ok: true, value: { mechanism: 'bwrap', level: 'strict' } });
  });

  test.each(['guard', 'strict'] as const)('%s asked for and not there is an error that says so', async (wanted) => {
    const found = await detect(wanted);
    expect(found).toMatchObject({ ok: false, error: { code: 'ISOLATION_UNAVAILABLE' } });
    expect(found.ok ? '' : found.error.message).toContain('bwrap is not on PATH');
  });

  test('a bwrap that complains is not used, and its complaint is passed on', async () => {
    program('bwrap', '#!/bin/sh\necho "bwrap: Creating new namespace failed: Operation not permitted" >&2; exit 1\n');
    const found = await detect('guard');
    expect(found.ok ? '' : found.error.message).toContain('Creating new namespace failed: Operation not permitted');
    expect(await detect('auto')).toMatchObject({ ok: true, value: { mechanism: 'sweep' } });
  });

  test('a bwrap that runs the command and isolates nothing is not used', async () => {
    program('bwrap', '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n');
    expect(await detect('guard')).toMatchObject({ ok: false });
  });

  test('an unshare that makes no namespace is not used', async () => {
    program('unshare', '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n');
    expect(await detect('none')).toMatchObject({ ok: true, value: { mechanism: 'sweep' } });
  });

  test('a tool that was replaced since it was tried is not started', async () => {
    const file = join(folder, 'unshare');
    copyFileSync(lookUpTool('unshare', PATH) ?? '', file);
    const found = await detect('none');
    if (!found.ok) throw new Error(found.error.message);
    expect(found.value).toMatchObject({ mechanism: 'unshare', program: file });
    const one = attempt(found.value);
    expect((await one.run('exits-with', ['0'])).termination).toEqual({ kind: 'exited', code: 0 });
    one.remove();
    program('unshare', `#!/bin/sh\ntouch ${folder}/ran\n`);
    const other = attempt(found.value);
    const outcome = await other.run('exits-with', ['0']);
    expect(outcome.termination).toEqual({ kind: 'not-started', error: 'SANDBOX_FAILED' });
    expect(outcome.startError?.message).toContain(file);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
    other.remove();
  });

  test('a namespace that lost its launcher before anybody knew of it is found and ended', async () => {
    program('unshare', `#!/bin/sh\n${lookUpTool('unshare', PATH)} "$@" &\nwait $!\n`);
    const found = await detect('none');
    if (!found.ok) throw new Error(found.error.message);
    expect(found.value).toMatchObject({ mechanism: 'unshare', program: join(folder, 'unshare') });
    const one = attempt(found.value);
    const host = new AbortController();
    const running = one.run('waits', [], { stop: host.signal });
    await one.said('ready');
    host.abort('SIGTERM');
    expect((await running).processes).toMatchObject({ containment: 'pid-namespace', survivors: 0 });
    expectNobodyLeft(one.marker);
    one.remove();
  });

  test('relative entries of PATH are never looked into', () => {
    program('bwrap', '#!/bin/sh\n');
    expect(lookUpTool('bwrap', `.::relative:${folder}`)).toBe(join(folder, 'bwrap'));
    expect(lookUpTool('bwrap', '.::relative')).toBeNull();
  });

  test('elsewhere than on Linux there is the sweep only', async () => {
    expect(await detect('auto', PATH, 'darwin')).toEqual({
      ok: true,
      value: { mechanism: 'sweep', level: 'none', prlimit: null, identity: '' },
    });
    expect(await detect('guard', PATH, 'darwin')).toMatchObject({
      ok: false,
      error: { code: 'ISOLATION_UNAVAILABLE' },
    });
  });
});
