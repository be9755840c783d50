/** Puts stand-ins for CLIs on a world's PATH, runs one profile with them, and reads what they were given. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { AttemptRecord } from '../../src/model/receipt.ts';
import { type Finished, World } from './world.ts';

/** `out` takes a line or an event; `write` a path in the workspace or an absolute one, and text to append; `run` a shell command. */
export type Step =
  | readonly ['out' | 'err' | 'leave', unknown]
  | readonly ['write', string, string]
  | readonly ['run' | 'signal', string]
  | readonly ['block']
  | readonly ['exit', number];

export interface Scenario {
  readonly version?: string;
  readonly help?: string;
  readonly models?: { readonly form?: 'json' | 'tabs' | 'bare' | 'none'; readonly list?: readonly object[] };
  /** What the CLI does with a model that it does not know; default: refuse. */
  readonly unknownModel?: 'fallback';
  /** How long a second of its own limit lasts, so that no test waits for half a minute; default 1000. */
  readonly secondMs?: number;
  /** A folder that it works in instead of its workspace. */
  readonly worksIn?: string;
  /** Done before its first event. */
  readonly before?: readonly Step[];
  /** Done after it, instead of a change in `src/a.txt` and a success. */
  readonly play?: readonly Step[];
}

export interface Given {
  readonly kind: 'prompt' | 'models';
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: readonly string[];
  readonly stdin: 'null' | 'pipe';
  readonly prompt: { readonly bytes: number; readonly sha256: string };
}

type Program = 'agy' | 'cursor-agent';

/** Installs a stand-in under a name and gives the variables that make it found. Its processes carry the world's mark. */
export function standIn(
  world: World,
  program: Program,
  scenario: Scenario = {},
  name: string = program,
): { readonly PATH: string } {
  const bin = join(world.folder, `bin-${world.mark}`);
  mkdirSync(bin, { recursive: true });
  symlinkSync(new URL(`../standins/${program}.mjs`, import.meta.url).pathname, join(bin, name));
  writeFileSync(join(bin, `${name}.json`), JSON.stringify(scenario));
  return { PATH: `${bin}:${process.env.PATH}` };
}

/** What the stand-in was given at each start but the probe's, from its state folder in the world's HOME. */
export function given(world: World, folder: '.gemini' | '.cursor'): Given[] {
  const path = join(world.home, folder, 'stand-in.jsonl');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

export interface Setting {
  readonly scenario?: Scenario;
  /** The name on PATH; default: the program's own. */
  readonly name?: string;
  /** Further lines of the profile. */
  readonly lines?: readonly string[];
  readonly execution?: readonly string[];
  readonly unit?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Played {
  readonly done: Finished;
  readonly attempt: AttemptRecord;
  readonly world: World;
}

/** One run of one profile. Whatever happens in it, no process is left and the checkout is as it was. */
export async function play(program: Program, setting: Setting, world = new World()): Promise<Played> {
  const path = standIn(world, program, setting.scenario, setting.name);
  const adapter = program === 'agy' ? 'antigravity' : 'cursor';
  world.configure({ one: { adapter, lines: setting.lines ?? [] } }, setting.execution);
  const before = world.canonical();
  const done = await world.run(setting.unit, { env: { ...path, ...setting.env } });
  const [attempt] = done.receipt.attempts;
  if (attempt === undefined) throw new Error('no attempt');
  expect(world.leftovers()).toEqual([]);
  if (attempt.code !== 'CANONICAL_CHANGED') {
    expect(world.canonical()).toEqual(before);
    expect(attempt.cleanup).toMatchObject({ exact: true, retained_path: null });
  }
  return { done, attempt, world };
}

type Row = readonly [title: string, setting: Setting, code: string, more?: object];

/** Rows for `test.each`; `more` is what the attempt's record must hold besides. */
export const rows = (...all: readonly Row[]) =>
  all.map(([title, setting, code, more = {}]) => ({ title, setting, code, more }));
