/** How a run is told to be inside of another one of the same repository, by each of the ways in which it may know. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { discoverRepository } from '../../src/git/repository.ts';
import { extendChain, joinChains, linkOf, runAround } from '../../src/run/recursion.ts';
import { createWorkspace } from '../../src/workspace/create.ts';
import { World } from './world.ts';

const OUTER = '20261201t072954441z-cbf059';
/** With a commit. */
function worldWithBase(): World {
  const world = new World();
  world.commit();
  return world;
}

const factsOf = async (worktree: string) => {
  const found = await discoverRepository(worktree, process.env);
  if (!found.ok) throw new Error(found.error.kind);
  return found.value;
};

describe('a run', () => {
  test.each([
    ['the only link', (link: string) => link],
    ['one link of several', (link: string) => `x@0,${link},${OUTER}@${'a'.repeat(40)}`],
  ])('is inside of one whose base it has: %s', async (_, chain) => {
    const world = worldWithBase();
    const facts = await factsOf(world.repo);
    expect(await runAround(chain(linkOf(OUTER, facts.head)), facts)).toBe(OUTER);
  });

  test.each(['', ',', 'x', `${OUTER}@`, `${OUTER}@${'a'.repeat(40)}`, `${OUTER}@${'a'.repeat(64)}`, '../x@y'])(
    'is inside of none by %j',
    async (chain) => {
      const world = worldWithBase();
      expect(await runAround(chain, await factsOf(world.repo))).toBeNull();
    },
  );

  test('is inside of the one that made its workspace, whatever became of the chain', async () => {
    const world = worldWithBase();
    const facts = await factsOf(world.repo);
    const attemptDir = join(realpathSync(mkdtempSync(join(tmpdir(), 'ax-made-'))), 'attempt');
    mkdirSync(attemptDir);
    const madeBy = linkOf(OUTER, facts.head);
    const made = await createWorkspace({ facts, base: facts.head, madeBy, attemptDir, name: 'repo' });
    if (!made.ok) throw new Error(made.error.message);
    for (const chain of [undefined, '', `${OUTER}x@${'a'.repeat(40)}`])
      expect(await runAround(chain, await factsOf(made.value.path))).toBe(OUTER);
    expect(await runAround(undefined, facts)).toBeNull();
  });

  test('leaves its name in the workspaces of its worker and of its checks', async () => {
    const world = new World();
    const note = (file: string): string => `git config agent-exec.madeby > @D@/${file}`;
    world.configure({ one: { script: `cat >/dev/null; echo more >> src/a.txt; ${note('worker')}` } });
    const check = ['sh', '-c', note('check').replace('@D@', world.folder)];
    const { receipt } = await world.run({ verification: [check] }, { args: ['--verify'] });
    expect(receipt.outcome).toBe('success');
    const link = `${linkOf(receipt.run_id, receipt.repository.base)}\n`;
    expect(['worker', 'check'].map((file) => readFileSync(join(world.folder, file), 'utf8'))).toEqual([link, link]);
  });

  test('is refused by a chain that is too long to follow', async () => {
    const world = worldWithBase();
    const facts = await factsOf(world.repo);
    const chain = Array.from({ length: 40 }, (_, i) => `run-${i}@${'a'.repeat(40)}`).join(',');
    expect(await runAround(chain, facts)).toBe('run-0');
  });
});

test('a chain is put together from what is left of it, outermost first', () => {
  expect(joinChains(undefined, [])).toBe('');
  expect(joinChains('', ['a@1,b@2', 'a@1'])).toBe('a@1,b@2');
  expect(joinChains('c@3', ['a@1,b@2', 'a@1'])).toBe('a@1,b@2,c@3');
  expect(joinChains('a@1,b@2', ['a@1,b@2', 'a@1'])).toBe('a@1,b@2');
  expect(extendChain(joinChains(undefined, ['a@1']), 'b', '2')).toBe('a@1,b@2');
});
