import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { err, ok } from '../../src/model/result.ts';
import {
  beyondRecords,
  createRunDirectory,
  isRunId,
  listRunDirectories,
  newRunId,
  type RunDirectory,
  runDirectory,
} from '../../src/store/run-directory.ts';
import { temporaryFolder, withUmask } from './temporary.ts';

const AT = new Date('2026-11-30T17:15:00.123Z');

const create = async (root: string, runId: string) => {
  const made = await createRunDirectory(root, runId, async () => ok(null));
  return made.ok ? ok(made.value.place) : made;
};

test('ids are readable, sort by time and are valid in ref names', () => {
  expect(newRunId(AT, '4f9c2a')).toBe('20261130t171500123z-4f9c2a');
  expect(newRunId(AT)).toMatch(/^20261130t171500123z-[0-9a-f]{6}$/);
  const dates = fc.date({ min: new Date('2000-01-01'), max: new Date('2999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(dates, dates, (a, b) => {
      expect(isRunId(newRunId(a))).toBe(true);
      if (a.getTime() !== b.getTime()) expect(newRunId(a) < newRunId(b)).toBe(a < b);
    }),
  );
  for (const text of ['', '..', '20261130t171500123z-4f9c2a/..', '20261130T171500123Z-4f9c2a', 'x']) {
    expect(isRunId(text)).toBe(false);
  }
});

test('a run directory is private whatever the umask, and its parts are inside it', async () => {
  const root = temporaryFolder();
  for (const umask of [0, 0o277]) {
    const made = await withUmask(umask, () => create(root, newRunId(AT)));
    const run = made.ok ? made.value : null;
    expect(run).toEqual(runDirectory(root, run?.runId ?? ''));
    expect(run?.path).toBe(join(root, run?.runId ?? ''));
    for (const path of [run?.path, run?.attempts]) expect(lstatSync(path ?? '').mode & 0o7777).toBe(0o700);
    expect([run?.receipt, run?.plan, run?.journal].map((path) => path?.slice((run?.path.length ?? 0) + 1))).toEqual([
      'receipt.json',
      'plan.json',
      'journal.jsonl',
    ]);
  }
  expect(readdirSync(root)).toHaveLength(2);
});

test('a taken id is never shared', async () => {
  const root = temporaryFolder();
  const taken = newRunId(AT, '000000');
  mkdirSync(join(root, taken));
  expect(await create(root, taken)).toMatchObject({ ok: false, error: { code: 'EEXIST' } });
  expect(readdirSync(join(root, taken))).toEqual([]);
  expect(new Set(Array.from({ length: 100 }, () => newRunId(AT))).size).toBe(100);
});

test('a directory has its name only when its first records are in it, and a failure leaves none', async () => {
  const root = temporaryFolder();
  const id = newRunId(AT);
  let seen: readonly string[] = [];
  const fill = async (making: RunDirectory) => {
    writeFileSync(making.journal, 'first');
    seen = readdirSync(root);
    expect(await listRunDirectories(root)).toMatchObject({ runs: [], starting: [{ path: making.path }] });
    return ok('filled');
  };
  expect(await createRunDirectory(root, id, fill)).toMatchObject({ ok: true, value: { filled: 'filled' } });
  expect(seen).toEqual([`starting-${id}`]);
  expect(readdirSync(root)).toEqual([id]);
  expect(readdirSync(join(root, id)).sort()).toEqual(['attempts', 'journal.jsonl']);
  const full = { code: 'ENOSPC', message: 'no space' };
  expect(await createRunDirectory(root, newRunId(AT), async () => err(full))).toEqual(err(full));
  expect(readdirSync(root)).toEqual([id]);
});

test('a root that is gone is an answer', async () => {
  expect(await create('/nowhere/at/all', newRunId(AT))).toMatchObject({
    ok: false,
    error: { code: 'ENOENT' },
  });
});

test('beyond its records nothing belongs into a run directory, and one that is gone cannot be answered for', async () => {
  const made = await create(temporaryFolder(), newRunId(AT));
  if (!made.ok) throw new Error(made.error.message);
  const run = made.value;
  const one = join(run.attempts, '01-a');
  mkdirSync(one);
  for (const path of [run.receipt, run.plan, run.journal, run.internalError, join(one, 'prompt.md')])
    writeFileSync(path, '');
  expect(await beyondRecords(run, ['prompt.md'])).toEqual({ ok: true, value: [] });
  for (const path of ['host.git', 'attempts/stray', 'attempts/01-a/tmp']) writeFileSync(join(run.path, path), '');
  const found = await beyondRecords(run, ['prompt.md']);
  expect(found.ok && found.value.sort()).toEqual(['attempts/01-a/tmp', 'attempts/stray', 'host.git']);
  for (const path of [run.attempts, run.path]) {
    rmSync(path, { recursive: true });
    expect(await beyondRecords(run, [])).toMatchObject({ ok: false, error: { code: 'ENOENT' } });
  }
});
