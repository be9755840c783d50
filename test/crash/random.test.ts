/** agent-exec is killed at moments of no meaning, under every way of holding a worker; `recover` then loses nothing. */
import { expect, test } from 'vitest';
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

/** Goes on until it is ended, so that late moments meet it too. */
const SLOW = `${WORKER.replace(/exit 0$/, '')}\nfor i in 1 2 3 4 5; do w src/more$i.txt more$i; sleep 0.05; done\nexit 0`;

test(`${CRASHES} times`, { timeout: 30_000 + CRASHES * 6000 }, async () => {
  const outcomes: Record<string, number> = {};
  const one = async (index: number): Promise<void> => {
    const hold = HOLDS[index % HOLDS.length] ?? HOLDS[0];
    const { world, before } = configured(hold.isolation, SLOW);
    const afterMs = 60 + Math.random() * 1700;
    const died = await world.cli(runArgs(world), {
      env: { PATH: hold.missing.length === 0 ? (process.env.PATH ?? '') : world.pathWithout(...hold.missing) },
      onStart: (child) => setTimeout(() => child.kill('SIGKILL'), afterMs).unref(),
    });
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
  console.log(CRASHES, 'kills:', outcomes);
  expect(outcomes['blocked CONTROLLER_LOST'] ?? 0).toBeGreaterThan(0);
});
