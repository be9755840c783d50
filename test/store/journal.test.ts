import { appendFileSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProcessIdentity } from '../../src/model/process-identity.ts';
import { createJournal, type Journal, readJournal, takeOverJournal } from '../../src/store/journal.ts';
import { bundled, firstLine, outputOf, start } from './child.ts';
import { NEEDS_ROOT, smallDisk, temporaryFolder, withUmask } from './temporary.ts';

const ME: ProcessIdentity = { pid: 42, started: 1234, boot_id: 'b', scope: 'here' };
const now = () => new Date('2026-11-30T17:15:00.123Z');
const value = <T>(result: { ok: boolean; value?: T }): T => {
  expect(result).toMatchObject({ ok: true });
  return result.value as T;
};

async function sample(): Promise<{ path: string; journal: Journal }> {
  const path = join(temporaryFolder(), 'journal.jsonl');
  const journal = value(await createJournal(path, ME, now));
  await journal.before('workspace', '01-a', { path: '/w' });
  await journal.after('workspace', '01-a');
  await journal.before('worker', '01-a', { text: 'line\nbreak \u202e\x1b[2J é' });
  return { path, journal };
}

test('records are on disk when the promise resolves, in order, numbered, one a line', async () => {
  const { path, journal } = await sample();
  const text = readFileSync(path, 'utf8');
  expect(text.trimEnd().split('\n')).toHaveLength(4);
  expect(text).not.toMatch(/[\x1b\u202e]/);
  const reading = readJournal(readFileSync(path));
  expect(reading.records[0]).toEqual({
    version: 1,
    seq: 0,
    at: '2026-11-30T17:15:00.123Z',
    step: 'control',
    phase: 'note',
    attempt: null,
    data: { controller: ME },
  });
  expect(reading.records.map(({ seq, step, phase }) => [seq, step, phase])).toEqual([
    [0, 'control', 'note'],
    [1, 'workspace', 'before'],
    [2, 'workspace', 'after'],
    [3, 'worker', 'before'],
  ]);
  expect(reading.records[3]?.data).toEqual({ text: 'line\nbreak \u202e\x1b[2J é' });
  expect([reading.controller, reading.damagedLines]).toEqual([ME, 0]);
  expect(reading.unfinished).toEqual([reading.records[3]]);
  await journal.close();
});

test('records given at once keep their order', async () => {
  const { path, journal } = await sample();
  await Promise.all(Array.from({ length: 100 }, (_, i) => journal.note(`n${i}`, null)));
  const steps = readJournal(readFileSync(path)).records.slice(4);
  expect(steps.map(({ step }) => step)).toEqual(Array.from({ length: 100 }, (_, i) => `n${i}`));
  expect(steps.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, i) => i + 4));
  await journal.close();
});

test('a journal is private whatever the umask, never replaced and never written through a link', async () => {
  const folder = temporaryFolder();
  for (const umask of [0, 0o277]) {
    const path = join(folder, `j${umask}`);
    await value(await withUmask(umask, () => createJournal(path, ME, now))).close();
    expect(statSync(path).mode & 0o7777).toBe(0o600);
    expect(await createJournal(path, ME, now)).toMatchObject({ ok: false, error: { code: 'EEXIST' } });
  }
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'));
  expect(await createJournal(join(folder, 'link'), ME, now)).toMatchObject({ error: { code: 'EEXIST' } });
  expect(await takeOverJournal(join(folder, 'link'), ME, now)).toMatchObject({ error: { code: 'ELOOP' } });
  expect(await takeOverJournal(join(folder, 'none'), ME, now)).toMatchObject({ error: { code: 'ENOENT' } });
});

describe('unfinished steps', () => {
  test('are those without an end of the same step and attempt', async () => {
    const { path, journal } = await sample();
    await journal.before('worker', '02-b');
    await journal.after('worker', '01-a');
    await journal.after('never-begun', null);
    await journal.before('receipt', null);
    await journal.note('receipt', null);
    expect(readJournal(readFileSync(path)).unfinished.map(({ step, attempt }) => [step, attempt])).toEqual([
      ['worker', '02-b'],
      ['receipt', null],
    ]);
    await journal.close();
  });
});

