/** A live probe passes only where nothing at all speaks against it: each thing that may, alone, turns the pass into a failure. */
import { describe, expect, test } from 'vitest';
import type { CanonicalComparison } from '../../src/model/evidence.ts';
import type { LiveEvidence } from '../../src/model/live.ts';
import type { RepoPath } from '../../src/model/path.ts';
import type { Receipt } from '../../src/model/receipt.ts';
import { err, ok } from '../../src/model/result.ts';
import { judgeLive } from '../../src/verdict/live.ts';
import { attempt, receipt } from '../receipt/record-samples.ts';

const REQUESTED = { path: 'live-marker.txt', bytes: Buffer.from('live-probe 0123\n') };
const COMMIT = 'c'.repeat(40);
const REF = 'refs/agent-exec/20261130t171500123z-4f9c2a/01-cursor';

type Attempt = Receipt['attempts'][number];
const BASE = receipt().repository.base;
const SUCCESS: Attempt = {
  ...attempt(),
  state: 'success',
  code: 'OK',
  model: { requested: null, resolved: null, reported: 'some-model' },
  transport: { ref: REF, commit: COMMIT, tree: 'd'.repeat(40), parent: BASE },
  cleanup: {
    exact: true,
    workspace_removed: true,
    worktree_unregistered: true,
    processes_gone: true,
    canonical_unchanged: true,
    retained_path: null,
  },
};
const received = (over: Partial<Attempt> = {}, run: Partial<Receipt> = {}): Receipt => ({
  ...receipt(),
  outcome: 'success',
  attempts: [{ ...SUCCESS, ...over }],
  ...run,
});
const seen = {
  commit: COMMIT,
  parents: [BASE],
  changedPaths: [REQUESTED.path as RepoPath],
  file: { size: REQUESTED.bytes.length, bytes: REQUESTED.bytes },
};
const GOOD: LiveEvidence = {
  requested: REQUESTED,
  receipt: received(),
  transport: seen,
  written: 'live-probe 0123\n',
  leftBehind: ok([]),
  leftRunning: 0,
  checkout: { kind: 'compared', differences: [], workerCouldWrite: true },
};
const content = (text: string): Partial<LiveEvidence> => ({
  transport: { ...seen, file: { size: Buffer.byteLength(text), bytes: Buffer.from(text) } },
  written: text,
});
const moved: CanonicalComparison['differences'] = [{ what: 'worktree', path: 'src/a.txt', detail: 'M' }];

test('a clean success with the exact file passes', () => {
  expect(judgeLive(GOOD)).toEqual({ result: 'pass' });
  expect(judgeLive({ ...GOOD, checkout: { kind: 'none' } })).toEqual({ result: 'pass' });
  expect(judgeLive({ ...GOOD, checkout: { kind: 'compared', differences: moved, workerCouldWrite: false } })).toEqual({
    result: 'pass',
  });
  const notCompared = { kind: 'not-compared', workerCouldWrite: false } as const;
  expect(judgeLive({ ...GOOD, checkout: notCompared })).toEqual({ result: 'pass' });
});

