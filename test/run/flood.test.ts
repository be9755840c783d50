/**
 * A worker that prints without end: agent-exec reads all of it in constant memory, keeps what the policy allows, and
 * goes on to the right verdict. The memory is the kernel's own high-water mark of agent-exec's process.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Finished, World } from './world.ts';

const KEPT_BYTES = 1024 * 1024;
const LIMITS = [`raw_output_bytes: ${KEPT_BYTES}`, 'timeout_seconds: 600'];
const MOST_KILOBYTES = 150 * 1024;

/** Runs the unit and gives the most memory that agent-exec ever had, in kB. */
async function measured(world: World): Promise<{ done: Finished; peak: number }> {
  let peak = 0;
  let looks = 0;
  let timer: NodeJS.Timeout | undefined;
  const done = await world.run(
    { timeout_seconds: 600 },
    {
      onStart: ({ pid }) => {
        timer = setInterval(() => {
          try {
            peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? peak);
            looks++;
          } catch {
            // It has ended.
          }
        }, 20);
      },
    },
  );
  clearInterval(timer);
  expect(looks).toBeGreaterThan(10);
  return { done, peak };
}

describe.skipIf(process.platform !== 'linux')('a flood', () => {
  test('of 1 GB in lines', { timeout: 300_000 }, async () => {
    const lines = (text: string, bytes: number): string => `yes "${text}" | head -c ${bytes}; echo`;
    const flood = `${lines('a line of the flood, as long as such lines are', 950_000_000)}; ${lines('y', 50_000_000)}; echo THE END`;
    const world = new World();
    world.configure({ one: { script: `cat >/dev/null; echo more >> src/a.txt; ${flood}` } }, [...LIMITS]);
    const { done, peak } = await measured(world);
    expect(done.code, done.stdout).toBe(0);
    expect(peak).toBeLessThan(MOST_KILOBYTES);
    const [attempt] = done.receipt.attempts;
    expect(attempt?.state).toBe('success');
    expect(attempt?.summary).toMatch(/THE END$/);
    const log = attempt?.logs.find(({ stream }) => stream === 'stdout');
    if (log === undefined) throw new Error('no log');
    expect(log.bytes_seen).toBe(1_000_000_010);
    const sum = execFileSync('sh', ['-c', `{ ${flood}; } | sha256sum`], { encoding: 'utf8' }).slice(0, 64);
    expect(log.sha256).toBe(`sha256:${sum}`);
    expect(statSync(log.path).size).toBeLessThanOrEqual(KEPT_BYTES);
    const text = readFileSync(log.path, 'latin1');
    const [marker, missing] = /\n\[agent-exec: (\d+) bytes of output are not kept here\]\n/.exec(text) ?? [''];
    expect(log.bytes_kept).toBe(text.length - marker.length);
    expect(Number(missing)).toBe(log.bytes_seen - log.bytes_kept);
    expect(text.startsWith('a line of the flood')).toBe(true);
    expect(text.endsWith('THE END\n')).toBe(true);
    expect(log.bytes_kept).toBeGreaterThan(KEPT_BYTES * 0.9);
  });

  test('of 600 MB on one line, with events before and after it', { timeout: 300_000 }, async () => {
    const event = (more: object): string => `printf '%s\\n' '${JSON.stringify(more)}'`;
    const world = new World();
    world.configure(
      {
        one: {
          format: 'claude',
          script: `cat >/dev/null; echo more >> src/a.txt
${event({ type: 'system', subtype: 'init', model: 'm-1', session_id: 'before' })}
printf '{"type":"assistant","message":"'; head -c 600000000 /dev/zero | tr '\\0' x; printf '"}\\n'
${event({ type: 'result', subtype: 'success', is_error: false, result: 'after the flood' })}`,
        },
      },
      LIMITS,
    );
    const { done, peak } = await measured(world);
    expect(done.code, done.stdout).toBe(0);
    expect(peak).toBeLessThan(MOST_KILOBYTES);
    const [attempt] = done.receipt.attempts;
    expect(attempt).toMatchObject({
      state: 'success',
      summary: 'after the flood',
      reported: { status: 'success', session_id: 'before' },
    });
    const log = attempt?.logs.find(({ stream }) => stream === 'stdout');
    expect(log?.bytes_seen).toBeGreaterThan(600_000_000);
    expect(statSync(log?.path ?? '').size).toBeLessThanOrEqual(KEPT_BYTES);
  });

  test.each(['claude', 'opencode'])('of 300 MB of events that %s prints', { timeout: 300_000 }, async (format) => {
    const words = 'What it says — in "words", and\n more of them. '.repeat(4);
    const event = (text: string): string =>
      JSON.stringify(
        format === 'claude'
          ? { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text }] } }
          : { type: 'text', sessionID: 'ses', part: { type: 'text', text } },
      );
    const ends =
      format === 'claude'
        ? { type: 'result', subtype: 'success', is_error: false, result: '', session_id: 'after' }
        : { type: 'step_finish', sessionID: 'after', part: { reason: 'stop', tokens: { input: 3, output: 4 } } };
    const world = new World();
    world.script('block', `${event(words)}\n`.repeat(4000));
    world.script('end', `${event('THE END')}\n${JSON.stringify(ends)}\n`);
    const login = join(world.home, '.local/share/opencode');
    mkdirSync(login, { recursive: true });
    writeFileSync(join(login, 'auth.json'), '{"some":{"type":"api"}}');
    const times = Math.ceil(300e6 / statSync(join(world.folder, 'block')).size);
    const print = `i=0; while [ $i -lt ${times} ]; do cat @D@/block; i=$((i+1)); done; cat @D@/end`;
    world.configure({ one: { format, script: `cat >/dev/null; echo more >> src/a.txt; ${print}` } }, LIMITS);
    const { done, peak } = await measured(world);
    expect(done.code, done.stdout).toBe(0);
    expect(peak).toBeLessThan(MOST_KILOBYTES);
    const [attempt] = done.receipt.attempts;
    expect(attempt).toMatchObject({ state: 'success', reported: { status: 'success', session_id: 'after' } });
    expect(attempt?.summary).toMatch(/THE END$/);
  });
});
