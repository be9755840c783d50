/** What must hold of a world whose agent-exec was killed, once `recover` has run. */
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Receipt } from '../../src/model/receipt.ts';
import { type TelemetryEvent, telemetryEvent } from '../../src/model/telemetry.ts';
import { checkDigest, parseReceipt } from '../../src/receipt/receipt.ts';
import { World } from '../run/world.ts';

/** What the worker says, outside of everything, that it has written by now: one path and its content a line. */
export const WITNESS = 'witness';

/** Does its work, leaves a daemon that is hard to find, and goes on for as long as it is let. */
export const WORKER = `
w() { mkdir -p "$(dirname "$1")"; printf '%s' "$2" > "$1"; printf '%s %s\\n' "$1" "$2" >> @D@/${WITNESS}; }
w src/a.txt first
w src/new.txt second
w build/ignored.bin third
( setsid env -i /bin/sh -c 'sleep 60; : @MARK@' >/dev/null 2>&1 & ) 2>/dev/null
w src/deep/er/last.txt fourth
exit 0`;

/** Two candidates, of which the second works, and verification: every step that a run can have. */
export function configured(isolation: string, worker = WORKER): { readonly world: World; readonly before: unknown } {
  const world = new World();
  world.configure({ refuses: { script: 'echo half > src/a.txt; exit 3' }, works: { script: worker } }, [
    `isolation: ${isolation}`,
    'verify: host',
  ]);
  return { world, before: world.canonical() };
}

/** Arguments of a run of it. */
export const runArgs = (world: World): string[] => [
  ...['run', '--role', 'repair', '--quiet'],
  ...['--unit', world.packet({ verification: [['true']] }), '--state-dir', world.state],
];

export const toldBy = (receipt: Receipt | null): string =>
  receipt === null ? 'nothing begun' : `${receipt.outcome} ${receipt.reason.code}`;

export interface Witnessed {
  readonly path: string;
  readonly content: string;
}

export function witnessed(world: World): Witnessed[] {
  const file = join(world.folder, WITNESS);
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [path = '', content = ''] = line.split(' ');
      return { path, content };
    });
}

/** Every place where a file of the worker is: commits at our refs, workspaces that stayed. */
function findWork(world: World, { path, content }: Witnessed): string[] {
  const refs = world.git('for-each-ref', '--format=%(refname)', 'refs/agent-exec', 'refs/agent-exec-quarantine');
  const places = refs.split('\n').filter((ref) => {
    if (ref === '') return false;
    try {
      return world.git('show', `${ref}:${path}`) === content;
    } catch {
      // The commit does not have it.
      return false;
    }
  });
  for (const { receipt } of receiptsOf(world)) {
    for (const { cleanup } of receipt.attempts) {
      const file = join(cleanup.retained_path ?? '/nonexistent', path);
      if (existsSync(file) && readFileSync(file, 'utf8') === content) places.push(file);
    }
  }
  return places;
}

export function receiptsOf(world: World): { readonly runId: string; readonly receipt: Receipt }[] {
  if (!existsSync(world.state)) return [];
  return readdirSync(world.state)
    .filter((name) => existsSync(join(world.state, name, 'receipt.json')))
    .map((runId) => {
      const parsed = parseReceipt(readFileSync(join(world.state, runId, 'receipt.json')));
      if (!parsed.ok) throw new Error(`the receipt of ${runId} is ${parsed.error}`);
      expect(checkDigest(parsed.value)).toBe(true);
      return { runId, receipt: parsed.value };
    });
}

/** Everything in a folder, by content and time, for telling whether anything was touched. */
export function photograph(folder: string, prefix = ''): string[] {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name);
      const entry = lstatSync(path, { bigint: true });
      const line = `${prefix}${name} ${entry.mode.toString(8)} ${entry.mtimeNs}`;
      if (entry.isSymbolicLink()) return [`${line} ${readlinkSync(path)}`];
      return entry.isDirectory() ? [line, ...photograph(path, `${prefix}${name}/`)] : [`${line} ${entry.size}`];
    });
}

const refsOf = (world: World): string => world.git('for-each-ref', '--format=%(refname) %(objectname)');

/** Runs `recover` and checks every law. `before`: the canonical repository before the run. Gives the receipt, if any. */
export async function expectRecovered(world: World, before: unknown): Promise<Receipt | null> {
  const recovered = await world.cli(['recover', '--json', '--state-dir', world.state]);
  expect([recovered.code, recovered.stderr]).toEqual([0, '']);
  expect(world.leftovers()).toEqual([]);
  for (const file of witnessed(world)) expect([file.path, findWork(world, file).length > 0]).toEqual([file.path, true]);
  expect(world.canonical()).toEqual(before);
  execFileSync('git', ['-C', world.repo, 'fsck', '--full', '--strict', '--no-dangling'], { stdio: 'pipe' });

  const runs = existsSync(world.state) ? readdirSync(world.state).filter((name) => /^\d/.test(name)) : [];
  const receipts = receiptsOf(world);
  expect(receipts.map(({ runId }) => runId)).toEqual(runs);
  expect(receipts.length).toBeLessThanOrEqual(1);
  const [only] = receipts;
  if (only !== undefined) {
    expectAccounted(world, only.receipt);
    const records = ['attempts', 'journal.jsonl', 'plan.json', 'receipt.json'];
    expect(records).toEqual(expect.arrayContaining(readdirSync(join(world.state, only.runId))));
  }

  const seen = [existsSync(world.state) ? photograph(world.state) : [], refsOf(world)];
  const again = await world.cli(['recover', '--json', '--state-dir', world.state]);
  expect(JSON.parse(again.stdout)).toEqual({ schema: 'agent-exec-recovery/v1', runs: [] });
  expect([existsSync(world.state) ? photograph(world.state) : [], refsOf(world)]).toEqual(seen);
  return only?.receipt ?? null;
}

/** A line that a killed writer left half is legal, once, and stands alone. */
function wholeLines(world: World): TelemetryEvent[] {
  const lines = readFileSync(join(world.repo, '.git', 'agent-exec', 'calls.jsonl'), 'utf8')
    .split('\n')
    .slice(0, -1);
  const isWhole = (line: string): boolean => line.endsWith('}');
  expect(lines.filter((line) => !isWhole(line)).length).toBeLessThanOrEqual(1);
  return lines.filter(isWhole).map((line) => telemetryEvent.parse(JSON.parse(line)));
}

/** The receipt, the refs and the telemetry tell one story. */
function expectAccounted(world: World, receipt: Receipt): void {
  const published = receipt.attempts.flatMap(({ transport, quarantine }) => [transport, quarantine]).filter(Boolean);
  const refs = world.git(
    'for-each-ref',
    '--format=%(refname) %(objectname)',
    'refs/agent-exec',
    'refs/agent-exec-quarantine',
  );
  expect(refs.split('\n').filter(Boolean).sort()).toEqual(
    published.map((commit) => `${commit?.ref} ${commit?.commit}`).sort(),
  );
  const events = wholeLines(world);
  expect(events.filter(({ event }) => event === 'run')).toMatchObject([
    { run_id: receipt.run_id, outcome: receipt.outcome, exit_code: receipt.exit_code },
  ]);
  expect(events.flatMap((event) => (event.event === 'attempt' ? [[event.attempt_id, event.state]] : []))).toEqual(
    receipt.attempts.map(({ attempt_id, state }) => [attempt_id, state]),
  );
  expect(receipt.telemetry.logged).toBe(true);
}
