/** agent-exec dies at every place where it makes something durable, in three ways each; `recover` then loses nothing. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { World } from '../run/world.ts';
import { crashingTool, DEATHS } from './crashing-tool.ts';
import { configured, expectRecovered, runArgs, toldBy } from './laws.ts';

let tool = '';
beforeAll(async () => {
  tool = await crashingTool();
});

/** A run to which happens what `crash` says, such as `7:after`: it dies there. */
const disturbedRun = (world: World, crash: string) =>
  world.cli(runArgs(world), { tool, env: { AX_CRASH: crash, AX_CRASH_LOG: join(world.folder, 'places') } });

/** Tries all, three at a time: each costs a few processes that mostly wait. */
async function tryAll<T>(tries: readonly T[], one: (next: T) => Promise<void>): Promise<void> {
  const left = [...tries];
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await one(next);
  };
  await Promise.all([lane(), lane(), lane()]);
}

/** All places of a run that nothing disturbs. */
async function placesOfRun(isolation: string): Promise<string[]> {
  const { world } = configured(isolation);
  expect((await disturbedRun(world, '')).code).toBe(0);
  const places = readFileSync(join(world.folder, 'places'), 'utf8').split('\n').filter(Boolean);
  expect(places.length).toBeGreaterThan(25);
  return places;
}

describe.each(['guard', 'none'])('isolation %s', (isolation) => {
  test('killed at every step and in every way', { timeout: 600_000 }, async () => {
    const places = await placesOfRun(isolation);
    const tries = places.flatMap((what, i) => DEATHS.map((death) => ({ what, crash: `${i + 1}:${death}` })));
    const outcomes: Record<string, number> = {};
    await tryAll(tries, async ({ what, crash }) => {
      const { world, before } = configured(isolation);
      const died = await disturbedRun(world, crash);
      try {
        expect([died.code, died.stdout]).toEqual([null, '']);
        const receipt = await expectRecovered(world, before);
        const told = toldBy(receipt);
        outcomes[told] = (outcomes[told] ?? 0) + 1;
        // Before the run had its name nothing was started.
        expect(receipt === null && existsSync(join(world.folder, 'witness'))).toBe(false);
      } catch (error) {
        throw new Error(`killed at ${crash} (${what}): ${(error as Error).message}`, { cause: error });
      }
    });
    console.log(isolation, tries.length, 'deaths:', outcomes);
    expect(outcomes['blocked CONTROLLER_LOST']).toBeGreaterThan(20);
    expect(outcomes['success OK']).toBeGreaterThan(3);
    expect(Object.keys(outcomes).sort()).toEqual(['blocked CONTROLLER_LOST', 'nothing begun', 'success OK']);
  });
});

test('a disk that is full, or read-only, from every step on', { timeout: 600_000 }, async () => {
  const places = await placesOfRun('guard');
  const tries = places.flatMap((what, i) => ['ENOSPC', 'EROFS'].map((code) => ({ what, crash: `${i + 1}:${code}` })));
  const outcomes: Record<string, number> = {};
  await tryAll(tries, async ({ what, crash }) => {
    const { world, before } = configured('guard');
    const done = await disturbedRun(world, crash);
    try {
      // Nothing started, blocked, or records not written; never a success that nobody can find again. Only behind all
      // records, at the journal's last word, it no longer matters.
      expect(crash.startsWith(`${places.length}:`) ? [0] : [3, 6, 7]).toContain(done.code);
      const receipt = await expectRecovered(world, before);
      const told = `exit ${done.code}, then ${toldBy(receipt)}`;
      outcomes[told] = (outcomes[told] ?? 0) + 1;
    } catch (error) {
      throw new Error(`from ${crash} on (${what}): ${(error as Error).message}\n${done.stderr}`, { cause: error });
    }
  });
  console.log(tries.length, 'full disks:', outcomes);
  expect(Object.values(outcomes).reduce((sum, n) => sum + n, 0)).toBe(tries.length);
});
