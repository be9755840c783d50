/** Clocks that jump while a run is under way, and two runs that were given one id. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Receipt, receipt as receiptSchema } from '../../src/model/receipt.ts';
import { telemetryEvent } from '../../src/model/telemetry.ts';
import { readJournal } from '../../src/store/journal.ts';
import { newRunId } from '../../src/store/run-directory.ts';
import { runInProcess } from './in-process.ts';
import { World } from './world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt; echo out';
const HOUR = 3_600_000;

describe('the clock', () => {
  test.each([
    ['goes back a day', -24 * HOUR],
    ['goes on by a day', 24 * HOUR],
    ['goes back to 1970', 24 * HOUR - Date.now()],
  ])('%s while the worker runs: a success whose durations are those of the run', async (_, jumpMs) => {
    const world = new World();
    world.configure({ one: { script: WORK } }, ['idle_timeout_seconds: 30']);
    let offsetMs = 0;
    const began = performance.now();
    const { runId, running } = await runInProcess(
      world,
      (event) => {
        if (event.kind === 'phase' && event.phase === 'worker') offsetMs = jumpMs;
      },
      { now: () => new Date(Date.now() + offsetMs) },
    );
    const done = await running;
    const tookMs = performance.now() - began;
    if (!done.ok) throw new Error(done.error.problem.message);
    const receipt: Receipt = receiptSchema.parse(
      JSON.parse(readFileSync(join(world.state, runId, 'receipt.json'), 'utf8')),
    );
    expect(receipt).toMatchObject({ outcome: 'success', exit_code: 0, attempts: [{ state: 'success' }] });
    for (const { duration_ms } of [receipt, ...receipt.attempts]) {
      expect(duration_ms).toBeGreaterThanOrEqual(0);
      expect(duration_ms).toBeLessThanOrEqual(Math.ceil(tookMs));
    }
    expect(world.git('show', `${receipt.attempts[0]?.transport?.ref}:src/a.txt`)).toBe('a\nmore');
    const lines = readFileSync(join(world.folder, 'calls.jsonl'), 'utf8').trimEnd().split('\n');
    for (const event of lines.map((line) => telemetryEvent.parse(JSON.parse(line)))) {
      expect(event.duration_ms).toBeGreaterThanOrEqual(0);
      expect(event.duration_ms).toBeLessThanOrEqual(Math.ceil(tookMs));
    }
    const journal = readJournal(readFileSync(join(world.state, runId, 'journal.jsonl')));
    expect(journal).toMatchObject({ damagedLines: 0, unfinished: [] });
    expect(journal.records.map(({ seq }) => seq)).toEqual(journal.records.map((_record, index) => index));

    // A probe that the cache remembers from the other time must not keep the next run from its own.
    const next = await runInProcess(world, () => {});
    const later = await next.running;
    expect(later.ok && later.value.receipt.outcome).toBe('success');
  });
});

describe('two runs with one id', () => {
  test('under one state root: the second starts nothing and leaves the first as it is', async () => {
    const world = new World();
    world.configure({ one: { script: `${WORK}; echo x >> @D@/starts` } });
    const runId = newRunId(new Date());
    const both = await Promise.all([
      runInProcess(world, () => {}, { runId }),
      runInProcess(world, () => {}, { runId }),
    ]);
    const ends = await Promise.all(both.map(({ running }) => running));
    const done = ends.flatMap((end) => (end.ok ? [end.value] : []));
    const refused = ends.flatMap((end) => (end.ok ? [] : [end.error]));
    expect(done).toHaveLength(1);
    expect(done[0]?.receipt).toMatchObject({ outcome: 'success', run_id: runId });
    expect(refused).toMatchObject([{ kind: 'state-unwritable', problem: { code: 'EEXIST' } }]);
    expect(readFileSync(join(world.folder, 'starts'), 'utf8')).toBe('x\n');
    expect(readJournal(readFileSync(join(world.state, runId, 'journal.jsonl'))).damagedLines).toBe(0);
    expect(readdirSync(world.state).filter((name) => name === runId)).toEqual([runId]);
    expect(world.git('for-each-ref', '--format=%(refname)', 'refs/agent-exec/')).toBe(
      `refs/agent-exec/${runId}/01-one`,
    );
  });

  test('under two state roots: one ref, and the work of the other in its workspace', async () => {
    const world = new World();
    world.configure({ one: { script: `cat >/dev/null; echo $$ >> src/a.txt` } });
    const runId = newRunId(new Date());
    const roots = [join(world.folder, 'state-a'), join(world.folder, 'state-b')];
    const runs = await Promise.all(roots.map((stateRoot) => runInProcess(world, () => {}, { runId, stateRoot })));
    const ends = await Promise.all(runs.map(({ running }) => running));
    const receipts = ends.map((end) => {
      if (!end.ok) throw new Error(end.error.problem.message);
      return end.value.receipt;
    });
    const won = receipts.filter(({ outcome }) => outcome === 'success');
    const lost = receipts.filter(({ outcome }) => outcome !== 'success');
    expect(won).toHaveLength(1);
    expect(world.git('rev-parse', `refs/agent-exec/${runId}/01-one`)).toBe(won[0]?.attempts[0]?.transport?.commit);
    expect(lost).toMatchObject([{ outcome: 'blocked', attempts: [{ state: 'failed-unknown' }] }]);
    expect(lost[0]?.reason.message).toContain('is there already');
    const kept = join(lost[0]?.attempts[0]?.cleanup.retained_path ?? '', 'src/a.txt');
    expect(existsSync(kept)).toBe(true);
    expect(readFileSync(kept, 'utf8')).toMatch(/^a\n\d+\n$/);
  });
});
