/**
 * A disk that fills up, at every step of a run in turn: the state root with ever more bytes and ever more names, the
 * canonical repository's own disk, and those of the records. Whatever the step, no success without records, no work lost,
 * nothing left running, and the next run goes well.
 */
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { receipt as receiptSchema } from '../../src/model/receipt.ts';
import { NEEDS_ROOT, smallDisk } from '../store/temporary.ts';
import { World } from './world.ts';

/** Says that it has written only where it has. */
const WORK = 'cat >/dev/null; echo more >> src/a.txt && touch @D@/wrote; echo out';
const BIG_WORK = `${WORK}; head -c 30000 /dev/zero > src/big && cat src/big`;
/** The last two are all that git says where it cannot write a ref or a checked-out file. */
const SAYS_FULL = /ENOSPC|[Nn]o space left on device|Out of diskspace|couldn't write '|unable to write file '/;

const probe = smallDisk(4096);
probe?.unmount();
const canMount = probe !== null;

interface Outcome {
  readonly title: string;
  readonly code: number | null;
  readonly said: string;
  readonly wrote: boolean;
  readonly second: boolean;
  /** Contents of `src/a.txt` in commits and workspaces. */
  readonly kept: readonly string[];
  /** What the run's records say, where there are any. */
  readonly recorded: readonly string[];
  readonly leftovers: readonly string[];
  /** The exit code of a run that came later, when there was room again. */
  readonly later: number | null;
}

const REFS = ['refs/agent-exec/', 'refs/agent-exec-quarantine/'];

/** Every `src/a.txt` that the run has left: below its refs and in the workspaces of its state. */
function whatIsKept(world: World, stateRoot: string): string[] {
  const refs = world
    .git('for-each-ref', '--format=%(refname)', ...REFS)
    .split('\n')
    .filter(Boolean);
  const inCommits = refs.map((ref) => world.git('show', `${ref}:src/a.txt`));
  const runs = existsSync(stateRoot) ? readdirSync(stateRoot) : [];
  const inWorkspaces = runs
    .map((run) => join(stateRoot, run, 'attempts/01-one/repo/src/a.txt'))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8').trimEnd());
  return [...inCommits, ...inWorkspaces];
}

async function runOnDisk(bytes: number, files: number): Promise<Outcome> {
  const disk = smallDisk(bytes, files);
  if (disk === null) throw new Error(NEEDS_ROOT);
  try {
    const world = new World();
    world.configure({ one: { script: BIG_WORK }, two: { script: 'touch @D@/second' } });
    const stateRoot = join(disk.path, 'state');
    const receipt = join(world.folder, 'receipt.json');
    const args = ['run', '--role', 'repair', '--json', '--unit', world.packet(), '--state-dir', stateRoot];
    const done = await world.cli([...args, '--receipt', receipt]);
    const own = existsSync(stateRoot) ? readdirSync(stateRoot).map((run) => join(stateRoot, run, 'receipt.json')) : [];
    const receipts = [receipt, ...own]
      .filter((path) => existsSync(path))
      .map((path) => receiptSchema.parse(JSON.parse(readFileSync(path, 'utf8'))).outcome);
    const log = join(world.repo, '.git/agent-exec/calls.jsonl');
    const lines = existsSync(log) ? world.telemetry() : [];
    const outcome = {
      title: `${bytes} bytes, ${files} files`,
      code: done.code,
      said: done.stdout + done.stderr,
      wrote: existsSync(join(world.folder, 'wrote')),
      second: existsSync(join(world.folder, 'second')),
      kept: whatIsKept(world, stateRoot),
      recorded: [...receipts, ...lines.flatMap((line) => (line.event === 'run' ? line.outcome : []))],
      leftovers: world.leftovers(),
    };
    disk.grow();
    return { ...outcome, later: (await world.cli(args)).code };
  } finally {
    disk.unmount();
  }
}

/** Enough of both for everything; below it some step fails. */
const ROOM = { bytes: 240 * 1024, files: 110 };
const POINTS: readonly (readonly [number, number])[] = [
  ...Array.from({ length: 15 }, (_, i) => [(4 + 12 * i) * 1024, 100_000] as const),
  ...Array.from({ length: 9 }, (_, i) => [ROOM.bytes * 4, 3 + 10 * i] as const),
  [ROOM.bytes, 100_000],
  [ROOM.bytes * 4, ROOM.files],
];

