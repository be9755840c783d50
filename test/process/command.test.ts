import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../src/process/command.ts';
import { type Attempt, attempt, expectNobodyLeft, MECHANISMS, PATH } from './attempt.ts';

describe.each(MECHANISMS)('a command under $name', ({ containment }) => {
  let one: Attempt;
  beforeEach(() => {
    one = attempt(containment);
  });
  afterEach(() => {
    expectNobodyLeft(one.marker);
    one.remove();
  });
  const run = (argv: string[], timeoutMs = 20_000) =>
    runCommand({
      argv,
      cwd: one.workspace,
      environment: { PATH },
      containment,
      mounts: { readOnly: [], writable: [] },
      networkOff: false,
      marker: one.marker,
      limits: { timeoutMs, graceMs: 100, rawOutputBytes: 4096 },
      logs: { stdout: one.logPath('stdout'), stderr: one.logPath('stderr') },
      stop: null,
    });

  test('a bare name is looked up on PATH and its argument is one literal', async () => {
    const { result } = await run(['printf', '%s', 'a; echo $HOME']);
    expect(result).toMatchObject({ argv: ['printf', '%s', 'a; echo $HOME'], code: 0, ok: true });
    expect(one.log('stdout')).toBe('a; echo $HOME');
  });
  test('a path is taken from the folder it runs in', async () => {
    writeFileSync(join(one.workspace, 'check.sh'), '#!/bin/sh\nexit 4\n');
    chmodSync(join(one.workspace, 'check.sh'), 0o755);
    const { result } = await run(['./check.sh']);
    expect(result).toMatchObject({ code: 4, ok: false });
  });
  test('what does not exist has no code', async () => {
    const { result, outcome } = await run(['no-such-program']);
    expect(result).toMatchObject({ code: null, ok: false });
    expect(outcome.termination).toEqual({ kind: 'not-started', error: 'ENOENT' });
  });
  test('what takes too long has none either', async () => {
    const { result, outcome } = await run(['sleep', '3600'], 200);
    expect(result).toMatchObject({ code: null, ok: false });
    expect(outcome.termination).toMatchObject({ kind: 'stopped', by: 'total-timeout' });
  });
});
