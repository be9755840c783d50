/**
 * Every field of true receipts, changed one at a time and sealed again. What `receipt verify` does not notice is listed
 * here with the reason why it proves nothing: a field that is not on the list is noticed, or this fails.
 */
import { expect, test } from 'vitest';
import type { Receipt } from '../../src/model/receipt.ts';
import { World } from '../run/world.ts';
import { type Draft, forged, said } from './receipt-world.ts';

type Path = readonly (string | number)[];

/** Every member and element that is no container, and every container. */
function* placesIn(node: unknown, at: Path = []): Generator<Path> {
  if (at.length > 0) yield at;
  if (node === null || typeof node !== 'object') return;
  for (const [key, value] of Object.entries(node))
    yield* placesIn(value, [...at, Array.isArray(node) ? Number(key) : key]);
}

const parentOf = (draft: Draft, at: Path): Draft => at.slice(0, -1).reduce((node, key) => node[key], draft);

/** Another value of the same kind, one that the schema takes. */
function otherThan(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (value === null) return 'OTHER';
  if (Array.isArray(value)) return value.slice(1);
  if (typeof value !== 'string') return null;
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return '2031-01-01T00:00:00.000Z';
  if (/^(sha256:)?[0-9a-f]{40,}$/.test(value)) return value.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  return ALTERNATIVES[value] ?? `${value}x`;
}

const ALTERNATIVES: Readonly<Record<string, string>> = {
  success: 'exhausted',
  'host-fallback-authorized': 'exhausted',
  unavailable: 'failed-clean',
  'failed-clean': 'unavailable',
  OK: 'EMPTY_DIFF',
  EXIT_NONZERO: 'TIMEOUT',
  EXECUTABLE_MISSING: 'INCOMPATIBLE',
  DISABLED: 'INCOMPATIBLE',
  guard: 'none',
  none: 'guard',
  bwrap: 'none',
  auto: 'none',
  open: 'declared',
  allow: 'deny',
  subscription: 'metered',
  'all-unavailable': 'never',
  exited: 'signaled',
  'pid-namespace': 'session-sweep',
  stdout: 'stderr',
  stderr: 'stdout',
  M: 'A',
  A: 'M',
  sha1: 'sha256',
  '100644': '100755',
};

/** Paths with indices as `*`, and why a lie there proves nothing. */
const UNNOTICED: Readonly<Record<string, string>> = {
  'tool.version': 'every version is held to the same rules',
  duration_ms: 'by a clock that does not jump: need not fit the times of day',
  ended_at: 'a later end of the run decides nothing; an earlier one is noticed',
  'reason.message': 'words for people; the code decides',
  'repository.dirty_paths': "the host's own checkout, which no worker saw",
  'repository.lfs': 'a hint for people',
  'attempts.*.duration_ms': 'as above',
  'attempts.*.message': 'words for people; the code decides',
  'attempts.*.summary': 'self-reported',
  'attempts.*.model.reported': 'self-reported, unless it contradicts the request',
  'attempts.*.reported.error': 'self-reported',
  'attempts.*.reported.session_id': 'self-reported',
  'attempts.*.argv': 'how it was started; what it did is what counts',
  'attempts.*.argv.*': 'as above',
  'attempts.*.environment_names': 'as above; no values',
  'attempts.*.environment_names.*': 'as above',
  'attempts.*.probe.message': 'words for people',
  'attempts.*.probe.executable': 'of this machine, and gone tomorrow',
  'attempts.*.probe.version': "the CLI's word",
  'attempts.*.termination.error': 'of what was never started; its code says why',
  'attempts.*.termination.code': 'which exit code other than 0; that of a success is noticed',
  'attempts.*.processes.containment': 'the weaker claim; the stronger one is noticed',
  'attempts.*.processes.escaped': 'ended all the same',
  'attempts.*.processes.killed': 'ended all the same',
  'attempts.*.ignored.bytes': 'what is in no transport; a quarantine keeps it',
  'attempts.*.ignored.count': 'as above',
  'attempts.*.ignored.paths.*': 'as above',
  'attempts.*.changes.*.binary': 'how it is shown; its blob is compared',
  'attempts.*.verification': 'that none was run, which --require does not ask for; that others were run is noticed',
  'attempts.*.verification.*.duration_ms': 'as above',
  'attempts.*.logs': 'private to the machine of the run; they carry nothing',
  'attempts.*.logs.*.bytes_seen': 'as above',
  'attempts.*.logs.*.path': 'as above',
  'attempts.*.logs.*.sha256': 'as above',
  'attempts.*.logs.*.stream': 'as above',
};

test('every change of a field is noticed, but for those that prove nothing', async () => {
  const world = new World();
  world.configure({
    gone: { script: 'cat >/dev/null; echo half >> src/a.txt; exit 3' },
    works: {
      script: 'cat >/dev/null; echo yes >> src/a.txt; echo n > src/new.txt; mkdir build; echo i > build/x; echo done',
    },
  });
  const { receipt: success } = await world.run({ verification: [['true']] }, { args: ['--verify'] });
  const idle = new World();
  idle.configure({ gone: { executable: 'not-there' }, idle: { script: 'true', lines: ['enabled: false'] } });
  const { receipt: fallback } = await idle.run();
  const unnoticed = new Set<string>();
  let tried = 0;
  for (const [whose, receipt] of [
    [world, success],
    [idle, fallback],
  ] as const) {
    for (const at of placesIn(receipt)) {
      if (at[0] === 'digest') continue;
      if (!(await isChangeable(receipt, at))) continue;
      tried++;
      const lie = forged(whose, receipt, (draft) => change(draft, at));
      const { code } = await said(whose, ['receipt', 'verify', lie]);
      if (code === 0) unnoticed.add(at.map((key) => (typeof key === 'number' ? '*' : key)).join('.'));
    }
  }
  expect(tried).toBeGreaterThan(400);
  expect([...unnoticed].sort()).toEqual(Object.keys(UNNOTICED).sort());
}, 300_000);

const isChangeable = async (receipt: Receipt, at: Path): Promise<boolean> => {
  const value = parentOf(receipt, at)[at.at(-1) as string];
  return JSON.stringify(otherThan(value)) !== JSON.stringify(value);
};

function change(draft: Draft, at: Path): void {
  const parent = parentOf(draft, at);
  const key = at.at(-1) as string;
  parent[key] = otherThan(parent[key]);
}