describe('reading', () => {
  test('a journal cut at any byte: the whole records before the cut, and no exception', async () => {
    const { path, journal } = await sample();
    await journal.close();
    const bytes = readFileSync(path);
    const { records } = readJournal(bytes);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const reading = readJournal(bytes.subarray(0, cut));
      const newlines = bytes.subarray(0, cut).filter((byte) => byte === 10).length;
      const whole = newlines + (bytes[cut] === 10 ? 1 : 0);
      expect(reading.records).toEqual(records.slice(0, whole));
      expect(reading.damagedLines).toBeLessThanOrEqual(1);
    }
  });

  test('any bytes at all', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void readJournal(bytes)));
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (values) => {
        const text = values.map((each) => JSON.stringify(each)).join('\n');
        expect(readJournal(Buffer.from(text)).records).toEqual([]);
      }),
    );
  });
});

test('whoever takes over heals a torn end, goes on counting and is the controller', async () => {
  const { path, journal } = await sample();
  await journal.close();
  truncateSync(path, statSync(path).size - 10);
  const next = value(await takeOverJournal(path, { ...ME, pid: 43 }, now));
  await next.after('worker', '01-a');
  await next.close();
  const reading = readJournal(readFileSync(path));
  expect(reading.records.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4]);
  expect([reading.damagedLines, reading.controller?.pid]).toEqual([1, 43]);
  expect(readFileSync(path, 'utf8').endsWith('}\n')).toBe(true);
});

test('a controller killed at any moment leaves a readable journal', async () => {
  const path = join(temporaryFolder(), 'journal.jsonl');
  const script = bundled(`
    import { createJournal } from './journal.ts';
    import { selfIdentity } from '../process/identity.ts';
    const made = await createJournal(process.argv[2], selfIdentity(), () => new Date());
    if (!made.ok) throw new Error(made.error.message);
    for (let i = 0; ; i++) {
      await made.value.before('step' + i, null, { text: 'x'.repeat(i * 100) });
      if (i === 20) console.log('ready');
    }`);
  const child = start(script, [path]);
  expect(await firstLine(child)).toBe('ready');
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  const { records, controller } = readJournal(readFileSync(path));
  expect(records.length).toBeGreaterThan(21);
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i));
  expect(controller?.pid).toBe(child.pid);
});

describe('a disk that is full', () => {
  test('is an answer; what was written of the record is taken back', async (context) => {
    const disk = smallDisk(64 * 1024);
    if (disk === null) return context.skip(NEEDS_ROOT);
    try {
      const path = join(disk.path, 'journal.jsonl');
      const journal = value(await createJournal(path, ME, now));
      const before = readFileSync(path);
      const failed = await journal.before('huge', null, { text: 'x'.repeat(200_000) });
      expect(failed).toMatchObject({ ok: false, error: { code: 'ENOSPC' } });
      expect(readFileSync(path)).toEqual(before);
      expect(await journal.before('small', null)).toMatchObject({ ok: true });
      await journal.close();
      expect(readJournal(readFileSync(path)).records.map(({ seq, step }) => [seq, step])).toEqual([
        [0, 'control'],
        [1, 'small'],
      ]);
      writeFileSync(join(disk.path, 'filler'), '');
      try {
        for (;;) appendFileSync(join(disk.path, 'filler'), Buffer.alloc(4096));
      } catch (error) {
        expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
      }
      const none = await createJournal(join(disk.path, 'other'), ME, now);
      expect(none).toMatchObject({ ok: false, error: { code: 'ENOSPC' } });
    } finally {
      disk.unmount();
    }
  });

  test('also where the system cuts writes short', async () => {
    const path = join(temporaryFolder(), 'journal.jsonl');
    const script = bundled(`
      import { createJournal } from './journal.ts';
      import { selfIdentity } from '../process/identity.ts';
      const made = await createJournal(process.argv[2], selfIdentity(), () => new Date());
      console.log(JSON.stringify(await made.value.before('big', null, { text: 'x'.repeat(10_000) })));
      console.log(JSON.stringify(await made.value.before('small', null)));`);
    const said = await outputOf(start(script, [path], { shellPrefix: 'ulimit -f 4;' }));
    const [big, small] = said
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([big.error.code, small.ok]).toEqual(['EFBIG', true]);
    expect(readJournal(readFileSync(path))).toMatchObject({ damagedLines: 0, records: { length: 2 } });
  });
});
