import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { telemetryEvent } from '../../src/model/telemetry.ts';
import { attemptEvent } from '../../src/receipt/telemetry.ts';
import { appendTelemetry, telemetryPath } from '../../src/store/telemetry.ts';
import { attempt, RUN_ID } from '../receipt/record-samples.ts';
import { bundled, firstLine, outputOf, start } from './child.ts';
import { isRoot, NEEDS_ROOT, NOBODY, smallDisk, temporaryFolder, withUmask } from './temporary.ts';

const event = attemptEvent(attempt(), { runId: RUN_ID, unitId: 'fix-add', role: 'repair' });
const place = (): string => telemetryPath(temporaryFolder());
const lines = (path: string): unknown[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

test('events are whole lines in order; folder 0700 and file 0600 whatever the umask', async () => {
  for (const umask of [0, 0o277]) {
    const path = place();
    expect(path).toMatch(/\/agent-exec\/calls\.jsonl$/);
    const odd = { ...event, unit_id: 'a\nb\u2028\x1b[2J' };
    expect(await withUmask(umask, () => appendTelemetry(path, [event, odd]))).toEqual({ ok: true, value: undefined });
    expect((await appendTelemetry(path, [event])).ok).toBe(true);
    expect(readFileSync(path, 'utf8')).not.toMatch(/[\x1b\u2028]/);
    expect(lines(path).map((line) => telemetryEvent.parse(line))).toEqual([event, odd, event]);
    expect(statSync(path).mode & 0o7777).toBe(0o600);
    expect(statSync(join(path, '..')).mode & 0o7777).toBe(0o700);
    expect(readdirSync(join(path, '..'))).toEqual(['calls.jsonl']);
  }
});

test('a torn last line gets its newline first', async () => {
  const path = place();
  await appendTelemetry(path, [event]);
  appendFileSync(path, '{"schema":"agent-exec-tel');
  await appendTelemetry(path, [event]);
  const text = readFileSync(path, 'utf8').split('\n');
  expect(text.slice(1)).toEqual(['{"schema":"agent-exec-tel', JSON.stringify(event), '']);
});

describe('refused without waiting, following or leaving anything', () => {
  test('links, folders, pipes and devices', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'target'), 'kept');
    symlinkSync('target', join(folder, 'link'));
    symlinkSync('nowhere', join(folder, 'dangling'));
    mkdirSync(join(folder, 'folder'));
    spawnSync('mkfifo', [join(folder, 'pipe')]);
    const before = readdirSync(folder).sort();
    for (const name of ['link', 'dangling', 'folder', 'pipe']) {
      expect(await appendTelemetry(join(folder, name), [event])).toMatchObject({
        ok: false,
        error: { code: 'ENOTFILE' },
      });
    }
    expect(await appendTelemetry('/dev/null', [event])).toMatchObject({ ok: false, error: { code: 'ENOTFILE' } });
    expect(existsSync('/dev/null.lock')).toBe(false);
    expect(readdirSync(folder).sort()).toEqual(before);
    expect(readFileSync(join(folder, 'target'), 'utf8')).toBe('kept');
  });

  test('a missing folder above, a file among the parents', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'file'), '');
    expect(await appendTelemetry(join(folder, 'a', 'b', 'c'), [event])).toMatchObject({ error: { code: 'ENOENT' } });
    expect(await appendTelemetry(join(folder, 'file', 'c'), [event])).toMatchObject({ error: { code: 'ENOTDIR' } });
    expect(readdirSync(folder)).toEqual(['file']);
  });

  test('a folder that we cannot write', async (context) => {
    if (!isRoot) context.skip(NEEDS_ROOT);
    const folder = temporaryFolder();
    const script = bundled(`
      import { appendTelemetry } from './telemetry.ts';
      console.log(JSON.stringify(await appendTelemetry(process.argv[2], [${JSON.stringify(event)}])));`);
    for (const path of ['calls.jsonl', 'agent-exec/calls.jsonl']) {
      const said = await outputOf(start(script, [join(folder, path)], { uid: NOBODY }));
      expect(JSON.parse(said)).toMatchObject({ ok: false, error: { code: 'EACCES' } });
    }
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a disk that is full', () => {
  test('is an answer; the lines before it stay whole and nothing of the new one is left', async (context) => {
    const disk = smallDisk(64 * 1024);
    if (disk === null) return context.skip(NEEDS_ROOT);
    try {
      const path = telemetryPath(disk.path);
      await appendTelemetry(path, [event]);
      const huge = { ...event, unit_id: 'x'.repeat(200_000) };
      expect(await appendTelemetry(path, [event, huge])).toMatchObject({ ok: false, error: { code: 'ENOSPC' } });
      expect(lines(path)).toEqual([event]);
      expect((await appendTelemetry(path, [event])).ok).toBe(true);
      expect(lines(path)).toEqual([event, event]);
      expect(readdirSync(join(path, '..'))).toEqual(['calls.jsonl']);
    } finally {
      disk.unmount();
    }
  });

  test('also where the system cuts writes short', async () => {
    const path = place();
    const script = bundled(`
      import { appendTelemetry } from './telemetry.ts';
      const event = ${JSON.stringify(event)};
      const first = await appendTelemetry(process.argv[2], [event]);
      const second = await appendTelemetry(process.argv[2], Array(20).fill(event));
      console.log(JSON.stringify([first.ok, second.error?.code]));`);
    const said = await outputOf(start(script, [path], { shellPrefix: 'ulimit -f 4;' }));
    expect(JSON.parse(said)).toEqual([true, 'EFBIG']);
    expect(lines(path)).toEqual([event]);
  });
});

