/**
 * What every refusal before a run has in common, for tables of wrong calls: one exit code (2 usage, 3 configuration), one
 * clear error that names what and where, a valid answer for programs, and nothing made anywhere: no state, no receipt, no
 * ref, no telemetry.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { summary as summarySchema } from '../../src/model/summary.ts';
import { type CliOptions, World } from '../run/world.ts';

export const isRoot = process.getuid?.() === 0;

export interface Wrong {
  readonly args?: readonly string[];
  /** Instead of `--unit` with a good packet. */
  readonly unit?: readonly string[];
  readonly role?: string;
  readonly options?: CliOptions;
}

export interface Row {
  readonly title: string;
  readonly exit: 2 | 3;
  /** A code that the summary or a finding has; null for exit 2, which has none. */
  readonly code: string | null;
  /** All of these stand in the error. */
  readonly says: readonly string[];
  /** Breaks the world; gives what is different about the call. */
  readonly make: (world: World) => Wrong;
  readonly needsRoot?: boolean;
}

export const configFile = (world: World): string => join(world.repo, 'AGENT-EXECUTION.md');

/** Everything below a folder: names, kinds, sizes, modes. */
export function listing(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const entry = lstatSync(path);
    const line = `${path} ${entry.mode.toString(8)} ${entry.isDirectory() ? '' : entry.size} ${entry.mtimeMs}`;
    if (entry.isDirectory()) return [`${path} ${entry.mode.toString(8)} ${entry.mtimeMs}`, ...listing(path)];
    return [line];
  });
}

/** What a tool says that knows what is wrong: never a stack, a raw errno object or a promise. */
const CARELESS = /internal error|\n {4}at |\bundefined\b|\[object |UnhandledPromise|Error: /;

/** One test a row, each in a world of its own with a configuration and a packet that would run. */
export function refusals(name: string, rows: readonly Row[]): void {
  describe(name, () => {
    const impossible = rows.filter(({ needsRoot }) => needsRoot === true && !isRoot);
    test.skip.each(impossible)('$title', () => {});
    const possible = rows.filter((row) => !impossible.includes(row));
    test.concurrent.each(possible)('$title', async ({ exit, code, says, make }) => {
      const world = new World();
      world.configure({ one: { script: 'cat >/dev/null; echo more >> src/a.txt; : > @D@/started' } });
      const packet = world.packet();
      const { args = [], unit = ['--unit', packet], role = 'repair', options = {} } = make(world);
      const state =
        args.includes('--state-dir') || options.env?.AGENT_EXEC_STATE_DIR !== undefined
          ? []
          : ['--state-dir', join(world.folder, 'state')];
      const before = listing(world.folder);
      const done = await world.cli(['run', '--role', role, '--json', ...unit, ...state, ...args], options);
      expect(done.code, done.stdout + done.stderr).toBe(exit);
      for (const words of says) expect(done.stderr).toContain(words);
      expect(done.stderr).not.toMatch(CARELESS);
      expect(done.stderr).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f]/);
      expect(done.stderr.length).toBeLessThan(8192);
      if (exit === 2) expect(done.stdout).toBe('');
      else {
        const summary = summarySchema.parse(JSON.parse(done.stdout));
        expect(summary).toMatchObject({
          outcome: 'invalid-config',
          exit_code: 3,
          run_id: null,
          receipt: null,
          attempts: [],
        });
        expect(summary.reason.message).not.toBe('');
        // One of several findings stands in the summary; stderr has them all.
        if (code !== null) expect(`${summary.reason.code} ${done.stderr}`).toContain(code);
        expect(Buffer.byteLength(done.stdout)).toBeLessThanOrEqual(4096);
      }
      expect(listing(world.folder)).toEqual(before);
    });
  });
}
