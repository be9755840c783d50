/** agent-exec is killed at moments of no meaning, under every way of holding a worker; `recover` then loses nothing. */
import type { ChildProcess } from 'node:child_process';
import { expect, test } from 'vitest';
import type { World } from '../run/world.ts';
import { configured, expectRecovered, receiptsOf, runArgs, toldBy, WORKER } from './laws.ts';

/** `CRASHES=200` is what a release is tried with. */
const CRASHES = Number(process.env.CRASHES ?? 16);

/** The way a worker is held: programs that are missing, and the level that is asked for. */
const HOLDS = [
  { missing: [], isolation: 'guard' },
  { missing: [], isolation: 'strict' },
  { missing: ['bwrap'], isolation: 'none' },
  { missing: ['bwrap', 'setpriv'], isolation: 'none' },
  { missing: ['bwrap', 'unshare'], isolation: 'none' },
] as const;
type Hold = (typeof HOLDS)[number];

/** Goes on until it is ended, so that late moments meet it too. */
const SLOW = `${WORKER.replace(/exit 0$/, '')}\nfor i in 1 2 3 4 5; do w src/more$i.txt more$i; sleep 0.05; done\nexit 0`;

test(`${CRASHES} times`, { timeout: 90_000 + CRASHES * 6000 }, async () => {
  const outcomes: Record<string, number> = {};
  const run = (world: World, { missing }: Hold, onStart: (child: ChildProcess) => void = () => {}) =>
    world.cli(runArgs(world), {
      env: { PATH: missing.length === 0 ? (process.env.PATH ?? '') : world.pathWithout(...missing) },
      onStart,
    });
  // How long a run takes here and now: moments are chosen within it, however slow the machine is.
  const lengthOf = async (hold: Hold): Promise<number> => {
    const { world } = configured(hold.isolation, SLOW);
    const started = performance.now();
    expect((await run(world, hold)).code).toBe(0);
    return performance.now() - started;
  };
  const lengths = await Promise.all([lengthOf(HOLDS[0]), lengthOf(HOLDS[1]), lengthOf(HOLDS[3])]);
  const longest = Math.max(...lengths);
  const one = async (index: number): Promise<void> => {
    const hold = HOLDS[index % HOLDS.length] ?? HOLDS[0];
    const { world, before } = configured(hold.isolation, SLOW);
    // In turn from each third, so that few kills meet beginning, middle and end too.
    const afterMs = (longest * ((index % 3) + Math.random())) / 3;
    const died = await run(world, hold, (child) => setTimeout(() => child.kill('SIGKILL'), afterMs).unref());
    try {
      if (died.code !== null) expect([died.code, receiptsOf(world).length]).toEqual([0, 1]);
      const receipt = await expectRecovered(world, before);
      const told = `${died.code === null ? '' : 'too late: '}${toldBy(receipt)}`;
      outcomes[told] = (outcomes[told] ?? 0) + 1;
    } catch (error) {
      throw new Error(`killed after ${afterMs} ms, ${JSON.stringify(hold)}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  };
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < CRASHES) await one(next++);
  };
  await Promise.all([lane(), lane(), lane()]);
  console.log(CRASHES, 'kills within', Math.round(longest), 'ms:', outcomes);
  expect(outcomes['blocked CONTROLLER_LOST'] ?? 0).toBeGreaterThan(0);
});
