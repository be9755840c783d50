/** `receipt verify` holds for what really happened, and finds whatever a forger who can seal anew may say instead. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Receipt } from '../../src/model/receipt.ts';
import type { DelegationCode } from '../../src/model/receipt-verify.ts';
import { type Finished, World } from '../run/world.ts';
import { checks, type Draft, file, forged, problems, said, textOf, verify } from './receipt-world.ts';

const WORKS = 'cat >/dev/null; echo yes >> src/a.txt; echo n > src/new.txt; rm src/old.txt';

/** Of one success after a failure that left something, and of a run of which nobody could do anything. */
const world = new World();
let done: Finished;
let receipt: Receipt;
let path: string;
let idle: Receipt;

beforeAll(async () => {
  world.write('src/old.txt', 'old\n');
  world.configure({
    gone: { script: 'cat >/dev/null; echo half >> src/a.txt; exit 3' },
    works: { script: WORKS },
  });
  const at = join(world.folder, 'receipt.json');
  done = await world.run({ verification: [['true']] }, { receipt: at, args: ['--verify'] });
  receipt = done.receipt;
  path = at;
  expect(receipt.outcome).toBe('success');
  const other = new World();
  other.configure({ gone: { executable: 'not-there' }, idle: { script: 'true', lines: ['enabled: false'] } });
  idle = (await other.run()).receipt;
  fallbackWorld = other;
});
let fallbackWorld: World;

describe('a receipt that is true', () => {
  test('holds in every check, with the plan of the run at hand', async () => {
    const answer = await verify(world, path);
    expect(problems(answer)).toEqual([]);
    expect(checks(answer, 'not-applicable')).toEqual(['host-fallback']);
    expect(checks(answer, 'not-checked')).toEqual([]);
    expect(answer).toMatchObject({ ok: true, code: 0, exit_code: 0, repository: world.repo });
    expect(answer.receipts[0]).toMatchObject({ verdict: 'valid', outcome: 'success', run_id: receipt.run_id });
  });

  test('of a host fallback too', async () => {
    const answer = await verify(fallbackWorld, 'last', '--require', 'host-fallback-authorized');
    expect(problems(answer)).toEqual([]);
    expect(checks(answer, 'held')).toContain('host-fallback');
    expect(checks(answer, 'not-applicable')).toEqual(['changes', 'transport', 'transport-changes', 'quarantine']);
  });

  test('is named by run too, and by standard input', async () => {
    for (const name of ['last', receipt.run_id, receipt.run_id.slice(0, 20)])
      expect((await verify(world, name)).code).toBe(0);
    const piped = await said(world, ['receipt', 'verify', '-'], {}, textOf(path));
    expect([piped.code, piped.out.split('\n')[0]]).toEqual([0, 'standard input: valid']);
    expect((await said(world, ['receipt', 'verify', '-'])).code).toBe(3);
  });

  test('is told check by check', async () => {
    const { out, code } = await said(world, ['receipt', 'verify', path]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^.*receipt\.json: valid\n {2}run \S+: success, role repair, unit test-unit\n {2}held +schema /,
    );
    expect(out.trimEnd().split('\n').at(-1)).toBe('1 receipt, 1 valid');
    expect(out).toMatch(/held +config +its digest is that of AGENT-EXECUTION.md in the working copy\n/);
  });

  test('without plan and packet says that the unit was not checked, and with the packet that it was', async () => {
    const elsewhere = { AGENT_EXEC_STATE_DIR: join(world.folder, 'no-such-root') };
    const alone = await said(world, ['receipt', 'verify', path], elsewhere);
    expect(alone.code).toBe(0);
    expect(alone.out).toMatch(/not checked +unit +neither the packet \(--unit FILE\) nor the plan/);
    const packet = world.packet({ verification: [['true']] });
    const given = await said(world, ['receipt', 'verify', path, '--unit', world.packet(), '--unit', packet], elsewhere);
    expect(given.out).toMatch(/held +unit +its digest is that of /);
    const wrong = await verify(world, path, '--unit', world.packet({ allowed_paths: ['docs/'] }));
    expect([wrong.code, checks(wrong, 'failed')]).toEqual([6, ['unit']]);
  });

  test('of a configuration that was changed later holds by the one at base, and of neither fails', async () => {
    const config = textOf(join(world.repo, 'AGENT-EXECUTION.md'));
    world.write('AGENT-EXECUTION.md', `${config}\nmore\n`);
    expect((await said(world, ['receipt', 'verify', path])).out).toMatch(/held +config .* in the base commit\n/);
    world.write('AGENT-EXECUTION.md', config);
    const lie = forged(world, receipt, (draft) => {
      draft.config.digest = `sha256:${'0'.repeat(64)}`;
    });
    expect(checks(await verify(world, lie), 'failed')).toContain('config');
  });

  test('whose ref is gone holds where a branch has the commit, and only there', async () => {
    const transport = receipt.attempts[1]?.transport;
    const { ref = '', commit = '' } = transport ?? {};
    world.git('update-ref', '-d', ref);
    const dangling = await verify(world, path);
    expect(checks(dangling, 'failed')).toEqual(['transport']);
    expect(problems(dangling)[0]).toContain("git fetch <remote> 'refs/agent-exec/*:refs/agent-exec/*'");
    world.git('branch', 'kept', commit);
    expect((await verify(world, path)).code).toBe(0);
    world.git('branch', '-D', 'kept');
    world.git('update-ref', ref, receipt.repository.base);
    expect(problems(await verify(world, path))[0]).toContain(`holds ${receipt.repository.base}, not ${commit}`);
    world.git('update-ref', ref, commit);
  });

  test('in a clone without its refs says what to fetch', async () => {
    const clone = join(world.folder, 'clone');
    world.git('clone', '-q', world.repo, clone);
    const answer = await verify(world, path, '--repo', clone);
    expect(checks(answer, 'failed')).toEqual(['transport', 'quarantine']);
    world.git('-C', clone, 'fetch', '-q', 'origin', 'refs/agent-exec/*:refs/agent-exec/*');
    world.git('-C', clone, 'fetch', '-q', 'origin', 'refs/agent-exec-quarantine/*:refs/agent-exec-quarantine/*');
    expect((await verify(world, path, '--repo', clone)).code).toBe(0);
  });
});