describe.skipIf(!canMount)(`the disk of the state root${canMount ? '' : ` (${NEEDS_ROOT})`}`, () => {
  const outcomes: Outcome[] = [];

  beforeAll(async () => {
    const points = [...POINTS];
    const next = async (): Promise<void> => {
      for (let point = points.pop(); point !== undefined; point = points.pop())
        outcomes.push(await runOnDisk(...point));
    };
    await Promise.all([next(), next(), next()]);
  }, 300_000);

  test('it was full before, during and after the work, and in the end not at all', () => {
    expect(outcomes.filter(({ wrote, code }) => !wrote && code !== 0).length).toBeGreaterThan(5);
    expect(outcomes.filter(({ wrote, code }) => wrote && code !== 0).length).toBeGreaterThan(1);
    expect(outcomes.filter(({ code }) => code === 0).length).toBeGreaterThanOrEqual(2);
  });

  test('a success has its commit and all of its records, and nothing else looks like one', () => {
    for (const one of outcomes) {
      if (one.code === 0) {
        expect(one.recorded, one.title).toEqual(['success', 'success', 'success']);
        expect(one.kept, one.title).toEqual(['a\nmore']);
      } else expect(one.recorded, one.title).not.toContain('success');
    }
  });

  test('what the worker wrote is in a commit or in the workspace', () => {
    for (const { title, wrote, kept } of outcomes) if (wrote) expect(kept, title).toContain('a\nmore');
  });

  test('no candidate is tried on what is full, nothing runs on, and the next run goes well', () => {
    for (const { title, second, leftovers, later } of outcomes) {
      expect({ title, second, leftovers, later }).toEqual({ title, second: false, leftovers: [], later: 0 });
    }
  });

  test('every failure says what is full', () => {
    for (const { title, code, said } of outcomes) {
      if (code !== 0 && !said.includes('wrote no pack')) expect(said, title).toMatch(SAYS_FULL);
    }
  });

  // Also while the groundwork is laid, and below the pack of a publication, which git itself does not mind.
  test('every end is an answer, never an internal error', () => {
    for (const { title, code, said } of outcomes) expect([0, 3, 6, 7], `${title}: ${said}`).toContain(code);
  });
});

describe.skipIf(!canMount)(`other disks${canMount ? '' : ` (${NEEDS_ROOT})`}`, () => {
  test('the canonical repository: no success without its ref and its line, the work stays in the workspace', async () => {
    const codes = new Set<number | null>();
    for (const freeBytes of [0, 12_288, 16_384, 20_480, 65_536]) {
      const disk = smallDisk(2 * 1024 * 1024);
      if (disk === null) throw new Error(NEEDS_ROOT);
      try {
        const world = new World();
        world.configure({ one: { script: WORK }, two: { script: 'touch @D@/second' } });
        const elsewhere = world.repo;
        world.repo = join(disk.path, 'repo');
        cpSync(elsewhere, world.repo, { recursive: true });
        const filler = join(disk.path, 'filler');
        let size = 0;
        expect(() => {
          for (; ; size += 4096) appendFileSync(filler, Buffer.alloc(4096));
        }).toThrow('ENOSPC');
        truncateSync(filler, size - freeBytes);
        const done = await world.run();
        codes.add(done.code);
        const [attempt] = done.receipt.attempts;
        expect(done.receipt.attempts).toHaveLength(1);
        expect(existsSync(join(world.folder, 'second'))).toBe(false);
        expect(world.leftovers()).toEqual([]);
        if (attempt?.state === 'success') {
          expect(world.git('show', `${done.summary.transport?.ref}:src/a.txt`)).toBe('a\nmore');
          expect(done.receipt.telemetry.logged).toBe(done.code === 0);
          if (done.code !== 0) expect(done.receipt.reason.code).toBe('TELEMETRY_LOG_FAILED');
        } else {
          expect(done.receipt).toMatchObject({ outcome: 'blocked', exit_code: 6 });
          expect(readFileSync(join(attempt?.cleanup.retained_path ?? '', 'src/a.txt'), 'utf8')).toBe('a\nmore\n');
        }
        if (done.code !== 0) expect(done.receipt.reason.message).toMatch(/ENOSPC|is full|couldn't write '.*\.lock'/);
        rmSync(filler);
        expect((await world.run()).code).toBe(0);
        expect(world.git('fsck', '--strict')).not.toContain('error');
      } finally {
        disk.unmount();
      }
    }
    expect([...codes].sort()).toEqual([0, 6, 7]);
  });

  test.each(['--receipt', '--telemetry'])('that of %s: evidence-failed, and the commit is there', async (flag) => {
    const disk = smallDisk(4096);
    if (disk === null) throw new Error(NEEDS_ROOT);
    try {
      const world = new World();
      world.configure({ one: { script: WORK } });
      appendFileSync(join(disk.path, 'filler'), Buffer.alloc(4096));
      const args = ['run', '--role', 'repair', '--json', '--unit', world.packet(), '--state-dir', world.state];
      const done = await world.cli([...args, flag, join(disk.path, 'record')]);
      expect(done.code).toBe(7);
      const summary = JSON.parse(done.stdout);
      expect(summary.reason.code).toBe(flag === '--receipt' ? 'RECEIPT_WRITE_FAILED' : 'TELEMETRY_LOG_FAILED');
      expect(summary.reason.message).toContain('ENOSPC');
      expect(world.git('show', `${summary.transport.ref}:src/a.txt`)).toBe('a\nmore');
      // What could be written says so too.
      expect(JSON.parse(readFileSync(summary.receipt, 'utf8'))).toMatchObject({ outcome: 'evidence-failed' });
      // No part of a record is left, at most an empty file.
      const holding = readdirSync(disk.path).filter((name) => statSync(join(disk.path, name)).size > 0);
      expect(holding).toEqual(['filler']);
    } finally {
      disk.unmount();
    }
  });
});
