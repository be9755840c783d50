import { describe, expect, test } from 'vitest';
import { parsePs } from '../../src/process/darwin-table.ts';
import { descendantsOf, findMembers, orphanedLineage, startLineage } from '../../src/process/lineage.ts';
import { type ProcessEntry, type ProcessTable, parseStat } from '../../src/process/table.ts';

type Row = readonly [pid: number, parent: number, session: number, started: number];
const entry = ([pid, parent, session, started]: Row): ProcessEntry => ({
  pid,
  parent,
  session,
  started,
  group: session,
  hasTerminal: false,
  alive: true,
});
const table = (...rows: Row[]): ProcessTable => new Map(rows.map((row) => [row[0], entry(row)]));
const pids = (entries: readonly ProcessEntry[]) => entries.map(({ pid }) => pid).sort((a, b) => a - b);
const nobody = () => false;

describe('who belongs to an attempt', () => {
  const leader = { pid: 100, started: 50 };
  test('children, their children, and their sessions; not neighbours', () => {
    const now = table(
      [1, 0, 1, 1],
      [100, 90, 100, 50],
      [101, 100, 100, 51],
      [102, 101, 102, 52],
      [103, 1, 102, 53],
      [200, 1, 200, 55],
    );
    expect(pids(findMembers(now, startLineage(leader), nobody))).toEqual([100, 101, 102, 103]);
  });
  test('whoever was seen as a child stays one after its parents are gone', () => {
    const lineage = startLineage(leader);
    findMembers(table([100, 90, 100, 50], [101, 100, 100, 51], [102, 101, 102, 52]), lineage, nobody);
    expect(pids(findMembers(table([102, 1, 102, 52], [300, 102, 300, 60]), lineage, nobody))).toEqual([102, 300]);
  });
  test('a pid that was handed out again is somebody else, and so is its session', () => {
    const lineage = startLineage(leader);
    findMembers(table([100, 90, 100, 50], [101, 100, 100, 51]), lineage, nobody);
    const later = table([101, 1, 101, 900], [100, 1, 100, 901], [400, 100, 100, 902]);
    expect(findMembers(later, lineage, nobody)).toEqual([]);
  });
  test('nobody older than the leader belongs, whatever it shows', () => {
    expect(findMembers(table([70, 1, 100, 49]), startLineage(leader), () => true)).toEqual([]);
  });
  test('a proof makes a member, and its children with it', () => {
    const now = table([500, 1, 500, 60], [501, 500, 501, 61], [502, 1, 502, 62]);
    expect(pids(findMembers(now, startLineage(leader), ({ pid }) => pid === 500))).toEqual([500, 501]);
  });
  test('without a living leader only proofs count: kernel threads and services share session 0', () => {
    const now = table([2, 0, 0, 0], [3, 2, 0, 0], [800, 1, 0, 70]);
    expect(findMembers(now, orphanedLineage(0), nobody)).toEqual([]);
  });
  test('everybody below one process', () => {
    const now = table([1, 0, 1, 1], [5, 1, 5, 2], [6, 5, 6, 3], [7, 6, 7, 4], [8, 1, 8, 5]);
    expect(pids(descendantsOf(now, 5))).toEqual([6, 7]);
  });
});

test.each<[string, Partial<ProcessEntry> | null]>([
  [
    '7 (a) b) S 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 131252 1 1',
    { parent: 3, group: 4, session: 5, hasTerminal: false, alive: true, started: 131252 },
  ],
  ['7 (x) R 3 4 5 34816 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 1 1', { hasTerminal: true, started: 9 }],
  ['7 (x) Z 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 1 1', { alive: false }],
  ['7 (x) Z 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 9 1 1', { alive: true }],
  ['', null],
])('the line %j', (text, expected) => {
  const parsed = parseStat(7, text);
  if (expected === null) expect(parsed).toBeNull();
  else expect(parsed).toMatchObject({ pid: 7, ...expected });
});

test('the table of ps', () => {
  const text = `  PID  PPID  PGID   SESS TTY      STAT STARTED
    1     0     1      0 ??       Ss   Mon Nov 30 08:00:01 2026
  812     1   812      0 ttys001  Z+   Mon Nov 30 09:30:00 2026
`;
  expect([...parsePs(text).values()]).toEqual([
    {
      pid: 1,
      parent: 0,
      group: 1,
      session: 1,
      hasTerminal: false,
      alive: true,
      started: Date.UTC(2026, 10, 30, 8, 0, 1),
    },
    {
      pid: 812,
      parent: 1,
      group: 812,
      session: 812,
      hasTerminal: true,
      alive: false,
      started: Date.UTC(2026, 10, 30, 9, 30),
    },
  ]);
});