test('--require: any by default, otherwise exactly that', async () => {
  expect((await verify(world, path, '--require', 'success')).code).toBe(0);
  const answer = await verify(world, path, '--require', 'host-fallback-authorized');
  expect([answer.code, checks(answer, 'failed')]).toEqual([6, ['require']]);
  expect((await said(world, ['receipt', 'verify', path, '--require', 'nonsense'])).code).toBe(2);
});

describe('a receipt that was changed', () => {
  test('and not sealed again', async () => {
    const other = file(world, textOf(path).replace('"role": "repair"', '"role": "review"'));
    const answer = await verify(world, other);
    expect(answer.code).toBe(6);
    expect(checks(answer, 'failed')).toContain('digest');
  });

  const success = (draft: Draft) => draft.attempts[1];
  test.each<[string, string, (draft: Draft) => void]>([
    ['another outcome', 'outcome', (d) => Object.assign(d, { outcome: 'exhausted', exit_code: 4 })],
    ['a failure as success', 'outcome', (d) => Object.assign(d, { attempts: [d.attempts[0]] })],
    ['an exit code', 'outcome', (d) => void Object.assign(d, { exit_code: 5 })],
    ['a state', 'attempts', (d) => void Object.assign(d.attempts[0], { state: 'unavailable' })],
    ['a code', 'attempts', (d) => void Object.assign(d.attempts[0], { code: 'EMPTY_DIFF' })],
    ['an exit of the worker', 'attempts', (d) => void Object.assign(success(d).termination, { code: 1 })],
    ['a check that failed', 'attempts', (d) => void Object.assign(success(d).verification[0], { ok: false })],
    ['survivors', 'attempts', (d) => void Object.assign(success(d).processes, { survivors: 1 })],
    ['an adapter', 'candidates', (d) => void Object.assign(success(d), { adapter: 'claude' })],
    ['a model', 'candidates', (d) => void Object.assign(success(d).model, { requested: 'best' })],
    ['an order', 'attempts', (d) => void d.candidates.reverse()],
    ['a candidate more', 'candidates', (d) => void d.candidates.push('third')],
    ['a change less', 'changes', (d) => void success(d).changes.pop()],
    [
      'a change less, counted',
      'transport-changes',
      (d) => void Object.assign(success(d), { changes: success(d).changes.slice(1), change_count: 2 }),
    ],
    [
      'a change less, truncated',
      'transport-changes',
      (d) => {
        success(d).changes.pop();
        Object.assign(success(d), { changes_truncated: true, change_count: 99 });
      },
    ],
    ['a path', 'transport-changes', (d) => void Object.assign(success(d).changes[0], { path: 'src/other.txt' })],
    ['a blob', 'transport-changes', (d) => void Object.assign(success(d).changes[0], { oid: 'f'.repeat(40) })],
    ['a mode', 'transport-changes', (d) => void Object.assign(success(d).changes[0], { mode: '100755' })],
    ['a size', 'transport-changes', (d) => void Object.assign(success(d).changes[0], { size: 7 })],
    ['a path out of scope', 'scope', (d) => void Object.assign(d.attempts[0].changes[0], { path: 'docs/d.txt' })],
    ['wider paths', 'unit', (d) => void d.unit.allowed_paths.push('docs/')],
    ['no paths', 'scope', (d) => void Object.assign(d.unit, { allowed_paths: [] })],
    ['a secret path', 'scope', (d) => void d.unit.allowed_paths.push('.env')],
    ['another transport', 'transport', (d) => void Object.assign(success(d).transport, { commit: d.repository.base })],
    ['a tree', 'transport', (d) => void Object.assign(success(d).transport, { tree: 'e'.repeat(40) })],
    [
      'a transport that is none',
      'transport',
      (d) => void Object.assign(success(d).transport, { commit: success(d).changes[0].oid }),
    ],
    ['a branch as transport', 'refs', (d) => void Object.assign(success(d).transport, { ref: 'refs/heads/main' })],
    [
      'a quarantine that is not there',
      'quarantine',
      (d) => void Object.assign(d.attempts[0].quarantine, { commit: 'd'.repeat(40) }),
    ],
    ['another base', 'base', (d) => void Object.assign(d.repository, { base: 'c'.repeat(40) })],
    ['a run', 'refs', (d) => void Object.assign(d, { run_id: `${d.run_id.slice(0, -6)}000000` })],
    ['a time', 'times', (d) => void Object.assign(d, { ended_at: '2020-01-01T00:00:00.000Z' })],
    [
      'a permission',
      'host-fallback',
      (d) => {
        d.host_fallback = { ...idle.host_fallback, unit_digest: d.unit.digest, base: d.repository.base };
      },
    ],
  ])('%s is found by %s', async (_, check, change) => {
    const answer = await verify(world, forged(world, receipt, change));
    expect(answer.code).toBe(6);
    expect(checks(answer, 'failed')).toContain(check);
    expect(checks(answer, 'failed')).not.toContain('digest');
  });

  test.each<[string, (draft: Draft) => void]>([
    ['evidence that leaves one out', (d) => void d.host_fallback.evidence.pop()],
    ['evidence of nobody', (d) => void Object.assign(d.host_fallback, { evidence: ['01-gone', '03-else'] })],
    ['a cleanup that is not exact', (d) => void Object.assign(d.attempts[0].cleanup, { exact: false })],
    ['a policy that says never', (d) => void Object.assign(d.policy, { fallback_to_host: 'never' })],
    ['other paths', (d) => void Object.assign(d.host_fallback, { allowed_paths: ['**'] })],
    ['a candidate that was not tried', (d) => void d.attempts.pop()],
    ['a time after the run', (d) => void Object.assign(d.host_fallback, { issued_at: '2030-01-01T00:00:00.000Z' })],
    ['no permission', (d) => void Object.assign(d, { host_fallback: null })],
  ])('a host fallback with %s is none', async (_, change) => {
    const answer = await verify(fallbackWorld, forged(fallbackWorld, idle, change));
    expect(answer.code).toBe(6);
    expect(checks(answer, 'failed')).toContain('host-fallback');
  });

  test('that names a commit of somebody else, in scope and on base, is found', async () => {
    const { base } = receipt.repository;
    const tree = world.git('rev-parse', `${receipt.attempts[1]?.transport?.commit}^{tree}`);
    const mine = world.git('commit-tree', '-p', base, '-m', 'mine', tree);
    world.git('update-ref', receipt.attempts[1]?.transport?.ref ?? '', mine);
    const answer = await verify(
      world,
      forged(world, receipt, (draft) => void Object.assign(draft.attempts[1].transport, { commit: mine })),
    );
    world.git('update-ref', receipt.attempts[1]?.transport?.ref ?? '', receipt.attempts[1]?.transport?.commit ?? '');
    expect(problems(answer)).toContain(
      '02-works: its author is world <world@example.invalid>, not agent-exec <agent-exec@localhost>',
    );
  });
});

