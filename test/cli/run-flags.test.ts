/** How a unit and a run's words come in and go out: inline flags, stdin, progress, quiet. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { World } from '../run/world.ts';

const WORK = 'cat >/dev/null; echo more >> src/a.txt';
/** What inline flags stand for, where they do not say otherwise. */
const UNIT = {
  unit_id: 'fix-it',
  goal: 'Make it work.',
  allowed_paths: ['src/', 'docs/*.md'],
  verification: [
    ['npm', 'test'],
    ['sh', '-c', 'a "b" c'],
  ],
  constraints: ['Small.', 'No new dependency.'],
  network: 'allow',
  external_cost: 'subscription',
  timeout_seconds: 60,
};

describe('a unit', () => {
  test.each([
    [
      'given once each',
      [
        '--allow',
        'src/',
        '--allow',
        'docs/*.md',
        '--verify-cmd',
        '["npm","test"]',
        '--verify-cmd',
        '["sh","-c","a \\"b\\" c"]',
        '--constraint',
        'Small.',
        '--constraint',
        'No new dependency.',
      ],
    ],
    [
      'given as lists',
      [
        '--allow',
        'src/',
        'docs/*.md',
        '--verify-cmd',
        '["npm","test"]',
        '["sh","-c","a \\"b\\" c"]',
        '--constraint',
        'Small.',
        'No new dependency.',
      ],
    ],
  ])('of inline flags %s is the packet they stand for', async (_, flags) => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const dry = ['run', '--role', 'repair', '--dry-run', '--json'];
    const inline = await world.cli([...dry, '--goal', 'Make it work.', '--unit-id', 'fix-it', ...flags]);
    const packet = await world.cli([...dry, '--unit', world.packet(UNIT)]);
    expect(inline.code, inline.stderr).toBe(0);
    expect(JSON.parse(inline.stdout)).toEqual(JSON.parse(packet.stdout));
    const timed = await world.cli([
      ...dry,
      '--goal',
      'Make it work.',
      '--unit-id',
      'fix-it',
      ...flags,
      '--timeout',
      '7',
    ]);
    const seven = await world.cli([...dry, '--unit', world.packet({ ...UNIT, timeout_seconds: 7 })]);
    expect(JSON.parse(timed.stdout)).toEqual(JSON.parse(seven.stdout));
    expect(timed.stdout).not.toBe(inline.stdout);
  });

  test('comes from stdin, with the digest it has as a file', async () => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const fromFile = await world.run(UNIT);
    const fromStdin = await world.run({}, { unit: '-', stdin: JSON.stringify(UNIT) });
    expect([fromFile.code, fromStdin.code]).toEqual([0, 0]);
    expect(fromStdin.receipt.unit).toEqual(fromFile.receipt.unit);
    expect(fromStdin.receipt.run_id).not.toBe(fromFile.receipt.run_id);
  });

  test('with a name that looks like a flag is still a file', async () => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    writeFileSync(join(world.folder, '--dry-run'), JSON.stringify(UNIT));
    const done = await world.run({}, { unit: '../repo/../--dry-run' });
    expect(done.receipt.unit.unit_id).toBe('fix-it');
  });
});

describe('what a run says on stderr', () => {
  const progress =
    /^run \S+: 01-one, 02-two\n01-one {2}started \(1 of 2\)\n01-one {2}failed-clean EXIT_NONZERO after [\d.]+ s: .*\n02-two {2}started \(2 of 2\)\n02-two {2}success OK after [\d.]+ s: .*\n$/;

  test('a line for each start and end of an attempt', async () => {
    const world = new World();
    world.configure({ one: { script: 'cat >/dev/null; echo noise; exit 3' }, two: { script: WORK } });
    const done = await world.run();
    expect(done.stderr).toMatch(progress);
  });

  test('nothing with --quiet, neither progress nor warnings', async () => {
    const world = new World();
    world.configure({ one: { script: 'cat >/dev/null; echo noise; echo noise >&2; exit 3' }, two: { script: WORK } });
    const args = [
      'run',
      '--role',
      'repair',
      '--unit',
      world.packet(),
      '--state-dir',
      world.state,
      '--quiet',
      '--verify',
    ];
    const done = await world.cli(args);
    expect(done.code).toBe(0);
    expect(done.stderr).toBe('');
    expect(done.stdout).toMatch(/^success\n/);
  });

  test('a verification that was asked for and has no command is told', async () => {
    const world = new World();
    world.configure({ one: { script: WORK } });
    const done = await world.run({ verification: [] }, { args: ['--verify'] });
    expect(done.stderr).toContain('names no verification command');
    expect(done.receipt.attempts[0]?.verification).toEqual([]);
  });

  test('what a worker prints cannot move the cursor', async () => {
    const world = new World();
    world.configure({
      one: {
        script:
          'cat >/dev/null; printf \'{"type":"result","subtype":"x","is_error":true,"result":"\\\\u001b[2J\\\\u202egone\\\\nforged line"}\\n\'',
        format: 'claude',
      },
    });
    const done = await world.run();
    expect(done.receipt.attempts[0]?.code).toBe('REPORTED_ERROR');
    expect(done.stderr).toContain('[2J\\u202egone forged line');
    expect(done.stderr.split('\n')).toHaveLength(4);
    expect(done.stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f\u202e]/);
  });
});
