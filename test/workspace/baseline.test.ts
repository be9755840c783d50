import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { retakeBaseline, takeBaseline } from '../../src/workspace/baseline.ts';
import { must, path, ready, sh, stage } from './fixture.ts';

test('a file changed within a tick of the clock before the baseline is compared by content later, others by signature', async () => {
  const on = await ready(await stage('echo old > old; echo new > new; echo build > .gitignore'));
  sh(on.workspace.path, 'sleep 0.05');
  writeFileSync(join(on.workspace.path, 'new'), 'new\n');
  const { entries } = must(await takeBaseline(on.workspace, on.tree.entries));
  expect(entries.get(path('new'))).toMatchObject({ signature: null, oid: on.tree.entries.get(path('new'))?.oid });
  expect(entries.get(path('old'))?.signature).toMatch(/^\d+:\d+:/);

  sh(on.workspace.path, 'echo s > setup; mkdir build; echo b > build/old; sleep 0.05');
  writeFileSync(join(on.workspace.path, 'new'), 'setup\n');
  writeFileSync(join(on.workspace.path, 'build/new'), 'b\n');
  const later = must(await retakeBaseline(on.workspace, on.baseline, on.ignored)).entries;
  const oid = (text: string) => sh(on.repo, `echo ${text} | git hash-object --stdin`).trim();
  expect(later.get(path('new'))).toMatchObject({ signature: null, oid: oid('setup') });
  expect(later.get(path('setup'))).toMatchObject({ signature: expect.any(String), oid: oid('s') });
  expect(later.get(path('build/old'))).toMatchObject({ signature: expect.any(String), oid: null });
  expect(later.get(path('build/new'))).toMatchObject({ signature: null, oid: oid('b') });
});

test('what setup left unreadable is a problem', async () => {
  const on = await ready(await stage('echo a > a'));
  sh(on.workspace.path, `n=$(printf 'd%.0s' {1..200}); for i in {1..25}; do mkdir $n; cd $n; done`);
  expect(await retakeBaseline(on.workspace, on.baseline, on.ignored)).toMatchObject({
    ok: false,
    error: { reason: 'unreadable' },
  });
});