describe('--commit', () => {
  const carries = async (rev: string, ...more: readonly string[]) => {
    const { code, commit } = await verify(world, path, '--commit', rev, ...more);
    return [code, commit?.carries];
  };
  const transport = () => receipt.attempts[1]?.transport?.commit ?? '';
  /** Back to base, on a branch of its own. */
  const start = (name: string) => world.git('checkout', '-q', '-b', name, receipt.repository.base);

  test('the transport itself', async () => {
    expect(await carries(transport())).toEqual([0, 'transport']);
    expect(await carries(receipt.attempts[1]?.transport?.ref ?? '')).toEqual([0, 'transport']);
  });

  test('cherry-picked onto something else, or merged: the same change', async () => {
    start('picked');
    world.write('docs/d.txt', 'other\n');
    world.commit('elsewhere');
    world.git('cherry-pick', transport());
    expect(await carries('HEAD')).toEqual([0, 'same-change']);
    start('merged');
    world.write('docs/d.txt', 'more\n');
    world.commit('elsewhere');
    world.git('merge', '-q', '--no-ff', '-m', 'merge', transport());
    const { commit } = await verify(world, path, '--commit', 'HEAD');
    expect(commit).toMatchObject({ carries: 'same-change', run_id: receipt.run_id });
    expect(commit?.message).toContain('a merge, compared with its first parent');
  });

  test('where the file has moved on: the same patch; with another line or space in it: not', async () => {
    const long = new World();
    const lines = Array.from({ length: 40 }, (_, i) => `line ${i}\n`);
    long.write('src/long.txt', lines.join(''));
    long.configure({ one: { script: "cat >/dev/null; sed -i 's/^line 30$/line thirty/' src/long.txt" } });
    const { receipt: own } = await long.run();
    long.git('checkout', '-q', '-b', 'moved');
    lines[2] = 'another\nand one more\n';
    long.write('src/long.txt', lines.join(''));
    long.commit('above');
    const mine = own.attempts[0]?.transport?.commit ?? '';
    long.git('cherry-pick', mine);
    const same = await verify(long, 'last', '--commit', 'HEAD');
    expect([same.code, same.commit?.carries]).toEqual([0, 'same-patch']);
    expect(same.commit?.message).toContain('another context');
    const text = textOf(join(long.repo, 'src/long.txt'));
    long.write('src/long.txt', text.replace('line thirty', 'line  thirty'));
    long.git('commit', '-q', '-a', '--amend', '-m', 'with a space');
    const spaced = await verify(long, 'last', '--commit', 'HEAD');
    expect([spaced.code, spaced.commit?.carries]).toEqual([6, 'differs']);
    expect(spaced.commit?.differences).toEqual(['src/long.txt gets another content']);
  });

  test('with a file more, a file less, another mode: says which', async () => {
    start('more');
    world.git('cherry-pick', transport());
    world.write('docs/extra.txt', 'x\n');
    world.git('add', '-A');
    world.git('update-index', '--chmod=+x', 'src/a.txt');
    world.git('rm', '-q', '--cached', 'src/new.txt');
    world.git('commit', '-q', '--amend', '-m', 'more');
    const { code, commit } = await verify(world, path, '--commit', 'HEAD');
    expect([code, commit?.carries, commit?.run_id]).toEqual([6, 'differs', null]);
    expect(commit?.differences).toEqual([
      'src/a.txt goes from 100644 to 100755, not from 100644 to 100644',
      'src/new.txt is not changed by it',
      'docs/extra.txt is changed by it too',
    ]);
    world.git('checkout', '-q', '-f', 'main');
  });

  test('a root commit is compared with nothing', async () => {
    expect(await carries(world.git('rev-list', '--max-parents=0', 'HEAD'))).toEqual([6, 'differs']);
  });

  test('one of several receipts must carry it, and each must be valid', async () => {
    expect((await verify(world, path, path, '--commit', transport())).code).toBe(0);
    const lie = forged(world, receipt, (draft) => void Object.assign(draft, { exit_code: 5 }));
    const both = await verify(world, lie, path, '--commit', transport());
    expect([both.code, both.commit?.carries]).toEqual([6, 'transport']);
    const only = await verify(world, lie, '--commit', transport());
    expect([only.code, only.commit?.carries]).toEqual([6, 'differs']);
  });

  test.each(['no-such-branch', '--all', '', 'HEAD:src', '@{u}'])('%j is no commit', async (rev) => {
    const { code, errors } = await verify(world, path, `--commit=${rev}`);
    expect(code).toBe(3);
    expect(errors[0]).toContain('--commit');
  });
});