test('8 processes, 200 lines each: all whole, none lost', async () => {
  const path = place();
  const script = bundled(`
    import { appendTelemetry } from './telemetry.ts';
    const event = ${JSON.stringify(event)};
    for (let i = 0; i < 200; i++) {
      const unit_id = process.argv[3] + '-' + i + '-' + 'x'.repeat((i * 37) % 2000);
      const added = await appendTelemetry(process.argv[2], [{ ...event, unit_id }], { waitMs: 60_000 });
      if (!added.ok) throw new Error(added.error.message);
    }`);
  await Promise.all(Array.from({ length: 8 }, (_, i) => outputOf(start(script, [path, `w${i}`]))));
  const ids = lines(path).map((line) => telemetryEvent.parse(line).unit_id.split('-').slice(0, 2).join('-'));
  expect(ids).toHaveLength(1600);
  for (let writer = 0; writer < 8; writer++) {
    expect(ids.filter((id) => id.startsWith(`w${writer}-`))).toEqual(
      Array.from({ length: 200 }, (_, i) => `w${writer}-${i}`),
    );
  }
  expect(readdirSync(join(path, '..'))).toEqual(['calls.jsonl']);
});

test('a writer killed while it holds the lock does not stop the others, who heal what it left', async () => {
  const path = place();
  await appendTelemetry(path, [event]);
  const script = bundled(`
    import { appendFileSync } from 'node:fs';
    import { acquireLock } from './lock.ts';
    const lock = await acquireLock(process.argv[2] + '.lock');
    appendFileSync(process.argv[2], '{"torn":');
    console.log(lock.ok ? 'holding' : lock.error.code);
    process.stdin.resume();`);
  const child = start(script, [path]);
  expect(await firstLine(child)).toBe('holding');
  expect(await appendTelemetry(path, [event], { waitMs: 50 })).toMatchObject({ ok: false, error: { code: 'ELOCKED' } });
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  expect((await appendTelemetry(path, [event])).ok).toBe(true);
  expect(readFileSync(path, 'utf8').split('\n')).toEqual([
    JSON.stringify(event),
    '{"torn":',
    JSON.stringify(event),
    '',
  ]);
  expect(lstatSync(path).isFile()).toBe(true);
});