describe('one thing that speaks against a pass is a failure', () => {
  const cases: readonly (readonly [string, Partial<LiveEvidence>, string, RegExp])[] = [
    [
      'the checkout changed',
      { checkout: { kind: 'compared', differences: moved, workerCouldWrite: true } },
      'CANONICAL_CHANGED',
      /src\/a\.txt/,
    ],
    [
      'the checkout could be written and not compared',
      { checkout: { kind: 'not-compared', workerCouldWrite: true } },
      'CANONICAL_UNPROVEN',
      /nothing kept the worker from writing to the checkout .* could not be compared/,
    ],
    ['records that were taken away', { leftBehind: err('ENOENT: x') }, 'CLEANUP_INEXACT', /ENOENT: x/],
    ['a process was left', { leftRunning: 1 }, 'PROCESS_SURVIVED', /1 of its processes/],
    ['something is left', { leftBehind: ok(['attempts/01-cursor/probe']) }, 'CLEANUP_INEXACT', /probe/],
    [
      'the cleanup is not exact',
      { receipt: received({ cleanup: { ...SUCCESS.cleanup, exact: false } }) },
      'CLEANUP_INEXACT',
      /not proven/,
    ],
    ['no transport in the receipt', { receipt: received({ transport: null }) }, 'TRANSPORT_INVALID', /names no commit/],
    ['no transport in git', { transport: null }, 'TRANSPORT_INVALID', /no commit that git can read/],
    ['another commit', { transport: { ...seen, commit: 'e'.repeat(40) } }, 'TRANSPORT_INVALID', /the receipt says c+/],
    ['no parent', { transport: { ...seen, parents: [] } }, 'TRANSPORT_INVALID', /none/],
    ['another parent', { transport: { ...seen, parents: ['e'.repeat(40)] } }, 'TRANSPORT_INVALID', /e+, not/],
    ['two parents', { transport: { ...seen, parents: [BASE, 'e'.repeat(40)] } }, 'TRANSPORT_INVALID', /alone/],
    ['no path', { transport: { ...seen, changedPaths: [] } }, 'PATHS_DIFFER', /changes nothing/],
    [
      'two paths',
      { transport: { ...seen, changedPaths: [REQUESTED.path as RepoPath, 'x' as RepoPath] } },
      'PATHS_DIFFER',
      /live-marker\.txt, x/,
    ],
    ['no file', { transport: { ...seen, file: null } }, 'CONTENT_DIFFERS', /not a file/],
    [
      'no newline',
      content('live-probe 0123'),
      'CONTENT_DIFFERS',
      /newline at its end is missing \(15 bytes instead of 16\)/,
    ],
    ['CR LF', content('live-probe 0123\r\n'), 'CONTENT_DIFFERS', /CR LF/],
    ['a byte order mark', content('\ufefflive-probe 0123\n'), 'CONTENT_DIFFERS', /byte order mark/],
    ['more newlines', content('live-probe 0123\n\n'), 'CONTENT_DIFFERS', /white space/],
    ['another nonce', content('live-probe 9999\n'), 'CONTENT_DIFFERS', /begins with "live-probe 9999/],
    [
      'far more than was asked for',
      { transport: { ...seen, file: { size: 5000, bytes: null } }, written: '' },
      'CONTENT_DIFFERS',
      /: other content \(5000 bytes instead of 16\)$/,
    ],
    ['nothing in it', content(''), 'CONTENT_DIFFERS', /0 bytes instead of 16/],
    [
      'another model',
      { receipt: received({ model: { requested: 'opus-5', resolved: 'opus-5', reported: 'haiku-4' } }) },
      'MODEL_MISMATCH',
      /opus-5 was asked for and haiku-4 answered/,
    ],
    [
      'lost records',
      { receipt: received({}, { outcome: 'evidence-failed', reason: { code: 'RECEIPT_WRITE_FAILED', message: 'm' } }) },
      'RECEIPT_WRITE_FAILED',
      /m/,
    ],
  ];
  test.each(cases)('%s', (_, over, code, message) => {
    const verdict = judgeLive({ ...GOOD, ...over });
    expect(verdict).toMatchObject({
      result: 'failed',
      differences: [{ code, message: expect.stringMatching(message) }],
    });
  });
});

describe('what is no success', () => {
  const ended = (state: Attempt['state'], code: Attempt['code']): Partial<LiveEvidence> => ({
    receipt: received({ state, code, message: 'why', transport: null }),
    transport: null,
  });

  test('unavailable and cancelled are themselves only after a clean end', () => {
    const refused = { ...GOOD, ...ended('unavailable', 'AUTH_REJECTED') };
    expect(judgeLive(refused)).toEqual({ result: 'unavailable', code: 'AUTH_REJECTED', message: 'why' });
    const stopped = { ...GOOD, ...ended('cancelled', 'CANCELLED') };
    expect(judgeLive(stopped)).toEqual({ result: 'cancelled' });
    const overs: readonly Partial<LiveEvidence>[] = [
      { leftRunning: 2 },
      { leftBehind: ok(['x']) },
      { checkout: { kind: 'compared', differences: moved, workerCouldWrite: true } },
    ];
    for (const over of overs) {
      expect(judgeLive({ ...refused, ...over }).result).toBe('failed');
      expect(judgeLive({ ...stopped, ...over }).result).toBe('failed');
    }
  });

  test('every other state has failed, with its own code first and what else is wrong behind it', () => {
    const failed = judgeLive({ ...GOOD, ...ended('failed-clean', 'EXIT_NONZERO'), leftRunning: 1 });
    expect(failed).toMatchObject({
      result: 'failed',
      differences: [{ code: 'EXIT_NONZERO', message: 'why' }, { code: 'PROCESS_SURVIVED' }],
    });
    // There the workspace stays on purpose, and is no finding of its own.
    const outside = judgeLive({ ...GOOD, ...ended('scope-expansion', 'PATH_OUT_OF_SCOPE'), leftBehind: ok(['x']) });
    expect(outside).toEqual({ result: 'failed', differences: [{ code: 'PATH_OUT_OF_SCOPE', message: 'why' }] });
    // But records that are gone always are.
    const gone = judgeLive({ ...GOOD, ...ended('scope-expansion', 'PATH_OUT_OF_SCOPE'), leftBehind: err('ENOENT') });
    expect(gone).toMatchObject({ differences: [{ code: 'PATH_OUT_OF_SCOPE' }, { code: 'CLEANUP_INEXACT' }] });
  });

  test('a run that never came to its candidate was cancelled, or has failed', () => {
    const none = (outcome: Receipt['outcome']): LiveEvidence => ({
      ...GOOD,
      receipt: { ...received({}, { outcome }), attempts: [] },
      transport: null,
    });
    expect(judgeLive(none('cancelled'))).toEqual({ result: 'cancelled' });
    expect(judgeLive(none('exhausted')).result).toBe('failed');
  });
});