describe('--delegations', () => {
  const declared = async (content: string) => {
    const { code, delegations, errors } = await verify(world, path, '--delegations', file(world, content));
    return { code, delegations, errors };
  };
  const good = () => ({ role: 'repair', transport: 'agent-exec', run_id: receipt.run_id });

  test('one that went through this tool counts, in every form', async () => {
    const one = good();
    for (const text of [
      JSON.stringify(one),
      JSON.stringify([one]),
      JSON.stringify({ delegations: [one] }),
      `${JSON.stringify(one)}\n`,
    ]) {
      const { code, delegations } = await declared(text);
      expect([code, delegations?.declared, delegations?.counted]).toEqual([0, 1, 1]);
    }
    expect(await declared('[]')).toMatchObject({ code: 0, delegations: { declared: 0, counted: 0 } });
  });

  /** Each with its code; more than one way to deserve a code, where there is. */
  const rejections = (): readonly (readonly [unknown, DelegationCode, RegExp])[] => {
    const one = good();
    return [
      ['repair', 'BARE_ROLE', /bare "repair"/],
      [{ role: 'repair' }, 'BARE_ROLE', /has no transport.* and no run_id/],
      [{ role: 'repair', run_id: one.run_id }, 'TRANSPORT_MISSING', /has no transport/],
      [{ ...one, transport: null }, 'TRANSPORT_NOT_TEXT', /transport is null/],
      [{ ...one, transport: ['agent-exec'] }, 'TRANSPORT_NOT_TEXT', /transport is a list/],
      [{ ...one, transport: { name: 'agent-exec' } }, 'TRANSPORT_NOT_TEXT', /transport is an object/],
      [{ ...one, transport: true }, 'TRANSPORT_NOT_TEXT', /transport is a boolean/],
      [{ ...one, transport: 'claude' }, 'WRONG_TRANSPORT', /only "agent-exec" counts/],
      [{ ...one, transport: 'Agent-Exec' }, 'WRONG_TRANSPORT', /only "agent-exec" counts/],
      [{ ...one, transport: ' agent-exec' }, 'WRONG_TRANSPORT', /only "agent-exec" counts/],
      [{ ...one, transport: '' }, 'WRONG_TRANSPORT', /only "agent-exec" counts/],
      [{ ...one, transport: 'scripts/agent-exec' }, 'OTHER_SCRIPT', /a script or command/],
      [{ ...one, transport: 'delegate.sh' }, 'OTHER_SCRIPT', /a script or command/],
      [{ ...one, transport: 'agent-exec run' }, 'OTHER_SCRIPT', /a script or command/],
      [{ ...one, script: 'x.sh' }, 'OTHER_SCRIPT', /names a script/],
      [{ role: 'repair', script: 'x.sh' }, 'OTHER_SCRIPT', /names a script/],
      [{ ...one, argv: ['x'] }, 'OTHER_SCRIPT', /names argv/],
      [{ role: 'repair', transport: 'agent-exec' }, 'RUN_ID_MISSING', /has no run_id/],
      [{ ...one, run_id: 7 }, 'RUN_ID_MISSING', /run_id is a number/],
      [{ ...one, run_id: 'last' }, 'UNKNOWN_RUN', /"last" is the run of no receipt/],
      [{ ...one, run_id: idle.run_id }, 'UNKNOWN_RUN', /is the run of no receipt/],
      [{ ...one, run_id: one.run_id.slice(0, 20) }, 'UNKNOWN_RUN', /is the run of no receipt/],
      [{ transport: 'agent-exec', run_id: one.run_id }, 'ROLE_MISSING', /has no role/],
      [{ ...one, role: 'review' }, 'OTHER_ROLE', /its role is "review", and the run was one of repair/],
      [{ ...one, role: ['repair'] }, 'OTHER_ROLE', /its role is \["repair"\]/],
      [{ ...one, unit_id: 'other' }, 'OTHER_UNIT', /its unit_id is "other", and the run's unit is test-unit/],
      [7, 'NOT_A_DECLARATION', /a number, not an object/],
      [null, 'NOT_A_DECLARATION', /null, not an object/],
      [['agent-exec'], 'NOT_A_DECLARATION', /a list, not an object/],
    ];
  };

  test('everything else is rejected, each with a code of its own, its place and the reason', async () => {
    const wrong = rejections();
    const all = [...wrong.map(([value]) => value), good(), good()];
    const { code, delegations } = await declared(JSON.stringify(all, null, 1));
    expect([code, delegations?.declared, delegations?.counted]).toEqual([6, all.length, 1]);
    const entries = delegations?.entries ?? [];
    expect(entries.map((entry) => entry.code)).toEqual([...wrong.map((one) => one[1]), 'OK', 'COUNTED_TWICE']);
    expect(entries.map(({ counts }) => counts)).toEqual(entries.map((entry) => entry.code === 'OK'));
    for (const [i, [, , reason]] of wrong.entries()) {
      expect(entries[i]?.position).toBe(`declaration ${i + 1}`);
      expect(entries[i]?.reason).toMatch(reason);
    }
    expect(entries.at(-1)?.reason).toContain(`declaration ${all.length - 1} has counted that run already`);
    expect(entries.slice(0, 2).map(({ line, column }) => [line, column])).toEqual([
      [2, 2],
      [3, 2],
    ]);
  });

  test('and one alone is told where it stands, in words', async () => {
    for (const [value, code] of rejections()) {
      const declarations = file(world, `\n  ${JSON.stringify(value)}`, 'alone.json');
      const list = Array.isArray(value) ? file(world, `\n [${JSON.stringify(value)}]`, 'alone.json') : declarations;
      const { out, code: exit } = await said(world, ['receipt', 'verify', path, '--delegations', list]);
      expect([value, exit, out]).toEqual([value, 6, expect.stringContaining(`alone.json: 0 of 1 declared`)]);
      expect(out).toMatch(/^1 receipt, 1 valid, 0 of 1 delegations count: not valid$/m);
      expect(out).toContain(`  REJECTED ${list}:2:3: declaration 1: ${code}: `);
    }
  });

  test('lines that are torn, members that are given twice', async () => {
    const line = JSON.stringify(good());
    const torn = await declared(`${line}\n\n  {"transport":\n`);
    expect([torn.code, torn.delegations?.entries.map((one) => [one.line, one.column, one.code])]).toEqual([
      6,
      [
        [1, 1, 'OK'],
        [3, 3, 'NOT_A_DECLARATION'],
      ],
    ]);
    const twice = line.replace('{', '{"transport":"scripts/x.sh",');
    const [first] = (await declared(`[${twice},${line}]`)).delegations?.entries ?? [];
    expect(first).toMatchObject({
      code: 'NOT_A_DECLARATION',
      reason: expect.stringMatching(/two members named "transport"/),
    });
    const prototype = `[${line},{"__proto__":{"role":"repair","transport":"agent-exec","run_id":"${receipt.run_id}"}}]`;
    expect((await declared(prototype)).delegations?.entries[1]?.code).toBe('BARE_ROLE');
  });

  test('of a run whose receipt is not valid none counts, whatever is wrong with it', async () => {
    const list = file(world, JSON.stringify([good()]));
    const codeOf = async (...args: readonly string[]) =>
      (await verify(world, ...args, '--delegations', list)).delegations?.entries[0]?.code;
    const lie = forged(world, receipt, (draft) => void Object.assign(draft, { exit_code: 5 }));
    const edited = file(world, textOf(path).replace(/"duration_ms": ?/, '$&1'));
    const shapeless = file(world, JSON.stringify({ run_id: receipt.run_id }));
    for (const bad of [lie, edited, shapeless]) {
      expect(await codeOf(bad)).toBe('UNVERIFIED_RECEIPT');
      // Nor by a good one beside it: which of the two is meant, nobody can say.
      expect(await codeOf(path, bad)).toBe('UNVERIFIED_RECEIPT');
    }
    expect(await codeOf(path, '--require', 'host-fallback-authorized')).toBe('UNVERIFIED_RECEIPT');
    expect(await codeOf(path, path)).toBe('OK');
    const later = forged(world, receipt, (draft) => void Object.assign(draft.attempts[0], { duration_ms: 1 }));
    const twoTrue = await verify(world, path, later, '--delegations', list);
    expect([twoTrue.receipts.map(({ verdict }) => verdict), twoTrue.delegations?.entries[0]?.code]).toEqual([
      ['valid', 'valid'],
      'UNVERIFIED_RECEIPT',
    ]);
  });

  test('a receipt of another unit than the packets of --unit', async () => {
    const list = file(world, JSON.stringify([good()]));
    const other = world.packet({ verification: [['true']], goal: 'Something else.' });
    const answer = await verify(world, path, '--unit', other, '--delegations', list);
    expect([answer.code, answer.delegations?.entries[0]?.code]).toEqual([6, 'OTHER_UNIT']);
    const own = world.packet({ verification: [['true']] });
    expect((await verify(world, path, '--unit', own, '--delegations', list)).code).toBe(0);
    const wrongInMore = forged(world, receipt, (draft) => void Object.assign(draft, { exit_code: 5 }));
    const more = await verify(world, wrongInMore, '--unit', other, '--delegations', list);
    expect(more.delegations?.entries[0]?.code).toBe('UNVERIFIED_RECEIPT');
  });

  test('a run that is kept on this machine, and whose receipt was not given, counts for nothing, and is told why', async () => {
    const again = (await world.run({ verification: [['true']] })).receipt;
    const elsewhere = (await world.run({ goal: 'Something else.' })).receipt;
    const broken = (await world.run({ verification: [['true']] })).receipt;
    writeFileSync(join(world.state, broken.run_id, 'receipt.json'), JSON.stringify({ ...broken, exit_code: 5 }));
    const list = [again, elsewhere, broken].map(({ run_id }) => ({ ...good(), run_id }));
    const { code, delegations } = await declared(JSON.stringify(list));
    expect([code, delegations?.counted]).toEqual([6, 0]);
    expect(delegations?.entries.map((entry) => [entry.code, entry.reason])).toEqual([
      ['RECEIPT_NOT_GIVEN', 'the receipt of that run was not given here; give it too'],
      ['OTHER_UNIT', 'that run was of another unit (test-unit) than the receipts given here'],
      ['UNVERIFIED_RECEIPT', expect.stringContaining('the one kept on this machine is not valid (digest')],
    ]);
    const both = await verify(
      world,
      path,
      again.run_id,
      '--delegations',
      file(world, JSON.stringify(list.slice(0, 1))),
    );
    expect([both.code, both.delegations?.counted]).toEqual([0, 1]);
  });

  test('a receipt with a member given twice is that of its run, and not valid; of an unreadable one nothing is known', async () => {
    const twice = file(world, textOf(path).replace('"role":', '"role":"test","role":'));
    const list = file(world, JSON.stringify([good()]));
    const codes = async (given: string) =>
      (await verify(world, given, '--delegations', list)).delegations?.entries.map(({ code }) => code);
    expect(await codes(twice)).toEqual(['UNVERIFIED_RECEIPT']);
    expect(await codes(join(world.folder, 'none.json'))).toEqual(['RECEIPT_NOT_GIVEN']);
  });

  test.each(['\u00a0', '\ufeff', '\v', '\f', '\u2003'])('%j is no white space of JSON Lines', async (space) => {
    const { code, delegations } = await declared(`${JSON.stringify({})}\n${space}${JSON.stringify(good())}\n`);
    expect([code, delegations?.entries[1]?.code]).toEqual([6, 'NOT_A_DECLARATION']);
    const trailing = await declared(`${JSON.stringify({})}\n \t${JSON.stringify(good())}\t\r\n`);
    expect(trailing.delegations?.entries[1]?.code).toBe('OK');
  });

  test.each([
    ['not json', 1, 1, /neither JSON nor JSON Lines: a bare word/],
    ['[{"role": "repair",}]', 1, 20, /no comma after the last/],
    ['{"delegations": {}}', 1, 17, /delegations must be a list/],
    ['{"delegations": [],\n "transport": "agent-exec"}', 2, 2, /no "transport"; put it into the list/],
    ['{"delegations": [], "delegations": ["x"]}', 1, 21, /no "delegations"/],
  ])('%j is no list of declarations: told with line and column', async (content, line, column, why) => {
    const { code, delegations, errors } = await declared(content);
    expect([code, delegations]).toEqual([3, null]);
    expect(errors[0]).toMatch(why);
    expect(errors[0]).toMatch(new RegExp(`^--delegations cannot be read: \\S+\\.json:${line}:${column}: `));
  });

  test('a file that is not there, or too large, is told', async () => {
    const missing = await verify(world, path, '--delegations', join(world.folder, 'none.json'));
    expect([missing.code, missing.errors[0]]).toEqual([3, expect.stringMatching(/none\.json: there is no such file$/)]);
    const large = await declared(`[${'" ",'.repeat(10_000)}"x"]`);
    expect([large.code, large.errors[0]]).toEqual([3, expect.stringContaining('10001 declarations, more than 10000')]);
    const huge = await declared(`[${' '.repeat(16 * 1024 * 1024)}]`);
    expect([huge.code, huge.errors[0]]).toEqual([3, expect.stringContaining('larger than 16 MiB')]);
  });
});

describe('what cannot be read', () => {
  test('is told, and exits with 3; what is found wrong beside it outranks it', async () => {
    const folder = join(world.folder, 'folder.json');
    mkdirSync(folder);
    for (const bad of [
      join(world.folder, 'none.json'),
      folder,
      file(world, 'not json'),
      file(world, ''),
      file(world, Buffer.from([0x7b, 0xff, 0x7d])),
      'no-such-run',
      './a\0b',
    ]) {
      const { code, receipts } = await verify(world, bad);
      expect([bad, code, receipts[0]?.verdict]).toEqual([bad, 3, 'unreadable']);
    }
    expect((await verify(world, path, join(world.folder, 'none.json'))).code).toBe(3);
    const lie = forged(world, receipt, (draft) => void Object.assign(draft, { exit_code: 5 }));
    expect((await verify(world, lie, join(world.folder, 'none.json'))).code).toBe(6);
  });

  test('no repository: what can be judged without one is', async () => {
    const outside = join(world.folder, 'outside');
    mkdirSync(outside, { recursive: true });
    const answer = await verify(world, path, '--repo', outside);
    expect(answer.code).toBe(3);
    expect(checks(answer, 'held')).toContain('outcome');
    expect(checks(answer, 'not-checked')).toContain('transport');
    const lie = forged(world, receipt, (draft) => void Object.assign(draft, { exit_code: 5 }));
    expect((await verify(world, lie, '--repo', outside)).code).toBe(6);
  });

  test('usage', async () => {
    expect((await said(world, ['receipt', 'verify'])).code).toBe(2);
    expect((await said(world, ['receipt'])).code).toBe(2);
    expect((await said(world, ['receipt', 'verify', path, '--json', '--format', 'text'])).code).toBe(2);
    const help = await said(world, ['receipt', 'verify', '--help']);
    expect([help.code, help.out]).toEqual([0, expect.stringContaining('$ agent-exec receipt verify receipt.json')]);
  });
});

describe('a hostile receipt', () => {
  const members = (text: string) => textOf(path).replace('"role":', `${text}, "role":`);
  test.each<[string, () => string | Uint8Array, number]>([
    ['nests a million deep', () => `${'['.repeat(1e6)}${']'.repeat(1e6)}`, 6],
    ['nests in an open end', () => '['.repeat(1e6), 3],
    ['has a million members', () => `{${Array.from({ length: 3e5 }, (_, i) => `"k${i}":${i}`).join(',')}}`, 3],
    ['is a long string', () => JSON.stringify('a'.repeat(1.5e7)), 6],
    ['names a member twice', () => members('"outcome": "exhausted"'), 6],
    ['names it twice by an escape', () => members('"out\\u0063ome": "exhausted"'), 6],
    ['has __proto__', () => members('"__proto__": {"outcome": "success"}'), 6],
    ['has constructor', () => members('"constructor": 1'), 6],
    ['has lone surrogates', () => textOf(path).replace('test-unit', '\\ud800'), 6],
    [
      'has a number out of range',
      () => textOf(path).replace('"worker_result": null', '"worker_result": {"n": 1e999}'),
      6,
    ],
    ['is a list', () => '[]', 6],
    [
      'has a large result',
      () => textOf(path).replace('"worker_result": null', `"worker_result": [${'1,'.repeat(4e5)}1]`),
      3,
    ],
    ['is larger than any', () => Buffer.alloc(17 * 1024 * 1024, 0x20), 3],
  ])('%s: answered in a moment', async (_, content, code) => {
    const given = file(world, content());
    const before = performance.now();
    expect((await verify(world, given)).code).toBe(code);
    expect(performance.now() - before).toBeLessThan(5000);
  });

  test.each<[string, (draft: Draft) => void]>([
    ['refs outside of ours', (d) => void Object.assign(d.attempts[1].transport, { ref: 'refs/heads/main' })],
    ['ids like options', (d) => void Object.assign(d.attempts[1], { attempt_id: '02--upload-pack' })],
    ['dots in ids', (d) => void Object.assign(d.attempts[1], { attempt_id: 'a..b' })],
    ['paths with NUL', (d) => void Object.assign(d.attempts[1].changes[0], { path: 'src/a\0b' })],
    ['paths upwards', (d) => void Object.assign(d.attempts[1].changes[0], { path: 'src/../../etc/passwd' })],
    ['absolute paths', (d) => void Object.assign(d.attempts[1].changes[0], { path: '/etc/passwd' })],
    [
      'bytes that are text',
      (d) => void Object.assign(d.attempts[1].changes[0], { path: { bytes: 'c3JjL2E=', display: 'src/a.txt' } }),
    ],
    ['redacted paths', (d) => void Object.assign(d.attempts[1].changes[0], { path: 'docs/[redacted]' })],
    ['escapes', (d) => void Object.assign(d.unit, { unit_id: '\u001b[2Jgone\u202e' })],
    ['names of another hash', (d) => void Object.assign(d.repository, { base: 'a'.repeat(64) })],
    [
      'a thousand attempts',
      (d) => {
        d.attempts = Array.from({ length: 1000 }, () => d.attempts[1]);
        d.candidates = Array.from({ length: 1000 }, () => 'works');
      },
    ],
  ])('with %s is not valid, and what is told is harmless', async (_, change) => {
    const { out, code } = await said(world, ['receipt', 'verify', forged(world, receipt, change)]);
    expect(code).toBe(6);
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(out.length).toBeLessThan(40_000);
  });

  test.each(['--upload-pack=x', '-x', 'HEAD', 'a'.repeat(39), 'A'.repeat(40), 'refs/heads/main'])(
    'an oid %j is no receipt',
    async (oid) => {
      const text = textOf(path).replaceAll(receipt.attempts[1]?.transport?.commit ?? '', oid);
      expect(checks(await verify(world, file(world, text)), 'failed')).toEqual(['schema']);
    },
  );

  test('behind a link is the file it leads to; a fifo is not waited for', async () => {
    const link = join(world.folder, 'link.json');
    symlinkSync(path, link);
    expect((await verify(world, link)).code).toBe(0);
    rmSync(link);
  });
});

test('under GitHub Actions what fails becomes annotations of the file', async () => {
  const lie = forged(world, receipt, (draft) => {
    draft.exit_code = 5;
    draft.attempts[1].attempt_id = '02-x';
  });
  const env = { GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: world.folder };
  const { out, code } = await said(world, ['receipt', 'verify', lie], env);
  expect(code).toBe(6);
  const name = lie.slice(world.folder.length + 1);
  expect(out.split('\n')[0]).toMatch(
    new RegExp(
      `^::error file=${name.replace('.', '\\.')},title=RECEIPT_OUTCOME::exit_code is 5, and the attempts come to 0$`,
    ),
  );
  expect(out).toContain('title=RECEIPT_ATTEMPTS::');
  expect(out.trimEnd().split('\n').at(-1)).toBe('1 receipt, 0 valid: not valid');
  const declared = file(world, '["repair"]', 'declared.json');
  const more = await said(world, ['receipt', 'verify', path, '--commit', 'main', '--delegations', declared], env);
  expect(more.out).toMatch(/^::error file=receipt\.json,title=COMMIT_NOT_CARRIED::/m);
  expect(more.out).toMatch(
    /^::error file=declared\.json,line=1,endLine=1,col=2,title=DELEGATION_BARE_ROLE::declaration 1: a bare "repair"/m,
  );
});
