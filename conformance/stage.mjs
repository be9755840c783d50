/** Plays one probe against one driver under one isolation, in a world of its own, and judges what is there afterwards. */
import { lookAt } from './canonical.mjs';
import { detected } from './checks.mjs';
import { settle, sweep } from './processes.mjs';
import { World } from './world.mjs';

/**
 * @typedef {object} Probe
 * @property {string} name
 * @property {string} kind
 * @property {string} says what the hostile worker does, in one sentence
 * @property {string} worker its program: see `World.writeWorker`
 * @property {(world: World) => void | Promise<void>} [prepare] the state of the repository; after the driver's own, before the base is taken
 * @property {readonly string[]} [allowed] default: src/
 * @property {'allow' | 'deny'} [network] default: allow
 * @property {number} [timeoutSeconds] default: 60
 * @property {NodeJS.Signals} [signal] to the runner, once a process with `$MARK-ready` in its words is there
 * @property {string} [umask]
 * @property {(world: World, answer: import('./checks.mjs').Answer) =>
 *   { held: boolean, happened: string, complaints: import('./checks.mjs').Complaint[] }} judge
 * @property {(world: World, answer: import('./checks.mjs').Answer) => boolean} [detected] default: no claim, and told
 *
 * @typedef {object} Result
 * @property {string} probe
 * @property {string} kind
 * @property {string} says
 * @property {string} isolation
 * @property {'held' | 'detected' | 'not held'} verdict
 * @property {string} happened
 * @property {number} seconds
 * @property {string | null} folder where it can be looked at
 */

/** How much longer than the worker a runner may take, on a machine that has other things to do. */
const RUNNER_SECONDS = 90;

/** Worlds that are not closed yet. @type {Set<World>} */
const open = new Set();

/** Ends and removes everything that is still going on, when the suite itself is told to stop. */
export async function abandon() {
  for (const world of open) {
    await sweep(world.marks);
    world.remove();
  }
}

/**
 * @param {Probe} probe @param {import('./driver.mjs').Driver} driver
 * @param {{ isolation: string, keep: boolean }} options @returns {Promise<Result>}
 */
export async function play(probe, driver, { isolation, keep }) {
  const world = new World();
  open.add(world);
  const timeoutSeconds = probe.timeoutSeconds ?? 60;
  const request = {
    isolation,
    timeoutSeconds,
    limitSeconds: timeoutSeconds + RUNNER_SECONDS,
    allowed: probe.allowed ?? ['src/'],
    network: probe.network ?? 'allow',
    signal: probe.signal ?? null,
    umask: probe.umask ?? null,
  };
  const started = Date.now();
  /** @returns {Result} */
  const result = (verdict, happened) => ({
    ...{ probe: probe.name, kind: probe.kind, says: probe.says, isolation, verdict, happened },
    ...{ seconds: (Date.now() - started) / 1000, folder: keep ? world.folder : null },
  });
  try {
    driver.prepare?.(world, request);
    world.commit('base');
    world.writeWorker(probe.worker);
    await probe.prepare?.(world);
    world.base = world.git('rev-parse', 'HEAD');
    world.before = lookAt(world.repo);
    const { owned, answerBytes, answersJson } = driver;
    const answer = { ...(await driver.run(world, request)), owned, answerBytes, answersJson };
    if (request.signal === 'SIGKILL') await settle(world.marks);
    const { held, happened, complaints } = probe.judge(world, answer);
    if (held) return result('held', happened);
    const noticed = probe.detected?.(world, answer) ?? detected(answer, complaints);
    const declared = driver.detectsOnly?.[isolation]?.includes(probe.name) === true;
    return result(noticed && declared ? 'detected' : 'not held', happened);
  } catch (error) {
    // A world in which even the look afterwards fails is not one that was held.
    return result('not held', `could not be judged: ${error.stack}`);
  } finally {
    await sweep(world.marks);
    world.close();
    open.delete(world);
    if (!keep) world.remove();
  }
}
