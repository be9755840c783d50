/** agent-exec dies at every place where it makes something durable, in three ways each; `recover` then loses nothing. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { World } from '../run/world.ts';
import { crashingTool, DEATHS } from './crashing-tool.ts';
import { expectRecovered, WORKER } from './laws.ts';

let tool = '';
beforeAll(async () => {
  tool = await crashingTool();
});

const PROFILES = { refuses: { script: 'echo half > src/a.txt; exit 3' }, works: { script: WORKER } };

function prepared(isolation: string): { world: World; before: unknown } {
  const world = new World();
  world.configure(PROFILES, [`isolation: ${isolation}`, 'verify: host']);
  return { world, before: world.canonical() };
}

/** A run that dies where `crash` says, such as `7:after`. */
const dyingRun = (world: World, crash: string, more: readonly string[] = []) =>
  world.cli(
    [
      'run',
      '--role',
      'repair',
      '--quiet',
      '--unit',
      world.packet({ verification: [['true']] }),
      '--state-dir',
      world.state,
      ...more,
    ],
    { tool, env: { AX_CRASH: crash, AX_CRASH_LOG: join(world.folder, 'places') } },
  );

const placesOf = (world: World): string[] =>
  readFileSync(join(world.folder, 'places'), 'utf8').split('\n').filter(Boolean);

describe.each(['guard', 'none'])('isolation %s', (isolation) => {
  test('at every step and in every way', { timeout: 600_000 }, async () => {
    const whole = prepared(isolation);
    expect((await dyingRun(whole.world, '')).code).toBe(0);
    const places = placesOf(whole.world);
    expect(places.length).toBeGreaterThan(25);
    const tries = places.flatMap((what, i) => DEATHS.map((death) => ({ what, crash: `${i + 1}:${death}` })));
    const outcomes: Record<string, number> = {};
    const one = async ({ what, crash }: (typeof tries)[number]): Promise<void> => {
      const { world, before } = prepared(isolation);
      const died = await dyingRun(world, crash);
      try {
        expect([died.code, died.stdout]).toEqual([null, '']);
        const receipt = await expectRecovered(world, before);
        const told = receipt === null ? 'nothing begun' : `${receipt.outcome} ${receipt.reason.code}`;
        outcomes[told] = (outcomes[told] ?? 0) + 1;
        // Before the run had its name nothing was started.
        expect(receipt === null && existsSync(join(world.folder, 'witness'))).toBe(false);
      } catch (error) {
        throw new Error(`killed at ${crash} (${what}): ${(error as Error).message}`, { cause: error });
      }
    };
    const left = [...tries];
    const lane = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) await one(next);
    };
    await Promise.all([lane(), lane(), lane()]);
    console.log(isolation, tries.length, 'deaths:', outcomes);
    expect(outcomes['blocked CONTROLLER_LOST']).toBeGreaterThan(20);
    expect(outcomes['success OK']).toBeGreaterThan(3);
    expect(Object.keys(outcomes).sort()).toEqual(['blocked CONTROLLER_LOST', 'nothing begun', 'success OK']);
  });
});
